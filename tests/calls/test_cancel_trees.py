"""Cancels of whole trees while workers run them."""

from __future__ import annotations

from collections import Counter
from functools import partial
from threading import Event

import anyio
import pytest
from anyio import to_thread

from taskq import ActivityCancelled, ActivityFuture, TaskQ, current
from taskq.errors import ActivityNotFound, InvalidState
from taskq.identifiers import new_id
from taskq.model import Status


class Grove:
    """A parent that makes children of three kinds and waits for ever. ``told``: who was stopped."""

    def __init__(self, app: TaskQ) -> None:
        self.app = app
        self.children: list[ActivityFuture[None]] = []
        self.told: Counter[str] = Counter()
        self.planted = anyio.Event()
        self.running = anyio.Semaphore(0)

        @app.activity
        async def leaf() -> None:
            self.running.release()
            try:
                await anyio.sleep_forever()
            finally:
                self.told["leaf"] += current().cancelled

        @app.activity
        def thread() -> None:
            while not current().cancelled:
                Event().wait(0.005)
            self.told["thread"] += 1

        @app.activity
        async def late() -> None: ...

        @app.activity
        async def parent() -> None:
            made = [leaf.build(), thread.build(), late.options(delay=3600).build()]
            self.children += await app.aenqueue(made)
            await self.running.acquire()
            self.planted.set()
            try:
                await anyio.sleep_forever()
            finally:
                self.told["parent"] += current().cancelled
                with anyio.CancelScope(shield=True):
                    self.children.append(await late.aschedule(3600))

        self.parent = parent


async def test_all_of_a_running_tree_ends_and_nothing_of_it_starts_any_more(app: TaskQ) -> None:
    """promise:G10: async handlers are cancelled, threads are told, what waits never starts, nor
    what the parent still makes while it is being cancelled."""
    grove = Grove(app)
    with anyio.fail_after(20):
        async with app.worker(concurrency=5):
            root = await grove.parent.adelay()
            await grove.planted.wait()

            assert await root.acancel(tree=True)

            leaf, thread, waiting = grove.children[:3]
            for future in (root, leaf, waiting):
                with pytest.raises(ActivityCancelled):
                    await future
            await thread
            made_last = grove.children[3]
            with pytest.raises(ActivityCancelled):
                await made_last
    assert grove.told == {"parent": 1, "leaf": 1, "thread": 1}


async def test_without_tree_the_children_go_on(app: TaskQ) -> None:
    grove = Grove(app)
    with anyio.fail_after(20):
        async with app.worker(concurrency=5):
            root = await grove.parent.adelay()
            await grove.planted.wait()
            assert await root.acancel()
            with pytest.raises(ActivityCancelled):
                await root
            assert (await grove.children[3].ainfo()).status is Status.SCHEDULED
            assert (await grove.children[0].ainfo()).status is Status.PROCESSING
            await grove.children[0].acancel()
            await grove.children[1].acancel()


async def test_a_tree_whose_root_has_ended_is_cancelled_below_it(app: TaskQ) -> None:
    """promise:G10"""
    made: list[ActivityFuture[None]] = []

    @app.activity
    async def later() -> None: ...

    @app.activity
    async def root() -> None:
        made.append(await later.aschedule(3600))

    async with app.worker():
        future = await root.adelay()
        await future
    with pytest.raises(InvalidState, match="completed"):
        await future.acancel()

    assert await to_thread.run_sync(partial(future.cancel, tree=True))

    assert (await made[0].ainfo()).status is Status.CANCELLED
    with pytest.raises(InvalidState, match="completed"):
        await future.acancel(tree=True)
    assert not await made[0].acancel(tree=True)
    with pytest.raises(ActivityNotFound):
        await later.future(new_id()).acancel(tree=True)
