"""Calls that are stored together when many are made at once.

A commit waits for the disk, and a store has few connections. So while ``MOST`` submits are on their
way, further calls wait, and then go together as one: twenty handlers that each make a child cost
one transaction. A call that comes alone is sent at once. Each is still stored durably before its
caller hears of it, and none shares another's failure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import anyio
from anyio.lowlevel import EventLoopToken, current_token

from taskq.errors import BackendUnavailable
from taskq.model import Activity, Receipt

MOST = 2
"""Submits on their way at once."""
ROWS = 500
"""Activities in one submit of several calls, at the most."""

Submit = Callable[[Sequence[Activity[Any]]], Awaitable[list[Receipt]]]


class Letter:
    """One call that waits to be sent with others."""

    def __init__(self, activities: Sequence[Activity[Any]]) -> None:
        self.activities = activities
        self.answered = anyio.Event()
        self.given_up = False
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

    ``spawn`` runs a function there in a task of its own. ``submit`` is ``Backend.submit``, which
    may be repeated: where calls that went together fail, each is sent again by itself.
    """

    def __init__(
        self, submit: Submit, spawn: Callable[[Callable[[], Coroutine[Any, Any, None]]], None]
    ) -> None:
        self._submit = submit
        self._spawn = spawn
        self._home: EventLoopToken | None = None
        self._flying = 0
        self._waiting = deque[Letter]()

    async def store(self, activities: Sequence[Activity[Any]]) -> list[Receipt]:
        """See ``Backend.submit``. Cancelled, what has been sent may be stored."""
        if current_token() != self._home:  # after a fork, or when the store's thread had died
            self._home = current_token()
            self._flying = 0
            self._waiting.clear()
        if self._flying < MOST:
            return await self._send(activities)
        letter = Letter(activities)
        self._waiting.append(letter)
        try:
            await letter.answered.wait()
        except BaseException:
            letter.given_up = True
            raise
        return letter.outcome()

    async def _send(self, activities: Sequence[Activity[Any]]) -> list[Receipt]:
        self._flying += 1
        try:
            return await self._submit(activities)
        finally:
            self._flying -= 1
            if self._waiting and self._flying < MOST:
                self._spawn(self._send_waiting)

    async def _send_waiting(self) -> None:
        letters = self._take()
        if not letters:
            return
        try:
            receipts = await self._send([each for letter in letters for each in letter.activities])
        except Exception as error:
            await self._send_again(letters, error)
            return
        for letter in letters:
            letter.answer(receipts[: len(letter.activities)])
            del receipts[: len(letter.activities)]

    def _take(self) -> list[Letter]:
        letters: list[Letter] = []
        room = ROWS
        while self._waiting and (room >= len(self._waiting[0].activities) or not letters):
            letter = self._waiting.popleft()
            if not letter.given_up:
                letters.append(letter)
                room -= len(letter.activities)
        return letters

    async def _send_again(self, letters: Sequence[Letter], error: Exception) -> None:
        """One of them may be what the store refuses; a store that is away refuses none."""
        for letter in letters:
            if len(letters) == 1 or isinstance(error, BackendUnavailable):
                letter.fail(error)
                continue
            try:
                letter.answer(await self._send(letter.activities))
            except Exception as its_own:
                letter.fail(its_own)
