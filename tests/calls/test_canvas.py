"""Chains, groups and chords: ordinary activities that await their children."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from anyio.to_thread import run_sync

from taskq import (
    ActivityFailed,
    ConfigurationError,
    IdempotencyConflict,
    NonRetryError,
    Priority,
    RetryPolicy,
    SerializationError,
    TaskQ,
    current,
    gather,
)
from taskq.canvas import Canvas, Flow
from taskq.snapshot import Filter, Page
from taskq.task import AsyncTask, SyncTask
from tests.calls.conftest import NewApp


@dataclass
class Sheet:
    address: str
    read: date


class Shop:
    """Some tasks of an app, and its canvas."""

    def __init__(self, app: TaskQ) -> None:
        self.app = app
        self.canvas = Canvas(app)
        self.fetch: AsyncTask[[str], Sheet] = app.activity(fetch)
        self.length: SyncTask[[Sheet], int] = app.activity(length)
        self.add: AsyncTask[[int, int], int] = app.activity(add)
        self.total: AsyncTask[[list[int]], int] = app.activity(total)
        self.older: AsyncTask[[Sheet, date], bool] = app.activity(older)
        self.fail: AsyncTask[[int], int] = app.activity(max_retries=0)(fail)
        self.place: AsyncTask[[], list[object]] = app.activity(place)


async def fetch(address: str) -> Sheet:
    return Sheet(address, date(2026, 3, 1))


def length(page: Sheet) -> int:
    assert isinstance(page, Sheet)
    return len(page.address)


async def add(a: int, b: int = 1) -> int:
    return a + b


async def total(numbers: list[int]) -> int:
    return sum(numbers)


async def older(page: Sheet, /, than: date) -> bool:
    return page.read < than


async def fail(n: int) -> int:
    raise NonRetryError(f"no {n}")


async def place() -> list[object]:
    here = current()
    return [str(here.parent_id), str(here.root_id), here.depth, here.correlation_id]


@pytest.fixture
def shop(app: TaskQ) -> Shop:
    """The app's."""
    return Shop(app)


async def test_a_chain_gives_each_result_to_the_next(shop: Shop) -> None:
    chain = shop.canvas.chain(shop.fetch.build("taskq"), shop.length, shop.canvas.link(shop.add, 7))
    async with shop.app.worker():
        assert await (await chain.adelay()) == 12
        assert await (await shop.canvas.chain(shop.fetch.build("a")).adelay()) == await fetch("a")


async def test_further_arguments_are_typed_and_checked_at_the_call(shop: Shop) -> None:
    link = shop.canvas.link
    async with shop.app.worker():
        chain = shop.canvas.chain(shop.fetch.build("a"), link(shop.older, than=date(2027, 1, 1)))
        assert await (await chain.adelay()) is True
    wrong: Any = link
    with pytest.raises(TypeError, match="missing a required argument: 'than'"):
        wrong(shop.older)
    with pytest.raises(TypeError, match="older"):
        shop.canvas.chain(shop.fetch.build("a"), wrong(shop.older, when=1))
    with pytest.raises(SerializationError, match="than"):
        wrong(shop.older, "yesterday")
    with pytest.raises(TypeError, match="place has no first argument"):
        wrong(shop.place)


async def test_a_task_that_takes_more_than_one_argument_is_to_be_linked(shop: Shop) -> None:
    chain: Any = shop.canvas.chain
    with pytest.raises(TypeError) as caught:
        chain(shop.fetch.build("a"), shop.older)
    assert str(caught.value) == (
        "canvas.chain: older takes more than the result before it: bind the rest by"
        " canvas.link(older, than=...)"
    )


async def test_a_group_is_the_list_of_its_results_each_with_its_type(shop: Shop) -> None:
    parts: list[Any] = [shop.fetch.build("a"), shop.add.build(1, 2), shop.total.build([3, 4])]
    async with shop.app.worker():
        future = await shop.canvas.group(parts).adelay()
        assert await future == [await fetch("a"), 3, 7]
        assert await (await shop.canvas.group([]).adelay()) == []


