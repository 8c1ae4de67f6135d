"""A link is written in the caller's transaction, with every driver (seed:I8)."""

from __future__ import annotations

import anyio
import pytest

from taskq import TaskQ
from taskq.task import AsyncTask
from tests.linked import linked
from tests.transaction.callers import Caller

Add = AsyncTask[[int, int], int]


@pytest.mark.parametrize("kept", [True, False], ids=["committed", "rolled back"])
async def test_a_link_is_there_if_the_transaction_commits(
    caller: Caller, app: TaskQ, add: Add, kept: bool
) -> None:
    """seed:I8, promise:G2"""
    shared = await add.options(idempotency_key="sum").adelay(1, 2)

    @app.activity(queue="parents")
    async def parent() -> list[object]:
        async with caller.transaction() as transaction:
            future = await transaction.delay(add, 1, 2, idempotency_key="sum")
            assert future.id == shared.id
            assert await linked(app, shared.id) == []
            await (transaction.commit() if kept else transaction.rollback())
        return await linked(app, shared.id)

    async with app.worker(queues=["parents"]):
        future = await parent.adelay()
        with anyio.fail_after(20):
            assert await future == ([str(future.id)] if kept else [])
