"""What holds for every page: everybody can use it, in both themes, on a narrow window too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.accessible import contrast, focus, nameless, overflow, structure
from tests.browser.canaries import VISIBLE, infested, spared
from tests.browser.pages import PAGES, addresses, ready
from tests.browser.scene import Scene
from tests.browser.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NARROW = {"width": 380, "height": 700}

SMUGGLED = """
[...document.querySelectorAll("img, iframe, object, embed, script:not([src]), [onerror], [onload]")]
  .map((element) => element.outerHTML.slice(0, 200))
"""


@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_use_a_page(scene: Scene, visitor: Visitor, name: str) -> None:
    page = visitor.open(scene, addresses(scene.ids)[name])
    ready(page)
    found = [*structure(page), *nameless(page), *contrast(page)]
    page.emulate_media(color_scheme="dark")
    found += [f"dark: {each}" for each in contrast(page)]
    page.set_viewport_size(NARROW)
    found += [f"narrow: {each}" for each in (*overflow(page), *contrast(page), *focus(page))]
    assert found == []


@pytest.fixture(scope="module")
def canaries(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A console whose store holds markup wherever text can be."""
    folder = tmp_path_factory.mktemp("canaries")
    with infested(folder) as scene:
        assert spared(folder / "canaries.db") == []
        yield scene


def _shown(page: Page) -> str:
    ready(page)
    page.wait_for_timeout(100)
    return page.locator("main").inner_text()


CANARY_PAGES = {
    "overview": "#/",
    "activities": "#/activities",
    **{f"activity-{name}": f"#/activities/{{{name}}}" for name in ("completed", "dead", "parent")},
    **{name: PAGES[name] for name in ("queues", "types", "workers", "schedules", "dead", "audit")},
}


@pytest.mark.parametrize("name", CANARY_PAGES)
def test_no_stored_byte_is_ever_markup(canaries: Scene, visitor: Visitor, name: str) -> None:
    """threat:T5: it appears, and only as text; the guard sees what it would have done."""
    page = visitor.open(canaries, CANARY_PAGES[name].format(**canaries.ids))
    assert VISIBLE in _shown(page)
    assert page.evaluate(SMUGGLED) == []


VIEWS = [
    "#/activities/{dead}?tab=timeline&view=detailed",
    "#/activities/{dead}?tab=attempts",
    "#/activities/{parent}?tab=tree",
    "#/activities/{parent}?tab=tree&as=graph",
    "#/activities/{dead}?tab=metadata",
    "#/schedules?view=runs",
    "#/bulk",
    "#/settings",
]


def test_nor_is_it_in_any_view_of_a_page(canaries: Scene, visitor: Visitor) -> None:
    """threat:T5"""
    page = visitor.open(canaries, "#/settings")
    for view in VIEWS:
        page.goto("about:blank")
        page.goto(f"{canaries.url}{view.format(**canaries.ids)}")
        shown = _shown(page)
        assert VISIBLE in shown or view in VIEWS[-3:], view
        assert page.evaluate(SMUGGLED) == [], view
