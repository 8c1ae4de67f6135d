"""A picture of each page, in both themes and several widths: ``./scripts/screenshots``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tests.browser.chromium import NoBrowser, chromium
from tests.browser.pages import addresses, ready
from tests.browser.scene import Scene, shown
from tests.browser.visitor import Visitor

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
    "schedule-runs": "#/schedules?view=runs",
    "schedule-new": "#/schedules?form=new",
    "schedule-edit": "#/schedules/nightly/edit",
    "missing": "#/activities/00000000-0000-7000-8000-000000000000",
}
"""Views of pages that have several."""
SETTLING = 600
"""Milliseconds in which a page's first live events come."""


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
        with chromium() as browser, shown() as scene:
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
