"""The poster: how any thread reaches one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, cast

from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from trio.lowlevel import TrioToken

Post: TypeAlias = Callable[[Callable[[], object]], None]
"""Schedules a callback on one event loop, from any thread, and returns at once."""


def loop_poster() -> Post:
    """Return a function that schedules callbacks on the event loop running here.

    Works on asyncio and on trio. The returned function may be called from any thread. It returns
    quietly, and the callback is never called, when that loop is gone: closed, finished, or left
    behind in the parent of a forked process. Callbacks run in the order in which one thread posts
    them. They must not raise: on trio that would end the whole run.

    Raises ``anyio.NoEventLoopError`` (a RuntimeError) where no event loop runs.
    """
    native = current_token().native_token
    if isinstance(native, asyncio.AbstractEventLoop):
        return _asyncio_poster(native)
    return _trio_poster(cast("TrioToken", native))


def _asyncio_poster(loop: asyncio.AbstractEventLoop) -> Post:
    def post(callback: Callable[[], object]) -> None:
        try:
            loop.call_soon_threadsafe(callback)
        except RuntimeError:
            if not loop.is_closed():
                raise

    return post


def _trio_poster(token: TrioToken) -> Post:
    import trio

    def post(callback: Callable[[], object]) -> None:
        try:
            token.run_sync_soon(callback)
        except trio.RunFinishedError:
            return

    return post
