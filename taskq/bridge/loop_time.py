"""The clock of an event loop, also for callbacks that no task makes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import anyio
from anyio.lowlevel import current_token


def loop_time() -> Callable[[], float]:
    """What ``anyio.current_time()`` gives on the event loop running here, as a function of its own.

    It may be called wherever that loop's thread is inside the loop; anyio's, on asyncio, in tasks
    only.
    """
    native = current_token().native_token
    return native.time if isinstance(native, asyncio.AbstractEventLoop) else anyio.current_time
