"""Trees as lists and as graphs, and what can be done to one activity."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser.accessible import contrast, nameless, overflow, structure
from tests.browser.pages import eventually, ready
from tests.browser.scene import Scene, shown
from tests.browser.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Route

Nodes = list[dict[str, Any]]

AGAIN = """async () => {
  const app = document.querySelector("script[type=module]").src;
  const { live } = await import(app.replace("app.js", "core/live.js"));
  live.dispatchEvent(new CustomEvent("again"));
}"""
SCROLLED = """(view) => Array.from({ length: 20 }, (_, step) => {
  view.scrollTop = 800 + step * 1500;
  view.dispatchEvent(new Event("scroll"));
  view.getBoundingClientRect();
  return view.querySelectorAll("[role=row]").length;
})"""
AT = "(id) => document.activeElement.dataset.id === id"
DAY = "2020-01-01"
THICK = "(rect) => parseFloat(getComputedStyle(rect).height)"


@pytest.fixture(scope="module")
def still(browser: Browser) -> Iterator[Scene]:
    """The shop while nobody works."""
    with shown(live=False) as scene:
        yield scene


def grown(scene: Scene, sections: int, leaves: int) -> Nodes:
    """The nodes of a tree of steps, made of one that is there; the last leaf has failed."""
    root = scene.get(f"activities/{scene.ids['tree']}/tree")["nodes"][0]
    nodes: Nodes = [root]
    for number in range(sections * (leaves + 1)):
        leaf = number % (leaves + 1)
        own = {
            "id": f"{number + 1:08x}-0000-7000-8000-000000000000",
            "type": "product" if leaf else "section",
            "step": f"step {number}",
        }
        level = 2 if leaf else 1
        nodes.append({"level": level, "orphan": False, "activity": {**root["activity"], **own}})
    nodes[-1]["activity"]["status"] = "failed"
    return nodes


def planted(page: Page, nodes: Nodes) -> None:
    """From now on the tree that the page reads."""

    def answer(route: Route) -> None:
        tree = {"root_id": nodes[0]["activity"]["id"], "nodes": nodes, "cut": False}
        route.fulfill(json=tree)

    page.unroute("**/tree")
    page.route("**/tree", answer)


def thousand(scene: Scene, visitor: Visitor) -> tuple[Page, Nodes]:
    """A page that shows a tree of a thousand."""
    return opened(scene, visitor, grown(scene, 27, 36))


def opened(scene: Scene, visitor: Visitor, nodes: Nodes, view: str = "") -> tuple[Page, Nodes]:
    page = visitor.open(scene, "#/settings")
    planted(page, nodes)
    turned(page, scene, view)
    return page, nodes


def turned(page: Page, scene: Scene, view: str) -> None:
    """Let the page show the tree, as a list or with this view as a graph."""
    page.goto(f"{scene.url}#/activities/{scene.ids['tree']}?tab=tree{view}")
    kind = "tq-graph .member" if view else "tq-tree .rows [role=row]"
    page.locator(kind).nth(1).wait_for()


def rows(page: Page) -> Locator:
    return page.locator("tq-tree .rows [role=row]")


def at(page: Page, node: dict[str, Any]) -> None:
    """Wait until the focus is on this node's row."""
    page.wait_for_function(AT, arg=node["activity"]["id"])


def test_a_tree_of_a_thousand_draws_what_is_in_view_and_scrolls_smoothly(
    still: Scene, visitor: Visitor
) -> None:
    """seed:V13"""
    page, _ = thousand(still, visitor)
    session: Any = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    begun = worked(session)
    drawn = page.locator("tq-tree .view").evaluate(SCROLLED)
    assert max(drawn) <= 40
    assert 0 < (worked(session) - begun) / len(drawn) < 0.05
    expect(rows(page).last).to_contain_text("step 9")


def test_a_tree_is_walked_folded_and_opened_by_keys(still: Scene, visitor: Visitor) -> None:
    page, nodes = thousand(still, visitor)
    rows(page).first.focus()
    for key, place in (("ArrowRight", 1), ("ArrowLeft", 1), ("ArrowDown", 38), ("End", 999)):
        page.keyboard.press(key)
        at(page, nodes[place])
    page.keyboard.press("ArrowLeft")
    at(page, nodes[1 + 26 * 37])
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    expect(page.locator(":focus")).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowRight")
    expect(page.locator(":focus")).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowRight")
    at(page, nodes[2])
    visitor.guard(page).excuse("404")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"{nodes[2]['activity']['id']}$"))


