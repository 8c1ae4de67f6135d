"""The way in, as somebody goes it in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from taskq import TaskQ
from tests.browser.accessible import overflow, violations
from tests.browser.scene import Scene, nothing, served
from tests.browser.visitor import Visitor
from tests.browser.workload import PASSWORD, TOKENS

if TYPE_CHECKING:
    from playwright.sync_api import Page


def signed_in(page: Page) -> None:
    """Wait until the console is shown."""
    page.wait_for_url(lambda url: not url.split("?")[0].split("#")[0].endswith("/login"))


def test_somebody_logs_in_by_name_and_password(empty: Scene, visitor: Visitor) -> None:
    page = visitor.open(empty, "login", role=None)
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password", exact=True).last.fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    signed_in(page)


def test_somebody_logs_in_by_a_token_and_the_keyboard_alone(empty: Scene, visitor: Visitor) -> None:
    page = visitor.open(empty, "login", role=None)
    page.get_by_role("radio", name="Password").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.type(TOKENS["viewer"])
    page.keyboard.press("Enter")
    signed_in(page)


def test_a_link_logs_in_once_and_leaves_no_trace_in_the_address(visitor: Visitor) -> None:
    """threat:T12"""
    with served(TaskQ("memory://"), fill=nothing, token=None) as scene:
        link = scene.server.entrance
        page = visitor.page(scene.origin)
        page.goto(link)
        signed_in(page)
        assert link.rpartition("#")[2] not in page.url

        other = visitor.page(scene.origin)
        visitor.guard(other).excuse("401")
        other.goto(link)
        expect(other.get_by_role("alert")).to_contain_text("start taskq web again for a new one")
        expect(other.get_by_role("textbox")).to_have_count(0)
        expect(other.get_by_text("It works once, and for 10 minutes")).to_be_visible()
        assert "/login" in other.url
        assert [*violations(other), *overflow(other)] == []


def test_a_wrong_password_is_told_and_nobody_is_let_in(empty: Scene, visitor: Visitor) -> None:
    page = visitor.open(empty, "login", role=None)
    visitor.guard(page).excuse("401")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password", exact=True).last.fill("guess")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()
    assert page.url.endswith("/login")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everybody_can_use_the_way_in(empty: Scene, visitor: Visitor, theme: str) -> None:
    page = visitor.open(empty, "login", role=None, theme=theme, width=380)
    assert [*violations(page), *overflow(page)] == []
