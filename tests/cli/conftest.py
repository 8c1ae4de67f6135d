"""What the command line's tests share: folders with apps, and commands to run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from click.testing import CliRunner, Result

from taskq import TaskQ
from taskq.backends import ClaimRequest
from taskq.cli import commands
from taskq.identifiers import new_id
from taskq.lifecycle import Outcome, decide
from taskq.model import Attempt
from tests.forked import Forked, Start

APP = """
import threading
import time
from pathlib import Path

import anyio

from taskq import NonRetryError, TaskQ

taskq = TaskQ()
effects = Path("effects.txt")


def note(text):
    with effects.open("a") as file:
        file.write(text + "\\n")


@taskq.activity
async def greet(name: str) -> str:
    note(f"greet {name}")
    return f"hello {name}"


@taskq.activity
async def fail(why: str) -> None:
    raise NonRetryError(why)


@taskq.activity
async def nap(seconds: float) -> str:
    note(f"nap {seconds}")
    await anyio.sleep(seconds)
    return "rested"


@taskq.activity
async def block(seconds: float) -> None:
    note(f"block {seconds}")
    time.sleep(seconds)


@taskq.activity
async def resist() -> None:
    note("resist")
    while True:
        try:
            await anyio.sleep(1)
        except BaseException:
            time.sleep(0.01)


@taskq.activity
async def herd(names: list[str]) -> None:
    for name in names:
        await greet.adelay(name)


@taskq.activity
async def chat(text: str) -> None:
    print(text)


@taskq.activity
def hang(seconds: float) -> None:
    note(f"hang {seconds}")
    threading.Event().wait(seconds)
"""


class Cli(Protocol):
    """Runs ``taskq`` with arguments in this process."""

    def __call__(self, *arguments: str, input: str | None = None) -> Result: ...


class Process:
    """A ``taskq`` command in a process of its own, in a folder."""

    def __init__(self, folder: Path, *arguments: str, start: Start) -> None:
        self.folder = folder
        self.errors = folder / f"stderr-{time.monotonic_ns()}.txt"
        with self.errors.open("wb") as errors:
            self._process = start(["-m", "taskq", *arguments], cwd=folder, stderr=errors)

    @property
    def pid(self) -> int:
        return self._process.pid

    def stderr(self) -> str:
        return self.errors.read_text(errors="replace")

    def says(self, text: str, within: float = 15.0) -> None:
        """Wait until stderr holds a text."""
        self.until(lambda: text in self.stderr(), f"{text!r} on stderr", within)

    def does(self, text: str, within: float = 15.0) -> None:
        """Wait until the app's effects hold a text."""
        file = self.folder / "effects.txt"
        self.until(
            lambda: file.exists() and text in file.read_text(), f"{text!r} in effects", within
        )

    def until(self, condition: Callable[[], bool], what: str, within: float = 15.0) -> None:
        last = time.monotonic() + within
        while not condition():
            assert self._process.poll() is None, f"ended before {what}:\n{self.stderr()}"
            assert time.monotonic() < last, f"no {what} within {within} s:\n{self.stderr()}"
            time.sleep(0.02)

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def ends(self, within: float = 15.0) -> int:
        """Wait for the end; the exit code."""
        try:
            return self._process.wait(within)
        except subprocess.TimeoutExpired:
            pytest.fail(f"it has not ended within {within} s:\n{self.stderr()}")

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current folder. Modules imported from it are forgotten afterwards."""
    for name in [name for name in os.environ if name.startswith("TASKQ_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def app_folder(folder: Path) -> Path:
    """A current folder with an ``app.py``."""
    (folder / "app.py").write_text(APP)
    return folder


@pytest.fixture
def cli(folder: Path) -> Cli:
    """Run a command in this process, in the current folder."""

    def run(*arguments: str, input: str | None = None) -> Result:
        return CliRunner().invoke(commands, list(arguments), input=input)

    return run


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., Process]]:
    """Start commands in processes of their own; they are killed afterwards, if need be."""
    started: list[Process] = []

    def start(*arguments: str, start: Start = Forked) -> Process:
        started.append(Process(folder, *arguments, start=start))
        return started[-1]

    yield start
    for process in started:
        process.kill()


class Shelf:
    """A database in the current folder, filled without a worker."""

    def __init__(self) -> None:
        self.app = TaskQ()

        @self.app.activity
        async def greet(name: str) -> str:
            return f"hello {name}"

        self.greet = greet

    def claimed(self) -> list[Attempt]:
        """Claim everything that is pending, as a worker would."""
        request = ClaimRequest(
            worker=new_id(), queues=("default",), types=None, limit=100, lease=30.0
        )
        return self.app.client.call_sync(self.app.client.store.claim, request)

    def end(self, outcome: Outcome) -> None:
        """Give everything that is pending this outcome."""
        transitions = [decide(attempt, outcome) for attempt in self.claimed()]
        self.app.client.call_sync(self.app.client.store.settle, transitions)


@pytest.fixture
def shelf(folder: Path) -> Iterator[Shelf]:
    shelf = Shelf()
    yield shelf
    shelf.app.close()
