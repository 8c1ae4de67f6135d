"""Somebody who opens pages of a console, each guarded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser.guard import Guard
from tests.browser.scene import Scene

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

PATIENCE = 10.0
"""Seconds that a page gets for what is expected of it."""


class Visitor:
    """Opens pages, each in a context of its own, and closes them at the end."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._visits: list[tuple[BrowserContext, Guard]] = []

    def page(self, origin: str, *, theme: str = "light", width: int = 1280, **more: Any) -> Page:
        """An empty page whose guard minds this origin. ``theme`` is the system's: light or dark."""
        context = self._browser.new_context(
            color_scheme=theme,
            viewport={"width": width, "height": 900},
            locale="en-GB",
            timezone_id="Europe/Oslo",
            **more,
        )
        context.set_default_timeout(PATIENCE * 1000)
        guard = Guard(origin)
        guard.watch(context)
        self._visits.append((context, guard))
        return context.new_page()

    def open(self, scene: Scene, path: str = "", *, role: str = "admin", **how: Any) -> Page:
        """A page of the console, by somebody of this role who is logged in."""
        page = self.page(scene.origin, **how)
        page.context.add_cookies([scene.cookie(role)])
        page.goto(f"{scene.url}{path}")
        return page

    def guard(self, page: Page) -> Guard:
        """The page's."""
        return next(guard for context, guard in self._visits if context == page.context)

    @property
    def findings(self) -> list[str]:
        """What was not to happen on any of them."""
        return [finding for _, guard in self._visits for finding in guard.findings]

    def leave(self, pictures: Path | None = None) -> None:
        """Close all, after a picture of each in this folder."""
        for number, (context, _) in enumerate(self._visits):
            for page in context.pages if pictures else ():
                page.screenshot(path=f"{pictures}/page-{number}.png")
            context.close()
