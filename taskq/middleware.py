"""Code around an attempt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from taskq.context import Context

Next = Callable[[], Awaitable[object]]


class Middleware(Protocol):
    """Runs around every attempt of every task, in the order given to TaskQ, the first outermost.

    ``call_next()`` runs the rest and gives the handler's value; what the middleware returns is the
    attempt's value, what it raises is the attempt's error. It runs inside the attempt's timeout, on
    the worker's event loop, also around sync handlers.
    """

    async def __call__(self, attempt: Context, call_next: Next, /) -> object:
        """Run the attempt."""
        ...
