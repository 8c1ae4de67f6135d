"""Carries a bulk command out: the handler of its activity, in every worker."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, TypeVarTuple
from uuid import UUID

import anyio
import anyio.lowlevel
import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from taskq.audit import Command
from taskq.bulk import deeds, journal
from taskq.bulk.order import Order, order_of
from taskq.bulk.walking import Those, Walk
from taskq.codec import to_json
from taskq.context import Context, current
from taskq.editing import Edits
from taskq.engine.running.handler import Handler
from taskq.errors import Snooze

if TYPE_CHECKING:
    from taskq.app import TaskQ

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

LONGEST_WAIT: Final = 0.5
"""Seconds that it waits for its rate with its slot; for longer it gives the slot up."""
TURN: Final = 5.0
"""Seconds after which it gives its slot up in any case: a worker with one has work of its own."""
REST: Final = 1.0
"""For how many seconds it does."""
LONGEST_PROBLEM: Final = 300
"""Characters."""


class Standing(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a bulk command has come: ``chunk`` chunks are done, ``met`` activities were in them,
    of which ``skipped`` were left as they were; ``problem`` is why one of them was. ``last`` is the
    last that was met: of chunks in which nothing could be done there is no record."""

    chunk: Annotated[int, Meta(ge=0)] = 0
    met: int = 0
    skipped: Annotated[int, Meta(ge=0)] = 0
    problem: str = ""
    last: UUID | None = None

    @property
    def note(self) -> str:
        """It as the note of its activity's progress, without what that says itself."""
        return msgspec.json.encode(replace(self, met=0)).decode()


def standing_of(done: float, note: str | None) -> Standing:
    """What a progress says; nothing, where it is not one of these."""
    try:
        return replace(msgspec.json.decode(note or "{}", type=Standing), met=int(done))
    except (msgspec.MsgspecError, OverflowError, ValueError, RecursionError):
        return Standing()


def bulk_handler(app: TaskQ) -> Handler:
    """What an app's workers run bulk commands with."""

    async def run(order: Order) -> Mapping[str, object]:
        return await Run(app, order, current()).to_its_end()

    def decode(payload: str) -> tuple[tuple[object, ...], Mapping[str, object]]:
        return (order_of(payload),), {}

    return Handler(
        function=run,
        is_async=True,
        decode=decode,
        encode=partial(to_json, label="the result of a bulk command"),
    )


class Run:
    """One attempt at a bulk command. It goes on behind what the record says is done."""

    def __init__(self, app: TaskQ, order: Order, context: Context) -> None:
        self._app = app
        self._order = order
        self._context = context
        self._bulk = context.id
        self._standing = Standing()
        self._last: UUID | None = None

    async def to_its_end(self) -> Mapping[str, object]:
        """Do chunk after chunk; what was done. Raises Snooze where it is to go on later.

        Cancelled, it ends after the chunk that it is at.
        """
        order, store, now = self._order, self._app.client.store, self._app.clock.monotonic
        began = now()
        await self._resume()
        walk = Walk(order, self._bulk, self._last)
        while (room := order.limit - self._standing.met) > 0:
            those = await self._ask(walk.chunk, store, min(order.size, room))
            if not those:
                break
            started = now()
            with anyio.CancelScope(shield=True):
                await self._do(those)
            await anyio.lowlevel.checkpoint()
            if now() - began > TURN:
                raise Snooze(REST)
            if order.rate is not None:
                await _pause(len(those) / order.rate - (now() - started))
        standing = self._standing
        return {"done": standing.met - standing.skipped, "skipped": standing.skipped}

    async def _resume(self) -> None:
        """Find out what is done: the progress may lag behind the record, but is never ahead."""
        info = await self._app.client.ainfo(self._bulk)
        if info.progress is not None:
            self._standing = standing_of(info.progress.done, info.progress.note)
            self._last = self._standing.last
        known = self._standing.chunk
        store = self._app.client.store
        look = partial(journal.recorded, store, self._bulk, first=max(0, known - 1))
        for chunk in await self._ask(look):
            self._last = max((*chunk.ids, *filter(None, [self._last])), default=None)
            if chunk.number >= known:
                self._stand(met=len(chunk.ids))

    async def _do(self, those: Those) -> None:
        app = self._app
        edits, problems = deeds.edits_of(self._order, those, app.registry.task, app.showing)
        ids = [id for id in those if id not in problems]
        done = 0
        if ids:
            done = await self._carried_out(ids, edits)
        self._last = max(those)
        if problems:
            problem = next(iter(problems.values()))[:LONGEST_PROBLEM]
            self._standing = replace(self._standing, problem=problem)
        self._stand(met=len(those), skipped=len(those) - done, chunks=min(1, len(ids)))

    async def _carried_out(self, ids: list[UUID], edits: Edits) -> int:
        """To how many of them it was done. Raises Snooze where another run of this command, whose
        worker was thought lost, has done a chunk of this number: then nothing was done here, and
        the next attempt goes on behind that."""
        number = self._standing.chunk
        command = Command(
            actor=self._order.actor,
            reason=self._order.reason,
            id=journal.command_id(self._bulk, number),
        )
        store = self._app.client.store
        met = await self._ask(deeds.do, store, self._order, ids, edits, command)
        done = await self._ask(journal.chunk, store, self._bulk, number)
        if done is not None and set(done.ids) != set(ids):
            raise Snooze(0)
        return sum(met.values())

    def _stand(self, *, met: int, skipped: int = 0, chunks: int = 1) -> None:
        before = self._standing
        self._standing = replace(
            before,
            chunk=before.chunk + chunks,
            met=before.met + met,
            skipped=before.skipped + skipped,
            last=self._last,
        )
        total = max(self._order.total, self._standing.met) or None
        self._context.progress(self._standing.met, total, self._standing.note)

    async def _ask(self, function: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts) -> T:
        return await self._app.client.call(function, *args)


async def _pause(seconds: float) -> None:
    """Keep to the rate."""
    if seconds > LONGEST_WAIT:
        raise Snooze(seconds)
    await anyio.sleep(max(0.0, seconds))
