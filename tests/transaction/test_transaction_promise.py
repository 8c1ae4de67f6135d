"""The row exists if and only if the caller's transaction commits, with every driver."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import anyio
import msgspec
import pytest
from sqlalchemy.exc import DBAPIError

from taskq import (
    ActivityCancelled,
    ActivityNotFound,
    IdempotencyConflict,
    InvalidState,
    OnDuplicate,
    Status,
    TaskQ,
    as_completed,
    current,
    gather,
)
from taskq.errors import BackendError
from taskq.task import AsyncTask
from tests.transaction.callers import Caller, Transaction, connection_of
from tests.transaction.conftest import Heard

Add = AsyncTask[[int, int], int]


async def counts(transaction: Transaction) -> tuple[int, int]:
    """Activities and keys that this transaction sees."""
    [[activities]] = await transaction.execute("SELECT count(*) FROM taskq_activities")
    [[keys]] = await transaction.execute("SELECT count(*) FROM taskq_keys")
    return activities, keys


@pytest.mark.parametrize("used", [False, True], ids=["fresh", "used"])
async def test_a_rollback_leaves_nothing(
    caller: Caller, add: Add, orders: str, heard: Heard, used: bool
) -> None:
    """promise:G2"""
    engine = caller.engine()
    async with caller.transaction(engine) as transaction:
        if used:
            await transaction.execute("INSERT INTO orders VALUES ('before')")
            await transaction.commit()
            await transaction.execute("SELECT count(*) FROM orders")
        future = await transaction.delay(add, 1, 2, idempotency_key="order")
        await transaction.execute("INSERT INTO orders VALUES ('o1')")
        assert await counts(transaction) == (1, 1)
        await transaction.rollback()

    async with caller.transaction(engine) as transaction:
        assert await counts(transaction) == (0, 0)
        assert len(await transaction.execute("SELECT id FROM orders")) == used
    with pytest.raises(ActivityNotFound):
        await future.ainfo()
    assert heard.enqueued == []


async def test_closing_without_a_commit_leaves_nothing(caller: Caller, add: Add) -> None:
    """promise:G2"""
    async with caller.transaction() as transaction:
        future = await transaction.delay(add, 1, 2)

    with anyio.fail_after(10):
        with pytest.raises(ActivityNotFound):
            await future
        with pytest.raises(ActivityNotFound):
            await future.acancel()


async def test_a_commit_makes_it_run(caller: Caller, app: TaskQ, add: Add, orders: str) -> None:
    """promise:G2: the worker hears of it, it does not look again for an hour."""
    async with app.worker(poll_interval=3600.0, poll_max=3600.0), caller.transaction() as mine:
        assert await (await add.adelay(0, 0)) == 0
        future = await mine.delay(add, 1, 2)
        await mine.execute("INSERT INTO orders VALUES ('o1')")
        await mine.commit()

        with anyio.fail_after(20):
            assert await future == 3


async def test_nobody_else_sees_it_before_the_commit(caller: Caller, app: TaskQ, add: Add) -> None:
    """promise:G2"""
    async with caller.transaction() as transaction:
        future = await transaction.delay(add, 1, 2)

        assert app.stats().by_status[Status.PENDING] == 0
        with pytest.raises(ActivityNotFound):
            await app.future(future.id).ainfo()

        await transaction.commit()
    assert (await app.future(future.id).ainfo()).status is Status.PENDING


@pytest.mark.parametrize("on_duplicate", [None, OnDuplicate.ALLOW_REUSE])
async def test_a_duplicate_leaves_the_transaction_usable(
    caller: Caller, add: Add, orders: str, on_duplicate: OnDuplicate | None
) -> None:
    """promise:G2, promise:G3"""
    options: dict[str, Any] = {"idempotency_key": "order"}
    first = await add.options(**options).adelay(1, 2)
    if on_duplicate is not None:
        options["on_duplicate"] = on_duplicate

    async with caller.transaction() as transaction:
        await transaction.execute("INSERT INTO orders VALUES ('o1')")
        second = await transaction.delay(add, 1, 2, **options)
        third = await transaction.delay(add, 1, 2, idempotency_key="order")
        other = await transaction.delay(add, 3, 4)
        await transaction.commit()

        assert (second.id == first.id) is (on_duplicate is None)
        assert third.id == second.id
        assert (await other.ainfo()).status is Status.PENDING
        assert len(await transaction.execute("SELECT id FROM orders")) == 1
        assert await counts(transaction) == (2 if on_duplicate is None else 3, 1)


@pytest.mark.parametrize(
    ("right", "options"), [(3, {}), (2, {"on_duplicate": OnDuplicate.NO_REUSE})]
)
async def test_a_conflict_leaves_the_transaction_usable(
    caller: Caller, add: Add, orders: str, right: int, options: dict[str, Any]
) -> None:
    """promise:G2, promise:G3: other arguments, or a key that must be free."""
    first = await add.options(idempotency_key="order").adelay(1, 2)

    async with caller.transaction() as transaction:
        await transaction.execute("INSERT INTO orders VALUES ('o1')")
        with pytest.raises(IdempotencyConflict) as conflict:
            await transaction.delay(add, 1, right, idempotency_key="order", **options)
        other = await transaction.delay(add, 3, 4)
        await transaction.commit()

        assert conflict.value.existing == first.id
        assert (await other.ainfo()).status is Status.PENDING
        assert len(await transaction.execute("SELECT id FROM orders")) == 1
        assert await counts(transaction) == (2, 1)


async def test_what_cannot_be_stored_leaves_the_transaction_usable(
    caller: Caller, app: TaskQ, add: Add, orders: str
) -> None:
    """promise:G2: and of its batch nothing is stored."""
    good = add.build(1, 2)
    bad = msgspec.structs.replace(add.build(1, 2), source="\0")

    async with caller.transaction() as transaction:
        await transaction.execute("INSERT INTO orders VALUES ('o1')")
        with pytest.raises(BackendError):
            await transaction.enqueue(app, [good, bad])
        assert await counts(transaction) == (0, 0)
        await transaction.enqueue(app, [good])
        await transaction.commit()

        assert await counts(transaction) == (1, 0)
        assert len(await transaction.execute("SELECT id FROM orders")) == 1


async def test_a_conflict_in_a_batch_leaves_nothing_of_it(
    caller: Caller, app: TaskQ, add: Add
) -> None:
    """promise:G2, promise:G3: no activity, and no key that points nowhere."""
    await add.options(idempotency_key="taken").adelay(1, 2)
    fresh, taken = (add.options(idempotency_key=key) for key in ("fresh", "taken"))

    async with caller.transaction() as transaction:
        with pytest.raises(IdempotencyConflict):
            await transaction.enqueue(app, [add.build(0, 0), fresh.build(1, 2), taken.build(5, 6)])
        await transaction.commit()

        assert await counts(transaction) == (1, 1)


async def test_a_batch_is_stored_and_folded_in_order(caller: Caller, app: TaskQ, add: Add) -> None:
    """promise:G2"""
    keyed = add.options(idempotency_key="order")
    batch = [keyed.build(1, 2), add.build(5, 6), keyed.build(1, 2)]

    async with caller.transaction() as transaction:
        futures = await transaction.enqueue(app, batch)
        assert await transaction.enqueue(app, []) == []
        await transaction.commit()

        assert [future.id for future in futures] == [batch[0].id, batch[1].id, batch[0].id]
        assert await counts(transaction) == (2, 1)


async def test_a_future_cannot_be_used_before_the_transaction_is_over(
    caller: Caller, add: Add
) -> None:
    """promise:G2: at once, whatever is asked of it."""
    async with caller.transaction() as transaction:
        future = await transaction.delay(add, 1, 2)
        again = await transaction.delay(add, 3, 4)

        with anyio.fail_after(5):
            with pytest.raises(InvalidState, match="its transaction has not committed"):
                await future
            for awaited in (future.ainfo, future.acancel):
                with pytest.raises(InvalidState, match="its transaction has not committed"):
                    await awaited()
            for blocking in (future.result, future.info, future.cancel):
                with pytest.raises(InvalidState, match="its transaction has not committed"):
                    blocking()
            for many in (gather(future, again), anext(as_completed([future, again]))):
                with pytest.raises(InvalidState, match="its transaction has not committed"):
                    await many

        await transaction.commit()
        assert (await future.ainfo()).status is Status.PENDING
        assert await again.acancel()
        [end] = await gather(again, return_exceptions=True)
        assert isinstance(end, ActivityCancelled)


async def test_the_future_of_a_duplicate_says_that_it_is_not_known(
    caller: Caller, add: Add
) -> None:
    """promise:G2: what was found may be committed, or be of this same transaction."""
    keyed: Any = {"idempotency_key": "order"}
    await add.options(**keyed).adelay(1, 2)
    async with caller.transaction() as transaction:
        future = await transaction.delay(add, 1, 2, **keyed)
        with pytest.raises(InvalidState, match="whether it is committed is not known before"):
            await future.ainfo()
        await transaction.commit()
    assert (await future.ainfo()).status is Status.PENDING


async def test_a_later_call_is_scheduled(caller: Caller, app: TaskQ, add: Add) -> None:
    """promise:G2, through ``schedule`` and ``aschedule``."""
    async with caller.transaction() as transaction:
        bound = add.options(**{transaction.name: transaction.handle})
        if caller.blocks:
            future = bound.schedule(timedelta(hours=1), 1, 2)
        else:
            future = await bound.aschedule(timedelta(hours=1), 1, 2)
        await transaction.commit()

    info = await future.ainfo()
    assert info.status is Status.SCHEDULED
    assert (info.ready_at - info.created_at).total_seconds() == pytest.approx(3600)


async def test_a_call_inside_a_handler_is_its_child(caller: Caller, app: TaskQ, add: Add) -> None:
    """promise:G2"""

    @app.activity
    async def parent() -> list[str]:
        async with caller.transaction() as transaction:
            future = await transaction.delay(add, 1, 2)
            await transaction.commit()
        info = await future.ainfo()
        assert info.parent_id == current().id
        return [str(info.parent_id), str(await future)]

    async with app.worker(concurrency=2):
        future = await parent.adelay()
        with anyio.fail_after(20):
            assert await future == [str(future.id), "3"]


async def test_the_event_comes_with_the_commit(caller: Caller, add: Add, heard: Heard) -> None:
    """promise:G2: each call once, in order, whether it was created or found."""
    async with caller.transaction() as transaction:
        first = await transaction.delay(add, 1, 2, idempotency_key="order")
        second = await transaction.delay(add, 1, 2, idempotency_key="order")
        assert heard.enqueued == []
        await transaction.commit()

        assert [(each.id, each.created) for each in heard.enqueued] == [
            (first.id, True),
            (second.id, False),
        ]
        await transaction.delay(add, 1, 2)
        await transaction.rollback()
        third = await transaction.delay(add, 1, 2)
        await transaction.commit()
        await transaction.commit()
    assert [each.id for each in heard.enqueued[2:]] == [third.id]


async def test_no_event_comes_of_a_transaction_that_failed(
    caller: Caller, add: Add, orders: str, heard: Heard
) -> None:
    """promise:G2: the program goes on after an error, and its commit says nothing."""
    async with caller.transaction() as transaction:
        future = await transaction.delay(add, 1, 2)
        await transaction.execute("INSERT INTO orders VALUES ('o1')")
        ending = "OR ROLLBACK " if caller.dialect == "sqlite" else ""
        with pytest.raises(DBAPIError):
            await transaction.execute(f"INSERT {ending}INTO orders VALUES ('o1')")
        await transaction.commit()

        assert heard.enqueued == []
        with pytest.raises(ActivityNotFound):
            await future.ainfo()
        again = await transaction.delay(add, 1, 2)
        await transaction.commit()
    assert [each.id for each in heard.enqueued] == [again.id]


async def test_an_error_that_was_undone_does_not_keep_the_event(
    caller: Caller, add: Add, orders: str, heard: Heard
) -> None:
    """promise:G2: the savepoint may be SQL text, which SQLAlchemy does not know of."""
    async with caller.transaction() as transaction:
        future = await transaction.delay(add, 1, 2)
        await transaction.execute("INSERT INTO orders VALUES ('o1')")
        await transaction.execute("SAVEPOINT mine")
        with pytest.raises(DBAPIError):
            await transaction.execute("INSERT INTO orders VALUES ('o1')")
        await transaction.execute("ROLLBACK TO SAVEPOINT mine")
        await transaction.commit()
    assert [each.id for each in heard.enqueued] == [future.id]
    assert (await future.ainfo()).status is Status.PENDING


async def test_no_event_comes_of_a_savepoint_that_was_rolled_back(
    caller: Caller, add: Add, heard: Heard
) -> None:
    """promise:G2"""

    def begin(handle: Any) -> Any:
        return connection_of(handle).begin_nested()

    async with caller.transaction() as transaction:
        before = await transaction.delay(add, 0, 0)
        undone = await transaction.sync(begin)
        gone = await transaction.delay(add, 1, 1)
        released = await transaction.sync(begin)
        await transaction.delay(add, 2, 2)
        await transaction.sync(lambda _: released.commit())
        await transaction.sync(lambda _: undone.rollback())
        kept = await transaction.sync(begin)
        after = await transaction.delay(add, 3, 3)
        await transaction.sync(lambda _: kept.commit())
        await transaction.commit()

    assert [each.id for each in heard.enqueued] == [before.id, after.id]
    with pytest.raises(ActivityNotFound):
        await gone.ainfo()


async def test_a_step_and_its_limits_are_stored_like_any_other_call(
    caller: Caller, app: TaskQ, add: Add
) -> None:
    """promise:G3, design 7.10: a child is found again in the transaction that made it."""
    made: list[Any] = []

    @app.activity(deadline=timedelta(hours=1))
    async def parent() -> None:
        async with caller.transaction() as transaction:
            for _ in range(2):
                step = await transaction.delay(add, 1, 2, step="sum", expires=60)
                made.append(step.id)
            await transaction.commit()

    async with app.worker():
        future = await parent.adelay()
        await future

    above, info = await future.ainfo(), await add.future(made[0]).ainfo()
    assert made[0] == made[1]
    assert (info.step, info.idempotency_key, info.parent_id) == ("sum", None, future.id)
    assert (info.deadline_at, info.depth) == (above.deadline_at, 1)
    assert info.expires_at == info.created_at + timedelta(seconds=60)


async def test_a_key_that_has_expired_is_free(caller: Caller, add: Add) -> None:
    """promise:G3"""
    hour = timedelta(hours=1)
    async with caller.transaction() as transaction:
        first = await transaction.delay(add, 1, 2, idempotency_key="order", unique_for=hour)
        same = await transaction.delay(add, 1, 2, idempotency_key="order", unique_for=hour)
        await transaction.execute("UPDATE taskq_keys SET expires_at = created_at")
        second = await transaction.delay(add, 3, 4, idempotency_key="order", unique_for=hour)
        again = await transaction.delay(add, 3, 4, idempotency_key="order")
        await transaction.commit()

    assert (same.id, again.id) == (first.id, second.id)
    assert second.id != first.id
