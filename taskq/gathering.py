"""Waiting for many activities at once: ``gather`` and ``as_completed``.

Either is one wait, however many futures there are: one entry at the watcher, one bell, and one
question to the store for all of them as a net (design 9.3). asyncio and trio alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, Self, TypeVar, overload
from uuid import UUID

from anyio.lowlevel import checkpoint

from taskq import ancestry
from taskq.bridge.running import on_event_loop
from taskq.context import waiting
from taskq.endings import Endings, merged
from taskq.errors import ActivityError
from taskq.future import ActivityFuture
from taskq.model import Ended

T = TypeVar("T")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
T5 = TypeVar("T5")
F = ActivityFuture
E = ActivityError


@overload
async def gather(f1: F[T1], /, *, return_exceptions: Literal[False] = False) -> tuple[T1]: ...
@overload
async def gather(
    f1: F[T1], f2: F[T2], /, *, return_exceptions: Literal[False] = False
) -> tuple[T1, T2]: ...
@overload
async def gather(
    f1: F[T1], f2: F[T2], f3: F[T3], /, *, return_exceptions: Literal[False] = False
) -> tuple[T1, T2, T3]: ...
@overload
async def gather(
    f1: F[T1], f2: F[T2], f3: F[T3], f4: F[T4], /, *, return_exceptions: Literal[False] = False
) -> tuple[T1, T2, T3, T4]: ...
@overload
async def gather(
    f1: F[T1],
    f2: F[T2],
    f3: F[T3],
    f4: F[T4],
    f5: F[T5],
    /,
    *,
    return_exceptions: Literal[False] = False,
) -> tuple[T1, T2, T3, T4, T5]: ...
@overload
async def gather(*futures: F[T], return_exceptions: Literal[False] = False) -> list[T]: ...
@overload
async def gather(f1: F[T1], /, *, return_exceptions: Literal[True]) -> tuple[T1 | E]: ...
@overload
async def gather(
    f1: F[T1], f2: F[T2], /, *, return_exceptions: Literal[True]
) -> tuple[T1 | E, T2 | E]: ...
@overload
async def gather(
    f1: F[T1], f2: F[T2], f3: F[T3], /, *, return_exceptions: Literal[True]
) -> tuple[T1 | E, T2 | E, T3 | E]: ...
@overload
async def gather(
    f1: F[T1], f2: F[T2], f3: F[T3], f4: F[T4], /, *, return_exceptions: Literal[True]
) -> tuple[T1 | E, T2 | E, T3 | E, T4 | E]: ...
@overload
async def gather(
    f1: F[T1], f2: F[T2], f3: F[T3], f4: F[T4], f5: F[T5], /, *, return_exceptions: Literal[True]
) -> tuple[T1 | E, T2 | E, T3 | E, T4 | E, T5 | E]: ...
@overload
async def gather(*futures: F[T], return_exceptions: Literal[True]) -> list[T | E]: ...
def gather(*futures: F[Any], return_exceptions: bool = False) -> Coroutine[Any, Any, Any]:
    """Wait for all of them: their results in a list, in the order of the futures.

    The first that ends without a result raises here at once, as awaiting it would; the others go on
    by themselves. With ``return_exceptions`` its ActivityError stands in the list instead. What
    keeps a result from being read (SerializationError, BackendError) raises in either case, and so
    does InvalidState for an ancestor of the running handler or a call that is not committed yet.

    The list is typed as a tuple for up to five futures, so that each keeps its type; more of one
    type, or ``*futures``, are a list. The same future may be given twice.

    Calling it raises TypeError for what is no future, and RuntimeError where no event loop runs.
    """
    _check("gather", futures)
    if not on_event_loop():
        raise RuntimeError(
            "gather is for async code: await it there; in a thread use"
            " [future.result() for future in futures]"
        )
    return _gathered(futures, return_exceptions)


async def _gathered(futures: Sequence[F[Any]], return_exceptions: bool) -> list[object]:
    await ancestry.refuse(futures)
    results: list[object] = [None] * len(futures)
    places: dict[UUID, list[int]] = {}
    for place, future in enumerate(futures):
        if future.settled:
            results[place] = _value(future, future.ended, return_exceptions)
        else:
            places.setdefault(future.id, []).append(place)
    if not places:
        await checkpoint()
        return results
    async with waiting(places.keys()):
        with closing(_endings(futures)) as endings:
            async for id, ended in endings:
                for place in places[id]:
                    results[place] = _value(futures[place], ended, return_exceptions)
    return results


def as_completed(futures: Iterable[ActivityFuture[T]], /) -> AsCompleted[T]:
    """Each future as its activity ends: ``async for future in as_completed(futures)``.

    For async code; in a thread use ``future.result()``. Awaiting what it gave asks nobody any more:
    that future has the result, or the error, for good.
    A future that was given twice comes twice.
    """
    given = tuple(futures)
    _check("as_completed", given)
    return AsCompleted(given)


class AsCompleted(Generic[T]):
    """What ``as_completed`` gives. Only its ``__anext__`` waits; the loop's body does not.

    Being cancelled loses nothing: iterating may go on.
    """

    def __init__(self, futures: Sequence[ActivityFuture[T]]) -> None:
        self._futures = futures
        self._ended = deque(future for future in futures if future.settled)
        self._waiting: dict[UUID, list[ActivityFuture[T]]] = {}
        for future in futures:
            if not future.settled:
                self._waiting.setdefault(future.id, []).append(future)
        self._endings: Endings | None = None

    def __aiter__(self) -> Self:
        return self

    if not TYPE_CHECKING:  # type checkers refuse it by themselves

        def __iter__(self) -> NoReturn:
            """Raises TypeError that says what to write."""
            raise TypeError(
                "as_completed is for async code: async for future in as_completed(futures); in a"
                " thread use [future.result() for future in futures]"
            )

    async def __anext__(self) -> ActivityFuture[T]:
        """The next one that has ended. Raises InvalidState and BackendError as ``gather`` does, and
        ends there."""
        if self._ended:
            await checkpoint()
        elif self._waiting:
            await self._next()
        if not self._ended:
            raise StopAsyncIteration
        return self._ended.popleft()

    async def _next(self) -> None:
        if self._endings is None:
            await ancestry.refuse(self._futures)
            self._endings = _endings(self._futures)
        try:
            if self._endings.ready:
                self._settle(*await anext(self._endings))
                return
            async with waiting(self._waiting.keys()):
                self._settle(*await anext(self._endings))
        except Exception:
            self._endings.close()
            raise

    def _settle(self, id: UUID, ended: Ended | None) -> None:
        for future in self._waiting.pop(id):
            future.settle(ended)
            self._ended.append(future)


def _endings(futures: Sequence[ActivityFuture[object]]) -> Endings:
    return merged(
        (future.tracker.committed(future.id), future.id) for future in futures if not future.settled
    )


def _value(future: ActivityFuture[object], ended: Ended | None, return_exceptions: bool) -> object:
    try:
        return future.value(ended)
    except ActivityError as error:
        if not return_exceptions:
            raise
        return error


def _check(function: str, given: Sequence[object]) -> None:
    for each in given:
        if not isinstance(each, ActivityFuture):
            hint = "gather(*futures)" if function == "gather" else "as_completed([...])"
            raise TypeError(f"{function}() takes futures, as in {hint}, not {each!r}")
