"""The app of a worker in a process of its own: ``taskq worker benchmarks.served:taskq``."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.ground import Ground
from taskq import TaskQ

PATIENCE = 20.0
"""Seconds that a worker gets to start."""

taskq = TaskQ()


@taskq.activity
async def stamp() -> float:
    """When it started, on a clock that all processes of a machine share."""
    return time.monotonic()


@contextmanager
def worker(ground: Ground, url: str) -> Iterator[int]:
    """A worker of that app, idle; its process id. RuntimeError where it does not start."""
    command = [sys.executable, "-m", "taskq", "worker", "benchmarks.served:taskq"]
    process = subprocess.Popen(
        [*command, "--log-level", "warning"],
        env={**os.environ, "TASKQ_DATABASE_URL": url},
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(ground, url)
        yield process.pid
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _wait_for(ground: Ground, url: str) -> None:
    end = time.monotonic() + PATIENCE
    while not ground.run(url, "SELECT 1 FROM taskq_workers"):
        if time.monotonic() > end:
            raise RuntimeError("the worker did not start")
        time.sleep(0.05)  # between two looks whether it has started
