"""The small parts of the engine, each by itself."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from datetime import UTC, datetime, timedelta

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace

from taskq.engine import EngineOptions, ErrorLog
from taskq.engine.backoff import Backoff
from taskq.engine.claiming.holdings import Holdings
from taskq.engine.claiming.pace import LOOK_AGAIN, MOST_AHEAD, Pace, Running
from taskq.engine.keeping.contact import Contact
from taskq.engine.keeping.pulse import Pulse
from taskq.engine.recording.record import count_of, event_of
from taskq.engine.recording.rollup import Count, Rollup
from taskq.engine.report import KEPT
from taskq.engine.running.isolation import run_isolated
from taskq.errors import ConfigurationError
from taskq.events import BackgroundError
from taskq.identifiers import new_id
from taskq.lifecycle import (
    Crashed,
    Died,
    Failed,
    Interrupted,
    Outcome,
    Settlement,
    Snoozed,
    Succeeded,
    Unstarted,
    Verdict,
    decide,
)
from taskq.model import Attempt, ErrorInfo, Status

GOOD: dict[str, object] = {"name": "n", "host": "h", "pid": 1, "queues": ("q",)}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"concurrency": 0}, "concurrency"),
        ({"threads": 0}, "threads"),
        ({"reaper_batch": 0}, "reaper_batch"),
        ({"lease": 0.0}, "lease"),
        ({"lease": float("inf")}, "lease"),
        ({"renew_interval": -1.0}, "renew_interval"),
        ({"renew_interval": 10.1}, "renew_interval"),
        ({"lease": 20.0}, "renew_interval"),
        ({"reaper_interval": 0.0}, "reaper_interval"),
        ({"poll_interval": 0.0}, "poll_interval"),
        ({"poll_interval": float("nan")}, "poll_interval"),
        ({"poll_max": 0.5}, "poll_max"),
        ({"shutdown_grace": -1.0}, "shutdown_grace"),
        ({"claim_ahead": -1}, "claim_ahead"),
        ({"queues": ()}, "queues"),
        ({"types": ()}, "types"),
        ({"types": ("a",), "catch_all": True}, "catch_all"),
    ],
    ids=repr,
)
def test_a_wrong_option_is_named_before_anything_starts(
    wrong: dict[str, object], said: str
) -> None:
    """seed:W23, fault:E11."""
    with pytest.raises(ConfigurationError, match=said):
        EngineOptions(**GOOD | wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "right",
    [
        {},
        {"lease": 1.0, "renew_interval": 1 / 3},
        {"lease": 0.9, "renew_interval": 0.3},
        {"shutdown_grace": 0.0},
        {"claim_ahead": 0},
    ],
    ids=repr,
)
def test_options_at_their_limits_are_taken(right: dict[str, object]) -> None:
    EngineOptions(**GOOD | right)  # type: ignore[arg-type]


def test_the_types_to_claim_are_those_with_handlers_unless_told_otherwise() -> None:
    plain = EngineOptions(**GOOD)  # type: ignore[arg-type]
    some = EngineOptions(**GOOD, types=("b",))  # type: ignore[arg-type]
    every = EngineOptions(**GOOD, catch_all=True)  # type: ignore[arg-type]
    assert plain.claimed_types({"b", "a"}) == ("a", "b")
    assert some.claimed_types({"b", "a"}) == ("b",)
    assert every.claimed_types({"b", "a"}) is None
    assert every.claimed_types(()) is None


def test_pauses_double_up_to_the_last_and_begin_again_after_a_success() -> None:
    backoff = Backoff(lambda: 1.0)
    assert [backoff.pause() for _ in range(8)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    backoff.reset()
    assert backoff.pause() == 0.1


def test_pauses_are_spread_over_their_upper_half() -> None:
    assert Backoff(lambda: 0.0, first=2.0).pause() == 1.0
    assert Backoff(lambda: 0.5, first=2.0).pause() == 1.5


def slots_of(*running: Running) -> Callable[[], list[Running]]:
    return lambda: list(running)


def test_quick_handlers_have_many_claimed_ahead() -> None:
    """design 7.9: what will start within about a tenth of a second."""
    pace = Pace(10)
    look = slots_of(*[Running("quick", 0.0, resumed=False)] * 10)
    assert pace.ahead(look) == 0
    pace.measure("quick", 0.05)
    assert pace.ahead(look) == 20
    for _ in range(200):
        pace.measure("quick", 0.0)
    assert pace.ahead(look) == MOST_AHEAD


def test_a_slow_handler_has_one_claimed_ahead_shortly_before_its_end() -> None:
    pace = Pace(2)
    pace.measure("slow", 10.0)
    young, old = Running("slow", 5.0, resumed=False), Running("slow", 9.95, resumed=False)
    late = Running("slow", 20.0, resumed=False)
    assert pace.ahead(slots_of(young, young)) == 0
    assert pace.ahead(slots_of(young, old)) == 1
    assert pace.ahead(slots_of(old, late)) == 1
    assert pace.rhythm == LOOK_AGAIN


def test_each_type_has_a_pace_of_its_own() -> None:
    pace = Pace(2)
    pace.measure("slow", 10.0)
    for _ in range(100):
        pace.measure("quick", 0.01)
    slow, quick = Running("slow", 1.0, resumed=False), Running("quick", 0.0, resumed=False)
    assert pace.ahead(slots_of(slow, slow)) == 0
    assert pace.ahead(slots_of(slow, quick)) == 10


def test_a_handler_that_has_waited_makes_room_once() -> None:
    """It has taken its slot from somebody, and gives it back soon."""
    pace = Pace(1)
    pace.measure("quick", 0.01)
    assert pace.ahead(slots_of(Running("quick", 0.0, resumed=True))) == 1


def test_nothing_is_known_of_a_type_that_has_not_ended_yet() -> None:
    pace = Pace(1)
    pace.measure("quick", 0.01)
    assert pace.ahead(slots_of(Running("new", 0.0, resumed=False))) == 0


def test_idle_slots_will_have_what_ended_lately() -> None:
    pace = Pace(10)
    pace.measure("quick", 0.01)
    assert pace.ahead(slots_of()) == 100
    for _ in range(100):
        pace.measure("slow", 10.0)
    assert pace.ahead(slots_of()) == 0


def test_once_something_waited_too_long_nothing_is_ahead_until_a_slot_was_free() -> None:
    pace = Pace(10)
    look = slots_of(*[Running("work", 0.0, resumed=False)] * 10)
    pace.measure("work", 0.01)
    pace.block()
    assert pace.ahead(look) == 0
    pace.measure("work", 0.01)
    assert pace.ahead(look) == 100


def test_a_fixed_claim_ahead_is_what_it_is() -> None:
    pace = Pace(10, fixed=3)
    pace.measure("work", 100.0)
    pace.block()
    assert pace.ahead(slots_of()) == 3
    assert pace.rhythm == math.inf
    assert not pace.adaptive


def test_contact_is_unbroken_since_the_first_answer_after_a_break() -> None:
    contact = Contact(patience=30.0)
    assert contact.unbroken(5.0) == 0.0
    for now in (10.0, 20.0, 30.0):
        contact.answered(now)
    assert contact.unbroken(35.0) == 25.0
    contact.failed()
    assert contact.unbroken(36.0) == 0.0
    contact.answered(40.0)
    assert (contact.unbroken(45.0), contact.latest) == (5.0, 40.0)


def test_a_long_silence_is_a_break_too() -> None:
    """fault:E2: the whole machine slept, and everybody is to renew first."""
    contact = Contact(patience=30.0)
    contact.answered(0.0)
    contact.answered(20.0)
    assert contact.unbroken(60.0) == 0.0
    contact.answered(60.0)
    assert contact.unbroken(61.0) == 1.0


@pytest.mark.parametrize(
    ("timeouts", "patience"), [((), 60.0), ((5.0,), 60.0), ((5.0, 300.0), 300.0)]
)
def test_an_event_loop_is_stuck_after_the_longest_timeout_or_a_minute(
    timeouts: tuple[float, ...], patience: float
) -> None:
    """design 7.5."""
    holdings, posted, dumps = Holdings(30.0), deque[Callable[[], object]](), deque[int]()
    attempts = [replace(attempt(), timeout=timeout) for timeout in timeouts]
    for held in holdings.take(attempts, claimed_at=0.0, received_at=0.0):
        held.begin(0.0, grace=30.0)
    pulse = Pulse(post=posted.append, holdings=holdings, dump=lambda: dumps.append(1))
    assert not pulse.feel(0.0)
    assert not pulse.feel(patience)
    assert pulse.feel(patience + 1.0)
    assert not pulse.feel(patience + 2.0), "said once"
    assert (pulse.stuck, len(dumps), len(posted)) == (True, 1, 1)
    posted.popleft()()
    assert not pulse.stuck
    assert not pulse.feel(1000.0)
    assert len(posted) == 1


def test_an_event_loop_that_runs_something_without_a_timeout_is_never_called_stuck() -> None:
    holdings = Holdings(30.0)
    forever = replace(attempt(), timeout=None)
    for held in holdings.take([forever], claimed_at=0.0, received_at=0.0):
        held.begin(0.0, grace=30.0)
    pulse = Pulse(post=lambda callback: None, holdings=holdings, dump=lambda: None)
    assert not pulse.feel(0.0)
    assert not pulse.feel(1e9)


def test_of_what_was_let_go_only_so_much_is_remembered() -> None:
    holdings = Holdings(30.0)
    attempts = [attempt() for _ in range(1100)]
    for held in holdings.take(attempts, claimed_at=0.0, received_at=0.0):
        holdings.let_go(held)
    assert not holdings
    assert not holdings.has_let_go(attempts[0].lease)
    assert holdings.has_let_go(attempts[-1].lease)


def error(number: int) -> BackgroundError:
    """A background error."""
    return BackgroundError(worker=new_id(), loop=str(number), error=ValueError(number))


def test_of_many_errors_the_first_and_the_last_are_kept_and_the_rest_counted() -> None:
    """seed:W24, D38."""
    log = ErrorLog()
    for number in range(1000):
        log.add(error(number))
    kept = [int(each.loop) for each in log.kept()]
    assert kept == [*range(128), *range(872, 1000)]
    assert (log.total, log.dropped, len(kept)) == (1000, 1000 - KEPT, KEPT)


async def test_readers_get_what_is_kept_and_then_what_comes() -> None:
    log = ErrorLog()
    log.add(error(0))
    read: dict[str, list[str]] = {"one": [], "two": []}

    async def reader(name: str) -> None:
        async for each in log:
            read[name].append(each.loop)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(reader, "one")
            group.start_soon(reader, "two")
            for number in range(1, 5):
                await anyio.sleep(0.005)
                log.add(error(number))
            await anyio.to_thread.run_sync(lambda: log.add(error(5)))
            log.close()
    assert read == {"one": list("012345"), "two": list("012345")}
    assert [each.loop async for each in log] == list("012345")


def test_counts_are_summed_by_span_queue_type_and_outcome() -> None:
    rollup = Rollup()
    at = datetime(2030, 1, 1, 12, 0, 59, 999999, tzinfo=UTC)
    rollup.add(at, [Count("q", "t", "completed", 0.001, 7.0), Count("q", "t", "failed", 0.0, 0.0)])
    rollup.add(at, [Count("q", "t", "completed", 0.005, 99999.0)])
    rollup.add(at + timedelta(seconds=1), [Count("q", "t", "crashed", None, None)])
    number, buckets = rollup.portion()
    fine = [bucket for bucket in buckets if bucket.span == 60]
    found = {(bucket.minute.minute, bucket.outcome): bucket for bucket in fine}
    assert number == 1
    assert set(found) == {(0, "completed"), (0, "failed"), (1, "crashed")}
    completed = found[0, "completed"]
    assert completed.count == 2
    assert completed.waits == (1, 1, 0, 0, 0, 0, 0, 0, 0, 0)
    assert completed.runs == (0, 0, 0, 0, 0, 1, 0, 0, 0, 1)
    assert sum(found[1, "crashed"].waits) == 0
    coarse = {each.outcome: (each.minute, each.count) for each in buckets if each.span == 600}
    begin = at.replace(second=0, microsecond=0)
    assert coarse == {
        name: (begin, n) for name, n in [("completed", 2), ("failed", 1), ("crashed", 1)]
    }


def test_a_portion_stays_the_same_until_it_is_acknowledged() -> None:
    rollup = Rollup()
    now = datetime(2030, 1, 1, tzinfo=UTC)
    rollup.add(now, [Count("q", "t", "completed", 0.0, 0.0)])
    first = rollup.portion()
    rollup.add(now, [Count("q", "t", "completed", 0.0, 0.0)])
    assert rollup.portion() == first
    rollup.acknowledge(99)
    assert rollup.portion() == first
    rollup.acknowledge(1)
    number, buckets = rollup.portion()
    assert (number, [bucket.count for bucket in buckets]) == (2, [1, 1])
    rollup.acknowledge(2)
    assert rollup.portion() == (3, ())


def attempt() -> Attempt:
    """An attempt."""
    id, now = new_id(), datetime.now(UTC)
    return Attempt(
        id=id,
        worker=new_id(),
        claim=1,
        type="t",
        queue="q",
        payload="{}",
        root_id=id,
        origin_id=id,
        created_at=now,
        ready_at=now,
    )


FAILED = Failed(error=ErrorInfo(type="E", message="m"))


@pytest.mark.parametrize(
    ("outcome", "row", "event", "name"),
    [
        (Succeeded("1"), Status.COMPLETED, "Completed", "completed"),
        (FAILED, Status.RETRYING, "Retrying", "retrying"),
        (FAILED, Status.CANCELLED, "Cancelled", "cancelled"),
        (Interrupted(), Status.PENDING, "Interrupted", "interrupted"),
        (Snoozed(1.0), Status.SCHEDULED, "Snoozed", "snoozed"),
        (Unstarted(5.0), Status.SCHEDULED, "Unhandled", "unhandled"),
        (Crashed(), Status.PENDING, "Interrupted", "crashed"),
        (Died("ended"), Status.PENDING, "ProcessDied", "crashed"),
    ],
)
def test_a_settled_transition_has_one_name(
    outcome: Outcome, row: Status, event: str, name: str
) -> None:
    held = attempt()
    transition = decide(held, outcome)
    settlement = Settlement(held.id, Verdict.APPLIED, row)
    told = event_of(held, transition, settlement, seconds=1.0, recording=0.5)
    assert (type(told).__name__, told.seconds, told.recording) == (event, 1.0, 0.5)
    count = count_of(held, transition, settlement, waited=0.0, ran=1.0)
    assert count == Count("q", "t", name, 0.0, 1.0)


@pytest.mark.parametrize(("delay", "status"), [(None, Status.PENDING), (5.0, Status.SCHEDULED)])
def test_what_was_not_started_goes_back_with_nothing_counted_or_noted(
    delay: float | None, status: Status
) -> None:
    held = replace(attempt(), retry_count=2, crash_count=1, isolate=True)
    transition = decide(held, Unstarted(delay))
    assert (transition.status, transition.delay, transition.note) == (status, delay, None)
    assert (transition.retry_count, transition.crash_count, transition.isolate) == (2, 1, True)


def test_a_repeated_settle_is_named_by_what_it_did_not_by_what_came_after() -> None:
    """A retry that has been promoted meanwhile is still a retry."""
    held = attempt()
    transition = decide(held, FAILED)
    settlement = Settlement(held.id, Verdict.ALREADY_MINE, Status.PENDING)
    told = event_of(held, transition, settlement, seconds=1.0, recording=0.5)
    assert type(told).__name__ == "Retrying"


variable: ContextVar[str] = ContextVar("variable", default="outside")


async def test_an_isolated_coroutine_sees_and_keeps_its_own_context() -> None:
    context = copy_context()

    async def inner() -> str:
        variable.set("inside")
        await anyio.sleep(0.001)
        assert variable.get() == "inside"
        return "value"

    assert await run_isolated(context, inner()) == "value"
    assert variable.get() == "outside"
    assert context[variable] == "inside"


async def test_errors_and_cancellations_pass_into_and_out_of_isolation() -> None:
    seen: list[str] = []

    async def inner() -> None:
        try:
            await anyio.sleep(10)
        finally:
            seen.append(variable.get())
            raise KeyError("mine")

    with anyio.CancelScope() as scope, pytest.raises(KeyError):
        scope.cancel()
        await run_isolated(copy_context(), inner())
    assert seen == ["outside"]


async def test_a_task_group_inside_isolation_inherits_its_context() -> None:
    seen: list[str] = []

    async def child() -> None:
        await anyio.lowlevel.checkpoint()
        seen.append(variable.get())

    async def inner() -> None:
        variable.set("inside")
        async with anyio.create_task_group() as group:
            group.start_soon(child)

    await run_isolated(copy_context(), inner())
    assert seen == ["inside"]


def test_an_isolated_coroutine_that_is_thrown_away_is_closed() -> None:
    seen: list[str] = []

    async def forever() -> None:
        try:
            while True:
                await _Once()
        finally:
            seen.append("closed")

    class _Once:
        def __await__(self) -> object:
            yield

    async def outer() -> None:
        await run_isolated(copy_context(), forever())

    coroutine = outer()
    coroutine.send(None)
    coroutine.close()
    assert seen == ["closed"]
