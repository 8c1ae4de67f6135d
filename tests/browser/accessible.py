"""Whether everybody can use what a page shows: names, focus, contrast, structure.

Each function answers a list of violations, empty where all is well; each names its element.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

PROBES = (Path(__file__).parent / "probes.js").read_text(encoding="utf-8")

CONTROLS = {
    *("button", "checkbox", "combobox", "link", "listbox", "menuitem", "menuitemcheckbox"),
    *("menuitemradio", "option", "radio", "searchbox", "slider", "spinbutton", "switch"),
    *("tab", "textbox", "treeitem", "Canvas", "DisclosureTriangle"),
}
"""Roles that need a name, as Chromium spells them; so does everything that takes the focus."""
UNNAMED = {"RootWebArea", "generic", "none", "row"}
"""Roles that may take the focus without one; of a row its cells are read."""


def violations(page: Page) -> list[str]:
    """All of them."""
    return [*structure(page), *nameless(page), *contrast(page), *focus(page)]


def contrast(page: Page) -> list[str]:
    """Texts that stand out less from what is behind them than WCAG AA asks: 4.5, large ones 3."""
    return _asked(page, "contrast")


def focus(page: Page) -> list[str]:
    """Controls that look the same with the focus of the keyboard as without."""
    page.keyboard.press("Tab")
    return _asked(page, "focus")


def structure(page: Page) -> list[str]:
    """Ids that are there twice; another number of h1 or main than one; no title, no language."""
    return _asked(page, "structure")


def overflow(page: Page) -> list[str]:
    """What makes the page as a whole scroll sideways."""
    return _asked(page, "overflow")


def nameless(page: Page) -> list[str]:
    """Controls that a screen reader has no name for."""
    session = page.context.new_cdp_session(page)
    try:
        nodes = cast("Any", session).send("Accessibility.getFullAXTree")["nodes"]
        return [
            f"no name: {role} {_markup(session, node)}"
            for node in nodes
            if not node["ignored"] and (role := node["role"]["value"]) not in UNNAMED
            if role in CONTROLS or _focusable(node)
            if not str(node.get("name", {}).get("value", "")).strip()
        ]
    finally:
        session.detach()


def _focusable(node: Any) -> bool:
    return any(
        each["name"] == "focusable" and each["value"]["value"] for each in node["properties"]
    )


def _markup(session: CDPSession, node: Any) -> str:
    which = {"backendNodeId": node["backendDOMNodeId"]}
    return str(cast("Any", session).send("DOM.getOuterHTML", which)["outerHTML"])[:120]


def _asked(page: Page, probe: str) -> list[str]:
    return cast("list[str]", page.evaluate(f"{PROBES.rstrip()}.{probe}()"))
