"""Handlers in processes that wait: for many at once, and no longer."""

from __future__ import annotations

import socket
from collections import deque
from pathlib import Path
from typing import Self
from uuid import UUID

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from taskq import ActivityTimedOut, InvalidState, TaskQ, gather
from taskq.backends import CallerTransaction
from taskq.identifiers import new_id
from taskq.model import Ended, Status
from taskq.processes.line import Line
from taskq.processes.proxy import ProcessClient
from taskq.processes.series import MOST_AT_ONCE, Series
from tests.processes import waits

DONE = Ended(status=Status.COMPLETED, result="1")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_after_a_wait_that_a_handler_has_abandoned_its_time_runs_on() -> None:
    """Its slot is its own again and its timeout ends it, however the wait came to its end."""
    ways = [*waits.WAYS, "interrupted"]
    async with waits.app.worker(concurrency=len(ways), shutdown_grace=0.0):
        ends = await gather(
            *[waits.abandon_a_wait.delay(how) for how in ways], return_exceptions=True
        )
    assert [type(end) for end in ends] == [ActivityTimedOut] * len(ways)


async def test_waiting_for_many_gives_the_slot_up_as_waiting_for_one() -> None:
    """With one slot, and a store that only the worker has."""
    async with waits.app.worker(concurrency=1, shutdown_grace=0.0):
        assert await waits.gather_some.delay() == [2 * n for n in range(40)]
        assert await waits.take_as_completed.delay() == [2, 4, 6]
        assert await waits.gather_a_failure.delay() == "ActivityDeadLettered 2"


class Ready:
    """Endings that are all there."""

    def __init__(self, ids: list[UUID]) -> None:
        self._ids = deque(ids)

    @property
    def ready(self) -> bool:
        return True

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[UUID, Ended | None]:
        return self._ids.popleft(), DONE

    def close(self) -> None:
        self._ids.clear()


async def test_what_an_abandoned_answer_told_is_told_again() -> None:
    ids = [new_id() for _ in range(MOST_AT_ONCE + 2)]
    series = Series(Ready(ids), ids)

    for had in (0, 0, 1):
        told = await series.after(had)
        assert [id for id, _ in told] == ids[had : had + MOST_AT_ONCE]
    assert [id for id, _ in await series.after(MOST_AT_ONCE)] == ids[MOST_AT_ONCE:]
    assert await series.after(len(ids)) == []


def test_what_is_stored_by_a_session_in_a_process_is_awaited_through_the_worker(
    tmp_path: Path,
) -> None:
    app = TaskQ(f"sqlite:///{tmp_path}/taskq.db")
    task = app.activity(name="double")(waits.double.definition.function)
    app.stats()  # makes the tables
    here, there = socket.socketpair()
    engine = create_engine(f"sqlite:///{tmp_path}/taskq.db")
    with here, there, Session(engine) as session:
        client = ProcessClient(Line(here), app.client)
        transaction = CallerTransaction(given_as="session", handle=session)
        tracker = client.enlist([task.build(1)], transaction)
        [receipt] = tracker.receipts
        with pytest.raises(InvalidState):
            tracker.committed(receipt.id)
        session.commit()
        assert tracker.committed(receipt.id) is client
    engine.dispose()
    app.close()
