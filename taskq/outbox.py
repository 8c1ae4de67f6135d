"""Calls that are stored together when many are made at once.

A commit waits for the disk, and a store has few connections. So while ``MOST`` submits are on their
way, further calls wait, and then go together as one: twenty handlers that each make a child cost
one transaction. A call that comes alone is sent at once. Each is still stored durably before its
caller hears of it, and none shares another's failure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeAlias

import anyio
from anyio.lowlevel import EventLoopToken, current_token

from taskq.errors import BackendUnavailable
from taskq.model import Activity, Receipt

MOST = 2
"""Submits on their way at once."""
SECONDS = 5.0
"""Seconds after which calls that went together count as unanswered; their callers try again."""
ROWS = 500
"""Activities in one submit of several calls, at the most."""

Submit: TypeAlias = Callable[[Sequence[Activity[Any]]], Awaitable[list[Receipt]]]
Spawn: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]


class Letter:
    """One call that waits to be sent with others."""

    def __init__(self, activities: Sequence[Activity[Any]]) -> None:
        self.activities = activities
        self.answered = anyio.Event()
        self._receipts: list[Receipt] = []
        self._error: Exception | None = None

    def answer(self, receipts: list[Receipt]) -> None:
        """It is stored."""
        self._receipts = receipts
        self.answered.set()

    def fail(self, error: Exception) -> None:
        """It is not, as far as anybody knows."""
        self._error = error
        self.answered.set()

    def outcome(self) -> list[Receipt]:
        """The answer. Raises the error instead."""
        if self._error is not None:
            raise self._error
        return self._receipts


class Outbox:
    """Where calls without idempotency key are handed in. It lives beside the store, on its loop.

    ``spawn`` runs a function on the same loop in a task of its own. ``submit`` is
    ``Backend.submit``, which may be repeated: where calls that went together fail, each is sent
    again by itself.
    """

    def __init__(self, submit: Submit, spawn: Spawn) -> None:
        self._submit = submit
        self._spawn = spawn
        self._home: EventLoopToken | None = None
        self._tray = Tray(submit, spawn)

    async def store(self, activities: Sequence[Activity[Any]]) -> list[Receipt]:
        """See ``Backend.submit``. Cancelled, what has been sent may be stored."""
        # Beside a loop that is closing there may be its successor; in a forked child there is.
        if current_token() != self._home:
            self._home, self._tray = current_token(), Tray(self._submit, self._spawn)
        return await self._tray.store(activities)


class Tray:
    """What is on its way and what waits, on one event loop."""

    def __init__(self, submit: Submit, spawn: Spawn) -> None:
        self._submit = submit
        self._spawn = spawn
        self._flying = 0
        self._waiting = deque[Letter]()

    async def store(self, activities: Sequence[Activity[Any]]) -> list[Receipt]:
        """See ``Outbox.store``. First come, first served."""
        if self._flying < MOST and not self._waiting:
            self._flying += 1
            try:
                return await self._submit(activities)
            finally:
                self._landed()
        letter = Letter(activities)
        self._waiting.append(letter)
        try:
            await letter.answered.wait()
        except BaseException:
            if letter in self._waiting:
                self._waiting.remove(letter)
            raise
        return letter.outcome()

    def _landed(self) -> None:
        self._flying -= 1
        while self._flying < MOST and (letters := self._taken()):
            self._flying += 1
            try:
                self._spawn(partial(self._send, letters))
            except Exception as error:
                self._flying -= 1
                for letter in letters:
                    letter.fail(error)

    def _taken(self) -> list[Letter]:
        """The next that go together; none when none waits."""
        letters: list[Letter] = []
        room = ROWS
        while self._waiting and (room >= len(self._waiting[0].activities) or not letters):
            letters.append(self._waiting.popleft())
            room -= len(letters[-1].activities)
        return letters

    async def _send(self, letters: Sequence[Letter]) -> None:
        try:
            receipts = await self._in_time([each for one in letters for each in one.activities])
        except BackendUnavailable as error:  # a store that is away refuses none of them
            for letter in letters:
                letter.fail(error)
        except Exception as error:
            await self._send_each(letters, error)
        else:
            for letter in letters:
                letter.answer(receipts[: len(letter.activities)])
                del receipts[: len(letter.activities)]
        finally:
            self._landed()

    async def _in_time(self, activities: Sequence[Activity[Any]]) -> list[Receipt]:
        """Callers have deadlines of their own; this is for a connection that died silently."""
        with anyio.move_on_after(SECONDS):
            return await self._submit(activities)
        raise BackendUnavailable(f"the store did not answer within {SECONDS:g} s")

    async def _send_each(self, letters: Sequence[Letter], error: Exception) -> None:
        """One of them is what the store refuses."""
        if len(letters) == 1:
            letters[0].fail(error)
            return
        for letter in letters:
            try:
                letter.answer(await self._in_time(letter.activities))
            except Exception as its_own:
                letter.fail(its_own)
