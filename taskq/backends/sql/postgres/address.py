"""Where a PostgreSQL database is: its URL, taken apart. A password is never shown.

No error here shows a piece of the URL, nor has a cause that does: with a ``/``, ``?`` or ``#`` that
was not escaped, what looks like a host, a port or an option is a part of the password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import AddressValueError, IPv6Address
from typing import Any, Final
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

_ESCAPES = (
    "in a user, password or option write %40 for @, %3A for :, %2F for /, %3F for ?, %23 for #,"
    " %5B for [, %5D for ] (urllib.parse.quote(text, safe=''))"
)
_BEHIND_AUTHORITY = re.compile(r"[/?#]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HOST = re.compile(r"(?:\[([^\[\]]+)\]|[^\[\]:]*)(?::([0-9]*))?\Z")
_PORT = re.compile(r"0*[0-9]{1,5}\Z")


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

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("location", self.location)]


def address_of(url: str) -> Address:
    """Take a URL apart. Raises ConfigurationError, which shows no password.

    Options are libpq's (``sslmode``, ``application_name`` …), or SQLAlchemy's: ``ssl``, and
    ``prepared_statement_cache_size=0`` for a pooler. Any other one is a setting of the session.
    In a user or a password ``/ ? # @ [ ]`` are escaped (RFC 3986), and ``@`` behind the host.
    """
    scheme, _, rest = url.strip("\r\n").partition("://")
    if scheme.lower() not in SCHEMES:
        raise ConfigurationError(f"taskq speaks to PostgreSQL by asyncpg: write {_EXAMPLE}")
    login, host, path, query = _parted(rest)
    options = _options(query)
    caches = [_number(name, options.pop(name)) for name in _CACHES if name in options]
    timeouts = [_number(name, options.pop(name)) for name in _TIMEOUTS if name in options]
    settings = {_spelled(name): value for name, value in options.items() if name not in _IGNORED}
    settings.setdefault("application_name", "taskq")
    _check_hosts(host, settings)
    user, colon, password = login.partition(":")
    at = "@" if login else ""
    place = f"{_escaped(user)}{colon}{_escaped(password)}{at}{quote(host + path, safe='/:,[]%')}"
    return Address(
        dsn=f"postgresql://{place}?{urlencode(settings, quote_via=quote)}",
        location=f"postgresql://{user}{at}{host}{path}{_socket(settings)}",
        prepared=all(caches),
        timeout=timeouts[0] if timeouts and timeouts[0] > 0 else 5.0,
    )


def _parted(rest: str) -> tuple[str, str, str, str]:
    """What is behind ``://``: login, hosts with ports, path and query."""
    if "\0" in unquote(rest):
        raise ConfigurationError("a PostgreSQL URL cannot hold NUL")
    if _CONTROL.search(rest) or not _encodable(rest):
        raise ConfigurationError(
            "a PostgreSQL URL holds a control character or a lone surrogate: write it as an escape"
        )
    [authority, *_] = _BEHIND_AUTHORITY.split(rest, maxsplit=1)
    behind = rest[len(authority) :]
    login, _, host = authority.rpartition("@")
    path, _, query = behind.partition("?")
    # An @ that is not where the host begins: a part of the password may pass for host or option.
    if "@" in login or "@" in behind or "#" in path or set(login) & {"[", "]"}:
        raise ConfigurationError(f"a PostgreSQL URL looks like {_EXAMPLE}: {_ESCAPES}")
    return login, host, path, query


def _options(query: str) -> dict[str, str]:
    """The options by name. One without a value may be what is behind the & of a password."""
    if any(part and "=" not in part for part in query.split("&")):
        raise ConfigurationError(
            f"an option in a PostgreSQL URL is name=value: {_ESCAPES}, and %26 for &"
        )
    return dict(parse_qsl(query, keep_blank_values=True))


def _check_hosts(authority: str, settings: Mapping[str, str]) -> None:
    """Hosts and ports, of the authority and of the options: the driver must understand them."""
    named = settings.get("host", "")
    ports = settings.get("port", "")
    lists = [text.split(",") for text in (authority, named) if text]
    fine = all(_is_host(each, alone=len(hosts) == 1) for hosts in lists for each in hosts)
    if not fine or not all(_is_port(each) for each in ports.split(",") if ports):
        raise ConfigurationError(
            "a host in a PostgreSQL URL is a name, an address, or an IPv6 address in [ ], its port"
            f" a number from 1 to 65535, as in {_EXAMPLE}; {_ESCAPES}"
        )


def _is_host(text: str, *, alone: bool) -> bool:
    """``host``, ``host:port``, ``[address]:port``, or the folder of a socket."""
    if text.startswith("/") or not text:
        return alone or bool(text)
    matched = _HOST.match(text)
    if matched is None:
        return False
    address, port = matched[1], matched[2]
    return (not address or _is_ipv6(unquote(address))) and (not port or _is_port(port))


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True


def _is_port(text: str) -> bool:
    return _PORT.match(text) is not None and 0 < int(text) < 65536


def _escaped(text: str) -> str:
    return quote(unquote(text), safe="")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _spelled(name: str) -> str:
    return "sslmode" if name == "ssl" else name


def _socket(settings: Mapping[str, str]) -> str:
    """A socket's folder, or a host that is an option."""
    return f"?host={settings['host']}" if "host" in settings else ""


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigurationError(f"{name} in a database URL must be a number") from None
