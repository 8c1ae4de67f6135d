"""The app that is measured: a task that does nothing, and one that says when it started."""

from __future__ import annotations

import time
from typing import Unpack

import anyio

from taskq import AsyncTask, TaskQ
from taskq.settings import SettingOverrides

PATIENCE = 300.0
"""Seconds after which a run counts as stuck."""


class App:
    """``taskq`` with its tasks. ``first`` is when ``noop`` ran first, on the monotonic clock."""

    def __init__(self, url: str, **settings: Unpack[SettingOverrides]) -> None:
        self.taskq = TaskQ(url, **settings)
        self.first: float | None = None
        self.noop: AsyncTask[[], None] = self.taskq.activity(name="noop")(self._noop)

    async def _noop(self) -> None:
        if self.first is None:
            self.first = time.perf_counter()

    async def drain(self) -> float:
        """Run a worker until nothing is left; seconds from the first start to the last record."""
        with anyio.fail_after(PATIENCE):
            await self.taskq.run_worker(burst=True)
        ended = time.perf_counter()
        await self.taskq.aclose()
        if self.first is None:
            raise RuntimeError("nothing was there to be drained")
        return ended - self.first
