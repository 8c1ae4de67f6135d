"""A picture of each page, in both themes and several widths: ``./scripts/screenshots``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tests.browser.chromium import NoBrowser, chromium
from tests.browser.pages import addresses, ready
from tests.browser.scene import Scene, served
from tests.browser.visitor import Visitor
from tests.browser.workload import SOON, shop

if TYPE_CHECKING:
    from playwright.sync_api import Page

THEMES = ("light", "dark")
WIDTHS = (380, 1440)
WIDEST = 2560
WIDE = ("overview", "activities")
"""Pages that are shown that wide too."""
VIEWS = {
    "activity-timeline": "#/activities/{refused}?tab=timeline",
    "activity-attempts": "#/activities/{refused}?tab=attempts",
    "activity-tree": "#/activities/{tree}?tab=tree",
    "activity-graph": "#/activities/{tree}?tab=tree&as=graph",
    "activity-related": "#/activities/{tree}?tab=related",
    "activity-metadata": "#/activities/{tree}?tab=metadata",
    "schedule-ran": "#/schedules/prices",
    "schedule-runs": "#/schedules?view=runs",
    "schedule-new": "#/schedules?form=new",
    "schedule-edit": "#/schedules/nightly/edit",
    "missing": "#/activities/00000000-0000-7000-8000-000000000000",
}
"""Views of pages that have several."""
SETTLING = 600
"""Milliseconds in which a page's first live events come."""


BY_HAND = {"stock": 9, "nightly": 3}
"""How often each schedule has run by hand."""
TURNS = 21
"""How often one has come due, once a second, before the first picture."""
COMMANDS = (
    {"action": "priority", "priority": "HIGH", "filter": "type:nightly_report", "rate": 0.01},
    {"action": "reschedule", "when": "2099-01-01T06:00:00Z", "filter": "type:legacy_sync"},
    {"action": "delete", "filter": "type:resize_image"},
    {"action": "cancel", "filter": "type:send_email status:scheduled", "rate": 0.1, "tree": True},
)
"""Bulk commands: the first one goes on for as long as there are pictures to take, the last one is
stopped."""
REASONS = ("the month ends today", "its worker is being rebuilt", "", "a wrong address")


@contextmanager
def furnished() -> Iterator[Scene]:
    """The shop's console at work, with schedules that have run and bulk commands as well."""
    app = shop("memory://")
    turns = count(1)

    @app.activity(queue="imports", max_retries=0, retry=SOON)
    def sync_prices(supplier: str) -> int:
        """Each seventh time the supplier is away."""
        turn = next(turns)
        time.sleep(0.02 * (1 + turn % 5))
        if turn % 7 == 0:
            raise ConnectionError(f"{supplier} closed the connection")
        return turn

    with served(app, live=True) as scene:
        call = app.tasks["sync_prices"].build("acme")
        app.schedules.create("prices", call, every=timedelta(seconds=1))
        for name, times in BY_HAND.items():
            for _ in range(times):
                app.schedules.trigger(name, actor="console:ada")
        ids = [command(scene, **asked) for asked in COMMANDS]
        time.sleep(TURNS)
        app.schedules.pause("prices", reason="acme counts its stock", actor="console:ada")
        scene.api.post(f"/api/bulk/{ids[-1]}/cancel", json={"reason": "the filter was too wide"})
        yield scene


def command(scene: Scene, **asked: object) -> str:
    """Give a bulk command; its id."""
    reason = REASONS[[each["action"] for each in COMMANDS].index(str(asked["action"]))]
    answer = scene.api.post("/api/bulk", json={**asked, "reason": reason})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def pictures(scene: Scene, visitor: Visitor, only: tuple[str, ...]) -> Iterator[tuple[str, Page]]:
    """Each page as it is to be taken, with the picture's name."""
    views = {name: path.format(**scene.ids) for name, path in VIEWS.items()}
    paths = {**addresses(scene.ids), **views, "cause": cause(scene)}
    for theme in THEMES:
        for width in (*WIDTHS, WIDEST):
            page = visitor.page(scene.origin, theme=theme, width=width)
            visitor.guard(page).excuse("404")  # of the activity that is missing
            if not only or "login" in only:
                page.goto(f"{scene.url}login")
                if width != WIDEST:
                    yield f"login-{theme}-{width}", page
            page.context.add_cookies([scene.cookie()])
            for name, path in paths.items():
                if (only and name not in only) or (width == WIDEST and name not in WIDE):
                    continue
                page.goto("about:blank")
                page.goto(f"{scene.url}{path}")
                ready(page)
                page.wait_for_timeout(SETTLING)
                yield f"{name}-{theme}-{width}", page


def cause(scene: Scene) -> str:
    """The page of what most dead letters have failed of."""
    return f"#/dead/{scene.get('dead-letters')['items'][0]['fingerprint']}"


@click.command()
@click.argument("pages", nargs=-1)
@click.option(
    "--folder", type=click.Path(path_type=Path), default="build/screenshots", show_default=True
)
def main(pages: tuple[str, ...], folder: Path) -> None:
    """Write a picture of each of PAGES (default: of all) into a folder; exit code 1 if a page did
    what none may."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with chromium() as browser, furnished() as scene:
            visitor = Visitor(browser)
            for name, page in pictures(scene, visitor, pages):
                page.screenshot(path=folder / f"{name}.png", full_page=True)
                click.echo(f"{folder / name}.png")
            findings = visitor.findings
            visitor.leave()
    except NoBrowser as reason:
        raise click.ClickException(str(reason)) from None
    if findings:
        click.echo("\n".join(findings))
        raise SystemExit(1)


if __name__ == "__main__":
    main()
