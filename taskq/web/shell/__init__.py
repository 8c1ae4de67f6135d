"""The shell around the console's routes: what holds for every request and every answer."""

from __future__ import annotations

from taskq.web.shell.asgi import ASGI, Message, Receive, Scope, Send
from taskq.web.shell.hosts import AllowedHosts
from taskq.web.shell.shell import Shell

__all__ = ("ASGI", "AllowedHosts", "Message", "Receive", "Scope", "Send", "Shell")
