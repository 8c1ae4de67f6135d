"""What needs attention, who runs what, and what became of schedules: a store in memory whose clock
the test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

from taskq import TaskQ
from taskq.audit import Command
from taskq.backends import ClaimRequest, Store
from taskq.backends.memory import MemoryBackend
from taskq.identifiers import new_id
from taskq.lifecycle import Failed, Succeeded, decide
from taskq.model import Attempt
from taskq.pausing import Kind
from taskq.snapshot import WorkerInfo
from taskq.testing import ManualClock
from taskq.testing.conformance.samples import beat, call, error, worker
from taskq.web.views.attention import PATIENT
from tests.web.asking import TOKENS

LATER = 3600.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def app(clock: ManualClock) -> AsyncIterator[TaskQ]:
    accounts = {role: f"{role}:{token}" for role, token in TOKENS.items()}
    async with TaskQ(
        backend=MemoryBackend(clock), clock=clock, web_tokens=accounts, web_viewer_payloads=False
    ) as taskq:
        yield taskq


async def seen(browser: httpx.AsyncClient, path: str = "/api/attention") -> list[dict[str, Any]]:
    answer = await browser.get(path)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def alive(store: Store, **changes: object) -> WorkerInfo:
    """A worker that has just been heard of."""
    info = worker(**changes)
    await store.heartbeat(beat(info))
    return info


async def taken(store: Store, who: UUID, limit: int = 1) -> list[Attempt]:
    """What this worker claims."""
    request = ClaimRequest(worker=who, queues=("default",), types=None, limit=limit, lease=LATER)
    return list(await store.claim(request))


async def test_where_all_is_well_nothing_needs_attention(
    app: TaskQ, browser: httpx.AsyncClient
) -> None:
    store = app.client.store
    await alive(store)
    await store.submit([call(), call(delay=LATER)])
    assert await seen(browser) == []


async def test_a_type_that_nobody_serves_is_told_with_since_when_it_waits(
    app: TaskQ, browser: httpx.AsyncClient, clock: ManualClock
) -> None:
    await app.client.store.submit([call("odd name"), call("odd name", delay=LATER)])
    clock.advance(90)
    [item] = await seen(browser)
    assert (item["kind"], item["subject"], item["count"]) == ("unserved", "odd name", 2)
    since = clock.now() - timedelta(seconds=90)
    assert item["since"] == since.isoformat().replace("+00:00", "Z")
    found = await browser.get("/api/activities", params={"q": item["filter"]})
    assert len(found.json()["items"]) == 2


async def test_a_queue_is_stuck_when_what_is_served_waits_too_long(
    app: TaskQ, browser: httpx.AsyncClient, clock: ManualClock
) -> None:
    store = app.client.store
    await store.submit([call("send"), call("send")])
    clock.advance(PATIENT)
    await alive(store)
    assert await seen(browser) == []
    clock.advance(1)
    [item] = await seen(browser)
    assert (item["kind"], item["subject"], item["count"]) == ("stuck", "default", 2)
    assert item["detail"] == "send waits for 1m1s, though workers serve it"


@pytest.mark.parametrize(("kind", "name"), [(Kind.QUEUE, "default"), (Kind.TYPE, "send")])
async def test_what_is_paused_is_told_as_paused_and_not_as_stuck(
    app: TaskQ, browser: httpx.AsyncClient, clock: ManualClock, kind: Kind, name: str
) -> None:
    store = app.client.store
    await store.pause(kind, name, command=Command(actor="ada", reason="the bank is down"))
    await store.pause(Kind.QUEUE, "empty", command=Command(actor="ada"))
    await store.submit([call("send")])
    clock.advance(2 * PATIENT)
    await alive(store)
    [item] = await seen(browser)
    assert (item["kind"], item["subject"], item["count"]) == (f"paused_{kind}", name, 1)
    assert item["detail"] == "paused by ada: the bank is down"


async def test_a_worker_that_was_lost_is_told_with_what_it_holds(
    app: TaskQ, browser: httpx.AsyncClient, clock: ManualClock
) -> None:
    store = app.client.store
    lost = await alive(store, name="gone")
    await store.submit([call()])
    [attempt] = await taken(store, lost.id)
    assert await seen(browser) == []
    clock.advance(61)
    other = await alive(store, name="there")
    [item] = await seen(browser)
    assert (item["kind"], item["title"], item["count"]) == ("lost_worker", "gone", 1)
    found = await browser.get("/api/activities", params={"q": item["filter"]})
    assert [each["id"] for each in found.json()["items"]] == [str(attempt.id)]
    workers = await seen(browser, "/api/workers")
    assert [(each["id"], each["lost"]) for each in workers] == [
        (str(other.id), False),
        (str(lost.id), True),
    ]
    assert [each["id"] for each in workers[1]["running"]] == [str(attempt.id)]
    clock.advance(LATER)
    assert [each["name"] for each in await seen(browser, "/api/workers")] == ["there"]


async def test_threads_that_outlived_their_timeout_are_told(
    app: TaskQ, browser: httpx.AsyncClient
) -> None:
    await alive(app.client.store, threads_stuck=3)
    [item] = await seen(browser)
    assert (item["kind"], item["title"], item["count"]) == ("threads_stuck", "worker-1", 3)


async def test_causes_of_dead_letters_are_told_to_viewers_without_messages(
    app: TaskQ, browser: httpx.AsyncClient, viewing: httpx.AsyncClient
) -> None:
    store = app.client.store
    await store.submit([call(max_retries=0), call(max_retries=0), call(max_retries=0)])
    first, second, third = await taken(store, new_id(), limit=3)
    await store.settle(
        [decide(each, Failed(error=error("canary"))) for each in (first, second)]
        + [decide(third, Failed(error=error("other", attempts=1), retryable=False))]
    )
    [item] = await seen(browser)
    assert (item["kind"], item["count"], "canary" in item["title"]) == ("cause", 2, True)
    found = await browser.get("/api/activities", params={"q": item["filter"]})
    assert len(found.json()["items"]) == 2
    [told] = await seen(viewing)
    assert told == item | {"title": None}


async def test_a_schedule_that_is_late_is_told_unless_it_waits_for_its_last_activity(
    app: TaskQ, browser: httpx.AsyncClient, clock: ManualClock
) -> None:
    @app.activity
    async def tick() -> None: ...

    store = app.client.store
    await app.schedules.acreate("late", tick.build(), every=3600)
    await app.schedules.acreate("paused", tick.build(), every=3600)
    await app.schedules.apause("paused")
    await app.schedules.acreate("queued", tick.build(), every=3600, overlap="queue")
    clock.advance(3600)
    assert (await store.fire_schedule("queued")) is not None
    await taken(store, (await alive(store)).id)
    clock.advance(3600 + 60)
    await alive(store)
    [item] = [each for each in await seen(browser) if each["kind"] == "overdue"]
    assert (item["subject"], item["count"]) == ("late", 1)


async def test_of_a_kind_no_more_than_twenty_are_told(
    app: TaskQ, browser: httpx.AsyncClient
) -> None:
    await app.client.store.submit([call(f"nobody_{number:02}") for number in range(21)])
    answer = (await browser.get("/api/attention")).json()
    assert (len(answer["items"]), answer["cut"]) == (20, True)


async def test_workers_tell_what_they_run_the_longest_first(
    app: TaskQ, browser: httpx.AsyncClient, clock: ManualClock
) -> None:
    store = app.client.store
    one, other = await alive(store, name="one"), await alive(store, name="other")
    await store.submit([call("send", payload='{"canary":1}') for _ in range(22)])
    attempts: list[Attempt] = []
    for _ in range(21):
        attempts += await taken(store, one.id)
        clock.advance(1)
    [last] = await taken(store, other.id)
    found = {each["name"]: each for each in await seen(browser, "/api/workers")}
    assert [each["id"] for each in found["one"]["running"]] == [
        str(each.id) for each in attempts[:20]
    ]
    [running] = found["other"]["running"]
    assert (running["id"], running["type"], running["attempt"]) == (str(last.id), "send", 1)
    began, ends = running["started_at"], running["lease_until"]
    assert (began, ends) == (stamp(clock), stamp(clock, LATER))
    assert "canary" not in str(found)


async def test_a_schedule_tells_what_became_of_its_last_times(
    app: TaskQ, browser: httpx.AsyncClient, clock: ManualClock
) -> None:
    """Those that were skipped while nobody ran have no activity, and are left out."""

    @app.activity
    async def tick() -> None: ...

    store = app.client.store
    await app.schedules.acreate("hourly", tick.build(), cron="0 * * * *")
    assert (await browser.get("/api/schedules/hourly")).json()["recent"] == []
    ids: list[str] = []
    for hours in (1, 1, 3, 1):
        clock.advance(hours * 3600)
        fired = await store.fire_schedule("hourly")
        assert fired is not None
        ids += [str(each.id) for each in fired.activities]
    [first, second, *_] = await taken(store, new_id(), limit=2)
    clock.advance(1.5)
    await store.settle([decide(first, Succeeded("1"))])
    await store.settle([decide(second, Failed(error=error(), retryable=False))])
    recent = (await browser.get("/api/schedules/hourly")).json()["recent"]
    assert [each["id"] for each in recent] == ids
    assert [each["status"] for each in recent] == ["completed", "failed", "pending", "pending"]
    assert [each["duration"] for each in recent] == [1.5, 1.5, None, None]
    assert recent == sorted(recent, key=lambda each: each["at"])
    await store.delete([UUID(ids[0])], command=Command(actor="ada"))
    [listed] = await seen(browser, "/api/schedules")
    assert listed["recent"] == recent[1:]


async def test_a_list_tells_ten_times_of_each_schedule_and_one_alone_twenty(
    app: TaskQ, browser: httpx.AsyncClient, clock: ManualClock
) -> None:
    @app.activity
    async def tick() -> None: ...

    await app.schedules.acreate("minutely", tick.build(), every=60, catch_up="all")
    clock.advance(25 * 60)
    await app.client.store.fire_schedule("minutely")
    alone = (await browser.get("/api/schedules/minutely")).json()
    [listed] = await seen(browser, "/api/schedules")
    assert (len(alone["recent"]), len(listed["recent"])) == (20, 10)
    assert listed["recent"] == alone["recent"][-10:]
    assert alone["recent"][-1]["id"] == alone["last_id"]


async def test_a_schedule_whose_times_have_changed_keeps_its_last_activity(
    app: TaskQ, browser: httpx.AsyncClient, clock: ManualClock
) -> None:
    @app.activity
    async def tick() -> None: ...

    await app.schedules.acreate("often", tick.build(), every=60)
    clock.advance(60)
    await app.client.store.fire_schedule("often")
    await app.schedules.aupdate("often", every=7, revision=None)
    view = (await browser.get("/api/schedules/often")).json()
    assert [each["id"] for each in view["recent"]] == [view["last_id"]]


async def test_the_times_of_a_schedule_are_told_before_it_is_there(
    browser: httpx.AsyncClient, clock: ManualClock
) -> None:
    params = {"cron": "0 3 * * *", "tz": "Europe/Lisbon"}
    told = (await browser.get("/api/schedule-preview", params=params)).json()
    assert (len(told["upcoming"]), told["timezone"]) == (5, "Europe/Lisbon")
    assert "03:00" in told["when"]
    every = (await browser.get("/api/schedule-preview", params={"every": "300"})).json()
    assert (every["when"], len(every["upcoming"])) == ("every 5m", 5)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "its times are not given: give cron text or every"),
        ({"cron": "0 3 * *"}, "cron '0 3 * *' cannot be read"),
        ({"cron": "0 0 30 2 *"}, "cannot be read: bad day-of-month"),
        ({"cron": "* * * * *", "tz": "Mars/Olympus"}, "'Mars/Olympus' is no time zone"),
        ({"every": "0.01"}, "every must be at least 0.1 s"),
        ({"every": "nan"}, "every must be at least 0"),
        ({"every": "5", "tz": "UTC"}, "tz is for cron text"),
    ],
)
async def test_what_is_no_schedule_is_said_in_a_sentence(
    browser: httpx.AsyncClient, params: dict[str, str], said: str
) -> None:
    answer = await browser.get("/api/schedule-preview", params=params)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    assert said in answer.json()["detail"]


async def test_a_schedule_may_have_the_name_of_anything(
    app: TaskQ, browser: httpx.AsyncClient
) -> None:
    @app.activity
    async def tick() -> None: ...

    for name in ("preview", "schedule-preview"):
        await app.schedules.acreate(name, tick.build(), every=60)
        assert (await browser.get(f"/api/schedules/{name}")).json()["name"] == name


def stamp(clock: ManualClock, seconds: float = 0) -> str:
    """An instant as it is told."""
    at = clock.now() + timedelta(seconds=seconds)
    return at.isoformat().replace("+00:00", "Z")


@pytest.fixture
async def viewing(console: Any) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": f"Bearer {TOKENS['viewer']}"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(console), base_url="http://127.0.0.1", headers=headers
    ) as client:
        yield client
