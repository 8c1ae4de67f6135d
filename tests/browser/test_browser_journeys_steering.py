"""What an operator does to what waits."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.pages import PAGES, ready
from tests.browser.scene import Scene
from tests.browser.visitor import Visitor


def test_an_operator_pauses_a_queue_with_a_reason_and_resumes_it(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, PAGES["queues"], role="operator")
    ready(page)
    page.get_by_role("button", name="Pause billing").click()
    dialog = page.get_by_role("dialog", name="Pause billing")
    dialog.get_by_label("Reason").fill("the bank is away")
    dialog.get_by_role("button", name="Pause", exact=True).click()
    dialog.wait_for(state="detached")
    row = page.get_by_role("row").filter(has_text="the bank is away")
    row.get_by_role("button", name="Resume billing").click()
    [billing] = [each for each in scene.get("queues")["items"] if each["name"] == "billing"]
    assert billing["paused"]["reason"] == "the bank is away"
    dialog = page.get_by_role("dialog", name="Resume billing")
    dialog.get_by_role("button", name="Resume", exact=True).click()
    page.get_by_role("button", name="Pause billing").wait_for()


def test_a_viewer_is_offered_no_command(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, PAGES["queues"], role="viewer")
    ready(page)
    rows = page.get_by_role("table", name="Queues").locator("tbody tr")
    rows.first.wait_for()
    expect(rows.get_by_role("button")).to_have_count(0)
    expect(page.locator("main > * > header").get_by_role("button")).to_have_count(0)


def test_the_audit_says_that_a_command_changed_nothing(scene: Scene, visitor: Visitor) -> None:
    for reason in ("the bank is away", "she is away still"):
        scene.app.queues.pause(queue="billing", actor="ada", reason=reason)
    page = visitor.open(scene, PAGES["audit"])
    entry = page.get_by_role("row").filter(has_text="she is away still")
    expect(entry.get_by_text("nothing changed")).to_be_visible()
    first = page.get_by_role("row").filter(has_text="the bank is away").first
    expect(first.get_by_text("nothing changed")).to_have_count(0)
