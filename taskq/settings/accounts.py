"""Who may use the console, as settings say it: names, roles, and what only they know. Pure.

A token is kept as its SHA-256 from the first moment on, a password is only ever given as a hash.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from taskq.errors import ConfigurationError
from taskq.passwords import PasswordHash

ROLES: Final = ("viewer", "operator", "admin")
"""The roles that an account may have, from the least on."""
SHORTEST_TOKEN: Final = 20
SHORTEST_SECRET: Final = 32
_LONGEST_TOKEN: Final = 500
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}")
_DIGEST: Final = re.compile(r"sha256\$[0-9a-f]{64}")


def digest_of(token: str) -> str:
    """What is kept of a token: ``sha256$`` and 64 hexadecimal digits."""
    return f"sha256${hashlib.sha256(token.encode(errors='surrogatepass')).hexdigest()}"


def tokens_of(given: object) -> dict[str, str]:
    """Accounts with a token: by name ``role:sha256$…``, from ``role:token`` or from what this
    function gave. As text ``ada=admin:token,bob=viewer:token``. Raises ConfigurationError, whose
    sentence holds no token."""
    return _accounts("web_tokens", given, _token)


def users_of(given: object) -> dict[str, str]:
    """Accounts with a password: by name ``role:scrypt$…``. As text ``ada=admin:scrypt$…``, more
    after commas. Raises ConfigurationError, whose sentence holds no hash."""
    return _accounts("web_users", given, _password)


def hosts_of(given: object) -> tuple[str, ...]:
    """Names of hosts: from a sequence, or a text with commas. Raises ConfigurationError."""
    if isinstance(given, str):
        return tuple(part.strip() for part in given.split(",") if part.strip())
    if isinstance(given, Sequence):
        parts = cast("Sequence[object]", given)
        if all(isinstance(part, str) for part in parts):
            return tuple(cast("Sequence[str]", parts))
    raise ConfigurationError("web_allowed_hosts must be names of hosts, as ['queue.example.com']")


def shown(accounts: Mapping[str, str]) -> str:
    """Accounts without what is secret: ``ada=admin:…``."""
    return ",".join(f"{name}={value.partition(':')[0]}:…" for name, value in accounts.items())


def _accounts(where: str, given: object, kept: Callable[[str, str], str]) -> dict[str, str]:
    if isinstance(given, str):
        parts = [part.strip().partition("=") for part in given.split(",") if part.strip()]
        pairs: list[tuple[object, object]] = [(name.strip(), value) for name, _, value in parts]
    elif isinstance(given, Mapping):
        pairs = list(cast("Mapping[object, object]", given).items())
    else:
        raise ConfigurationError(f"{where} must map names to accounts, as ada=admin:… does")
    accounts: dict[str, str] = {}
    for name, value in pairs:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigurationError(
                f"{where}: a name has 1 to 64 letters, digits or any of _ . @ + - and begins with"
                " a letter or digit; an account is written name=role:…"
            )
        role, colon, proof = value.partition(":") if isinstance(value, str) else ("", "", "")
        if not colon or role not in ROLES:
            named = colon or isinstance(given, Mapping)  # else the "name" may be a token
            whose = f"the account of {name}" if named else "an account, written name=role:…,"
            raise ConfigurationError(
                f"{where}: {whose} must begin with a role and a colon; roles are {', '.join(ROLES)}"
            )
        if name in accounts:
            raise ConfigurationError(f"{where}: {name} is there twice")
        accounts[name] = f"{role}:{kept(name, proof)}"
    return accounts


def _token(name: str, token: str) -> str:
    if _DIGEST.fullmatch(token):
        return token
    if not SHORTEST_TOKEN <= len(token) <= _LONGEST_TOKEN or not token.isascii():
        raise ConfigurationError(
            f"web_tokens: the token of {name} must have {SHORTEST_TOKEN} to {_LONGEST_TOKEN} ASCII"
            " characters; python -c 'import secrets; print(secrets.token_urlsafe())' makes one"
        )
    if not token.isprintable() or " " in token:
        raise ConfigurationError(f"web_tokens: the token of {name} must not hold spaces")
    return digest_of(token)


def _password(name: str, text: str) -> str:
    if PasswordHash.read(text) is None:
        raise ConfigurationError(
            f"web_users: the password of {name} must be given as what 'taskq web-password' prints,"
            " scrypt$…; in a shell put it in single quotes"
        )
    return text
