"""What somebody does on any page: goes about by keys, looks for something, turns the theme, and
watches what works."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.pages import PAGES, eventually, ready
from tests.browser.scene import Scene
from tests.browser.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Page

KEYS = {
    "overview": "o",
    "activities": "a",
    "queues": "q",
    "types": "t",
    "workers": "w",
    "schedules": "s",
    "dead": "d",
    "bulk": "b",
    "audit": "u",
    "settings": ",",
}


FOCUSED = "(row) => row.contains(document.activeElement)"
PAINTED = """(theme) => {
  const ground = getComputedStyle(document.body).backgroundColor;
  const [red, green, blue] = ground.match(/\\d+/g).map(Number);
  return theme === (red + green + blue < 384 ? "dark" : "light");
}"""


def _painted(page: Page, theme: str) -> None:
    """Wait until the page is: by how bright its ground is."""
    page.wait_for_function(PAINTED, arg=theme)


def _named(page: Page) -> str:
    """The heading of the page whose first data is shown."""
    ready(page)
    return page.get_by_role("heading", level=1).inner_text()


def test_a_g_and_a_letter_lead_to_each_page(scene: Scene, visitor: Visitor) -> None:
    """seed:V1"""
    page = visitor.open(scene, PAGES["workers"])
    before = _named(page)
    for name, key in KEYS.items():
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"{scene.url}{PAGES[name]}")
        current = page.get_by_role("navigation").locator("[aria-current]")
        current.and_(page.locator(f"[href='{PAGES[name]}']")).wait_for()
        page.wait_for_function("was => document.querySelector('h1')?.innerText !== was", arg=before)
        before = _named(page)
        expect(current).to_contain_text(before)


def test_j_and_k_walk_the_rows_and_stay_among_them(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, PAGES["queues"])
    ready(page)
    rows = page.get_by_role("table", name="Queues").locator("tbody tr")
    rows.nth(1).wait_for()
    for key, at in (("j", 0), ("j", 1), ("k", 0), ("k", 0)):
        page.keyboard.press(key)
        eventually(page, lambda at=at: rows.nth(at).evaluate(FOCUSED))


def test_a_question_mark_tells_the_keys_and_escape_goes_back(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, PAGES["queues"])
    ready(page)
    page.keyboard.press("?")
    told = page.get_by_role("dialog", name="Keys")
    told.get_by_text("next row").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("o")
    assert page.url.endswith(PAGES["queues"])
    page.keyboard.press("Escape")
    told.wait_for(state="detached")


def test_a_slash_leads_to_the_search_where_letters_are_only_typed(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, PAGES["audit"])
    ready(page)
    page.keyboard.press("/")
    page.keyboard.type("go?/")
    expect(page.get_by_role("searchbox", name="Search activities")).to_have_value("go?/")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.url.endswith(PAGES["audit"])


@pytest.mark.parametrize(("system", "other"), [("light", "dark"), ("dark", "light")])
def test_the_theme_follows_the_system_until_it_is_turned_and_is_remembered(
    scene: Scene, visitor: Visitor, system: str, other: str
) -> None:
    """seed:V2, V23"""
    page = visitor.open(scene, PAGES["workers"], theme=system)
    ready(page)
    _painted(page, system)
    page.get_by_role("button", name="Light or dark").click()
    _painted(page, other)
    page.reload()
    ready(page)
    _painted(page, other)


def test_who_works_is_shown_and_the_page_is_live(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, PAGES["workers"])
    ready(page)
    page.get_by_role("status").filter(has_text=re.compile("^Live$")).wait_for()
    for name in ("shop-1", "shop-2"):
        page.get_by_role("heading", name=name).wait_for()


def test_a_lost_connection_is_told_and_heals_by_itself(scene: Scene, visitor: Visitor) -> None:
    """seed:V2, V21: the reader has no network for a while."""
    page = visitor.open(scene, PAGES["workers"])
    visitor.guard(page).excuse("ERR_INTERNET_DISCONNECTED")
    ready(page)
    state = page.locator("#live")
    state.filter(has_text="Live").wait_for()
    page.context.set_offline(True)
    state.filter(has_text="Offline").wait_for()
    page.context.set_offline(False)
    state.filter(has_text="Live").wait_for()


HASTY = """async ([one, other]) => {
  const wait = (moment) => new Promise((go) => setTimeout(go, moment));
  location.hash = one;
  await new Promise((hear) => addEventListener("hashchange", hear, { once: true }));
  history.replaceState(null, "", other);
  await wait(200);
  dispatchEvent(new HashChangeEvent("hashchange"));
}"""


def test_who_goes_on_before_a_page_is_there_gets_the_next_one(
    scene: Scene, visitor: Visitor
) -> None:
    """The address is another one already, which is told only after the first page was loaded."""
    page = visitor.open(scene, PAGES["audit"])
    ready(page)
    page.evaluate(HASTY, [f"#/activities/{scene.ids['mail']}", PAGES["bulk"]])
    expect(page.get_by_role("heading", level=1)).to_have_text("Bulk commands")
