"""The overview: what its numbers mean, and where they lead."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from tests.browser.pages import ready
from tests.browser.scene import Scene, apart
from tests.browser.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROUND = re.compile(r"\d+ (ms|s|m|h|d)|\d{2}:\d{2}")


def _opened(scene: Scene, visitor: Visitor, path: str = "#/", **how: Any) -> Page:
    page = visitor.open(scene, path, **how)
    ready(page)
    return page


def test_a_finding_says_what_to_do_and_leads_to_the_very_thing(
    scene: Scene, visitor: Visitor
) -> None:
    """The most urgent is the first."""
    page = _opened(scene, visitor)
    urgent = re.compile(r"urgent.*legacy_sync.*Start a worker", re.DOTALL)
    expect(page.locator(".findings li").first).to_have_text(urgent)
    [cause] = [
        each["subject"]
        for each in scene.get("attention")["items"]
        if each["kind"] == "cause" and "no currency" in each["title"]
    ]
    places = {
        "No worker serves legacy_sync": "#/activities?q=type%3Alegacy_sync",
        "Queue reports is paused": "#/queues/reports",
        "ValueError: the bank knows no currency": f"#/dead/{cause}",
    }
    for name, place in places.items():
        found = page.locator(".findings .grow").get_by_role("link", name=name)
        assert (found.get_attribute("href") or "").startswith(place)


def test_a_rate_is_of_the_time_that_was_observed(empty: Scene, visitor: Visitor) -> None:
    """seed:V3: not of the whole hour, of which nothing is known but its last minute."""

    async def work() -> None:
        await empty.app.aenqueue([empty.app.tasks["ping"].build(number) for number in range(30)])
        await empty.app.run_worker(burst=True, name="first")

    apart(work)
    page = _opened(empty, visitor)
    found = page.get_by_role("link", name="completed").locator("small").inner_text()
    number = re.fullmatch(r"([\d.]+) a minute", found)
    assert number, found
    assert 12 < float(number[1]) <= 180


def test_hidden_lines_are_in_the_address(scene: Scene, visitor: Visitor) -> None:
    page = _opened(scene, visitor, "#/?hide=completed")
    flow = page.locator("tq-chart").first
    flow.get_by_role("button", name="completed", pressed=False).wait_for()
    page.keyboard.press("Tab")
    flow.get_by_role("button", name="retrying").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/#/?hide=completed%2Cretrying")
    expect(flow.get_by_role("button", name="retrying", pressed=False)).to_be_focused()


def test_latencies_of_one_type_are_read_on_round_numbers(scene: Scene, visitor: Visitor) -> None:
    """Those of a type, or of a queue, have an address."""
    page = _opened(scene, visitor)
    choose = page.get_by_role("combobox", name="Of which type or queue")
    with page.expect_response(re.compile(r"api/series\?.*type=send_email")) as answer:
        choose.select_option("type:send_email")
    assert "type=send_email" in page.url
    [line] = answer.value.json()["lines"]
    whole = scene.get("series")["lines"][0]
    assert sum(line["total"].values()) < sum(whole["total"].values())
    ticks = page.locator("tq-chart").nth(1).locator("text")
    assert [each for each in ticks.all_text_contents() if not ROUND.fullmatch(each)] == []


def test_the_arrow_keys_say_the_values_of_a_step(scene: Scene, visitor: Visitor) -> None:
    page = _opened(scene, visitor, "#/?window=24h")
    flow = page.locator("tq-chart").first
    drawing = flow.get_by_role("img", name=re.compile(r"^Attempts that ended, .* Most: \d"))
    drawing.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    said = re.compile(r"\d\d:\d\d to \d\d:\d\d, completed \d+")
    expect(flow.get_by_role("status")).to_have_text(said)
    at, step = (scene.get("series", window="24h")[name] for name in ("at", "step"))
    assert step == 600
    assert len(at) == 144
    page.keyboard.press("Escape")
    flow.get_by_text("in the last 24 hours", exact=True).wait_for()


def test_a_chart_can_be_read_as_a_table(scene: Scene, visitor: Visitor) -> None:
    page = _opened(scene, visitor, "#/?window=5m")
    page.get_by_role("button", name="Table").click()
    shown = page.get_by_role("table", name="Wait, from ready to started")
    expect(shown.get_by_role("row")).to_have_count(7)
    expect(shown.get_by_role("columnheader")).to_have_text(["From", "p50", "p95", "p99"])
    expect(page).to_have_url(re.compile("as=table"))


def test_a_chart_is_drawn_again_only_when_it_has_changed(scene: Scene, visitor: Visitor) -> None:
    page = _opened(scene, visitor)
    kept = """() => {
      const page = document.querySelector("tq-overview");
      const area = page.querySelector("path.area");
      page.draw(page.data);
      const same = area.isConnected;
      page.data.lines.lines[0].outcomes.completed[0] += 1;
      page.draw(page.data);
      return [same, area.isConnected];
    }"""
    assert page.evaluate(kept) == [True, False]


def test_where_nothing_ended_the_chart_says_so(scene: Scene, visitor: Visitor) -> None:
    page = _opened(scene, visitor, "#/?type=no_such_type")
    expect(page.get_by_text("Nothing ended in this time.")).to_have_count(3)


def test_the_first_visit_says_how_to_begin(empty: Scene, visitor: Visitor) -> None:
    page = _opened(empty, visitor, width=380)
    page.get_by_role("heading", name="Nothing has happened yet").wait_for()
    expect(page.locator("main")).to_contain_text("taskq worker app:taskq")
    expect(page.locator("tq-chart")).to_have_count(0)


def test_a_priority_leads_to_what_waits_with_it(scene: Scene, visitor: Visitor) -> None:
    """seed:V4"""
    page = _opened(scene, visitor)
    page.locator(".bars").first.get_by_role("link", name="normal").click()
    page.wait_for_url("**/#/activities?status=pending&q=priority%3Anormal")
    page.get_by_role("table", name="Activities").get_by_role("row").nth(1).wait_for()
