"""A shop's workload: something of everything, so that a page has something to show.

For tests and for screenshots alike; the same each time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID

import anyio
from msgspec.structs import replace

from taskq import ActivityFailed, NonRetryError, Priority, RetryPolicy, TaskQ, current
from taskq.identifiers import new_id
from taskq.model import Activity
from taskq.passwords import hashed
from taskq.snapshot import HISTOGRAM_BOUNDS, Bucket
from taskq.testing.conformance.samples import beat, call, worker

PASSWORD = "correct horse battery staple"
TOKENS = {role: f"{role}-0123456789-0123456789" for role in ("viewer", "operator", "admin")}
"""A token of each role; each account has the name of its role, and Ada, an admin, the password."""

QUEUES = ("default", "mail", "reports", "billing", "imports")
CITIES = ("Bergen", "Lisbon", "Kyoto", "Quito", "Accra", "Turin", "Perth", "Oslo")
SOON = RetryPolicy(initial_delay=0.01, jitter=0.0)
LATER = RetryPolicy(initial_delay=1800.0, jitter=0.0)
FAR = timedelta(hours=6)

Ids = Mapping[str, UUID]
"""Activities that tests look for, by name."""


def shop(url: str = "memory://", **settings: object) -> TaskQ:
    """The app, whose console has an account of each role. No environment counts."""
    app = TaskQ(
        url,
        web_tokens={role: f"{role}:{token}" for role, token in TOKENS.items()},
        web_users={"ada": f"admin:{hashed(PASSWORD).text}"},
        shutdown_grace=0.1,
        **settings,
    )
    for queue in QUEUES[1:]:
        app.queue(queue)
    _everyday(app)
    _failing(app)
    _family(app)
    return app


def _everyday(app: TaskQ) -> None:
    @app.activity(queue="mail")
    async def send_email(to: str, subject: str = "Welcome", password: str = "") -> str:
        """A message to a customer."""
        return f"sent to {to}"

    @app.activity
    async def resize_image(path: str, width: int = 1200) -> dict[str, object]:
        """A smaller picture."""
        await anyio.sleep(0.05)
        return {"path": path, "width": width, "bytes": 9_007_199_254_740_993}

    @app.activity(queue="reports")
    async def nightly_report(region: str) -> str:
        """Reads the day's orders."""
        return f"report of {region}"

    @app.activity(timeout=None)
    async def rebuild_index(shards: int) -> None:
        """Goes on for as long as its worker does, and says how far it has come."""
        for shard in range(shards):
            current().progress(shard, shards, f"shard {shard} of {shards}")
            await anyio.sleep(0.05)
        await anyio.sleep_forever()

    @app.activity
    async def ping(number: int) -> int:
        """Next to nothing."""
        return number


def _failing(app: TaskQ) -> None:
    @app.activity(queue="billing", max_retries=0)
    async def charge_card(order: int, amount: str, currency: str = "EUR") -> str:
        """Fails for what the bank refuses, until somebody has mended the arguments."""
        if currency == "XXX":
            raise ValueError(f"the bank knows no currency XXX (order {order})")
        return f"charged {amount} {currency}"

    @app.activity(queue="billing", max_retries=1, retry=SOON)
    async def refund(order: int) -> None:
        raise ConnectionError(f"bank.example.com hung up on order {order}")

    @app.activity(queue="imports", max_retries=0)
    async def fetch_feed(url: str) -> None:
        raise TimeoutError(f"{url} did not answer within 30 s")

    @app.activity(queue="imports", max_retries=5, retry=LATER)
    async def sync_stock(shop: str) -> None:
        raise ConnectionResetError(f"stock service of {shop} is away")

    @app.activity(queue="mail")
    async def send_sms(to: str) -> None:
        raise NonRetryError(f"{to} is no telephone number")


def _family(app: TaskQ) -> None:
    @app.activity(queue="imports")
    async def import_product(section: int, product: int, fails: bool = False) -> int:
        """A leaf."""
        if fails:
            raise NonRetryError(f"product {product} of section {section} has no price")
        await anyio.sleep(0.01 * (product % 4))
        return product

    @app.activity(queue="imports")
    async def import_section(section: int, products: int = 6) -> int:
        """Waits for its products; one of the last section's has no price."""
        futures = [
            await import_product.adelay(section, number, fails=section + number == 8)
            for number in range(products)
        ]
        done = 0
        for future in futures:
            with suppress(ActivityFailed):
                done += await future
        return done

    @app.activity(queue="imports")
    async def import_catalogue(name: str, sections: int = 4) -> int:
        """Waits for its sections, one after the other."""
        return sum([await (await import_section.adelay(number)) for number in range(sections)])

    @app.activity(queue="imports")
    async def import_later(name: str) -> None:
        """Waits for a child that is not due for hours."""
        done = await import_product.adelay(0, 1)
        late = await import_product.aschedule(FAR, 0, 2)
        await done
        await late


async def staged(app: TaskQ) -> Ids:
    """Fill the app's store: what has ended has run, on a worker that is gone again."""
    ids = await _ended(app)
    await app.run_worker(burst=True, concurrency=30, name="loader")
    await _history(app)
    await _waiting(app, ids)
    await _steered(app, ids)
    return ids


