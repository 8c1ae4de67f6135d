"""Somebody who opens pages of a console, each guarded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tests.browser.guard import Guard
from tests.browser.scene import Scene

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

PATIENCE = 10.0
"""Seconds that a page gets for what is expected of it."""
HEIGHT = 900
FORGET = "localStorage.clear()"


class Profile(Struct, frozen=True, eq=False):
    """A context of the browser, with the guard that watches it."""

    context: BrowserContext
    guard: Guard


class Visitor:
    """Opens pages, and closes them at the end. Each ``page`` has a profile of its own.

    ``kept`` are profiles that ``open`` takes before it makes one, and that are put back in the end
    with nothing in them but the browser's cache of files: a new one costs half a second and more.
    """

    def __init__(self, browser: Browser, kept: list[Profile] | None = None) -> None:
        self._browser = browser
        self._kept = kept
        self._visits: list[Profile] = []
        self._lent: list[Profile] = []

    def page(self, origin: str, *, theme: str = "light", width: int = 1280, **more: Any) -> Page:
        """An empty page whose guard minds this origin. ``theme`` is the system's: light or dark."""
        profile = self._made(more)
        profile.guard.begin(origin)
        self._visits.append(profile)
        return self._opened(profile, theme, width)

    def open(
        self,
        scene: Scene,
        path: str = "",
        *,
        role: str = "admin",
        theme: str = "light",
        width: int = 1280,
    ) -> Page:
        """A page of the console, by somebody of this role who is logged in."""
        kept = self._kept
        profile = kept.pop() if kept else self._made({})
        profile.guard.begin(scene.origin)
        self._lent.append(profile)
        page = self._opened(profile, theme, width)
        profile.context.add_cookies([scene.cookie(role)])
        page.goto(f"{scene.url}{path}")
        return page

    def guard(self, page: Page) -> Guard:
        """The page's."""
        return next(each.guard for each in self._all if each.context == page.context)

    @property
    def findings(self) -> list[str]:
        """What was not to happen on any of them."""
        return [finding for each in self._all for finding in each.guard.findings]

    def leave(self, pictures: Path | None = None) -> None:
        """Close all, after a picture of each in this folder."""
        for number, profile in enumerate(self._all):
            for page in profile.context.pages if pictures else ():
                page.screenshot(path=f"{pictures}/page-{number}.png")
        for profile in self._visits:
            profile.context.close()
        for profile in self._lent:
            if self._kept is None:
                profile.context.close()
            else:
                self._kept.append(_emptied(profile))

    @property
    def _all(self) -> list[Profile]:
        return [*self._visits, *self._lent]

    def _made(self, more: dict[str, Any]) -> Profile:
        context = self._browser.new_context(
            viewport={"width": 1280, "height": HEIGHT},
            locale="en-GB",
            timezone_id="Europe/Oslo",
            **more,
        )
        context.set_default_timeout(PATIENCE * 1000)
        guard = Guard()
        guard.watch(context)
        return Profile(context, guard)

    def _opened(self, profile: Profile, theme: Any, width: int) -> Page:
        page = profile.context.new_page()
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": HEIGHT})
        return page


def _emptied(profile: Profile) -> Profile:
    context = profile.context
    context.set_offline(False)
    for page in context.pages:
        if page.url.startswith("http"):
            page.evaluate(FORGET)
        page.close()
    context.clear_cookies()
    return profile
