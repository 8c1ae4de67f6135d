"""What forms begin with, take, and say where something is missing or changes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.browser.pages import ready
from tests.browser.scene import Scene
from tests.browser.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Page


def new_schedule(scene: Scene, visitor: Visitor) -> Page:
    page = visitor.open(scene, "#/schedules?form=new")
    ready(page)
    page.get_by_label("Type", exact=True).select_option("resize_image")
    return page


def test_a_schedule_without_a_name_is_told_so_at_the_field(scene: Scene, visitor: Visitor) -> None:
    page = new_schedule(scene, visitor)
    make = page.get_by_role("button", name="Create schedule")
    make.click()
    name = page.get_by_label("Name")
    expect(name).to_be_focused()
    expect(name).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("alert").get_by_text("It needs a name.")).to_be_visible()
    name.fill("pictures")
    expect(page.get_by_role("alert").get_by_text("It needs a name.")).to_have_count(0)
    page.get_by_label("Spread over").fill("soon")
    make.click()
    expect(page.get_by_label("Spread over")).to_be_focused()


def test_a_schedule_begins_with_what_its_task_takes_and_lengths_have_units(
    scene: Scene, visitor: Visitor
) -> None:
    page = new_schedule(scene, visitor)
    text = page.get_by_label("Arguments")
    expect(text).to_have_value('{\n  "path": null,\n  "width": 1200\n}')
    text.fill('{"path": "/sky.jpg"}')
    page.get_by_label("Name").fill("sky")
    page.get_by_role("button", name="Interval").click()
    page.get_by_label("Every").fill("1h30m")
    page.get_by_label("Spread over").fill("5m")
    page.get_by_role("button", name="Create schedule").click()
    page.get_by_role("heading", name="sky", level=1, exact=True).wait_for()
    made = scene.get("schedules/sky")
    assert (made["every"], made["jitter"]) == (5400, 300)


def test_lengths_of_time_of_a_call_have_units_too(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, "#/types/ping")
    page.get_by_role("button", name="Enqueue ping").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Arguments").fill('{"number": 1}')
    form.get_by_text("More").click()
    form.get_by_label("Timeout").fill("a while")
    form.get_by_role("button", name="Enqueue").click()
    expect(form.get_by_role("alert")).to_contain_text("no length of time")
    form.get_by_label("Timeout").fill("1h30m")
    form.get_by_label("Or after").fill("90")
    with page.expect_request("**/enqueue") as asked:
        form.get_by_role("button", name="Enqueue").click()
    sent = json.loads(asked.value.post_data or "")
    assert (sent["timeout"], sent["delay"]) == (5400, 90)


def test_an_argument_that_stays_as_it_is_is_said_to(scene: Scene, visitor: Visitor) -> None:
    [cause] = scene.get("dead-letters", type="charge_card")["items"]
    page = visitor.open(scene, f"#/dead/{cause['fingerprint']}")
    page.get_by_role("button", name="Change an argument").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Argument", exact=True).select_option("currency")
    samples = form.locator(".samples p")
    expect(samples.first).to_contain_text('"XXX" stays: nothing changes')
    form.get_by_label("Its new value").fill('"EUR"')
    expect(samples.first).to_have_text('currency "XXX" → "EUR"')


def test_one_like_what_has_no_limit_of_retries_says_that_it_will_have_one(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, f"#/activities/{scene.ids['mail']}")
    page.route(
        f"**/api/activities/{scene.ids['mail']}",
        lambda route: route.fulfill(json=route.fetch().json() | {"max_retries": None}),
    )
    page.reload()
    page.get_by_role("button", name="One like this").click()
    form = page.get_by_role("dialog")
    expect(form.get_by_text("The one before has no limit")).to_be_attached()
