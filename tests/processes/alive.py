"""Which processes there are."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import anyio


def alive(pid: int) -> bool:
    """Whether a process runs: one that is dead and waits to be reaped does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] not in "ZX"


def children(pid: int | None = None) -> set[int]:
    """The children of a process, dead ones that were not reaped included."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid or os.getpid()}/task").iterdir():
        try:
            found.update(int(child) for child in (task / "children").read_text().split())
        except FileNotFoundError:  # that thread has ended
            continue
    return found


async def until(condition: Callable[[], object], within: float = 60.0) -> None:
    """Wait until a condition holds."""
    with anyio.fail_after(within):
        while not condition():
            await anyio.sleep(0.01)


def until_sync(condition: Callable[[], object], within: float = 60.0) -> None:
    """The same without an event loop."""
    last = time.monotonic() + within
    while not condition():
        assert time.monotonic() < last, "it has not come true in time"
        time.sleep(0.02)


async def noted(file: Path) -> int:
    """The process id that a handler has written to a file."""
    words: list[str] = []

    def written() -> list[str]:
        words[:] = file.read_text().split() if file.exists() else []
        return words

    await until(written)
    return int(words[0])
