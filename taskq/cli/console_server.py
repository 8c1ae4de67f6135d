"""A console on a socket, for the commands that serve one."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Final

from taskq.app import TaskQ
from taskq.cli.failure import NotDone

if TYPE_CHECKING:
    from taskq.web.serving import WebServer

HOST: Final = "127.0.0.1"
PORT: Final = 8080
"""Where it listens unless told otherwise."""

_ANY: Final = ("", "0.0.0.0", "::")
"""Every address: no name by which a browser knows it."""


def console_server(
    found: TaskQ,
    host: str,
    listener: socket.socket,
    *,
    base_path: str = "/",
    read_only: bool = False,
    api_only: bool = False,
) -> WebServer:
    """The console of an app on this socket, which listens at ``host``. Raises ConfigurationError
    for an address that others reach, where nobody has to prove who they are."""
    from taskq.web import Console, ConsoleOptions
    from taskq.web.access import check_exposure
    from taskq.web.mounting import MountedConsole
    from taskq.web.serving import WebServer

    try:
        hosts = () if host in _ANY else (host,)
        options = ConsoleOptions(read_only=read_only, api_only=api_only, allowed_hosts=hosts)
        console = Console(found, options)
        check_exposure(host, console.access)
        return WebServer(MountedConsole(console), listener, base_path=base_path)
    except BaseException:  # whatever it was, the port is given back
        listener.close()
        raise


def entrance_of(server: WebServer) -> str:
    """Where to begin, and beside a link that logs in how long it can be used."""
    entrance = server.entrance
    until = server.link_until
    return f"{entrance} (works once, until {until.astimezone():%H:%M})" if until else entrance


def bound(host: str, port: int, flag: str = "--port") -> socket.socket:
    """A socket that listens there. NotDone when that cannot be."""
    from taskq.web.serving import listening

    try:
        return listening(host, port)
    except OSError as error:
        # Python puts the address behind the reason, which is named here already.
        own = None if isinstance(error, socket.gaierror) else error.errno
        reason = error.strerror if own is None else os.strerror(own)
        raise NotDone(f"{flag} {port} of {host} cannot be listened on: {reason}") from error
