"""Workers delete what retention lets go, and nothing else."""

from __future__ import annotations

from typing import Any

import anyio

from taskq import events
from taskq.backends import Mark, Pruned
from taskq.identifiers import new_id
from taskq.model import Status
from tests.engine.world import View, World

KEEP = 600.0
"""Short enough for a world whose loops turn every few seconds."""
KEPT: dict[str, Any] = {"retention": {Status.COMPLETED: KEEP}, "prune_interval": 60.0}


def filled(world: World) -> None:
    """Handlers that end well, and badly."""

    async def good() -> None: ...

    async def bad() -> None:
        raise ValueError("no")

    world.on("good", good)
    world.on("bad", bad)


async def test_a_worker_deletes_what_has_ended_long_enough_ago(world: World) -> None:
    """seed:N13, B8"""
    filled(world)
    done = await world.submit("good")
    dead = await world.submit("bad", max_retries=0)
    async with world.running(world.engine(**KEPT)):
        await world.ended(done)
        await world.ended(dead)
        await anyio.sleep(KEEP - 10)
        assert await world.status(done) is Status.COMPLETED
        await anyio.sleep(150)

    assert [info.id for info in await world.everything()] == [dead]
    assert [(each.trees, each.count) for each in world.seen(events.Pruned)] == [(1, 1)]


async def test_without_a_rule_nothing_is_deleted(world: World) -> None:
    """seed:B8"""
    filled(world)
    view = world.view()
    done = await world.submit("good")
    engine = world.engine(view)
    async with world.running(engine):
        await world.ended(done)
        await anyio.sleep(600)
        assert engine.health().healthy

    assert await world.status(done) is Status.COMPLETED
    assert view.calls["prune"] == 0


async def test_many_go_in_one_pass_of_several_batches(world: World) -> None:
    filled(world)
    await world.submit_many("good", 250)
    view = world.view()
    async with world.running(world.engine(view, **KEPT)):
        await anyio.sleep(KEEP + 150)

    assert await world.everything() == []
    assert [each.count for each in world.seen(events.Pruned)] == [100, 100, 50]


async def test_a_pass_that_meets_another_one_ends(world: World) -> None:
    view = Busy(world.memory)
    filled(world)
    async with world.running(world.engine(view, **KEPT)):
        await anyio.sleep(10 * 60)

    assert 9 <= view.calls["prune"] <= 14  # one at each interval of 48 to 60 s
    assert view.after == {None}


async def test_an_idle_pruner_is_no_stalled_loop(world: World) -> None:
    filled(world)
    engine = world.engine(**KEPT | {"prune_interval": 10 * KEEP})
    async with world.running(engine):
        await anyio.sleep(300)
        assert engine.health().healthy


class Busy(View):
    """A store that is pruned by somebody else."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.after: set[Mark | None] = set()

    async def prune(self, rules: Any, **options: Any) -> Pruned:
        """Not now."""
        self.calls["prune"] += 1
        self.after.add(options["after"])
        return Pruned(busy=True, next=Mark("default", Status.COMPLETED, new_id()))
