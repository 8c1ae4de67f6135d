"""What a function leaves behind on the task in which it ran."""

from __future__ import annotations

import asyncio


async def drop_leftover_cancel() -> None:
    """Undo cancels of the running task that nobody waits for any more.

    On asyncio a function may cancel the task that runs it and return, or swallow that; a timeout
    before Python 3.13 may too. What runs next in this task would be hit. Trio has no such thing.
    Returns at once when there is nothing to undo. A cancel scope repeats its own cancels.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no asyncio here
        return
    if task is None:
        return
    pending: object = getattr(task, "_must_cancel", False)
    if not pending and not task.cancelling():
        return
    while task.cancelling():
        task.uncancel()
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        return
