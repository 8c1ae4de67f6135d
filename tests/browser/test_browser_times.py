"""What comes again and again, what failed for good, and what is on record."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.accessible import contrast, nameless, overflow, structure
from tests.browser.pages import PAGES, eventually, ready
from tests.browser.scene import Scene
from tests.browser.visitor import Tour, Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

JSON = {"content-type": "application/json"}
NEW = "#/schedules?form=new"
HOUR_AHEAD = "const real = Date.now; Date.now = () => real() + 3600000;"


def cause_of(scene: Scene, type: str) -> str:
    """The address of what this type fails of."""
    [cause] = scene.get("dead-letters", type=type)["items"]
    return f"#/dead/{cause['fingerprint']}"


def hurried(scene: Scene, visitor: Visitor, path: str, role: str = "admin") -> Page:
    """A page whose clock is the test's: see ``later``."""
    page = visitor.page(scene.origin)
    page.clock.install()
    page.context.add_cookies([scene.cookie(role)])
    page.goto(f"{scene.url}{path}")
    ready(page)
    return page


def later(page: Page, shown: Locator) -> None:
    """Let seconds pass on this page until it shows that."""

    def passed() -> bool:
        page.clock.fast_forward(1000)
        return shown.is_visible()

    eventually(page, passed)


def schedule(scene: Scene, name: str) -> dict[str, Any]:
    found: dict[str, Any] = scene.get(f"schedules/{quote(name)}")
    return found


@pytest.mark.parametrize(
    "address",
    [
        lambda scene: NEW,
        lambda scene: "#/schedules/nightly/edit",
        lambda scene: "#/schedules?view=runs",
        lambda scene: cause_of(scene, "fetch_feed"),
    ],
    ids=["new", "edit", "runs", "cause"],
)
def test_everybody_can_use_it(scene: Scene, tour: Tour, address: Callable[[Scene], str]) -> None:
    page = tour.at(address(scene))
    found = [*structure(page), *nameless(page), *contrast(page)]
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 380, "height": 700})
    assert [*found, *contrast(page), *overflow(page), *tour.findings] == []


def test_a_schedule_tells_its_next_times_while_it_is_typed_and_is_run_at_once(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, NEW)
    ready(page)
    visitor.guard(page).excuse("400")
    make = page.get_by_role("button", name="Create schedule")
    page.get_by_label("Name").fill("hourly ping")
    page.get_by_label("Type", exact=True).select_option("ping")
    page.get_by_label("Arguments").fill('{"number": 9007199254740993}')
    page.get_by_label("Cron", exact=True).fill("99 * * * *")
    page.get_by_role("alert").filter(has_text="99").wait_for()
    make.click()
    expect(page.get_by_label("Cron", exact=True)).to_be_focused()
    page.get_by_label("Cron", exact=True).fill("5 * * * *")
    page.get_by_label("Zone").fill("Asia/Tokyo")
    times = page.get_by_role("complementary", name="Next times")
    times.get_by_text("Asia/Tokyo").wait_for()
    expect(times.get_by_role("listitem")).to_have_count(5)
    page.get_by_label("Priority").select_option("HIGH")
    page.get_by_label("Queue").fill("mail")
    make.click()
    page.get_by_role("heading", name="hourly ping", level=1, exact=True).wait_for()
    made = schedule(scene, "hourly ping")
    assert (made["cron"], made["timezone"]) == ("5 * * * *", "Asia/Tokyo")
    assert (made["queue"], made["priority"]) == ("mail", "HIGH")
    assert "9007199254740993" in made["arguments"]
    page.get_by_role("button", name="Run now hourly ping").click()
    dialog = page.get_by_role("dialog", name="Run hourly ping now")
    dialog.get_by_label("Reason").fill("now, please")
    dialog.get_by_role("button", name="Run now", exact=True).click()
    dialog.wait_for(state="detached")
    [done] = [each for each in scene.get("audit")["items"] if each["reason"] == "now, please"]
    assert "hourly ping" in done["target"]


def test_an_edit_leaves_alone_what_is_hidden(scene: Scene, visitor: Visitor) -> None:
    """Its password comes as [redacted], and is not sent back."""
    page = visitor.open(scene, "#/schedules/weekly%20digest/edit")
    ready(page)
    page.get_by_label("Priority").select_option("LOW")
    page.get_by_role("button", name="Interval").click()
    page.get_by_label("Every").fill("3")
    page.get_by_label("Unit").select_option("days")
    page.get_by_text("every 3 d").wait_for()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="weekly digest", level=1, exact=True).wait_for()
    changed = schedule(scene, "weekly digest")
    assert (changed["priority"], changed["every"]) == ("LOW", 259200)
    [kept] = [each for each in scene.app.schedules.list() if each.name == "weekly digest"]
    assert '"password":""' in kept.schedule.template.payload


