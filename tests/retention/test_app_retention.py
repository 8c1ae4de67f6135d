"""``taskq.retention``: deletion from code, on memory and on SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from taskq import ActivityNotFound, Status, TaskQ
from taskq.backends import Deletion
from taskq.pruning import Total
from taskq.task import AsyncTask
from taskq.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    """The app's time."""
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
def app(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[TaskQ]:
    """An app that keeps what was cancelled for a day."""
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/taskq.db"
    app = TaskQ(url, clock=clock, retention={"cancelled": timedelta(days=1)})
    yield app
    app.close()


@pytest.fixture
def send(app: TaskQ) -> AsyncTask[[int], None]:
    """A task of it."""

    @app.activity
    async def send(number: int) -> None: ...

    return send


async def test_a_prune_deletes_by_the_apps_rules_or_by_others(
    app: TaskQ, clock: ManualClock, send: AsyncTask[[int], None]
) -> None:
    futures = await app.aenqueue([send.build(number) for number in range(5)])
    for future in futures[1:]:
        await future.acancel()
    clock.advance(3600)

    assert await app.retention.aprune() == Total()
    assert await app.retention.aprune("cancelled=1h", batch=2, dry_run=True) == Total(4, 4)
    assert app.retention.prune({"cancelled": timedelta(hours=1)}, batch=2) == Total(4, 4)

    with pytest.raises(ActivityNotFound):
        await futures[1].ainfo()
    assert (await futures[0].ainfo()).status is Status.PENDING


async def test_a_prune_frees_keys_that_have_expired(
    app: TaskQ, clock: ManualClock, send: AsyncTask[[int], None]
) -> None:
    hour = timedelta(hours=1)
    call = send.options(idempotency_key="daily", unique_for=hour)
    first = await call.adelay(1)
    assert (await call.adelay(1)).id == first.id
    clock.advance(3601)

    assert app.retention.prune() == Total()

    assert await app.client.call(app.client.store.sweep_keys, 10) == 0
    assert (await call.adelay(2)).id != first.id


async def test_one_can_be_deleted_by_its_id(app: TaskQ, send: AsyncTask[[int], None]) -> None:
    gone, kept = await send.adelay(1), await send.adelay(2)
    await gone.acancel()

    met = app.operator.delete([str(gone.id), kept.id], reason="tidying")

    assert met == {
        gone.id: Deletion(Status.CANCELLED, deleted=1),
        kept.id: Deletion(Status.PENDING, alive=1),
    }
    assert await app.operator.adelete([gone.id]) == {}
    with pytest.raises(ActivityNotFound):
        await gone
