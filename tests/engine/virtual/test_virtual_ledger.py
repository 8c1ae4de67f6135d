"""Recording outcomes while the store misbehaves."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import anyio
import pytest

from taskq import events
from taskq.engine.recording import ledger
from taskq.errors import BackendError, SchemaError, Unstorable
from taskq.lifecycle import Settlement, Transition
from taskq.model import ErrorKind, Policy, Status
from tests.engine.world import View, World, until


async def echo(value: object = None) -> object:
    """Gives back what it got."""
    return value


@pytest.fixture
def world(world: World) -> World:
    """With a handler."""
    world.on("echo", echo)
    return world


class Picky(View):
    """Refuses every batch that holds a result with ``bad`` in it; ``also`` refuses its failure."""

    also = False

    async def settle(self, transitions: Sequence[Transition]) -> list[Settlement]:
        for transition in transitions:
            text = transition.result or ""
            if self.also and transition.error is not None:
                text += transition.error.message
            if "bad" in text:
                raise Unstorable("the bad value is refused")
        return await super().settle(transitions)


@pytest.mark.parametrize("after", [False, True])
async def test_a_settle_whose_reply_is_lost_is_repeated_and_counts_once(
    world: World, after: bool
) -> None:
    """issue point 7: no loss, no second outcome, hooks once."""
    from taskq.errors import NonRetryError

    async def fail() -> None:
        raise NonRetryError("for good")

    world.on("fail", fail)
    store = world.view()
    engine = world.engine(store, types=("echo", "fail"))
    async with world.running(engine):
        await until(lambda: bool(world.seen(events.WorkerStarted)))
        store.fail("settle", after=after, times=3)
        good = await world.submit("echo")
        bad = await world.submit("fail", policy=Policy(hooks=("on_failure",)))
        assert (await world.ended(good)).status is Status.COMPLETED
        assert (await world.ended(bad)).status is Status.FAILED
        await until(lambda: store.pending("settle") == 0)
        await anyio.sleep(10)
    children = [info for info in await world.everything() if info.parent_id == bad]
    assert [child.type for child in children] == ["fail:on_failure"]
    assert len(world.seen(events.Completed)) == len(world.seen(events.Failed)) == 1
    assert world.seen(events.OutcomeRefused) == []
    assert (await world.info(good)).claim == 1


async def test_a_result_the_store_refuses_fails_alone_and_its_neighbours_are_kept(
    world: World,
) -> None:
    """bug:B16, design 7.2."""
    store = Picky(world.memory)
    ids = []
    for number in range(40):
        value = "bad" if number in (7, 23) else number
        ids.append(await world.submit("echo", f'{{"value":"{value}"}}'))
    async with world.running(world.engine(store, concurrency=40)):
        for id in ids:
            await world.ended(id)
    infos = [await world.info(id) for id in ids]
    failed = [number for number, info in enumerate(infos) if info.status is Status.FAILED]
    assert failed == [7, 23]
    error = infos[7].error
    assert error is not None and error.kind is ErrorKind.RESULT
    assert error.message == "result cannot be stored: the bad value is refused"
    assert {info.status for info in infos} == {Status.FAILED, Status.COMPLETED}
    assert {info.claim for info in infos} == {1}


async def test_an_outcome_the_store_refuses_in_any_form_is_let_go_by_its_lease(
    world: World,
) -> None:
    """bug:B16: reported, counted as a crash by its own sweep, never immortal."""
    store = Picky(world.memory)
    store.also = True
    engine = world.engine(store)
    async with world.running(engine):
        await anyio.sleep(40)
        id = await world.submit("echo", '{"value":"bad"}')

        async def given_up() -> bool:
            return (await world.info(id)).crash_count == 1

        await until(given_up, within=60)
    assert len([error for error in engine.errors.kept() if error.loop == "ledger"]) >= 2


@pytest.mark.parametrize("error", [BackendError("a trigger raised"), KeyError("a bug")])
async def test_an_error_that_is_not_about_the_value_says_nothing_about_the_outcome(
    world: World, error: Exception
) -> None:
    """promise:G5: finished work is kept, and its neighbours are written meanwhile."""
    store = world.view()
    async with world.running(world.engine(store)):
        store.fail("settle", after=False, times=4, error=error)
        info = await world.ended(await world.submit("echo"), within=20)
    assert (info.status, info.claim) == (Status.COMPLETED, 1)


class Odd(View):
    """Cannot store the outcome of one activity, for a reason that nobody knows."""

    odd: UUID | None = None

    async def settle(self, transitions: Sequence[Transition]) -> list[Settlement]:
        if any(transition.id == self.odd for transition in transitions):
            raise BackendError("a trigger raised")
        return await super().settle(transitions)


async def test_an_outcome_that_cannot_be_stored_holds_up_no_other(world: World) -> None:
    """promise:G4"""
    store = Odd(world.memory)
    ids = [await world.submit("echo") for _ in range(40)]
    store.odd = ids[20]
    async with world.running(world.engine(store, concurrency=40)):
        for id in ids:
            if id != store.odd:
                assert (await world.ended(id)).status is Status.COMPLETED
        assert (await world.info(ids[20])).status is Status.PROCESSING
        store.odd = None
        info = await world.ended(ids[20], within=20)
    assert (info.status, info.claim) == (Status.COMPLETED, 1)


async def test_a_schema_error_is_nobodys_fault_and_is_waited_out(world: World) -> None:
    store = world.view()
    async with world.running(world.engine(store)):
        store.fail("settle", after=False, times=4, error=SchemaError("too old"))
        info = await world.ended(await world.submit("echo"), within=20)
    assert (info.status, info.claim) == (Status.COMPLETED, 1)


async def test_settling_that_never_works_while_all_else_does_is_given_up(world: World) -> None:
    """bug:B16: retried until the lease is over; then the activity runs again, elsewhere."""
    store = world.view()
    engine = world.engine(store)
    async with world.running(engine, world.engine(queues=("other",)), grace=0):
        await anyio.sleep(40)
        store.fail("settle", after=False, times=1000)
        id = await world.submit("echo")

        async def run_again() -> bool:
            return (await world.info(id)).claim > 1

        await until(run_again, within=200)
        await anyio.sleep(15)
        store.mend()
        info = await world.ended(id, within=200)
    assert info.status is Status.COMPLETED
    messages = [str(error.error) for error in engine.errors.kept()]
    assert any("could not be stored while its lease lasted" in message for message in messages)


async def test_outcomes_are_written_many_at_once(world: World) -> None:
    store = world.view()
    await world.submit_many("echo", 2000)
    await world.engine(store, burst=True, concurrency=50).run()
    assert await world.count(Status.COMPLETED) == 2000
    assert store.calls["settle"] + store.calls["claim"] <= 200, "design 11: at most 0.1 each"


async def test_no_further_attempt_starts_while_too_much_is_unsettled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "ROOM", 20)
    store = world.view()
    await world.submit_many("echo", 200)
    async with world.running(world.engine(store, concurrency=4, claim_ahead=50)):
        store.fail("settle", after=False, times=5)
        await anyio.sleep(0.3)
        assert 20 <= len(world.seen(events.Started)) <= 30

        async def all_done() -> bool:
            return await world.count(Status.COMPLETED) == 200

        await until(all_done, within=60)


async def test_every_slot_goes_on_when_there_is_room_for_outcomes_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by the benchmarks: of several carriers that waited for room only one was woken."""
    monkeypatch.setattr(ledger, "ROOM", 20)
    store = world.view()
    await world.submit_many("echo", 200)
    store.fail("settle", after=False, times=5)
    with anyio.fail_after(60):
        await world.engine(store, concurrency=4, claim_ahead=50, burst=True).run()
    assert await world.count(Status.COMPLETED) == 200


async def test_a_decision_that_cannot_be_made_lets_the_activity_go(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **more: object) -> object:
        raise ArithmeticError("a bug")

    engine = world.engine()
    async with world.running(engine, world.engine(queues=("other",))):
        await anyio.sleep(40)
        with monkeypatch.context() as patch:
            patch.setattr(ledger, "decide", broken)
            id = await world.submit("echo")
            await world.reaches(id, Status.PROCESSING)
            await anyio.sleep(1)
        info = await world.ended(id, within=60)
    assert (info.status, info.crash_count) == (Status.COMPLETED, 1)
    assert [type(error.error) for error in engine.errors.kept()] == [ArithmeticError]
