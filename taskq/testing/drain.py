"""Running what waits, for tests of programs that use taskq."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

if TYPE_CHECKING:
    from taskq.app import TaskQ
    from taskq.assembly import WorkerArguments


async def drain(app: TaskQ, **options: Unpack[WorkerArguments]) -> None:
    """Run everything that is due, and what that enqueues, until nothing is left; then return.

    What is scheduled for later, or waits for a retry, is left. ``options`` are those of
    ``taskq.worker``.
    """
    options["burst"] = True
    await app.run_worker(**options)
