"""A process that has used the database forks: both go on, nothing is lost."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from taskq.backends import Hint, Topic
from taskq.backends.sql import SQLiteBackend
from taskq.bridge import ResidentBridge
from taskq.model import Status
from taskq.testing.conformance.samples import call

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

PARENT_CLOSES_FIRST = """
import os, sys
from taskq.backends import Topic
from taskq.backends.sql import SQLiteBackend
from taskq.bridge import ResidentBridge
from taskq.testing.conformance.samples import call

bridge = ResidentBridge()
backend = SQLiteBackend(sys.argv[1])
bridge.on_fork(backend.after_fork)
bridge.call_sync(backend.open)
bridge.call_sync(backend.watch, list(Topic), print)
bridge.call_sync(backend.submit, [call("parent")])
told, tell = os.pipe()
heard, hear = os.pipe()
if os.fork() == 0:
    bridge.call_sync(backend.open)
    bridge.call_sync(backend.submit, [call("child-1")])
    os.write(tell, b"x")
    os.read(heard, 1)
    bridge.call_sync(backend.submit, [call("child-2")])
    bridge.call_sync(backend.close)
    os._exit(0)
os.read(told, 1)
bridge.call_sync(backend.submit, [call("parent-2")])
bridge.call_sync(backend.close)
os.write(hear, b"x")
_, code = os.wait()
assert code == 0
"""


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def types(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT type FROM taskq_activities ORDER BY type").fetchall()
    connection.close()
    return [type for (type,) in rows]


def test_what_a_child_commits_survives_the_close_of_its_parent(path: Path) -> None:
    """promise:G1. SQLite keeps its locks per process: an inherited connection makes the child
    believe that it holds them, and the parent then removes the log under its feet."""
    done = subprocess.run(
        [sys.executable, "-c", PARENT_CLOSES_FIRST, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert types(path) == ["child-1", "child-2", "parent", "parent-2"]


def test_a_fork_in_the_middle_of_a_write_waits_for_its_end(
    backend: SQLiteBackend, bridge: ResidentBridge
) -> None:
    """Otherwise the child would see a write lock that nobody ever gives back."""
    many = [call() for _ in range(2000)]
    bridge.spawn(backend.submit, many)

    child = os.fork()
    if child == 0:
        backend.after_fork()
        own = ResidentBridge()
        activity = call()
        try:
            own.call_sync(backend.open)
            own.call_sync(backend.submit, [activity])
            found = own.call_sync(backend.get, [activity.id])
            os._exit(0 if found[activity.id].status is Status.PENDING else 1)
        finally:
            os._exit(2)

    _, code = os.waitpid(child, 0)
    assert code == 0
    assert len(bridge.call_sync(backend.get, [each.id for each in many])) == 2000


def test_the_parents_watch_goes_on_after_a_fork(
    backend: SQLiteBackend, bridge: ResidentBridge, path: Path
) -> None:
    hints: list[Hint] = []
    watch = bridge.call_sync(backend.watch, [Topic.READY], hints.append)
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    other = SQLiteBackend(path)
    bridge.call_sync(other.open)
    eventually(lambda: bool(hints))
    hints.clear()

    bridge.call_sync(other.submit, [call()])

    eventually(lambda: bool(hints))
    bridge.call_sync(watch.close)
    bridge.call_sync(other.close)
