"""A page while ten thousand activities a second come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.burst import ALLOWED, endured, tasks
from tests.browser.pages import addresses, ready
from tests.browser.scene import Scene
from tests.browser.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SECONDS = 1.0
DRAWS = 6
"""A second: four from the stream, and what a page does besides, as its clock."""


@pytest.mark.parametrize("name", ["overview", "activities"])
def test_a_burst_is_drawn_a_few_times_a_second(
    browser: Browser, scene: Scene, visitor: Visitor, name: str
) -> None:
    """seed:V21: and none of the page's tasks keeps it from answering for longer than is allowed."""
    page = visitor.open(scene, addresses(scene.ids)[name])
    ready(page)
    burst = endured(browser, page, scene.app, name, SECONDS)
    assert burst.made > 0
    assert burst.draws <= DRAWS * burst.seconds + 1, burst
    assert 0 < burst.longest <= ALLOWED, burst


def test_the_longest_task_of_a_page_is_found() -> None:
    def event(tid: int, tdur: int) -> dict[str, object]:
        return {"name": "RunTask", "pid": 1, "tid": tid, "dur": 9_000_000, "tdur": tdur}

    named = {"name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "CrRendererMain"}}
    assert tasks([event(1, 20_000), named, event(2, 900_000), event(1, 50_000)]) == [0.05, 0.02]