def test_the_focus_stays_on_its_row_while_the_tree_changes_and_is_scrolled(
    still: Scene, visitor: Visitor
) -> None:
    page, nodes = thousand(still, visitor)
    rows(page).first.focus()
    page.keyboard.press("PageDown")
    at(page, nodes[15])
    page.locator("tq-tree .view").evaluate("(view) => view.scrollTo(0, 9000)")
    page.get_by_role("row", name="step 285").wait_for()
    nodes[290]["activity"]["status"] = "dead_letter"
    page.evaluate(AGAIN)
    page.get_by_role("row", name="dead letter").wait_for()
    at(page, nodes[15])
    assert page.locator("tq-tree .view").evaluate("(view) => view.scrollTop") == 9000


def test_the_next_failure_is_found_below_what_is_folded(still: Scene, visitor: Visitor) -> None:
    page, nodes = thousand(still, visitor)
    page.get_by_role("button", name="Fold all", exact=True).click()
    eventually(page, lambda: rows(page).count() < 30)
    page.get_by_role("button", name="Next failure").click()
    at(page, nodes[999])


def test_members_in_one_state_are_shown_with_what_they_are_below(
    still: Scene, visitor: Visitor
) -> None:
    page, _ = opened(still, visitor, grown(still, 3, 6))
    page.get_by_role("button", name="failed 1").click()
    expect(rows(page)).to_have_count(3)
    page.reload()
    expect(rows(page)).to_have_count(3)


def test_bars_of_what_runs_grow(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, f"#/activities/{scene.ids['running']}?tab=tree")
    ready(page)
    end = page.locator("tq-tree .axis span").last
    before = end.inner_text()
    page.wait_for_function(
        "(before) => document.querySelector('tq-tree .axis').lastChild.textContent !== before",
        arg=before,
    )


def test_a_bar_tells_the_wait_of_the_latest_attempt_and_not_the_time_it_had_ended(
    still: Scene, visitor: Visitor
) -> None:
    nodes = grown(still, 1, 1)
    for node in nodes:
        node["activity"] |= {"status": "completed", "created_at": f"{DAY}T12:00:00Z"}
        node["activity"] |= {"ready_at": f"{DAY}T12:20:00Z", "started_at": f"{DAY}T12:20:00.028Z"}
        node["activity"] |= {"finished_at": f"{DAY}T12:20:01.028Z"}
    page, _ = opened(still, visitor, nodes)
    told = rows(page).first.locator(".when .away")
    assert told.inner_text() == "waited 28 ms, ran 1 s, there 20 m before"
    before, waits, runs = rows(page).first.locator("rect").all()
    assert width(before) > 50 > width(waits)
    assert waits.evaluate(THICK) == runs.evaluate(THICK) > before.evaluate(THICK)
    again = {"status": "retrying", "finished_at": None, "ready_at": "2999-01-01T00:00:00Z"}
    nodes[0]["activity"] |= again
    page.evaluate(AGAIN)
    rows(page).first.locator(".is-retrying").first.wait_for()
    assert "ran" not in told.inner_text()
    assert "not due yet" in told.inner_text()


def test_a_graph_is_zoomed_moved_and_its_boxes_lead_to_members(
    still: Scene, visitor: Visitor
) -> None:
    """seed:V14, V19"""
    page = visitor.open(still, f"#/activities/{still.ids['tree']}?tab=tree")
    ready(page)
    page.get_by_role("button", name="Graph", exact=True).click()
    page.wait_for_function("() => location.hash.includes('as=graph')")
    page.wait_for_function("() => document.querySelector('.graph > g').hasAttribute('transform')")
    box = page.locator("tq-graph .member").nth(2)
    size = width(box)
    page.get_by_role("button", name="Zoom in").click()
    eventually(page, lambda: width(box) > size)
    page.locator("tq-graph svg").focus()
    page.keyboard.press("-")
    page.keyboard.press("-")
    eventually(page, lambda: width(box) < size)
    left = place(box)[0]
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: place(box)[0] == pytest.approx(left - 60, abs=2))
    page.keyboard.press("0")
    view = page.locator("tq-graph svg").bounding_box()
    assert view is not None
    top, bottom = view["y"], view["y"] + view["height"]
    members = page.locator("tq-graph .member")
    for each in (members.first, members.last):
        eventually(page, lambda each=each: top <= place(each)[1] <= bottom)
    expect(page.locator("tq-graph [aria-current]")).to_have_count(1)
    box.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => !location.hash.includes('{still.ids['tree']}')")


def test_a_graph_is_dragged_without_opening_what_lies_under_the_pointer(
    still: Scene, visitor: Visitor
) -> None:
    page, _ = opened(still, visitor, grown(still, 3, 6), "&as=graph")
    page.wait_for_function("() => document.querySelector('.graph > g').hasAttribute('transform')")
    box = page.locator("tq-graph [aria-current]")
    (x, y), here = place(box), page.url
    page.mouse.move(x + 20, y + 20)
    page.mouse.down()
    page.mouse.move(x + 60, y + 80, steps=3)
    page.mouse.up()
    eventually(page, lambda: place(box) == pytest.approx((x + 40, y + 60), abs=2))
    assert page.url == here


