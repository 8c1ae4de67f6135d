"""What a page does while ten thousand activities a second come and go: ``./scripts/burst``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import anyio
import click
from msgspec import Struct

from taskq import TaskQ
from taskq.backends import ClaimRequest
from taskq.bridge import serve_in_thread
from taskq.identifiers import new_id
from taskq.lifecycle import Succeeded, decide
from taskq.testing.conformance.samples import call
from tests.browser.chromium import NoBrowser, chromium
from tests.browser.pages import addresses, ready
from tests.browser.scene import Scene, shown
from tests.browser.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

RATE = 10_000
"""Activities a second."""
BATCH = 500
ALLOWED = 0.1
"""Seconds for which a task may keep the page from answering."""
PAGES = ("overview", "activities", "activity", "queues", "types", "workers", "dead")

WATCH = """
globalThis.watched = { long: [], draws: 0 };
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) watched.long.push(entry.duration);
}).observe({ type: "longtask" });
let last = -Infinity;
new MutationObserver(() => {
  const now = performance.now();
  if (now - last > 100) watched.draws += 1;
  last = now;
}).observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true });
"""


class Burst(Struct, frozen=True):
    """What a page did meanwhile: ``tasks`` are the seconds of processor time of its longest tasks,
    ``long`` the seconds by the clock of those above 50 ms; ``draws`` how often it changed what it
    shows."""

    name: str
    seconds: float
    made: int
    tasks: Sequence[float]
    long: Sequence[float]
    draws: int

    @property
    def longest(self) -> float:
        """The longest task, in seconds of processor time: another program's turn is not counted."""
        return max(self.tasks, default=0.0)

    def __str__(self) -> str:
        """A line of the table."""
        clock = max(self.long, default=0.0)
        return (
            f"{self.name:<18} {self.made / self.seconds:8.0f} {self.draws / self.seconds:8.1f}"
            f" {self.longest * 1000:10.1f} {clock * 1000:10.1f}"
            f"{'  TOO LONG' if self.longest > ALLOWED else ''}"
        )


HEADING = f"{'page':<18} {'made/s':>8} {'draws/s':>8} {'longest ms':>10} {'clock ms':>10}"


class Storm:
    """Enqueues and ends activities, evenly, in a thread of its own. ``made`` counts them."""

    def __init__(self, app: TaskQ, rate: int = RATE) -> None:
        self._app = app
        self._rate = rate
        self.made = 0

    def begin(self) -> Callable[[], None]:
        """Go on until what is given back is called."""
        return serve_in_thread(self._blow).stop

    async def _blow(self) -> None:
        begun = anyio.current_time()
        while True:
            ahead = self.made / self._rate - (anyio.current_time() - begun)
            await anyio.sleep(max(ahead, 0))
            await self._app.client.call(self._batch)
            self.made += BATCH

    async def _batch(self) -> None:
        store, me = self._app.client.store, new_id()
        types = ("send_email", "resize_image", "charge_card", "import_product")
        calls = [call(types[n % 4], queue="storm") for n in range(BATCH)]
        await store.submit(calls)
        request = ClaimRequest(worker=me, queues=("storm",), types=None, limit=BATCH, lease=30.0)
        attempts = await store.claim(request)
        await store.settle([decide(each, Succeeded("null")) for each in attempts])


def endured(browser: Browser, page: Page, app: TaskQ, name: str, seconds: float) -> Burst:
    """What an open page does in so many seconds of storm."""
    page.evaluate(f"(() => {{{WATCH}}})()")
    storm = Storm(app)
    end = storm.begin()
    page.wait_for_timeout(300)
    browser.start_tracing(page=page, categories=["disabled-by-default-devtools.timeline"])
    before, drawn, begun = storm.made, page.evaluate("watched.draws"), monotonic()
    page.wait_for_timeout(seconds * 1000)
    made, watched, took = storm.made - before, page.evaluate("watched"), monotonic() - begun
    trace = browser.stop_tracing()
    end()
    return Burst(
        name,
        took,
        made,
        tasks(json.loads(trace)["traceEvents"]),
        [each / 1000 for each in watched["long"]],
        watched["draws"] - cast("int", drawn),
    )


def tasks(events: Sequence[Any]) -> list[float]:
    """Seconds of processor time of what the pages' main threads did, the ten longest first."""
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    found = (
        event.get("tdur", event.get("dur", 0)) / 1e6
        for event in events
        if event["name"] == "RunTask" and (event["pid"], event["tid"]) in mains
    )
    return sorted(found, reverse=True)[:10]


def all_of(browser: Browser, scene: Scene, names: Sequence[str], seconds: float) -> Iterator[Burst]:
    """Each of these pages in turn."""
    visitor = Visitor(browser)
    paths = addresses(scene.ids)
    for name in names:
        page = visitor.open(scene, paths[name], width=1440)
        ready(page)
        yield endured(browser, page, scene.app, name, seconds)
        page.close()
    visitor.leave()


@click.command()
@click.argument("pages", nargs=-1)
@click.option("--seconds", type=click.FloatRange(min=1), default=10.0, show_default=True)
def main(pages: tuple[str, ...], seconds: float) -> None:
    """Let PAGES (default: those that follow what happens) endure it; exit code 1 if a task took too
    long."""
    click.echo(HEADING)
    long = False
    try:
        with chromium() as browser, shown() as scene:
            for burst in all_of(browser, scene, pages or PAGES, seconds):
                click.echo(str(burst))
                long = long or burst.longest > ALLOWED
    except NoBrowser as reason:
        raise click.ClickException(str(reason)) from None
    if long:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
