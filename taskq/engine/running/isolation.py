"""Runs a coroutine in a context of its own, inside the task that awaits it.

What a handler sets in context variables must not reach the next one on the same slot (fault:C7). A
task for each attempt would do that too, for three times the price.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextvars import Context
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")


@coroutine
def run_isolated(context: Context, inner: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Await ``inner``, every step of it inside ``context``."""
    step = context.run
    try:
        waiting = step(inner.send, None)
        while True:
            try:
                answer = yield waiting
            except GeneratorExit:
                step(inner.close)
                raise
            except BaseException as error:
                waiting = step(inner.throw, error)
            else:
                waiting = step(inner.send, answer)
    except StopIteration as end:
        value: T = end.value
        return value
