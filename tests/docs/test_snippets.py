"""Every Python block of the README and the pages runs, and every command there exists.

The blocks of a page run in order, in one namespace and one empty folder. A block whose first line
is a file's name, ``# app.py``, becomes that file instead. A page with an ``app.py`` has a worker
for it running beside, started as its reader is told to. Blocks of other languages are not run.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import click
import pytest

from taskq.cli import commands
from taskq.settings import Settings
from tests import forked

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
GUIDES = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]

DRIVER = """
import sys

namespace = {"__name__": "__main__"}
for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as block:
        exec(compile(block.read(), name, "exec"), namespace)
"""

USES = {
    "signed_up": """
        import anyio
        anyio.run(signed_up, "ada@example.com")
        """,
    "place_order": """
        import sqlite3
        import anyio
        from contextlib import closing

        async def use_place_order():
            await place_order("ada@example.com")
            await engine.dispose()

        with closing(sqlite3.connect("taskq.db")) as file:
            file.execute("CREATE TABLE orders (email TEXT)")
            anyio.run(use_place_order)
            assert list(file.execute("SELECT email FROM orders")) == [("ada@example.com",)]
        """,
    "checkout": """
        import anyio
        from taskq import ActivityFailed

        async def use():
            async with taskq, taskq.worker(concurrency=3):
                assert await checkout.delay("o1") == "charged o1"
                assert await charge_all.delay(["o1", "o2"]) == ["charged o1", "charged o2"]
                assert await thumbnail.delay("abc") == 3
                try:
                    await checkout.delay("o2", stock=-1)
                except ActivityFailed as failed:
                    assert failed.error.message == "there is no such stock"
                assert (await checkout.delay("o3", stock=0).ainfo()).status in (
                    "pending", "processing", "retrying"
                )

        anyio.run(use)
        """,
}
"""What is done with the functions that the README only defines."""


class Block(NamedTuple):
    """A fenced block: its language, its text, and the number of its first line."""

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The file that it is, if it says so."""
        named = re.match(r"# (\w+\.py)\n", self.text)
        return named[1] if named else None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(match[1], match[2], text.count("\n", 0, match.start(2)) + 1)
        for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


def programs(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.language == "python"]


def name_of(page: Path) -> str:
    return page.name


def environment() -> dict[str, str]:
    """No setting of whoever runs the tests counts; output comes when it is printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TASKQ_")}
    return kept | {"PYTHONUNBUFFERED": "1"}


def python(folder: Path, *arguments: str) -> str:
    """Run Python in the folder; what it printed."""
    answer = forked.run(arguments, cwd=folder, env=environment())
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@pytest.fixture
def folder(page: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder with the page's files, and a worker in it if there is an app."""
    for block in programs(page):
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    if not (tmp_path / "app.py").exists():
        yield tmp_path
        return
    command = ["-m", "taskq", "worker", "app:taskq", "-l", "warning"]
    worker = forked.Forked(command, cwd=tmp_path, env=environment())
    try:
        yield tmp_path
    finally:
        worker.send_signal(signal.SIGTERM)
        code = worker.wait(60)
    assert code == 0


@pytest.mark.parametrize("page", [page for page in PAGES if programs(page)], ids=name_of)
def test_the_python_of_a_page_runs(page: Path, folder: Path) -> None:
    """seed:E31: what the README shows is what happens."""
    names: list[str] = []
    for block in programs(page):
        if block.file is not None:
            continue
        used = "".join(dedent(USES[name]) for name in USES if f"def {name}(" in block.text)
        name = f"{page.name}-{block.line}"
        (folder / name).write_text("\n" * (block.line - 1) + block.text + used, encoding="utf-8")
        names.append(name)
    (folder / "driver.py").write_text(DRIVER, encoding="utf-8")

    printed = python(folder, "driver.py", *names)

    if page == README:  # what handlers print comes from whichever worker runs them
        said = [line for line in printed.splitlines() if not line.startswith("sending ")]
        assert said == ["message for ada@example.com"] * 4
    for test in folder.glob("test_*.py"):
        assert " passed" in python(folder, "-m", "pytest", "-q", "-k", "submitted", test.name)


def command_lines() -> list[str]:
    """Every command of the console blocks, those after a semicolon too."""
    return [
        command.strip()
        for page in GUIDES
        for block in blocks(page)
        if block.language == "console"
        for line in block.text.splitlines()
        if line.startswith("$ ")
        for command in line[2:].split("#")[0].split(";")
    ]


@pytest.mark.parametrize("line", [line for line in command_lines() if line.startswith("taskq ")])
def test_a_command_line_of_the_pages_is_understood(line: str) -> None:
    _, name, *arguments = shlex.split(line)
    command = commands.commands[name]

    context = command.make_context(name, arguments)

    assert isinstance(context, click.Context)


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert set(re.findall(r"`taskq ([a-z-]+)", text)) <= set(commands.commands)
    assert {
        name for name in re.findall(r"\./(scripts/\w+)", text) if not (ROOT / name).exists()
    } == set()


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_every_link_inside_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))

    inside = {link for link in links if not link.startswith("http")}
    assert {link for link in inside if not (page.parent / link).exists()} == set()


def test_the_settings_of_the_readme_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| ", README.read_text(encoding="utf-8"), re.MULTILINE)

    assert rows
    assert [(name, default) for name, default in rows if shown(name) != default] == []


def shown(name: str) -> str:
    """A setting's default, as the table shows it."""
    match getattr(Settings(), name):
        case None:
            return "as `concurrency`" if name == "threads" else "`None`"
        case str() | bool() as word:
            return f"`{word}`"
        case float(number):
            return f"{number:g}"
        case other:
            return str(other)
