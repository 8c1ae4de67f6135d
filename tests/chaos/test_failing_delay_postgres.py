"""The database fails while a handler enqueues a child."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import anyio
import pytest

from taskq import EnqueueTimeout, NonRetryError, RetryPolicy, Status, TaskQ, current
from taskq.snapshot import ActivityInfo, Filter, Page
from tests.chaos.proxy import Proxy

pytestmark = pytest.mark.chaos

PATIENCE = 1.0
"""Seconds after which an enqueue gives up."""


class Family:
    """Parents that enqueue a child in each of their attempts. ``errors`` are what that raised."""

    def __init__(self, proxy: Proxy) -> None:
        self.taskq = TaskQ(
            proxy.url,
            enqueue_timeout=PATIENCE,
            lock_timeout=PATIENCE / 2,
            poll_interval=0.1,
            poll_max=0.2,
            retry=RetryPolicy(initial_delay=0.1),
        )
        self.errors: list[Exception] = []
        self.begun = anyio.Event()
        self.go = anyio.Event()
        self.failed = anyio.Event()
        self.child = self.taskq.activity(name="child")(self.be_a_child)
        self.parent = self.taskq.activity(name="parent")(self.be_a_parent)

    async def be_a_child(self) -> int:
        """Returns at once."""
        return current().attempt

    async def be_a_parent(self, giving_up: bool) -> int:
        """Enqueues a child, when the test lets it."""
        self.begun.set()
        await self.go.wait()
        try:
            await self.child.adelay()
        except EnqueueTimeout as error:
            self.errors.append(error)
            self.failed.set()
            if giving_up:
                raise NonRetryError("no child") from error
            raise
        return current().attempt

    async def all(self, type: str) -> list[ActivityInfo]:
        """The activities of a type."""
        page = await self.taskq.client.call(self.taskq.client.store.list, Filter(), Page())
        return [item for item in page.items if item.type == type]

    async def until_children(self, count: int) -> list[ActivityInfo]:
        """Wait until there are so many, and all are completed."""
        with anyio.fail_after(10):
            while True:
                children = await self.all("child")
                done = [child for child in children if child.status is Status.COMPLETED]
                if len(children) == len(done) == count:
                    return children
                await anyio.sleep(0.02)


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    """A way to an empty database."""
    proxy = Proxy(postgres_url)
    yield proxy
    proxy.close()


@pytest.fixture
async def family(anyio_backend: str, proxy: Proxy) -> AsyncIterator[Family]:
    """Its app, with a worker."""
    family = Family(proxy)
    async with family.taskq, family.taskq.worker():
        yield family


async def test_a_parent_that_could_not_enqueue_is_retried_and_has_one_child(
    family: Family, proxy: Proxy
) -> None:
    """fault:DB8: ``delay`` fails after its deadline, like any error of the handler, and the worker
    goes on by itself."""
    parent = await family.parent.adelay(giving_up=False)
    await family.begun.wait()
    with proxy.refusing(), anyio.fail_after(10 * PATIENCE):
        family.go.set()
        await family.failed.wait()

    assert await parent == 2
    [child] = await family.until_children(1)
    assert child.parent_id == parent.id
    assert len(family.errors) == 1


async def test_a_child_whose_parent_was_told_nothing_runs_all_the_same(
    family: Family, proxy: Proxy
) -> None:
    """promise:G1: after ``EnqueueTimeout`` it may have been stored: once, however often it was
    tried. The parent's next attempt makes its own."""
    parent = await family.parent.adelay(giving_up=False)
    await family.begun.wait()
    proxy.lose("submit", times=1000)
    family.go.set()
    with anyio.fail_after(10 * PATIENCE):
        await family.failed.wait()
    cuts = proxy.cuts["submit"]
    proxy.mend()

    assert cuts > 1
    assert await parent == 2
    children = await family.until_children(2)
    assert {child.parent_id for child in children} == {parent.id}


async def test_a_parent_that_gives_up_without_its_child_has_failed(
    family: Family, proxy: Proxy
) -> None:
    """promise:G5: its outcome is written when the database is back, and there is no child."""
    parent = await family.parent.adelay(giving_up=True)
    await family.begun.wait()
    with proxy.refusing(), anyio.fail_after(10 * PATIENCE):
        family.go.set()
        await family.failed.wait()

    with anyio.fail_after(10):
        while (await parent.ainfo()).status is not Status.FAILED:
            await anyio.sleep(0.02)
    assert await family.all("child") == []