async def test_a_chord_gives_all_results_to_its_body(shop: Shop) -> None:
    chord = shop.canvas.chord([shop.add.build(n) for n in range(4)], shop.total)
    async with shop.app.worker():
        assert await (await chord.adelay()) == 10


async def test_parts_may_come_from_a_generator(shop: Shop) -> None:
    canvas, add = shop.canvas, shop.add
    async with shop.app.worker():
        assert await (await canvas.group(add.build(n) for n in range(3)).adelay()) == [1, 2, 3]
        chord = canvas.chord((add.build(n) for n in range(3)), shop.total)
        assert await (await chord.adelay()) == 6


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (
            lambda canvas, add: canvas.chain(add, add),
            r"chain: it starts with add\.build\(\.\.\.\), .* not the task add$",
        ),
        (lambda canvas, add: canvas.chain(print), r"chain: it starts with task\.build\(.*print"),
        (
            lambda canvas, add: canvas.chain(add.build(1), add.build(2)),
            r"chain: what follows is a task, .*link\(.* not the call add\.build\(\.\.\.\)$",
        ),
        (
            lambda canvas, add: canvas.chain(add.build(1), canvas.group([])),
            "chain: what follows is a task, .* not a chain, group or chord$",
        ),
        (
            lambda canvas, add: canvas.chord([add.build(1)], add.build(2)),
            r"chord: what follows is a task, .* not the call add\.build\(",
        ),
        (
            lambda canvas, add: canvas.group([add, add]),
            r"group: its parts are add\.build\(\.\.\.\), .* not the task add$",
        ),
        (
            lambda canvas, add: canvas.chord([canvas.link(add)], add),
            r"chord: its parts are task\.build\(.* not a link$",
        ),
        (
            lambda canvas, add: canvas.group(add.build(1)),
            "group: its parts are one list, not the call add",
        ),
        (
            lambda canvas, add: canvas.link(add.build(1)),
            r"link takes a task and its further arguments, not the call add\.build\(",
        ),
    ],
)
def test_what_does_not_belong_there_is_refused_with_what_does(
    shop: Shop, build: Callable[[Any, Any], object], said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        build(shop.canvas, shop.add)


async def test_a_group_that_is_too_big_names_the_limit_and_the_way_out() -> None:
    shop = Shop(TaskQ("memory://", max_payload=2000))
    parts = [shop.add.build(n) for n in range(100)]
    for name, flow in (
        ("group", shop.canvas.group(parts)),
        ("chord", shop.canvas.chord(parts, shop.total)),
    ):
        said = rf"^taskq\.{name}: .* 2000 of max_payload; .*aenqueue\(\[\.\.\.\]\).*gather\("
        for build in (flow.build, flow.delay):
            with pytest.raises(SerializationError, match=said):
                build()
        with pytest.raises(SerializationError, match=said):
            await flow.adelay()


async def test_a_result_that_is_too_big_is_said_of_the_group(new_app: NewApp) -> None:
    app = new_app(max_payload=2000)
    canvas = Canvas(app)

    @app.activity
    async def widen(letter: str) -> str:
        return letter * 700

    group = canvas.group(widen.build(letter) for letter in "abc").options(max_retries=0)
    async with app.worker():
        with pytest.raises(ActivityFailed, match=r"the result of taskq\.group: \d+ bytes are more"):
            await (await group.adelay())


async def test_flows_may_be_parts_of_flows(shop: Shop) -> None:
    canvas = shop.canvas
    lengths = [canvas.chain(shop.fetch.build("x" * n), shop.length) for n in range(3)]
    async with shop.app.worker():
        assert await (await canvas.chord(lengths, shop.total).adelay()) == 3
        pages = canvas.group([canvas.chain(shop.fetch.build("a"))])
        assert await (await canvas.group([pages]).adelay()) == [[await fetch("a")]]
        twice = canvas.chain(canvas.group([shop.add.build(1), shop.add.build(2)]), shop.total)
        assert await gather(*await shop.app.aenqueue([twice.build()])) == [5]


async def test_parts_are_children_with_their_own_options(shop: Shop) -> None:
    """seed:S3: nothing is stored but activities."""
    call = shop.add.options(priority=Priority.HIGH, max_retries=7, tags={"a": "b"})
    with_key = shop.add.options(idempotency_key="k")
    chain = shop.canvas.chain(call.build(1), shop.canvas.link(with_key, 5))
    async with shop.app.worker():
        future = await chain.options(correlation_id="c").adelay()
        assert await future == 7
        here = await (await shop.canvas.group([shop.place.build()]).adelay())
        again = await (await with_key.adelay(2, 5)).ainfo()
    page = await shop.app.client.call(
        shop.app.client.store.list, Filter(parent_id=future.id), Page(limit=10)
    )
    first, last = sorted(page.items, key=lambda info: info.created_at)
    assert (first.priority, first.max_retries, first.tags) == (Priority.HIGH, 7, {"a": "b"})
    assert (first.root_id, first.depth, first.correlation_id) == (future.id, 1, "c")
    assert again.id == last.id
    assert here[0][2] == 1


async def test_a_part_that_fails_fails_the_whole(shop: Shop) -> None:
    canvas = shop.canvas
    flows: list[Any] = [
        canvas.chain(shop.fail.build(1), shop.add),
        canvas.chain(shop.add.build(1), shop.fail),
        canvas.group([shop.add.build(1), shop.fail.build(2)]),
        canvas.chord([shop.fail.build(2)], shop.total),
    ]
    async with shop.app.worker():
        for flow in flows:
            with pytest.raises(ActivityFailed, match=r"no \d"):
                await (await flow.adelay())


async def test_equal_flows_with_one_key_are_one_activity(shop: Shop) -> None:
    def flow(n: int) -> Flow[int]:
        parts = [shop.canvas.chain(shop.add.build(n), shop.add), shop.add.build(2)]
        return shop.canvas.chord(parts, shop.total).options(idempotency_key="once")

    def in_a_thread() -> tuple[int, bool]:
        future = flow(1).delay()
        return future.result(timeout=10), flow(1).delay().id == future.id

    async with shop.app.worker():
        assert await run_sync(in_a_thread) == (6, True)
    with pytest.raises(IdempotencyConflict):
        await flow(2).adelay()


async def test_one_that_runs_again_finds_the_parts_that_it_has_made(app: TaskQ) -> None:
    """seed:E32"""
    ran: list[int] = []
    canvas = Canvas(app)

    @app.activity
    async def note(n: int) -> int:
        ran.append(n)
        return n

    @app.activity(max_retries=0)
    async def total(numbers: list[int]) -> int:
        ran.append(sum(numbers))
        if ran.count(3) < 2:
            raise ValueError("not yet")
        return sum(numbers)

    chord = canvas.chord([note.build(1), note.build(2)], total).options(
        on_child_failure="retry", retry=RetryPolicy(initial_delay=0.01)
    )
    async with app.worker():
        assert await (await chord.adelay()) == 3
    assert sorted(ran) == [1, 2, 3, 3]


@pytest.mark.parametrize(
    "build",
    [
        lambda canvas, there: canvas.chain(there.build(1)),
        lambda canvas, there: canvas.link(there),
        lambda canvas, there: canvas.group([there.build(1)]),
    ],
)
def test_a_task_of_another_app_is_refused(
    shop: Shop, build: Callable[[Canvas, Any], object]
) -> None:
    other = TaskQ("memory://")

    @other.activity
    async def elsewhere(n: int) -> int:
        return n

    with pytest.raises(ConfigurationError, match="elsewhere"):
        build(shop.canvas, elsewhere)
