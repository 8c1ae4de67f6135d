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
STATICALLY = re.compile(r"""(?:from|import)\s+"(\.[^"]+)\"""")
CLASSES = re.compile(r"""\bclass: "([^"]*)\"""")
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


def imported_by(module: Path) -> set[Path]:
    """A module with all that it imports, and what that imports; not what is imported later on."""
    seen: set[Path] = set()
    todo = [module]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += [(one.parent / name).resolve() for name in STATICALLY.findall(one.read_text())]
    return seen


def test_each_page_travels_in_80_kb() -> None:
    """The frame, the stylesheet and every module of it (docs/decisions.md)."""
    files = assets.load().files
    frame = {*imported_by(STATIC / "app.js"), STATIC / "console.css"}
    sizes = {
        page.stem: sum(len(files[name_of(file)].packed) for file in {*frame, *imported_by(page)})
        for page in (STATIC / "pages").iterdir()
    }
    assert len(sizes) >= 16 and {name: n for name, n in sizes.items() if n > 80_000} == {}


def test_files_of_the_page_are_small() -> None:
    sizes = {name_of(each): len(each.read_text().splitlines()) for each in MODULES}
    assert {name: lines for name, lines in sizes.items() if lines > 250} == {}


def test_every_class_that_a_module_names_has_a_rule() -> None:
    sheet = (STATIC / "console.css").read_text()
    ruled = {*re.findall(r"\.([a-z][\w-]*)", sheet)}
    used = {name for texts in found(CLASSES).values() for text in texts for name in text.split()}
    assert sorted(used - ruled) == []


def test_every_rule_of_the_stylesheet_is_closed() -> None:
    depth = 0
    for number, line in enumerate((STATIC / "console.css").read_text().splitlines(), 1):
        assert depth == 0 or not line.startswith("/*"), f"line {number} is inside of a rule"
        depth += line.count("{") - line.count("}")
    assert depth == 0
