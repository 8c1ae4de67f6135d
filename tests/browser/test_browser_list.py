"""The list of activities: what it finds, in which order, and that nothing in it jumps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.browser.pages import ready
from tests.browser.scene import Scene
from tests.browser.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

QUIET = "#/activities?q=type%3Asend_email&status=scheduled"
"""Activities that nothing happens to."""

LAID_OUT = """(row) => {
  const display = (each) => getComputedStyle(each).display;
  return [display(row), display(row.lastElementChild), row.getBoundingClientRect().height];
}"""
"""How a row and its cells are laid out, and how high it is."""

SORTED = """
async () => {
  const script = document.querySelector("script[type=module]").src;
  const { table } = await import(new URL("parts/table.js", script));
  const name = ({ name }) => name;
  const weight = ({ weight }) => weight;
  const made = table({ label: "Fruits", key: name, columns: [
    { label: "Name", cell: name, by: name },
    { label: "Weight", cell: (item) => String(item.weight), number: true, by: weight },
  ] });
  document.querySelector("main").append(made);
  const fruits = [["plum", null], ["fig", 9], ["melon", 10]];
  made.show(fruits.map(([name, weight]) => ({ name, weight })));
}
"""
"""Puts a table on the page that holds all its items."""


def rows_of(page: Page) -> Locator:
    return page.get_by_role("table", name="Activities").locator("tbody tr")


def test_a_table_is_sorted_from_its_heads_and_the_address_keeps_how(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, "#/settings")
    ready(page)
    page.evaluate(SORTED)
    rows = page.get_by_role("table", name="Fruits").locator("tbody tr")
    head = page.get_by_role("columnheader", name="Weight")
    weight = head.get_by_role("button")
    weight.click()
    expect(rows).to_contain_text(["melon", "fig", "plum"])
    expect(head).to_have_attribute("aria-sort", "descending")
    weight.press("Enter")
    expect(rows).to_contain_text(["fig", "melon", "plum"])
    expect(page).to_have_url(re.compile(r"#/settings\?sort=Weight$"))


def test_a_head_of_the_list_asks_the_server_for_its_order(scene: Scene, visitor: Visitor) -> None:
    """seed:V7"""
    page = visitor.open(scene, QUIET)
    ready(page)
    first = rows_of(page).first.get_attribute("data-key")
    head = page.get_by_role("columnheader", name="Created")
    expect(head).to_have_attribute("aria-sort", "descending")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(rows_of(page).last).to_have_attribute("data-key", str(first))
    assert "order=oldest" in page.url


def test_new_activities_wait_until_they_are_asked_for(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, "#/activities?type=ping")
    ready(page)
    first = str(rows_of(page).first.get_attribute("data-key"))
    news = page.get_by_role("button", name=re.compile(r"^\d+\+? new$"))
    news.wait_for()
    expect(rows_of(page).first).to_have_attribute("data-key", first)
    news.click()
    expect(rows_of(page).first).not_to_have_attribute("data-key", first)


def test_what_is_no_longer_like_the_filter_stays_where_it_is(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, QUIET)
    ready(page)
    row = rows_of(page).nth(1)
    id = row.get_attribute("data-key")
    before = row.evaluate(LAID_OUT)
    answer = scene.api.post(f"/api/activities/{id}/cancel", json={"reason": "not wanted"})
    assert answer.status_code == 200, answer.text
    expect(row).to_have_class(re.compile("gone"))
    expect(row).to_have_attribute("data-key", str(id))
    expect(row.locator(".chip")).to_have_text("cancelled")
    assert row.evaluate(LAID_OUT) == before
    assert before[:2] == ["table-row", "table-cell"]


def test_the_filter_is_completed_by_keyboard(scene: Scene, visitor: Visitor) -> None:
    """seed:V5"""
    page = visitor.open(scene, "#/activities")
    ready(page)
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Filter")
    offered = page.get_by_role("listbox")
    page.keyboard.type("stat")
    expect(offered.get_by_role("option")).to_contain_text(["status"])
    page.keyboard.press("ArrowDown")
    expect(box).to_have_attribute("aria-activedescendant", "offered-0")
    page.keyboard.press("Enter")
    expect(box).to_have_value("status:")
    page.keyboard.type("dea")
    expect(offered.get_by_role("option")).to_have_text(["dead_letter"])
    page.keyboard.press("Tab")
    expect(box).to_have_value("status:dead_letter")
    expect(offered).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q=status%3Adead_letter$"))
    page.keyboard.press("Escape")
    expect(box).to_have_value("")
    expect(page).to_have_url(re.compile("activities$"))


def test_columns_are_chosen_and_remembered(scene: Scene, visitor: Visitor) -> None:
    """seed:V7"""
    page = visitor.open(scene, QUIET)
    ready(page)
    heads = page.get_by_role("columnheader")
    menu = page.locator("summary", has_text="Columns")
    menu.press("Enter")
    page.get_by_label("Tags").check()
    page.get_by_label("Priority").uncheck()
    expect(page.get_by_label("Activity", exact=True)).to_be_disabled()
    page.keyboard.press("Escape")
    expect(menu).to_be_focused()
    expect(page.get_by_label("Tags")).to_be_hidden()
    page.reload()
    ready(page)
    expect(heads.filter(has_text="Tags")).to_have_count(1)
    expect(heads.filter(has_text="Priority")).to_have_count(0)


def test_a_card_beside_a_row_shows_what_went_in_and_out(scene: Scene, visitor: Visitor) -> None:
    """seed:V8"""
    page = visitor.open(scene, "#/activities?q=type%3Acharge_card&status=dead_letter")
    ready(page)
    card = page.get_by_role("tooltip")
    rows_of(page).first.hover()
    expect(card).to_contain_text("the bank knows no currency")
    expect(card).to_contain_text('"currency": "XXX"')
    card.hover()
    expect(card).to_be_visible()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    page.keyboard.press("j")
    page.keyboard.press("i")
    expect(card).to_be_visible()


def test_rows_are_selected_through_and_only_what_fits_their_states_is_offered(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, "#/activities?status=dead_letter", role="operator")
    ready(page)
    boxes = rows_of(page).get_by_role("checkbox")
    boxes.nth(0).click()
    boxes.nth(3).click(modifiers=["Shift"])
    page.get_by_role("button", name="Retry 4 selected").wait_for()
    expect(page.get_by_role("button", name="selected")).to_have_count(1)
    page.get_by_role("button", name="Select none").click()
    expect(page.get_by_role("button", name="selected")).to_have_count(0)


def test_type_queue_and_roots_narrow_the_list_and_what_is_done_to_all(
    scene: Scene, visitor: Visitor
) -> None:
    """seed:V6"""
    page = visitor.open(scene, "#/activities?status=scheduled")
    ready(page)
    kinds = page.get_by_role("combobox", name="Type")
    expect(kinds.get_by_role("option", name="send_email")).to_be_attached()
    kinds.select_option("send_email")
    page.get_by_role("combobox", name="Queue").select_option("mail")
    page.get_by_label("Roots only").check()
    filter = "status:scheduled type:send_email queue:mail -parent:*"
    shown = "(filter) => document.querySelector('tq-activities').filter === filter"
    page.wait_for_function(shown, arg=filter)
    page.get_by_role("button", name="Reschedule all").click()
    expect(page.get_by_role("dialog").locator("code")).to_have_text(filter)


def test_a_filter_that_is_wrong_is_answered_by_that_alone(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, "#/activities?q=stats%3Afailed")
    visitor.guard(page).excuse("400")
    main = page.get_by_role("main")
    expect(main.get_by_role("alert").filter(has_text="stats")).to_be_visible()
    expect(main).not_to_contain_text("0 activities")
    expect(main).not_to_contain_text("No activity is like that")
    page.goto(f"{scene.url}#/dead?q=stats%3Afailed")
    expect(main.get_by_role("alert").filter(has_text="stats")).to_be_visible()
    expect(main.locator(".empty")).to_have_count(0)


def test_what_looks_like_a_short_id_is_told_how_ids_are_found(
    scene: Scene, visitor: Visitor
) -> None:
    short = str(scene.ids["mail"])[-8:]
    page = visitor.open(scene, f"#/activities?q={short}")
    expect(page.locator(".empty")).to_contain_text("by its first 8 digits or more")
    page.goto(f"{scene.url}#/activities?q=type%3Anone")
    expect(page.locator(".empty code")).to_have_text("type:none")
    expect(page.locator(".empty")).not_to_contain_text("digits")


def test_a_long_error_gives_way_and_a_row_has_one_line(scene: Scene, visitor: Visitor) -> None:
    found = scene.get("activities", q="type:charge_card", status="dead_letter")
    for item in found["items"]:
        item["error"]["message"] = "the bank knows no currency " * 11
        item["queue"] = "default"
    page = visitor.open(scene, "#/settings")
    page.route("**/api/activities?*", lambda route: route.fulfill(json=found))
    page.goto(f"{scene.url}#/activities?status=dead_letter")
    ready(page)
    row = rows_of(page).first
    expect(row.locator(".id")).to_have_text(f"…{found['items'][0]['id'][-8:]}")
    assert row.evaluate("(row) => row.getBoundingClientRect().height") < 45
    error = row.locator(".cut").last
    assert error.evaluate("(cut) => cut.scrollWidth > cut.clientWidth && cut.clientWidth > 120")
    table = page.locator("tq-table")
    assert table.evaluate("(table) => table.scrollWidth <= table.clientWidth")


def test_who_ticks_all_rows_is_offered_all_that_match(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, "#/activities?status=completed&limit=25", role="admin")
    ready(page)
    page.get_by_role("checkbox", name="Select all rows").click()
    expect(page.get_by_role("button", name="Delete 25 selected")).to_be_visible()
    page.get_by_role("button", name=re.compile(r"^All [\d,]+\+? that match$")).click()
    expect(page.get_by_role("button", name=re.compile(r"^Delete all [\d,]+"))).to_be_visible()


def test_what_is_ticked_in_a_list_is_not_offered_in_another(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, "#/activities?status=dead_letter")
    ready(page)
    page.get_by_role("checkbox", name="Select all rows").click()
    expect(page.get_by_role("button", name="Select none")).to_be_visible()
    page.evaluate("location.hash = '#/activities?status=scheduled'")
    expect(page.get_by_role("button", name="Cancel all")).to_be_visible()
    expect(page.get_by_role("button", name="Select none")).to_have_count(0)


def test_a_list_that_is_empty_says_why(empty: Scene, visitor: Visitor) -> None:
    """seed:V9"""
    page = visitor.open(empty, "#/activities?status=failed&q=age%3E1h", role="viewer")
    ready(page)
    expect(page.locator(".empty code")).to_have_text("status:failed age>1h")
    page.get_by_role("button", name="Show all activities").click()
    expect(page.locator(".empty")).to_contain_text("Nothing has been enqueued yet")
    expect(page.get_by_role("button", name="Enqueue")).to_have_count(0)
