"""Refuses a console that anybody could use."""

from __future__ import annotations

from ipaddress import ip_address

from taskq.errors import ConfigurationError
from taskq.web.access.access import Access
from taskq.web.role import Role

_WAYS = (
    "set TASKQ_WEB_USERS (see 'taskq web-password') or TASKQ_WEB_TOKENS=name=role:token with a"
    " token of 20 characters"
)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_exposure(host: str, access: Access) -> None:
    """Raises ConfigurationError for a server on an address that others reach, where nobody has to
    prove who they are (threat:T1)."""
    if not is_loopback(host) and not access.configured:
        raise ConfigurationError(
            f"the console does not listen on {host or 'every address'!r} without authentication:"
            f" {_WAYS}, or listen on 127.0.0.1"
        )


def check_mounted(access: Access) -> None:
    """Raises ConfigurationError for a console inside of another application, which whoever reaches
    that could use, unless its owner says so (threat:T1)."""
    if not _is_role(access.anonymous):
        raise ConfigurationError(
            f"allow_anonymous must be a Role, as Role.VIEWER, not {access.anonymous!r}"
        )
    if not access.configured and access.anonymous is None:
        raise ConfigurationError(
            f"nobody could use this console: {_WAYS}; or give authenticate=, which says who asks;"
            " or allow_anonymous=Role.VIEWER where everybody who reaches it may look"
        )


def _is_role(given: object) -> bool:
    """Applications without type checking give a role's name, which would fail at each request."""
    return given is None or isinstance(given, Role)
