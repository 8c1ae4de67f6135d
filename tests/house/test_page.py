"""The console's page is our own code, and puts no text where a browser reads it as code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import taskq.web
from taskq.web import assets

STATIC = Path(taskq.web.__file__).parent / "static"
MODULES = sorted(STATIC.rglob("*.js"))
BANNED = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser"
    r"|srcdoc|\beval\(|new Function|setHTMLUnsafe|setTimeout\(\s*[\"'`]|javascript:"
)
IMPORTED = re.compile(r"""(?:from|import)\s*\(?\s*["'`]([^"'`]+)["'`]""")
ELSEWHERE = re.compile(r"https?://(?!www\.w3\.org/2000/svg)")


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(STATIC)))
def test_a_module_of_the_page_makes_no_html_of_texts(module: Path) -> None:
    """threat:T5, promise:G18."""
    assert BANNED.findall(module.read_text()) == []


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(STATIC)))
def test_a_module_of_the_page_imports_only_what_lies_beside_it(module: Path) -> None:
    text = module.read_text()
    assert ELSEWHERE.findall(text) == []
    assert all(name.startswith(("./", "../")) for name in IMPORTED.findall(text))


def test_the_pages_of_html_have_no_script_and_no_style_of_their_own() -> None:
    """threat:T5: the policy of content allows none either."""
    for page in STATIC.glob("*.html"):
        text = page.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=|<style", text)


def test_the_whole_page_travels_in_80_kb() -> None:
    """All modules and the stylesheet, as whoever opens every page gets them."""
    files = assets.load().files.values()
    assert sum(len(file.packed) for file in files) <= 80_000


def test_files_of_the_page_are_small() -> None:
    sizes = {str(each.relative_to(STATIC)): len(each.read_text().splitlines()) for each in MODULES}
    assert {name: lines for name, lines in sizes.items() if lines > 250} == {}
