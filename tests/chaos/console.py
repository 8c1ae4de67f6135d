"""How long the console's routes take over a million activities: ``./scripts/chaos --console``."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence

import anyio
import httpx
from msgspec import Struct

from taskq import TaskQ
from taskq.cli.web import keep_what_is_loaded
from taskq.web import Console, ConsoleOptions
from taskq.web.application import build
from tests.chaos.crowd import TYPES, Crowd, crowd

TOKEN = "console-measure-0123456789"
ALLOWED = 0.2
"""Seconds that 95 of a hundred requests may take at the most."""


class Measure(Struct, frozen=True):
    """How long a route took, in seconds, and how many bytes it answered."""

    name: str
    seconds: Sequence[float]
    bytes: int

    @property
    def p95(self) -> float:
        """95 of a hundred took no longer."""
        return sorted(self.seconds)[int(len(self.seconds) * 0.95) - 1]

    def __str__(self) -> str:
        """A line of the table."""
        p50 = statistics.median(self.seconds)
        slow = "  TOO SLOW" if self.p95 > ALLOWED else ""
        return (
            f"{self.name:<76} {p50 * 1000:8.1f} {self.p95 * 1000:8.1f}"
            f" {max(self.seconds) * 1000:8.1f} {self.bytes:9}{slow}"
        )


HEADING = f"{'route':<76} {'p50 ms':>8} {'p95 ms':>8} {'max ms':>8} {'bytes':>9}"

LISTS = (
    "",
    "limit=200",
    "order=oldest",
    "q=status:dead_letter",
    "q=status:failed,dead_letter",
    "q=status:completed",
    "status=processing&order=started",
    "status=scheduled,retrying&order=due",
    f"type={TYPES[3]}",
    f"q=type:{TYPES[3]} status:dead_letter",
    "q=type:nothing",
    "queue=billing",
    "q=tag.region:eu",
    "q=tag.tenant:nobody",
    "q=user:user-77",
    "q=corr:corr-77",
    "q=args.order:17",
    "q=args.order>999990",
    "q=error:order 77",
    "q=no such text anywhere",
    "q=priority:critical",
    "q=priority:critical status:pending",
    "q=age>29d",
    "q=-status:completed",
    "q=source:cron",
    "q=worker:00000000",
    "roots=true",
)
"""What is searched for and counted."""


def addresses(found: Crowd) -> Iterator[tuple[str, list[str]]]:
    """Each route with what is asked of it, one of several ids in turn."""
    yield "/api/stats", ["/api/stats"]
    yield "/api/attention", ["/api/attention"]
    preview = "/api/schedule-preview?cron=0+3+*+*+1-5&tz=Europe/Lisbon"
    yield preview, [preview]
    for query in LISTS:
        yield f"/api/activities?{query}", [f"/api/activities?{query}"]
        if "order=" not in query and "limit=" not in query:
            yield f"/api/activities/count?{query}", [f"/api/activities/count?{query}"]
    for path in ("", "/timeline", "/result", "/tree", "/children"):
        for name, ids in (("completed", found.completed), ("dead", found.dead)):
            yield f"/api/activities/{{{name}}}{path}", [f"/api/activities/{id}{path}" for id in ids]
        yield f"/api/activities/{{root}}{path}", [f"/api/activities/{found.root}{path}"]
    for path in (
        *("/api/types", "/api/queues", "/api/workers", "/api/schedules", "/api/audit"),
        *("/api/audit?limit=200&before=2500", "/api/openapi.json"),
        *("/api/dead-letters", "/api/dead-letters?limit=100", "/api/dead-letters?q=error:said"),
        *(f"/api/series?window={window}&by=type&top=10" for window in ("5m", "1h", "24h")),
        *(f"/api/suggestions?q={q}" for q in ("st", "type:", "tag.", "tag.region:", "user:")),
        *(f"/api/observability/{name}" for name in ("stats", "cron", "dead-letter")),
        *("/api/observability/roots", "/api/observability/roots?status=completed"),
        "/api/observability/roots?status=failed&flatten=1&offset=1000&limit=1000",
        *(f"/api/observability/activities/{key}" for key in ("pending", "completed", "cron")),
    ):
        yield path, [path]
    for path in ("", "/events", "/result", "/subtree", "/children"):
        ids = [found.root, *found.dead]
        name = f"/api/observability/activities/{{id}}{path}"
        yield name, [f"/api/observability/activities/{id}{path}" for id in ids]


async def asked(
    url: str, found: Crowd, times: int, tell: Callable[[Measure], None]
) -> list[Measure]:
    """Ask every route so many times, after it was asked once."""
    app = TaskQ(url, web_tokens={"measure": f"admin:{TOKEN}"})
    for type in TYPES:
        app.activity(name=type)(_work)
    console = Console(app, ConsoleOptions())
    keep_what_is_loaded()  # as ``taskq web`` does
    measures: list[Measure] = []
    async with (
        app,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(build(console)),
            base_url="http://127.0.0.1",
            headers={"authorization": f"Bearer {TOKEN}"},
            timeout=60,
        ) as client,
    ):
        for name, paths in addresses(found):
            seconds: list[float] = []
            size = 0
            for number in range(times + 1):
                began = time.perf_counter()
                answer = await client.get(paths[number % len(paths)])
                seconds.append(time.perf_counter() - began)
                if answer.status_code not in (200, 503):  # 503: too slow to be answered
                    raise AssertionError(f"{name}: {answer.status_code} {answer.text[:300]}")
                size = max(size, len(answer.content))
            measures.append(Measure(name, seconds[1:], size))
            tell(measures[-1])
        await console.aclose()
    return measures


def _work(order: int = 0, note: str = "") -> None:
    """What the tasks of the crowd would do."""


def measured(
    url: str, number: int, *, tell: Callable[[Measure], None], times: int = 50
) -> list[Measure]:
    """Fill the database with so many activities, then ask every route so many times. ``tell`` is
    called with each measure as it is there."""
    return anyio.run(asked, url, crowd(url, number), times, tell)
