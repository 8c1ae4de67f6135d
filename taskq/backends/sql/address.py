"""Where a PostgreSQL database is: its URL, taken apart. A password is never shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from msgspec import Struct

from taskq.errors import ConfigurationError

SCHEMES: Final = frozenset({"postgresql", "postgres", "postgresql+asyncpg"})

_EXAMPLE = "postgresql://user:password@host:5432/database"
_CACHES = ("statement_cache_size", "prepared_statement_cache_size")
_TIMEOUTS = ("timeout", "connect_timeout")
_IGNORED = frozenset(
    {
        "async_fallback",
        "channel_binding",
        "gssencmode",
        "keepalives",
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_count",
    }
)
"""Options of other drivers that say nothing to this one."""


class Address(Struct, frozen=True, repr_omit_defaults=True):
    """A database as asyncpg is told of it.

    ``dsn`` holds the password; ``location`` is for people and does not. ``prepared`` is False where
    statements must not be prepared by name, for a pooler between transactions.
    """

    dsn: str
    location: str
    prepared: bool = True
    timeout: float = 5.0

    def __repr__(self) -> str:
        return f"Address({self.location!r})"


def address_of(url: str) -> Address:
    """Take a URL apart. Raises ConfigurationError, which shows no password.

    Options are libpq's (``sslmode``, ``application_name`` …), or SQLAlchemy's: ``ssl``, and
    ``prepared_statement_cache_size=0`` for a pooler. Any other one is a setting of the session.
    """
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in SCHEMES:
        raise ConfigurationError(f"taskq speaks to PostgreSQL by asyncpg: write {_EXAMPLE}")
    place, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    caches = [_number(name, options.pop(name)) for name in _CACHES if name in options]
    timeouts = [_number(name, options.pop(name)) for name in _TIMEOUTS if name in options]
    settings = {_spelled(name): value for name, value in options.items() if name not in _IGNORED}
    settings.setdefault("application_name", "taskq")
    if "\0" in unquote(rest):
        raise ConfigurationError("a PostgreSQL URL cannot hold NUL")
    return Address(
        dsn=f"postgresql://{place}?{urlencode(settings, quote_via=quote)}",
        location=f"postgresql://{_shown(place, settings)}",
        prepared=all(caches),
        timeout=timeouts[0] if timeouts and timeouts[0] > 0 else 5.0,
    )


def _spelled(name: str) -> str:
    return "sslmode" if name == "ssl" else name


def _shown(place: str, settings: Mapping[str, str]) -> str:
    """User, host and database; a socket's folder or a host that is an option, too."""
    login, at, host = place.rpartition("@")
    shown = f"{login.partition(':')[0]}{at}{host}"
    return shown + (f"?host={settings['host']}" if "host" in settings else "")


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigurationError(f"{name} in a database URL must be a number") from None
