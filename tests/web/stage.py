"""A store in which something of everything is: each state, a tree, causes, schedules, a record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from taskq import TaskQ
from taskq.audit import Command
from taskq.backends import ClaimRequest, ProgressReport, Store
from taskq.identifiers import new_id
from taskq.lifecycle import Failed, Outcome, Succeeded, decide
from taskq.model import Activity, Attempt, ErrorInfo, Priority
from taskq.pausing import Kind
from taskq.progress import Progress
from taskq.snapshot import HISTOGRAM_BOUNDS, Bucket
from taskq.testing.conformance.samples import beat, worker

BIG = 12345678901234567890123456789
"""More than 64 bits, so that whoever reads it as a number of JavaScript's gets another one."""

LATER = 3600.0


class Stage(Struct, frozen=True, kw_only=True):
    """Ids by name, and the text that was put into every text column."""

    ids: Mapping[str, UUID]
    canary: str


async def played(app: TaskQ, canary: str = "plain") -> Stage:
    """Fill the app's store."""

    @app.activity
    async def send(to: str, password: str = "", n: int = 0, note: str = "") -> str: ...

    @app.activity(queue="reports", max_retries=0)
    def report(region: str) -> None: ...

    stage = await app.client.call(_fill, app.client.store, canary)
    await app.schedules.acreate("nightly", report.build(region=canary), cron="0 3 * * *")
    await app.schedules.acreate("often", send.build(to="a"), every=timedelta(minutes=5))
    await app.queues.apause(queue="reports", actor=canary, reason=canary)
    await app.operator.aretry([stage.ids["again"]], actor=canary, reason=canary)
    return stage


async def _fill(store: Store, canary: str) -> Stage:
    me = new_id()
    ids: dict[str, UUID] = {}
    note = _json(canary)
    payload = f'{{"n":{BIG},"note":{note},"password":"hunter2","to":"ada@example.com"}}'

    async def submitted(name: str, **changes: object) -> Activity[object]:
        id = new_id()
        ids[name] = id
        activity = Activity[object](
            id=id, type="send", queue="default", payload=payload, root_id=id, origin_id=id
        )
        activity = replace(activity, **{"max_retries": 0, **changes})
        await store.submit([activity])
        return activity

    async def claimed() -> Attempt:
        request = ClaimRequest(worker=me, queues=("default",), types=None, limit=1, lease=600.0)
        attempts = await store.claim(request)
        if not attempts:
            attempts = await store.claim(replace(request, alone=True))
        [attempt] = attempts
        return attempt

    async def ended(outcome: Outcome) -> None:
        await store.settle([decide(await claimed(), outcome)])

    error = ErrorInfo(type="ValueError", message=f"boom {canary}", traceback=f"Traceback {canary}")
    texts = {
        "source": canary,
        "correlation_id": canary,
        "user_id": canary,
        "tags": _json({"region": canary, canary: "eu"}),
        "metadata": _json({"note": canary, "api_key": "hunter2"}),
    }
    await submitted("completed", **texts)
    await ended(
        Succeeded(_json({"said": canary, "token": "hunter2"}).replace("}", f',"n":{BIG}}}'))
    )
    await submitted("dead")
    await ended(Failed(error=error))
    await submitted("again")
    await ended(Failed(error=error))
    await submitted("failed")
    await ended(Failed(error=error, retryable=False))
    await submitted("retrying", max_retries=3)
    await ended(Failed(error=error, delay=LATER))
    parent = await submitted("parent")
    attempt = await claimed()
    progress = Progress(done=1, total=4, note=canary, at=datetime.now(UTC))
    await store.report_progress(me, [ProgressReport(attempt.lease, progress)])
    below = {"parent_id": parent.id, "root_id": parent.id, "origin_id": parent.id, "depth": 1}
    await submitted("child", **below, delay=LATER)
    await submitted("other child", **below, step=canary, delay=LATER)
    await submitted("scheduled", delay=LATER, source="cron")
    await submitted("cancelled", delay=LATER)
    await store.cancel([ids["cancelled"]])
    await submitted("pending", queue="nobody", priority=Priority.HIGH)
    host = worker(me, name=canary, host=canary, types=("send",), slots_used=1)
    await store.heartbeat(beat(host, buckets=_buckets()))
    await store.pause(Kind.TYPE, "report", command=_command(canary))
    return Stage(ids=ids, canary=canary)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _command(canary: str) -> Command:
    return Command(actor=canary, reason=canary)


def _buckets() -> tuple[Bucket, ...]:
    """Four that completed a minute ago, in both resolutions."""
    now = datetime.now(UTC) - timedelta(seconds=30)
    spread = (4,) + (0,) * len(HISTOGRAM_BOUNDS)
    return tuple(
        Bucket(
            minute=datetime.fromtimestamp(now.timestamp() // span * span, UTC),
            span=span,
            queue="default",
            type="send",
            outcome="completed",
            count=4,
            waits=spread,
            runs=spread,
        )
        for span in (60, 600)
    )
