"""One browser for all tests of the page, a console that is played, and pages that are guarded.

The tests are plain functions: they act as a person does, by role and name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.chromium import NoBrowser, chromium
from tests.browser.scene import Scene, nothing, served, shown
from tests.browser.visitor import Profile, Tour, Visitor, patient, toured
from tests.browser.workload import shop

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).parent
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """One process of pytest's has the browser."""
    if config.pluginmanager.has_plugin("xdist"):
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Tell the visitor whether the test failed."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Is there while tests of this folder run; they are skipped where it cannot be had."""
    running = chromium()
    try:
        browser = running.__enter__()
    except NoBrowser as reason:
        pytest.skip(str(reason))
    patient()
    yield browser
    running.__exit__(None, None, None)


@pytest.fixture(scope="package")
def profiles(browser: Browser) -> list[Profile]:
    """Those that visitors leave behind, for the next one. They end with the browser."""
    return []


@pytest.fixture
def visitor(
    browser: Browser, profiles: list[Profile], request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Visitor]:
    """Opens pages. The test fails if on one of them happened what must not; where it fails for
    something else, its folder has pictures of them."""
    visitor = Visitor(browser, profiles)
    yield visitor
    visitor.leave(tmp_path if request.node.stash.get(FAILED, False) else None)
    assert visitor.findings == []


@pytest.fixture(scope="module")
def scene(browser: Browser) -> Iterator[Scene]:
    """The shop in memory, with workers that go on; shared by a module's tests."""
    with shown() as scene:
        yield scene


@pytest.fixture(scope="module")
def tour(browser: Browser, scene: Scene, profiles: list[Profile]) -> Iterator[Tour]:
    """Of the shop, for a module's tests that only look."""
    with toured(browser, scene, profiles) as tour:
        yield tour


@pytest.fixture
def empty(browser: Browser) -> Iterator[Scene]:
    """A shop where nothing has ever happened, and nobody works."""
    with served(shop(), fill=nothing) as scene:
        yield scene
