"""Where activities wait and run: queues, types and workers; and the form that makes one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.browser.pages import PAGES, ready
from tests.browser.scene import Scene
from tests.browser.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

BIG = 9_007_199_254_740_993


def _form(page: Page, type: str) -> Locator:
    """The form to enqueue, opened for this type."""
    page.get_by_role("button", name=f"Enqueue {type}", exact=True).click()
    return page.get_by_role("dialog", name=f"Enqueue {type}")


def test_a_queue_is_found_by_its_name_and_tells_how_it_has_fared(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, PAGES["queues"])
    rows = page.get_by_role("table", name="Queues").get_by_role("row")
    page.get_by_role("searchbox", name="Queues by name").fill("IMP")
    expect(rows).to_have_count(2)
    expect(page).to_have_url(re.compile("q=IMP"))
    page.get_by_role("link", name="imports", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("imports")
    expect(page.get_by_role("main")).to_contain_text("3 unserved: legacy_sync waits in imports")
    page.get_by_role("group", name="Lines").get_by_role("button", name="Type").click()
    expect(page).to_have_url(re.compile("by=type"))
    expect(page.get_by_role("button", name=re.compile("^import_product")).first).to_be_visible()


def test_a_row_says_what_hinders_it_and_how_its_attempts_ended(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, PAGES["queues"])
    rows = page.get_by_role("table", name="Queues").get_by_role("row")
    expect(rows.filter(has_text="by console:ada: the warehouse moves")).to_contain_text("reports")
    billing = page.get_by_role("img", name=re.compile(r"hour of billing: .*\d+ completed"))
    expect(billing).to_be_visible()


def test_a_type_tells_what_its_task_takes_and_a_viewer_cannot_call_it(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, PAGES["type"], role="viewer")
    main = page.get_by_role("main")
    expect(main).to_contain_text("subject: str = 'Welcome'")
    expect(main).to_contain_text("password: str secret")
    expect(main.get_by_role("button", name=re.compile("Enqueue|Pause"))).to_have_count(0)


def test_a_worker_tells_what_it_runs_how_far_it_is_and_until_when(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, PAGES["queue"])
    page.get_by_role("link", name=re.compile("workers of imports")).click()
    expect(page.get_by_role("main")).to_contain_text("Only those that serve imports.")
    running = page.get_by_role("article").get_by_role("listitem").filter(has_text="rebuild_index")
    expect(running.get_by_role("img", name=re.compile("progress of rebuild_index"))).to_be_visible()
    expect(running).to_contain_text("lease ends in")


def test_a_lost_worker_stands_apart_with_what_it_held_and_stuck_threads_are_told(
    scene: Scene, visitor: Visitor
) -> None:
    answer = scene.get("workers")
    [lost, *others] = answer["items"]
    held = next(each["running"][0] for each in answer["items"] if each["running"])
    many = [{**held, "type": f"held_{number}"} for number in range(7)]
    lost |= {"name": "gone-1", "lost": True, "running": many}
    others[0] |= {"name": "ill-1", "threads_stuck": 2}
    page = visitor.open(scene, PAGES["settings"])
    page.route("**/api/workers", lambda route: route.fulfill(json=answer))
    page.goto(f"{scene.url}{PAGES['workers']}")
    gone = page.get_by_role("region", name="Lost workers").get_by_role("article")
    expect(gone).to_contain_text("comes back as its lease ends, in")
    expect(gone.get_by_text("held_6")).to_be_hidden()
    gone.get_by_text("2 more").click()
    expect(gone.get_by_text("held_6")).to_be_visible()
    ill = page.get_by_role("article", name="Worker ill-1")
    expect(ill).to_contain_text("2 threads outlived the timeout")


def test_a_call_is_made_from_what_its_task_takes_and_no_digit_is_lost(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, PAGES["types"], role="operator")
    visitor.guard(page).excuse("400", "422")
    form = _form(page, "resize_image")
    text = form.get_by_label("Arguments")
    expect(text).to_have_value('{\n  "path": null,\n  "width": 1200\n}')
    form.get_by_label("Type").select_option("ping")
    expect(text).to_have_value('{\n  "number": null\n}')
    form.get_by_role("button", name="Enqueue").click()
    expect(form.get_by_role("alert")).to_contain_text("number")
    text.fill(f'{{"number": {BIG}}}')
    form.get_by_role("button", name="Enqueue").click()
    page.get_by_role("status").get_by_text("Enqueued:").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("ping")
    id = page.url.rpartition("/")[2]
    assert json.loads(scene.get(f"activities/{id}")["arguments"]) == {"number": BIG}


def test_a_call_that_is_refused_keeps_what_was_typed(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, PAGES["types"], role="operator")
    form = _form(page, "ping")
    text = form.get_by_label("Arguments")
    for typed, said in (("[1]", "a JSON object"), ('{"wrong": 1}', "wrong")):
        text.fill(typed)
        form.get_by_role("button", name="Enqueue").click()
        expect(form.get_by_role("alert")).to_contain_text(said)
        expect(text).to_have_value(typed)
    visitor.guard(page).excuse("400", "422")


def test_a_console_without_that_task_says_so_instead_of_a_form(
    scene: Scene, visitor: Visitor
) -> None:
    page = visitor.open(scene, PAGES["types"])
    ready(page)
    page.route("**/api/types", lambda route: route.fulfill(json={"items": []}))
    expect(_form(page, "ping")).to_contain_text("This console's app has no task ping.")


def test_a_queue_tells_open_states_where_nothing_is_in_them_as_a_type_does(
    scene: Scene, visitor: Visitor
) -> None:
    for address in (PAGES["queue"], PAGES["type"]):
        page = visitor.open(scene, address)
        ready(page)
        names = page.locator("dt").all_inner_texts()
        assert {"Processing", "Pending", "Scheduled", "Retrying"} <= {*names}
        assert {"Attempts", "Failed of them"} <= {*names}


def test_a_page_that_is_not_there_is_said_to_be_none(scene: Scene, visitor: Visitor) -> None:
    page = visitor.open(scene, "#/nonsense")
    expect(page.get_by_role("status").get_by_text("There is no page “nonsense”")).to_be_visible()
    page.wait_for_function("() => location.hash === '#/'")
    visitor.guard(page).excuse("404")
    for address in ("#/schedules/never", "#/schedules/never/edit"):
        page.goto(f"{scene.url}{address}")
        main = page.get_by_role("main")
        expect(main).to_contain_text("There is no schedule never")
        expect(main.get_by_role("link", name="All schedules")).to_be_visible()
        expect(main.get_by_role("button", name="Try again")).to_have_count(0)


def test_an_overview_without_anything_open_says_so(scene: Scene, visitor: Visitor) -> None:
    stats = scene.get("stats") | {"by_queue": {}}
    page = visitor.page(scene.origin)
    page.route("**/api/stats", lambda route: route.fulfill(json=stats))
    page.route("**/api/stream*", lambda route: route.abort())
    visitor.guard(page).excuse("ERR_FAILED", "stream")
    page.context.add_cookies([scene.cookie()])
    page.goto(scene.url)
    expect(page.get_by_text("Nothing: all that was enqueued has ended.")).to_be_visible()


def test_a_place_of_which_there_is_none_says_so(empty: Scene, visitor: Visitor) -> None:
    page = visitor.open(empty, "#/queues/nowhere")
    expect(page.get_by_role("main")).to_contain_text("There is no queue nowhere")
    page.get_by_role("navigation").get_by_role("link", name="Workers").click()
    expect(page.get_by_role("main")).to_contain_text("No worker is running.")
