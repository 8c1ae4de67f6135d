"""Somebody who opens pages of a console, each guarded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from msgspec import Struct

from tests.browser.guard import Guard
from tests.browser.pages import ready
from tests.browser.scene import Scene

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

PATIENCE = 30.0
"""Seconds that a page gets for what is expected of it."""
WIDTH, HEIGHT = 1280, 900
START = "#/settings"
"""Where a tour begins: a page that asks for little."""
LEAVE = """() => {
  const [left] = document.querySelector("main").children;
  delete left.dataset.ready;
  left.querySelector(".problem")?.remove();
  globalThis.left = { page: left, path: location.hash.split("?")[0] };
  history.replaceState(null, "", "#/left");
}"""
"""Forgets what is shown, and where that is: to go where one is already is to go there too."""
ARRIVED = """() => {
  const [page] = document.querySelector("main").children;
  if (!page || !("ready" in page.dataset || page.querySelector(".problem"))) return false;
  return page !== left.page || location.hash.split("?")[0] === left.path;
}"""
"""Whether another page is shown, or the same one with what it has read since."""
FORGET = "localStorage.clear(); sessionStorage.clear()"
QUIET = "/health"
"""What a page shows between two tests: of the console's site, as another would cost it a process;
and no script runs on it."""


class Profile(Struct, frozen=True, eq=False):
    """A context of the browser, with the guard that watches it and its first page."""

    context: BrowserContext
    guard: Guard
    page: Page


class Visitor:
    """Opens pages, and closes them at the end. Each ``page`` has a profile of its own.

    ``kept`` are profiles that ``open`` takes before it makes one, and that are put back in the end
    with nothing in them but the browser's cache of files: a new one costs half a second and more.
    What a page keeps for ever, as a script that it begins with, is for one of ``page``.
    """

    def __init__(self, browser: Browser, kept: list[Profile] | None = None) -> None:
        self._browser = browser
        self._kept = kept
        self._visits: list[Profile] = []
        self._lent: list[Profile] = []

    def page(self, origin: str, *, theme: str = "light", width: int = WIDTH, **more: Any) -> Page:
        """An empty page whose guard minds this origin. ``theme`` is the system's: light or dark."""
        profile = self._made(more)
        self._visits.append(profile)
        return _begun(profile, origin, theme, width)

    def open(
        self,
        scene: Scene,
        path: str = "",
        *,
        role: str | None = "admin",
        theme: str = "light",
        width: int = WIDTH,
    ) -> Page:
        """A page of the console, by somebody of this role who is logged in; without, by nobody."""
        kept = self._kept
        profile = kept.pop() if kept else self._made({})
        self._lent.append(profile)
        page = _begun(profile, scene.origin, theme, width)
        if role is not None:
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
        """Close all, after a picture of each in this folder; of what is in a picture nothing is
        kept."""
        for number, profile in enumerate(self._all):
            for page in profile.context.pages if pictures else ():
                page.screenshot(path=f"{pictures}/page-{number}.png")
        kept = None if pictures else self._kept
        for profile in self._visits:
            profile.context.close()
        for profile in self._lent:
            if kept is None:
                profile.context.close()
            else:
                kept.append(_emptied(profile))

    @property
    def _all(self) -> list[Profile]:
        return [*self._visits, *self._lent]

    def _made(self, more: dict[str, Any]) -> Profile:
        context = self._browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT},
            locale="en-GB",
            timezone_id="Europe/Oslo",
            reduced_motion="reduce",  # what breathes is drawn sixty times a second
            **more,
        )
        context.set_default_timeout(PATIENCE * 1000)
        guard = Guard()
        guard.watch(context)
        return Profile(context, guard, context.new_page())


class Tour:
    """One page that goes from address to address of a console, which is loaded but once.

    For tests that only look: what one of them finds is forgotten when the next begins.
    """

    def __init__(self, visitor: Visitor, scene: Scene) -> None:
        self._origin = scene.origin
        self._page = visitor.open(scene, START)
        self._guard = visitor.guard(self._page)
        ready(self._page)

    def at(self, path: str) -> Page:
        """The page, once it shows the first data of what is at this address below the root, or why
        there is none; as it was opened: light, and as wide."""
        page = self._page
        self._guard.begin(self._origin)
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        page.evaluate(LEAVE)
        page.goto(f"{self._origin}/{path}")
        page.wait_for_function(ARRIVED)
        return page

    @property
    def findings(self) -> list[str]:
        """What was not to happen since it went there."""
        return self._guard.findings

    def excuse(self, *parts: str) -> None:
        """As the guard does, until it goes on."""
        self._guard.excuse(*parts)

    def rest(self) -> None:
        """Stay for a moment."""
        self._page.wait_for_timeout(100)


def patient() -> None:
    """What is expected of pages gets as long as what is done on them."""
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE * 1000)


@contextmanager
def toured(browser: Browser, scene: Scene, kept: list[Profile]) -> Iterator[Tour]:
    """Somebody's tour of it, in one of the profiles that are kept."""
    visitor = Visitor(browser, kept)
    try:
        yield Tour(visitor, scene)
    finally:
        visitor.leave()


def _begun(profile: Profile, origin: str, theme: Any, width: int) -> Page:
    profile.guard.begin(origin)
    page = profile.page
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": HEIGHT})
    return page


def _emptied(profile: Profile) -> Profile:
    context, page = profile.context, profile.page
    context.set_offline(False)
    for each in context.pages:
        if each != page:
            each.close()
    page.unroute_all()
    page.mouse.move(-1, -1)
    page.evaluate(FORGET)
    page.goto(urljoin(page.url, QUIET))
    context.clear_cookies()
    return profile
