"""What holds for every page: everybody can use it, in both themes, on a narrow window too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.accessible import contrast, focus, nameless, overflow, structure
from tests.browser.canaries import CANARY, CAUSE, MARKUP, VISIBLE, infested, spared
from tests.browser.pages import PAGES, addresses
from tests.browser.scene import Scene
from tests.browser.visitor import Profile, Tour, toured

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NARROW = {"width": 380, "height": 700}

SMUGGLED = """
[...document.querySelectorAll("img, iframe, object, embed, script:not([src]), [onerror], [onload]")]
  .map((element) => element.outerHTML.slice(0, 200))
"""


@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_use_a_page(scene: Scene, tour: Tour, name: str) -> None:
    page = tour.at(addresses(scene.ids)[name])
    found = [*structure(page), *nameless(page), *contrast(page)]
    page.emulate_media(color_scheme="dark")
    found += [f"dark: {each}" for each in contrast(page)]
    page.set_viewport_size(NARROW)
    found += [f"narrow: {each}" for each in (*overflow(page), *contrast(page), *focus(page))]
    assert [*found, *tour.findings] == []


@pytest.fixture(scope="module")
def canaries(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A console whose store holds markup wherever text can be."""
    folder = tmp_path_factory.mktemp("canaries")
    with infested(folder) as scene:
        assert spared(folder / "canaries.db") == []
        yield scene


@pytest.fixture(scope="module")
def infected(browser: Browser, canaries: Scene, profiles: list[Profile]) -> Iterator[Tour]:
    """Goes about in it; in the end it has waited for what markup would have done by and by."""
    with toured(browser, canaries, profiles) as tour:
        yield tour
        tour.rest()
        assert tour.findings == []


def _betrayed(tour: Tour, page: Page) -> list[str]:
    """What markup has become on the page, and what the guard saw it do."""
    return [*page.evaluate(SMUGGLED), *tour.findings]


CANARY_PAGES = {
    "overview": "#/",
    "activities": "#/activities",
    **{f"activity-{name}": f"#/activities/{{{name}}}" for name in ("completed", "dead", "parent")},
    **{name: PAGES[name] for name in ("queues", "types", "workers", "schedules", "dead", "audit")},
    "queue": "#/queues/reports",
    "type": "#/types/send",
    "cause": f"#/dead/{CAUSE}",
}


@pytest.mark.parametrize("name", CANARY_PAGES)
def test_no_stored_byte_is_ever_markup(canaries: Scene, infected: Tour, name: str) -> None:
    """threat:T5: it appears, and only as text; the guard sees what it would have done."""
    page = infected.at(CANARY_PAGES[name].format(**canaries.ids))
    expect(page.locator("main")).to_contain_text(VISIBLE, use_inner_text=True)
    assert _betrayed(infected, page) == []


@pytest.mark.parametrize("name", [MARKUP, CANARY], ids=["seen", "unseen"])
@pytest.mark.parametrize("place", ["queues", "types", "dead"])
def test_what_is_said_of_a_name_that_is_refused_is_text_too(
    infected: Tour, place: str, name: str
) -> None:
    """threat:T5"""
    page = infected.at(f"#/{place}/{quote(name, safe='')}")
    expect(page.get_by_role("alert").locator(".problem")).to_contain_text(VISIBLE)
    infected.excuse("400")
    assert _betrayed(infected, page) == []


VIEWS = [
    "#/activities/{dead}?tab=timeline&view=detailed",
    "#/activities/{dead}?tab=attempts",
    "#/activities/{parent}?tab=tree",
    "#/activities/{parent}?tab=tree&as=graph",
    "#/activities/{dead}?tab=metadata",
]
WITHOUT = ["#/schedules?view=runs", "#/bulk", "#/settings"]
"""Views that show nothing of it, as none of what they are about is infested."""


@pytest.mark.parametrize("view", [*VIEWS, *WITHOUT])
def test_nor_is_it_in_any_view_of_a_page(canaries: Scene, infected: Tour, view: str) -> None:
    """threat:T5"""
    page = infected.at(view.format(**canaries.ids))
    if view in VIEWS:
        expect(page.locator("main")).to_contain_text(VISIBLE, use_inner_text=True)
    assert _betrayed(infected, page) == []
