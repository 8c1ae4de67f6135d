"""A thread that serves a process for as long as that lives."""

from __future__ import annotations

import threading
from collections.abc import Callable


def start_daemon(function: Callable[[], object], *, name: str) -> None:
    """Run ``function()`` in a thread that keeps nothing from ending; it is to raise nothing."""
    threading.Thread(target=function, name=name, daemon=True).start()
