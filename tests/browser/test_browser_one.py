"""What the page of one activity shows, tab by tab, and what it asks for meanwhile."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from playwright.sync_api import expect

from tests.browser.pages import ready
from tests.browser.scene import Scene, apart
from tests.browser.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

LONG = "123456789012345678901234567890.10"
"""A number that JavaScript would round."""
LARGE = 100


def opened(scene: Scene, visitor: Visitor, id: object, tab: str = "", **how: Any) -> Page:
    page = visitor.open(scene, f"#/activities/{id}?tab={tab}", **how)
    ready(page)
    return page


def first(scene: Scene, q: str) -> str:
    id: str = scene.get("activities", q=q, limit="1")["items"][0]["id"]
    return id


def saved(page: Page, button: Locator) -> str:
    with page.expect_download() as download:
        button.click()
    return Path(download.value.path()).read_text(encoding="utf-8")


def test_keys_turn_the_tabs_which_stay_in_the_address(scene: Scene, visitor: Visitor) -> None:
    """seed:V11, V16"""
    page = opened(scene, visitor, scene.ids["tree"])
    page.keyboard.press("3")
    page.get_by_role("heading", name="Attempts").wait_for()
    page.keyboard.press("[")
    page.wait_for_function("() => location.hash.endsWith('tab=timeline')")
    page.reload()
    page.get_by_role("button", name="Timeline", exact=True, pressed=True).first.wait_for()


def test_a_timeline_tells_how_long_it_waited_and_ran_and_is_saved_as_json(
    scene: Scene, visitor: Visitor
) -> None:
    """seed:V15: three views, one of them exact, and a file without a request to anybody."""
    id = first(scene, "type:refund status:dead_letter")
    page = opened(scene, visitor, id, "timeline")
    phases = page.locator("tq-phases").get_by_role("img")
    assert "Waited to retry 10 ms" in str(phases.get_attribute("aria-label"))
    written = json.loads(saved(page, page.get_by_role("button", name="Save timeline")))
    assert written["items"] == scene.get(f"activities/{id}/timeline")["items"]
    page.get_by_role("button", name="Detailed").click()
    page.get_by_text('"delay"').wait_for()
    expect(page).to_have_url(re.compile("view=detailed"))


def test_attempts_are_told_with_their_errors_and_workers(scene: Scene, visitor: Visitor) -> None:
    """seed:V17"""
    id = first(scene, "type:refund status:dead_letter")
    page = opened(scene, visitor, id, "attempts")
    lines = page.locator(".attempts > li")
    expect(lines).to_have_count(2)
    expect(lines).to_contain_text(["Attempt 2", "Attempt 1"])
    lines.nth(1).locator("summary").click()
    lines.nth(1).get_by_role("group", name="Traceback").get_by_text("hung up").wait_for()
    link = lines.first.get_by_role("link").get_attribute("href")
    assert "worker%3A" in str(link)


def test_related_ones_share_the_correlation_or_are_still_open_below_it(
    scene: Scene, visitor: Visitor
) -> None:
    """seed:V18: the open descendants are what RunnerQ's console calls pending."""
    page = opened(scene, visitor, scene.ids["blocked"], "related")
    below = page.locator(".panel").filter(has_text="Not ended below it").locator(".lines > li")
    below.filter(has_text="import_product").filter(has_text="scheduled").first.wait_for()
    expect(below.filter(has_text="completed")).to_have_count(0)
    page.goto(f"{scene.url}#/activities/{scene.ids['mail']}?tab=related")
    link = page.locator(".panel").filter(has_text="order-46").get_by_role("link", name="Show all")
    link.click()
    expect(page.get_by_role("table", name="Activities").locator("tbody tr")).to_have_count(2)


def test_what_is_not_shown_is_not_asked_for(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, "#/settings")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{scene.url}#/activities/{scene.ids['running']}")
    page.locator(".stands").get_by_role("link", name="shop-").wait_for()
    assert not [url for url in asked if url.endswith(("/tree", "/timeline"))]
    page.keyboard.press("4")
    page.locator("tq-tree .node").first.wait_for()
    assert [url for url in asked if url.endswith("/tree")]


def large(route: Route) -> None:
    """The activity as the API tells it, with arguments of 900 kB."""
    rows = ",".join(f'{{"sku":"{"x" * 70}","price":{LONG},"number":{n}}}' for n in range(6800))
    answer = route.fetch()
    route.fulfill(response=answer, json={**answer.json(), "arguments": f'{{"rows":[{rows}]}}'})


def test_large_arguments_are_drawn_a_piece_at_a_time_and_no_digit_is_lost(
    scene: Scene, visitor: Visitor
) -> None:
    """seed:V12"""
    page = visitor.open(scene, "#/settings")
    id = scene.ids["refused"]
    page.route(f"**/api/activities/{id}", large)
    page.goto(f"{scene.url}#/activities/{id}")
    box = page.get_by_role("group", name="arguments")
    box.get_by_text("6,800 items").click()
    box.get_by_text(LONG).first.wait_for()
    expect(box.locator("details")).to_have_count(1 + 1 + LARGE)
    box.get_by_role("button", name="Show more: 6700 are left").or_(
        box.get_by_role("button", name="Show more: 6,700 are left")
    ).click()
    expect(box.locator("details")).to_have_count(1 + 1 + 2 * LARGE)
    written = saved(page, page.get_by_role("button", name="Save arguments"))
    assert len(written) > 900_000 > 2 * len(box.inner_text())
    assert written.count(LONG) == 6800


def test_folds_stay_as_they_were_while_the_activity_changes(scene: Scene, visitor: Visitor) -> None:
    page = opened(scene, visitor, scene.ids["running"])
    fold = page.get_by_role("group", name="arguments").locator("details").first
    fold.locator("summary").click()
    with page.expect_response(lambda answer: answer.url.endswith(str(scene.ids["running"]))):
        page.evaluate("document.querySelector('tq-activity').refresh()")
    assert fold.get_attribute("open") is None


def test_an_activity_that_somebody_deletes_is_said_to_be_gone(
    scene: Scene, visitor: Visitor
) -> None:
    id = first(scene, "type:send_sms status:failed")
    page = opened(scene, visitor, id)
    visitor.guard(page).excuse("404")
    apart(scene.app.operator.adelete, [UUID(id)])
    page.evaluate("document.querySelector('tq-activity').refresh()")
    page.get_by_text("deleted while you looked").wait_for()
    page.get_by_role("link", name="All activities").click()
    page.get_by_role("table", name="Activities").wait_for()


def test_what_is_no_id_is_explained_without_asking(scene: Scene, visitor: Visitor) -> None:
    page = opened(scene, visitor, "01a22b6b")
    page.get_by_text("This is no id of an activity").wait_for()


def test_hidden_payloads_are_said_to_be_hidden(scene: Scene, visitor: Visitor) -> None:
    """promise:G18."""
    page = visitor.open(scene, "#/settings", role="viewer")
    id = scene.ids["refused"]

    def veiled(route: Route) -> None:
        answer = route.fetch()
        told = answer.json()
        hidden = {"hidden": True, **dict.fromkeys(("arguments", "result", "metadata"))}
        told["error"].update(message=None, traceback=None)
        route.fulfill(response=answer, json={**told, **hidden})

    page.route(f"**/api/activities/{id}", veiled)
    page.goto(f"{scene.url}#/activities/{id}")
    page.get_by_text("Hidden from your role.").wait_for()
    page.get_by_text("ValueError: hidden from your role").wait_for()
    expect(page.get_by_role("button", name="Retry")).to_have_count(0)