async def _ended(app: TaskQ) -> dict[str, UUID]:
    task = app.tasks
    ids: dict[str, UUID] = {}
    tree = task["import_catalogue"].options(
        correlation_id="import-2030-01", user_id="grace", tags={"region": "eu", "tenant": "acme"}
    )
    ids["tree"] = (await tree.adelay("spring")).id
    mails = [
        task["send_email"]
        .options(
            priority=tuple(Priority)[number % 4],
            user_id=f"user-{number % 7}",
            correlation_id=f"order-{number // 3}",
            tags={"region": ("eu", "us", "asia")[number % 3], "tenant": f"t{number % 5}"},
        )
        .build(f"customer{number}@example.com", "Your order", "hunter2")
        for number in range(140)
    ]
    ids["mail"] = mails[-1].id
    others = [task["resize_image"].build(f"/photos/{city}.jpg") for city in CITIES]
    others += [task["refund"].build(number) for number in range(6)]
    others += [task["fetch_feed"].build(f"https://{city}.example.com/feed") for city in CITIES[:4]]
    others += [task["sync_stock"].build(city) for city in CITIES[:5]]
    others += [task["send_sms"].build(f"+47 {number}") for number in range(3)]
    refused = [task["charge_card"].build(77 + number, "19.90", "XXX") for number in range(9)]
    ids["refused"] = refused[0].id
    await app.aenqueue([*mails, *others, *refused])
    return ids


async def _waiting(app: TaskQ, ids: dict[str, UUID]) -> None:
    task = app.tasks
    later = [task["send_email"].options(delay=FAR).build(f"late{n}@example.com") for n in range(12)]
    reports = [task["nightly_report"].build(city) for city in CITIES]
    running = [task["rebuild_index"].options(priority=Priority.CRITICAL).build(40)]
    running += [task["import_later"].options(user_id="grace").build("autumn")]
    ids["late"], ids["report"] = later[0].id, reports[0].id
    ids["running"], ids["blocked"] = running[0].id, running[1].id
    await app.aenqueue([*later, *reports, *running])
    unknown: list[Activity[object]] = [call("legacy_sync", queue="imports") for _ in range(3)]
    ids["unknown"] = unknown[0].id
    await app.client.call(app.client.store.submit, unknown)


async def _steered(app: TaskQ, ids: Ids) -> None:
    task, who = app.tasks, {"actor": "console:ada"}
    await app.queues.apause(queue="reports", reason="the warehouse moves", **who)
    await app.queues.apause(type="resize_image", reason="disk full", **who)
    await app.schedules.acreate("nightly", task["nightly_report"].build("Bergen"), cron="0 3 * * *")
    await app.schedules.acreate(
        "stock", task["send_email"].build("stock@example.com"), every=timedelta(minutes=15)
    )
    digest = task["send_email"].build("all@example.com", "Digest")
    await app.schedules.acreate("weekly digest", digest, cron="30 8 * * 1", tz="Europe/Oslo", **who)
    await app.schedules.apause("weekly digest", reason="holidays", **who)
    await app.operator.acancel([ids["late"]], reason="sent by hand", **who)


async def _history(app: TaskQ) -> None:
    """A day of work, as workers would have counted it."""
    now = datetime.now(UTC)
    earlier = worker(name="imports-2", host="rack-4", types=("import_product",), queues=QUEUES)
    earlier = replace(earlier, id=new_id(), started_at=now - timedelta(days=1))
    buckets = (*_buckets(now, 60, 70), *_buckets(now, 600, 144))
    await app.client.call(app.client.store.heartbeat, beat(earlier, buckets=buckets))


SHARES = (
    ("mail", "send_email", 40),
    ("default", "resize_image", 18),
    ("imports", "import_product", 25),
    ("billing", "charge_card", 7),
)


def _buckets(now: datetime, span: int, count: int) -> Iterator[Bucket]:
    last = int(now.timestamp()) // span
    for number in range(1, count + 1):
        at = datetime.fromtimestamp((last - number) * span, UTC)
        wave = 1.2 + math.sin((last - number) * span / 7200)
        for queue, type, share in SHARES:
            done = int(share * wave * span / 60)
            for outcome, total in (("completed", done), ("retrying", done // 15)):
                yield Bucket(
                    minute=at, span=span, queue=queue, type=type, outcome=outcome, count=total,
                    waits=_spread(total, 2), runs=_spread(total, 3),
                )  # fmt: skip


def _spread(count: int, around: int) -> tuple[int, ...]:
    """A histogram with its hill there."""
    bins = len(HISTOGRAM_BOUNDS) + 1
    shares = [math.exp(-abs(number - around)) for number in range(bins)]
    counts = [int(count * share / sum(shares)) for share in shares]
    counts[around] += count - sum(counts)
    return tuple(counts)


async def at_work(app: TaskQ, pause: float = 1.0) -> None:
    """Two workers, and something new to do for them every ``pause`` seconds; until cancelled."""
    async with (
        app.worker(concurrency=8, name="shop-1", renew_interval=0.5),
        app.worker(concurrency=4, name="shop-2", renew_interval=0.5),
    ):
        number = 0
        while True:
            number += 1
            city = CITIES[number % len(CITIES)]
            await app.tasks["ping"].options(tags={"city": city}).adelay(number)
            await anyio.sleep(pause)
