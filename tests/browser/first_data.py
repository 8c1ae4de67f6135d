"""How long each page takes to show its first data: a part of ``./scripts/chaos --console``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from uuid import UUID

from msgspec import Struct

from taskq import TaskQ
from tests.browser.chromium import chromium
from tests.browser.pages import FIRST_DATA, addresses, first_data
from tests.browser.scene import served
from tests.browser.visitor import Visitor
from tests.browser.workload import TOKENS

ALLOWED = 1.0
"""Seconds to the first data, the page's own files read, in the middle of the times asked."""
TIMES = 5


class FirstData(Struct, frozen=True):
    """Seconds from the navigation to the first data, each time it was asked for."""

    name: str
    seconds: list[float]

    @property
    def middle(self) -> float:
        """Half of the times it took no longer."""
        return median(self.seconds)

    def __str__(self) -> str:
        """A line of the table."""
        slow = "  TOO SLOW" if self.middle > ALLOWED else ""
        return f"{self.name:<40} {self.middle * 1000:8.0f} {max(self.seconds) * 1000:8.0f}{slow}"


HEADING = f"{'page':<40} {'p50 ms':>8} {'max ms':>8}"


def pages_measured(
    url: str, ids: Mapping[str, UUID], tell: Callable[[FirstData], None], times: int = TIMES
) -> list[FirstData]:
    """Open each page so many times, after it was opened once, on a console of this database.
    ``ids``: activities by the names that PAGES has. Raises NoBrowser."""

    async def fill(app: TaskQ) -> Mapping[str, UUID]:
        work = app.activity(name="shop.task_00")(_work)
        await app.schedules.acreate("nightly", work.build(), cron="0 3 * * *")
        return ids

    app = TaskQ(url, web_tokens={role: f"{role}:{token}" for role, token in TOKENS.items()})
    measures: list[FirstData] = []
    with chromium() as browser, served(app, fill=fill) as scene:
        visitor = Visitor(browser)
        page = visitor.page(scene.origin, width=1440)
        page.context.add_init_script(FIRST_DATA)
        page.context.add_cookies([scene.cookie()])
        for name, path in addresses(ids).items():
            seconds: list[float] = []
            for _ in range(times + 1):
                page.goto("about:blank")
                page.goto(f"{scene.url}{path}")
                seconds.append(first_data(page))
            measures.append(FirstData(name, seconds[1:]))
            tell(measures[-1])
        visitor.leave()
    return measures


def _work(order: int = 0, note: str = "") -> None:
    """What the schedule's task would do."""
