"""``--reload``: when a Python file changes, the worker's command starts again in its process."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from taskq.cli.failure import Refused
from taskq.cli.output import flush, say
from taskq.engine import Engine


class SourceWatch:
    """Waits for changes of ``*.py`` files below a folder. Refused without watchfiles.

    ``seen`` says whether one has stopped the worker.
    """

    def __init__(self, folder: Path) -> None:
        if find_spec("watchfiles") is None:
            raise Refused('--reload needs watchfiles: pip install "taskq-anyio[reload]"')
        self.seen = False
        self._folder = folder
        self._watchfiles: Any = importlib.import_module("watchfiles")

    async def stop_at_change(self, engine: Engine) -> None:
        """Stop the worker gracefully at the next change."""
        await anext(self._changes())
        self.seen = True
        say("a Python file has changed: stopping, then starting again")
        engine.stop()

    def wait(self) -> None:
        """Block until the next change."""
        next(self._watchfiles.watch(self._folder, watch_filter=self._filter()))

    def _changes(self) -> AsyncIterator[object]:
        changes = self._watchfiles.awatch(self._folder, watch_filter=self._filter())
        return cast("AsyncIterator[object]", changes)

    def _filter(self) -> object:
        return self._watchfiles.PythonFilter()


def run_again() -> None:
    """Replace this process by a new run of the same command; the process id stays."""
    flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
