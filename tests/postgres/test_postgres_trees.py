"""Cancels of trees on PostgreSQL: others write at the same time, and processes die between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest

from taskq.backends import ClaimRequest
from taskq.backends.sql import PostgresBackend, cancelling
from taskq.backends.sql.postgres import writer
from taskq.bridge import ResidentBridge
from taskq.errors import BackendUnavailable
from taskq.identifiers import new_id
from taskq.lifecycle import (
    Cancelled,
    Crashed,
    Failed,
    Interrupted,
    Outcome,
    Snoozed,
    Succeeded,
    Verdict,
    decide,
)
from taskq.model import Activity, Attempt, Status
from taskq.testing.conformance.samples import call, error
from tests.postgres.conftest import Sql

Do = Callable[..., Any]


@pytest.fixture
def do(bridge: ResidentBridge) -> Do:
    """Calls beside the store."""
    return bridge.call_sync


def child(parent: Activity[object] | Attempt) -> Activity[object]:
    return call(parent_id=parent.id, root_id=parent.root_id)


def claim(do: Do, backend: PostgresBackend) -> list[Attempt]:
    request = ClaimRequest(worker=new_id(), queues=("default",), types=None, limit=9, lease=30.0)
    attempts: list[Attempt] = do(backend.claim, request)
    return attempts


def running(do: Do, backend: PostgresBackend, activity: Activity[object] | None = None) -> Attempt:
    do(backend.submit, [activity or call()])
    [attempt] = claim(do, backend)
    return attempt


def cancel_tree(do: Do, backend: PostgresBackend, id: UUID) -> None:
    async def cancel() -> None:
        await backend.cancel([id], tree=True)

    do(cancel)


def status(do: Do, backend: PostgresBackend, id: UUID) -> Status:
    found: Status = do(backend.get, [id])[id].status
    return found


ENDS: Mapping[str, tuple[Outcome, Status]] = {
    "succeeded": (Succeeded("1"), Status.COMPLETED),
    "failed": (Failed(error=error(), delay=60.0), Status.CANCELLED),
    "snoozed": (Snoozed(60.0), Status.CANCELLED),
    "interrupted": (Interrupted(), Status.CANCELLED),
}


@pytest.mark.parametrize("how", ENDS)
def test_what_is_made_while_its_tree_is_walked_is_found(
    backend: PostgresBackend,
    do: Do,
    postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    """promise:G10: the parent's run ends, with a child made, after the walk and before the lock."""
    outcome, left = ENDS[how]
    root = call()
    do(backend.submit, [root])
    do(backend.cancel, [root.id])
    parent = running(do, backend, child(root))
    late = child(parent)
    otherwise = ResidentBridge()
    rounds: list[Sequence[UUID]] = []
    locked = cancelling.holdings

    def holdings(connection: Any, ids: Sequence[UUID]) -> Any:
        rounds.append(ids)
        if list(ids) == [parent.id]:
            otherwise.call_sync(beside)
        return locked(connection, ids)

    async def beside() -> None:
        store = PostgresBackend(postgres_url)
        await store.open()
        await store.submit([late])
        await store.settle([decide(parent, outcome)])
        await store.close()

    monkeypatch.setattr(cancelling, "holdings", holdings)
    cancel_tree(do, backend, root.id)
    otherwise.close()

    assert status(do, backend, parent.id) is left
    assert status(do, backend, late.id) is Status.CANCELLED
    assert [late.id] in rounds


def test_what_waits_all_the_while_is_walked_once(
    backend: PostgresBackend, do: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has not run since the walk has made nothing."""
    root = call()
    do(backend.submit, [root])
    do(backend.cancel, [root.id])
    do(backend.submit, [call(parent_id=root.id, root_id=root.id) for _ in range(3)])
    walks: list[Sequence[UUID]] = []
    chunked = cancelling.chunked

    def counted(connection: Any, statement: Any, name: str, ids: Sequence[UUID]) -> Any:
        walks.append(ids)
        return chunked(connection, statement, name, ids)

    monkeypatch.setattr(cancelling, "chunked", counted)
    cancel_tree(do, backend, root.id)

    assert walks == [[root.id]]


@pytest.mark.parametrize("outcome", [Cancelled(), Crashed()], ids=["cancelled", "lost"])
def test_descendants_are_cancelled_before_the_parents_own_end(
    backend: PostgresBackend,
    do: Do,
    sql: Sql,
    monkeypatch: pytest.MonkeyPatch,
    outcome: Outcome,
) -> None:
    """promise:G10: whoever settles may die in between; the parent is then settled by another."""
    root = running(do, backend)
    cancel_tree(do, backend, root.id)
    late = child(root)
    do(backend.submit, [late])
    sql(
        "UPDATE taskq_activities SET lease_until = now() - interval '1 s' WHERE lease_until > now()"
    )

    async def dies(*_: object) -> Any:
        raise BackendUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(writer, "settle", dies)
        with pytest.raises(BackendUnavailable):
            do(backend.settle, [decide(root, outcome)])

    assert status(do, backend, late.id) is Status.CANCELLED
    assert status(do, backend, root.id) is Status.PROCESSING


def test_a_repeated_settle_makes_what_was_missed_follow(
    backend: PostgresBackend, do: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    """promise:G10: it had not heard of the cancel, and what was to follow its end failed."""
    root = running(do, backend)
    cancel_tree(do, backend, root.id)
    late = child(root)
    do(backend.submit, [late])
    transition = decide(root, Failed(error=error()))

    async def fails(*_: object, **__: object) -> None:
        raise BackendUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(backend, "_cancel_below", fails)
        with pytest.raises(BackendUnavailable):
            do(backend.settle, [transition])

    [settlement] = do(backend.settle, [transition])

    assert settlement.verdict in (Verdict.APPLIED, Verdict.ALREADY_MINE)
    assert status(do, backend, root.id) is Status.CANCELLED
    assert status(do, backend, late.id) is Status.CANCELLED


def test_an_end_without_a_cancel_asks_nothing_more(
    backend: PostgresBackend, do: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settling stays one statement."""
    root = running(do, backend)
    below = child(root)
    do(backend.submit, [below])
    asked: list[object] = []
    fetch = backend._engine.fetch

    async def counted(*arguments: Any, **options: Any) -> Any:
        asked.append(arguments)
        return await fetch(*arguments, **options)

    monkeypatch.setattr(backend._engine, "fetch", counted)
    do(backend.settle, [decide(root, Succeeded("1"))])

    assert len(asked) == 1
    assert status(do, backend, below.id) is Status.PENDING


def test_progress_moves_no_index_entry(backend: PostgresBackend, do: Do, sql: Sql) -> None:
    """It is written again and again: HOT, like a renewal."""
    [[indexed]] = sql("SELECT count(*) FROM pg_indexes WHERE indexdef ~ '\\mprogress\\M'")
    assert indexed == 0
