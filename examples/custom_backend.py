"""A store of one's own: memory that also writes down, in a file, what was stored and how it ended.

A backend has the methods of ``taskq.backends.Store``. This one takes them from the memory backend
and adds to two. It is handed to ``TaskQ(backend=...)``; to be found by URL, a package names a
function of the URL as an entry point::

    [project.entry-points."taskq.backends"]
    journal = "custom_backend:open_journal"

and then ``TaskQ("journal:///calls.jsonl")`` works. Whether it keeps the contract is for
``taskq.testing.conformance`` to say: tests/examples/test_custom_backend.py.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import anyio

from taskq import Activity, TaskQ
from taskq.backends import Store
from taskq.backends.memory import MemoryBackend
from taskq.clock import Clock
from taskq.lifecycle import Settlement, Transition, Verdict
from taskq.model import Receipt


class JournalBackend(MemoryBackend):
    """Memory, with one line of JSON for each activity stored and each outcome accepted."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        super().__init__(clock)
        self._path = path

    async def submit(self, activities: Sequence[Activity[object]]) -> list[Receipt]:
        """See ``Backend.submit``; written down after the fact, and only what is new."""
        receipts = await super().submit(activities)
        for activity, receipt in zip(activities, receipts, strict=True):
            if receipt.created:
                self._write({"stored": activity.type, "arguments": json.loads(activity.payload)})
        return receipts

    async def settle(self, transitions: Sequence[Transition]) -> list[Settlement]:
        """See ``Backend.settle``; what was refused is not written down."""
        settlements = await super().settle(transitions)
        for settlement in settlements:
            if settlement.verdict is Verdict.APPLIED:
                self._write({"settled": settlement.status})
        return settlements

    def _write(self, line: dict[str, object]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(line)}\n")


def open_journal(url: str) -> Store:
    """``journal:///calls.jsonl``: what the entry point names."""
    return JournalBackend(Path(url.removeprefix("journal:///")))


journal = Path("calls.jsonl")
taskq = TaskQ(backend=JournalBackend(journal))


@taskq.activity
async def add(left: int, right: int) -> int:
    return left + right


async def main() -> None:
    async with taskq, taskq.worker():
        print(await (await add.adelay(2, 3)))


if __name__ == "__main__":
    anyio.run(main)
    print(journal.read_text(encoding="utf-8"), end="")
