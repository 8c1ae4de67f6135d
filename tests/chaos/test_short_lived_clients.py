"""Programs that enqueue and end, or fork."""

from __future__ import annotations

import json

import pytest

from tests.chaos.arena import Arena, until

pytestmark = pytest.mark.chaos

LONG = 60.0
"""Seconds between two looks of an idle worker: only a hint can make it look sooner."""

ENQUEUE_AND_EXIT = "from app import quick; print(quick.delay().id.hex)"

FORKING = """
import json, os
from app import quick

own = [quick.delay().result(timeout=10)]
readers = []
for _ in range(2):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, json.dumps(quick.delay().result(timeout=10)).encode())
        os._exit(0)
    os.close(writer)
    readers.append((child, reader))
own.append(quick.delay().result(timeout=10))
forked = []
for child, reader in readers:
    forked.append(json.loads(os.read(reader, 4096)))
    assert os.waitpid(child, 0)[1] == 0
print(json.dumps([*own, *forked]))
"""


def test_what_a_script_enqueues_before_it_exits_is_picked_up_at_once(
    arena: Arena, loop: str
) -> None:
    """Design 7.8: the hint of a process that lives no longer. seed:Q14"""
    arena.worker(loop, POLL_INTERVAL=LONG, POLL_MAX=LONG)
    arena.app.quick.delay()
    arena.until_all("completed")

    script = arena.python("-c", ENQUEUE_AND_EXIT, ready=False)
    assert script.ends() == 0, script.said()
    arena.until_all("completed")

    [_, row] = arena.rows()
    assert row["id"] == script.said().strip()
    assert row["started_at"] - row["created_at"] < 5_000_000


def test_a_program_that_forks_goes_on_in_parent_and_children(arena: Arena) -> None:
    """fault:A11: the app was in use before the fork."""
    arena.worker("asyncio")
    program = arena.python("-c", FORKING, ready=False)
    assert program.ends() == 0, program.said()

    results = json.loads(program.said())
    until(lambda: len(arena.rows()) == 4, "four calls are stored")
    assert [result["claim"] for result in results] == [1, 1, 1, 1]
    assert len(arena.effects("start")) == 4
