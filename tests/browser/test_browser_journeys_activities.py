"""What an operator finds, opens, mends and stops."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import expect

from tests.browser.pages import PAGES, ready
from tests.browser.scene import Scene
from tests.browser.visitor import Visitor


def test_a_filter_finds_activities_and_stays_in_the_address(scene: Scene, visitor: Visitor) -> None:
    """seed:O7, V5"""
    page = visitor.open(scene, PAGES["activities"])
    ready(page)
    page.keyboard.press("/")
    page.keyboard.type("type:charge_card")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="dead letter", exact=False).first.click()
    rows = page.get_by_role("table", name="Activities").get_by_role("row")
    page.wait_for_function(
        "() => { const rows = [...document.querySelectorAll('tbody tr')], words = ['charge_card',"
        " 'dead letter']; return location.hash.includes('status=') && rows.length > 0 &&"
        " rows.every((row) => words.every((word) => row.textContent.includes(word))) }"
    )
    found = rows.count()
    page.reload()
    ready(page)
    assert found > 1
    expect(rows).to_have_count(found)
    expect(page.get_by_label("Filter")).to_have_value("type:charge_card")


def test_a_wrong_filter_is_explained_beside_the_box(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, PAGES["activities"])
    ready(page)
    visitor.guard(page).excuse("400")
    page.get_by_label("Filter").fill("colour:blue")
    page.get_by_role("button", name="Search", exact=True).click()
    page.get_by_role("alert").filter(has_text="colour").wait_for()


def test_an_activity_shows_its_tree_and_a_node_leads_to_that_one(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, PAGES["activity"].format(tree=scene.ids["tree"]))
    ready(page)
    page.get_by_role("button", name="Tree", exact=True).click()
    nodes = page.locator("tq-tree .node")
    nodes.first.wait_for()
    members = len(scene.get(f"activities/{scene.ids['tree']}/tree")["nodes"])
    expect(nodes).to_have_count(min(members, 25))
    link = nodes.nth(1).get_by_role("link")
    target = link.get_attribute("href")
    link.click()
    page.wait_for_function(f"() => location.hash === {json.dumps(target)}")
    ready(page)


def test_a_dead_letter_is_retried_with_other_arguments(scene: Scene, visitor: Visitor) -> None:
    """seed:V10, V24"""
    id = scene.ids["refused"]
    page = visitor.open(scene, f"#/activities/{id}", role="operator")
    ready(page)
    page.get_by_role("button", name="Retry", exact=True).click()
    dialog = page.get_by_role("dialog")
    box = dialog.get_by_label("Arguments")
    box.fill(box.input_value().replace("XXX", "EUR"))
    dialog.get_by_label("Reason").fill("the shop has sent the right currency")
    dialog.get_by_role("button", name="Retry", exact=True).click()
    dialog.wait_for(state="detached")
    page.locator(".head .chip.is-completed").wait_for()
    assert json.loads(scene.get(f"activities/{id}")["arguments"])["currency"] == "EUR"


def test_rows_are_walked_selected_and_opened_by_keys(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, "#/activities?status=dead_letter")
    ready(page)
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    page.get_by_role("button", name="Retry 2 selected").wait_for()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_function("() => /^#.activities.[0-9a-f-]{36}$/.test(location.hash)")
    page.locator(".head .chip").first.wait_for()
    page.keyboard.press("r")
    page.get_by_role("dialog").get_by_role("button", name="Back").click()
    expect(page.locator(".head .chip").first).to_have_text("dead letter")


def test_all_that_match_are_cancelled_with_one_command(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(
        scene, "#/activities?status=scheduled&q=type%3Aimport_product", role="operator"
    )
    ready(page)
    page.get_by_role("button", name="Cancel all").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("the catalogue is wrong")
    dialog.get_by_role("button", name="cancel", exact=False).click()
    dialog.wait_for(state="detached")
    page.goto(f"{scene.url}#/bulk")
    page.locator("tbody .chip.is-completed").wait_for()
    done = [each for each in record(scene) if each["reason"] == "the catalogue is wrong"]
    assert {each["actor"] for each in done} == {"console:operator"}


def record(scene: Scene) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = scene.get("audit")["items"]
    return items
