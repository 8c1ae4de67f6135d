"""The console's page is our own code, and puts no text where a browser reads it as code."""

from __future__ import annotations

import re
from pathlib import Path

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


def found(pattern: re.Pattern[str]) -> dict[str, list[str]]:
    """What of the modules' texts is like that, by module."""
    hits = {name_of(module): pattern.findall(module.read_text()) for module in MODULES}
    return {name: texts for name, texts in hits.items() if texts}


def name_of(module: Path) -> str:
    return module.relative_to(STATIC).as_posix()


def test_no_module_of_the_page_makes_html_of_texts() -> None:
    """threat:T5, promise:G18."""
    assert found(BANNED) == {}


def test_modules_of_the_page_import_only_what_lies_beside_them() -> None:
    assert found(ELSEWHERE) == {}
    imported = found(IMPORTED)
    assert imported["app.js"]
    strays = [name for names in imported.values() for name in names if not name.startswith(".")]
    assert strays == []


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
    sizes = {name_of(each): len(each.read_text().splitlines()) for each in MODULES}
    assert {name: lines for name, lines in sizes.items() if lines > 250} == {}