def test_what_schedules_made_is_listed_flat(scene: Scene, visitor: Visitor) -> None:
    """seed:V20: grouped by schedule, or flat."""
    page = visitor.open(scene, PAGES["schedules"])
    ready(page)
    page.get_by_role("button", name="Run now stock").click()
    page.get_by_role("dialog").get_by_role("button", name="Run now").click()
    page.get_by_role("button", name="Runs").click()
    row = page.get_by_role("table", name="Runs").get_by_role("row").filter(has_text="by hand")
    row.get_by_role("link", name="stock").wait_for()
    page.reload()
    row.get_by_role("link", name="stock").wait_for()


def test_causes_are_narrowed_by_type(scene: Scene, visitor: Visitor) -> None:
    """seed:V22"""
    page = visitor.open(scene, PAGES["dead"])
    ready(page)
    page.get_by_label("type", exact=True).select_option("send_sms")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody")).to_contain_text("send_sms in mail")
    page.reload()
    ready(page)
    types = page.get_by_label("type", exact=True)
    expect(types).to_have_value("send_sms")
    expect(types.locator("option").nth(2)).to_be_attached()


def test_one_argument_is_changed_in_all_that_failed_of_a_cause(
    scene: Scene, visitor: Visitor
) -> None:
    """seed:V22"""
    page = hurried(scene, visitor, cause_of(scene, "charge_card"), role="operator")
    page.get_by_role("button", name="Change an argument").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Argument").select_option("currency")
    dialog.get_by_label("Its new value").fill('"EUR"')
    dialog.get_by_text('"XXX" → "EUR"').first.wait_for()
    dialog.get_by_label("Reason").fill("a wrong import")
    dialog.get_by_role("button", name="Retry 9").click()
    later(page, page.get_by_text("Nothing has failed of this cause"))
    page.goto(f"{scene.url}{PAGES['bulk']}")
    row = page.get_by_role("row").filter(has_text="a wrong import")
    row.get_by_text("9 of 9").wait_for()
    row.get_by_text("completed").wait_for()


def test_a_command_that_cannot_even_be_counted_is_told(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, PAGES["dead"])
    ready(page)
    visitor.guard(page).excuse("503")
    away = {"status": 503, "code": "unavailable", "detail": "the database is away"}
    page.route("**/api/bulk/preview?*", lambda route: route.fulfill(status=503, json=away))
    page.get_by_role("button", name="Retry all").first.click()
    page.get_by_role("status").get_by_text("the database is away").wait_for()


def test_new_entries_of_the_audit_are_announced_and_move_nothing(
    scene: Scene, visitor: Visitor
) -> None:
    page = hurried(scene, visitor, PAGES["audit"])
    before = page.locator("tbody").inner_text()
    body = {"reason": "for the record"}
    scene.api.post("/api/schedules/nightly/pause", content=json.dumps(body), headers=JSON)
    news = page.get_by_role("button", name="New entries")
    later(page, news)
    assert page.locator("tbody").inner_text() == before
    news.click()
    row = page.get_by_role("row").filter(has_text="for the record")
    row.get_by_role("link", name="nightly").click()
    page.get_by_text("Paused").filter(has_text="for the record").wait_for()


def test_a_clock_that_is_wrong_is_told(scene: Scene, visitor: Visitor) -> None:
    """seed:V23"""
    page = visitor.page(scene.origin)
    page.context.add_cookies([scene.cookie()])
    page.goto(f"{scene.url}{PAGES['settings']}")
    page.get_by_text("as the console's").wait_for()
    page.add_init_script(HOUR_AHEAD)
    page.reload()
    page.get_by_text("1 h ahead of the console's").wait_for()


@pytest.mark.parametrize("path", ["#/schedules/stock", "cause"])
def test_a_viewer_is_offered_no_command(scene: Scene, visitor: Visitor, path: str) -> None:
    address = cause_of(scene, "refund") if path == "cause" else path
    page = visitor.open(scene, address, role="viewer")
    ready(page)
    assert commands(page) == []


def commands(page: Page) -> list[str]:
    """Buttons and links that would change something."""
    verbs = ("Run now", "Pause", "Resume", "Edit", "One like", "Delete", "Retry", "Change")
    found = page.locator("main button, main a").all_inner_texts()
    return [each for each in found if each.startswith(verbs)]


def test_an_empty_page_says_how_to_make_the_first_one(empty: Scene, visitor: Visitor) -> None:
    page = visitor.open(empty, PAGES["schedules"])
    page.get_by_role("link", name="Make the first one").click()
    page.get_by_role("heading", name="New schedule").wait_for()
