"""The pages of the console, by their addresses, and when one of them shows what it is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

from tests.browser.workload import Ids

PAGES: Mapping[str, str] = {
    "overview": "#/",
    "activities": "#/activities",
    "activities-dead": "#/activities?status=dead_letter",
    "activity": "#/activities/{tree}",
    "activity-running": "#/activities/{running}",
    "activity-blocked": "#/activities/{blocked}",
    "activity-refused": "#/activities/{refused}",
    "queues": "#/queues",
    "queue": "#/queues/imports",
    "types": "#/types",
    "type": "#/types/send_email",
    "workers": "#/workers",
    "schedules": "#/schedules",
    "schedule": "#/schedules/nightly",
    "dead": "#/dead",
    "bulk": "#/bulk",
    "audit": "#/audit",
    "settings": "#/settings",
}
"""By name, in order; ``{tree}`` stands for the id of that activity."""


FIRST_DATA = """
globalThis.firstData = null;
new MutationObserver(() => {
  if (globalThis.firstData === null && document.querySelector("main > [data-ready]")) {
    globalThis.firstData = performance.now();
  }
}).observe(document, { subtree: true, childList: true, attributeFilter: ["data-ready"] });
"""
"""Keeps when, in milliseconds since the navigation began, a page showed its first data."""


def addresses(ids: Ids) -> dict[str, str]:
    """The address of each page, below the console's root."""
    return {name: path.format(**ids) for name, path in PAGES.items()}


def ready(page: Page) -> Locator:
    """The page's own element, once it shows its first data."""
    found = page.locator("main > [data-ready]")
    found.wait_for(state="attached")
    return found


def eventually(page: Page, holds: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until this holds of the page, where it cannot be expected of one element."""
    end = monotonic() + seconds
    while not holds():
        assert monotonic() < end, f"not within {seconds} s"
        page.wait_for_timeout(20)


def first_data(page: Page) -> float:
    """Seconds from the navigation to the first data; the page was opened with FIRST_DATA."""
    ready(page)
    return cast("float", page.evaluate("globalThis.firstData")) / 1000
