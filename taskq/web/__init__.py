"""The console: an API, and a page on top of it, to see and steer what a TaskQ does.

Docs: docs/console.md. Everything here runs on asyncio and trio; the store stays on its own loop.
"""

from __future__ import annotations

from taskq.web.console import Console
from taskq.web.mounting import MountedConsole, asgi
from taskq.web.options import Authenticate, Connection, ConsoleOptions
from taskq.web.plugin import TaskQPlugin
from taskq.web.role import Identity, Role

__all__ = (
    "Authenticate",
    "Connection",
    "Console",
    "ConsoleOptions",
    "Identity",
    "MountedConsole",
    "Role",
    "TaskQPlugin",
    "asgi",
)
