"""Handlers that share an activity by its key."""

from __future__ import annotations

from taskq import TaskQ
from tests.linked import linked


async def test_a_shared_child_tells_who_else_awaits_it(app: TaskQ) -> None:
    """seed:I8, D25: the first parent stays its parent; calls with ``as_root`` or from outside, and
    a parent's own second call, leave nothing."""

    @app.activity
    async def rates() -> int:
        return 7

    @app.activity
    async def report(as_root: bool) -> int:
        shared = rates.options(idempotency_key="today", as_root=as_root)
        return await (await shared.adelay()) + await (await shared.adelay())

    @app.activity
    def sync_report() -> int:
        return rates.options(idempotency_key="today").delay().result(timeout=10)

    async with app.worker():
        first = await report.adelay(False)
        assert await first == 14
        shared = await rates.options(idempotency_key="today").adelay()
        assert await (await report.adelay(True)) == 14
        assert await linked(app, shared.id) == []
        second, third = await report.adelay(False), await sync_report.adelay()
        assert (await second, await third) == (14, 7)

    assert (await shared.ainfo()).parent_id == first.id
    assert sorted(await linked(app, shared.id)) == sorted([str(second.id), str(third.id)])
