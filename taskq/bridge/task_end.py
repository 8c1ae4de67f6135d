"""When a task has ended, on asyncio and trio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from anyio.lowlevel import current_token


def on_task_end(callback: Callable[[], object]) -> None:
    """Call back on this event loop when the running task has ended, however it does.

    The callback must not raise: on trio, which calls it in the task's last step, that would end the
    whole run.
    """
    if isinstance(current_token().native_token, asyncio.AbstractEventLoop):
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("there is no running task")
        task.add_done_callback(lambda _: callback())
        return
    from taskq.bridge import trio_endings

    trio_endings.on_task_end(callback)
