"""expires= and deadline= at the call-site."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from taskq import ActivityCancelled, ActivityFailed, ErrorKind, Status, TaskQ, current
from taskq.errors import ConfigurationError
from taskq.snapshot import ActivityInfo
from tests.calls.conftest import NewApp

HOUR = timedelta(hours=1)


@pytest.fixture
def app(new_app: NewApp) -> TaskQ:
    """Its worker looks often for what is too late."""
    return new_app(poll_interval=0.05, reaper_interval=0.05, lease=3.0, shutdown_grace=2.0)


async def test_what_has_not_started_in_time_is_cancelled_and_says_why(app: TaskQ) -> None:
    ran: list[int] = []

    @app.activity(expires=0.05)
    async def work() -> None:
        ran.append(1)

    future = await work.adelay()
    await anyio.sleep(0.06)
    async with app.worker():
        with pytest.raises(ActivityCancelled, match="it had not started by"):
            await future
    assert ran == []


async def test_a_deadline_ends_a_whole_tree(app: TaskQ) -> None:
    """The child has its parent's deadline; a root made there has none."""
    infos: dict[str, ActivityInfo] = {}

    @app.activity
    async def slow() -> None:
        await anyio.sleep(60)

    @app.activity
    async def parent() -> None:
        child = await slow.adelay()
        root = await slow.options(as_root=True, delay=HOUR).adelay()
        infos["child"], infos["root"] = await child.ainfo(), await root.ainfo()
        await child

    async with app.worker():
        future = await parent.options(deadline=0.4).adelay()
        with anyio.fail_after(10), pytest.raises(ActivityFailed) as caught:
            await future
        with anyio.fail_after(10), pytest.raises(ActivityFailed) as below:
            await slow.future(infos["child"].id)

    assert infos["child"].deadline_at == (await future.ainfo()).deadline_at
    assert infos["root"].deadline_at is None
    assert caught.value.error.kind in (ErrorKind.DEADLINE, ErrorKind.CHILD)
    assert below.value.error.kind is ErrorKind.DEADLINE


async def test_a_childs_own_deadline_holds_if_it_is_sooner(app: TaskQ) -> None:
    @app.activity
    async def noop() -> None: ...

    @app.activity
    async def parent() -> list[datetime | None]:
        mine = current().deadline
        sooner = await noop.options(deadline=60).adelay()
        later = await noop.options(deadline=datetime(2200, 1, 1, tzinfo=UTC)).adelay()
        return [mine, (await sooner.ainfo()).deadline_at, (await later.ainfo()).deadline_at]

    async with app.worker():
        mine, sooner, later = await (await parent.options(deadline=HOUR).adelay())

    assert mine is not None and sooner is not None
    assert mine - sooner == pytest.approx(timedelta(minutes=59), abs=timedelta(seconds=20))
    assert later == mine


async def test_a_thread_is_told_of_its_deadline_and_ends_failed(app: TaskQ) -> None:
    told: list[bool] = []
    wait = threading.Event()

    @app.activity(max_retries=5)
    def patient() -> None:
        while not current().cancelled:
            wait.wait(0.005)
        told.append(True)
        raise InterruptedError("told to stop")

    async with app.worker():
        with anyio.fail_after(10), pytest.raises(ActivityFailed) as caught:
            await (await patient.options(deadline=0.1).adelay())

    assert told == [True]
    assert caught.value.error.kind is ErrorKind.DEADLINE


def test_instants_and_durations_are_counted_from_the_call(taskq: TaskQ) -> None:
    @taskq.activity(expires=HOUR)
    async def work() -> None: ...

    at = datetime(2100, 1, 1, 12, tzinfo=UTC)
    info = work.options(deadline=at).delay().info()
    assert info.expires_at == info.created_at + HOUR
    assert info.deadline_at == at
    lifted = work.options(expires=None).delay().info()
    assert (lifted.expires_at, lifted.deadline_at) == (None, None)


def test_a_queue_may_say_it_for_all_its_calls(taskq: TaskQ) -> None:
    taskq.queue("mail", expires=60)

    @taskq.activity(queue="mail")
    async def send() -> None: ...

    info = send.delay().info()
    assert info.expires_at == info.created_at + timedelta(minutes=1)
    assert info.status is Status.PENDING


@pytest.mark.parametrize("name", ["expires", "deadline"])
@pytest.mark.parametrize(
    ("value", "why"),
    [
        (0, "above 0"),
        (-1.0, "at least 0"),
        (float("nan"), "finite"),
        (float("inf"), "finite"),
        (datetime(2030, 1, 1), "time zone"),
        (datetime(9999, 1, 1, tzinfo=UTC), "1970 to 9998"),
        ("soon", "timedelta or seconds"),
        (True, "timedelta or seconds"),
    ],
)
def test_what_is_no_time_is_refused(taskq: TaskQ, name: str, value: object, why: str) -> None:
    @taskq.activity
    async def work() -> None: ...

    with pytest.raises(ConfigurationError, match=f"{name}.*{why}|{why}"):
        work.options(**{name: value})  # type: ignore[arg-type]