def test_siblings_in_a_large_graph_share_a_box_until_it_is_pressed(
    still: Scene, visitor: Visitor
) -> None:
    page, _ = opened(still, visitor, grown(still, 27, 36), "&as=graph")
    boxes = page.locator("tq-graph .member")
    before = boxes.count()
    assert before <= 200
    expect(page.get_by_role("link", name="failed")).to_have_count(1)
    page.get_by_role("button", name="more below section").first.press("Enter")
    eventually(page, lambda: boxes.count() > before)
    page.wait_for_function("() => document.activeElement.classList.contains('member')")


def test_everybody_can_use_a_tree_and_a_graph(still: Scene, visitor: Visitor) -> None:
    page, _ = opened(still, visitor, grown(still, 3, 6))
    for view in ("", "&as=graph"):
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1280, "height": 800})
        turned(page, still, view)
        found = [*structure(page), *nameless(page), *contrast(page)]
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 380, "height": 800})
        assert [*found, *contrast(page), *overflow(page)] == []


def test_wrong_json_is_said_with_its_place_and_nothing_is_lost(
    still: Scene, visitor: Visitor
) -> None:
    page = visitor.open(still, f"#/activities/{still.ids['refused']}")
    ready(page)
    page.get_by_role("button", name="Retry", exact=True).click()
    dialog = page.get_by_role("dialog")
    box = dialog.get_by_label("Arguments")
    box.fill('{\n  "order": 1\n  "amount": 2}')
    box.press("Control+Enter")
    dialog.get_by_role("alert").filter(has_text="Line 3, column 3: a comma or }").wait_for()
    expect(box).to_have_attribute("aria-invalid", "true")
    expect(box).to_be_focused()
    page.mouse.click(5, 5)
    assert '"amount": 2}' in box.input_value()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")


def test_arguments_that_differ_in_white_space_alone_are_not_changed(
    still: Scene, visitor: Visitor
) -> None:
    page = visitor.open(still, f"#/activities/{still.ids['refused']}", role="operator")
    ready(page)
    page.get_by_role("button", name="Retry", exact=True).click()
    dialog = page.get_by_role("dialog")
    box = dialog.get_by_label("Arguments")
    box.fill(f"\n{box.input_value()}\n ")
    with page.expect_request("**/retry") as asked:
        dialog.get_by_label("Reason").press("Enter")
    assert "arguments" not in json.loads(asked.value.post_data or "")
    dialog.wait_for(state="detached")


def test_an_activity_is_put_off_by_one_press(still: Scene, visitor: Visitor) -> None:
    id = still.ids["report"]
    page = visitor.open(still, f"#/activities/{id}", role="operator")
    ready(page)
    page.get_by_role("button", name="Reschedule").click()
    dialog = page.get_by_role("dialog")
    when = dialog.get_by_label("When, in your own zone")
    before = when.input_value()
    dialog.get_by_role("button", name="Tomorrow").click()
    eventually(page, lambda: when.input_value() > before)
    dialog.get_by_role("button", name="Reschedule").click()
    page.locator(".head .chip.is-scheduled").wait_for()
    activity = still.get(f"activities/{id}")
    assert activity["ready_at"][:10] > activity["created_at"][:10]


def test_a_bulk_command_can_only_be_stopped(still: Scene, visitor: Visitor) -> None:
    order = {"action": "priority", "priority": "LOW", "filter": "type:send_email"}
    id = still.api.post("/api/bulk", json=order).json()["id"]
    page = visitor.open(still, f"#/activities/{id}")
    ready(page)
    expect(page.locator(".head .row").get_by_role("button")).to_have_text(["Stop"])
    page.get_by_role("button", name="Stop").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Back")).to_be_focused()
    dialog.get_by_role("button", name="Stop it").click()
    page.locator(".head .chip.is-cancelled").wait_for()


def test_what_has_completed_is_not_retried_but_can_be_made_again(
    still: Scene, visitor: Visitor
) -> None:
    page = visitor.open(still, f"#/activities/{still.ids['mail']}", role="operator")
    ready(page)
    expect(page.get_by_role("button", name="Retry", exact=True)).to_have_count(0)
    page.get_by_role("button", name="One like this").click()
    expect(page.get_by_role("dialog").get_by_label("Type")).to_have_value("send_email")


def worked(session: Any) -> float:
    """Seconds of processor time that the page's tasks have taken."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(float(each["value"]) for each in metrics if each["name"] == "TaskDuration")


def place(element: Locator) -> tuple[float, float]:
    box = element.bounding_box()
    assert box is not None
    return box["x"], box["y"]


def width(element: Locator) -> float:
    box = element.bounding_box()
    assert box is not None
    return box["width"]
