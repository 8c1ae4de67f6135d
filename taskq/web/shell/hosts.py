"""By which names the console may be reached: others may be those of a page that had a browser
resolve its own name to this machine (DNS rebinding). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv6Address
from typing import Final

from msgspec import Struct

from taskq.errors import ConfigurationError

_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST: Final = re.compile(
    rf"(?:\[(?P<ipv6>[0-9a-f:.]{{2,45}})\]|(?P<name>{_LABEL}(?:\.{_LABEL})*))(?::(?P<port>[0-9]{{1,5}}))?"
)
_PORTS: Final = {"http": 80, "https": 443}


class Host(Struct, frozen=True):
    """A name or address in lower case, and the port where one is said."""

    name: str
    port: int | None = None


class Origin(Struct, frozen=True):
    """Where a page comes from: ``https``, a host, and its port, said or not."""

    scheme: str
    name: str
    port: int


LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def host_of(text: str) -> Host | None:
    """A Host header, read; None for one that is malformed, or ends in a dot."""
    found = _HOST.fullmatch(text.lower()) if text.isascii() and len(text) <= 260 else None
    if found is None:
        return None
    port = None if found["port"] is None else int(found["port"])
    if port is not None and not 1 <= port <= 65_535:
        return None
    if found["ipv6"] is None:
        return Host(found["name"], port)
    try:
        return Host(str(IPv6Address(found["ipv6"])), port)
    except AddressValueError:
        return None


def origin_of(text: str) -> Origin | None:
    """An Origin header, read; None for ``null``, other schemes and malformed ones."""
    scheme, separator, rest = text.partition("://")
    host = host_of(rest) if separator else None
    if host is None or scheme.lower() not in _PORTS:
        return None
    return _origin(scheme.lower(), host)


class AllowedHosts:
    """The names of this machine, and those of ``entries``: ``queue.example.com``, at any port;
    ``queue.example.com:8443``; or ``https://queue.example.com``, where a proxy takes https and
    speaks http to the console. ``*``: any, where something else checks names.

    Raises ConfigurationError for an entry that is none of these.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._any = False
        self._hosts: list[Host] = []
        self._origins: set[Origin] = set()
        for entry in entries:
            self._add(entry.strip())

    def allows(self, host: Host) -> bool:
        """Whether the console may be reached by this name."""
        return (
            self._any
            or host.name in LOOPBACK
            or any(
                host.name == each.name and each.port in (None, host.port) for each in self._hosts
            )
        )

    def knows(self, origin: Origin) -> bool:
        """Whether an entry names this origin, with its scheme."""
        return origin in self._origins

    def is_secure(self, host: Host) -> bool:
        """Whether browsers reach this name by https, as an entry says."""
        return any(each.scheme == "https" and each.name == host.name for each in self._origins)

    def _add(self, entry: str) -> None:
        if entry == "*":
            self._any = True
            return
        scheme, separator, rest = entry.partition("://")
        host = host_of(rest if separator else entry)
        if host is None or (separator and scheme.lower() not in _PORTS):
            raise ConfigurationError(
                f"web_allowed_hosts: {entry!r} is no host; write a name, name:port or"
                " https://name, without a path"
            )
        self._hosts.append(host)
        if separator:
            self._origins.add(_origin(scheme.lower(), host))


def is_same(origin: Origin, scheme: str, host: Host) -> bool:
    """Whether a page from there was served by this host under this scheme."""
    return origin == _origin(scheme, host)


def _origin(scheme: str, host: Host) -> Origin:
    return Origin(scheme, host.name, host.port or _PORTS.get(scheme, 0))
