"""``taskq worker -w N``: several worker processes under one parent."""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from taskq import TaskQ
from taskq.cli import fleet as fleets
from taskq.cli.fleet import Fleet
from taskq.cli.member import LONG, Membership, Place, Report
from taskq.engine import Health, State, Stuck
from taskq.testing import ManualClock
from tests.cli.conftest import Cli, Process
from tests.processes.alive import alive, until_sync

Start = Callable[..., Process]

RUNNING = Health(
    state=State.RUNNING,
    healthy=True,
    reasons=(),
    slots=1,
    slots_used=0,
    threads_stuck=0,
    last_progress={},
)


def said(*, patience: float = 60.0, last: bool = False, drained: bool = False) -> bytes:
    """A report, as a member's program says it."""
    report = Report(
        name="mill", grace=1.0, health=RUNNING, patience=patience, last=last, drained=drained
    )
    return msgspec.json.encode(report) + b"\n"


def calls(count: int, type: str, **arguments: object) -> None:
    """Enqueue so many calls, without a worker."""
    app = TaskQ()

    async def nothing(seconds: float = 0.0, name: str = "") -> None: ...

    task = app.activity(name=type)(nothing)
    payload = msgspec.json.encode(arguments).decode()
    app.enqueue([task.draft(payload) for _ in range(count)])
    app.close()


def members(fleet: Process) -> list[int]:
    """The process ids of the workers that have started so far."""
    return [int(pid) for pid in re.findall(r"worker \S+ started.* pid=(\d+)", fleet.stderr())]


def health(fleet: Process) -> tuple[int, dict[str, object]]:
    found = re.search(r"http://\S+/health", fleet.stderr())
    assert found is not None
    try:
        with urllib.request.urlopen(found[0], timeout=5) as response:
            return response.status, msgspec.json.decode(response.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, msgspec.json.decode(error.read())


def test_a_member_that_is_killed_is_replaced_and_a_stop_ends_all_in_order(
    app_folder: Path, start: Start
) -> None:
    calls(2, "nap", seconds=0.5)
    fleet = start("worker", "app:taskq", "-w", "2", "-c", "1", "--health-port", "0", "-n", "mill")
    fleet.until(lambda: len(members(fleet)) == 2, "two members")
    fleet.until(lambda: health(fleet)[0] == 200, "health")
    assert health(fleet)[1]["slots"] == 2
    victim = members(fleet)[1]

    os.kill(victim, signal.SIGKILL)

    fleet.says("mill-2, process")
    assert health(fleet)[0] == 503
    fleet.until(lambda: len(members(fleet)) == 3, "a third")
    fleet.send(signal.SIGTERM)
    for pid in filter(alive, members(fleet)):  # as a service manager does: it is one stop
        os.kill(pid, signal.SIGTERM)
    assert fleet.ends() == 0
    assert fleet.stderr().count(" stopped worker=") == 2
    assert "received again" not in fleet.stderr()
    assert not any(alive(pid) for pid in members(fleet))


def test_members_whose_parent_is_killed_stop_gracefully(app_folder: Path, start: Start) -> None:
    calls(1, "nap", seconds=0.5)
    fleet = start("worker", "app:taskq", "-w", "2")
    fleet.until(lambda: len(members(fleet)) == 2, "two members")

    fleet.kill()

    until_sync(lambda: not any(alive(pid) for pid in members(fleet)))
    until_sync(lambda: fleet.stderr().count(" stopped worker=") == 2)


def test_a_second_signal_is_passed_on_and_the_exit_code_says_so(
    app_folder: Path, start: Start
) -> None:
    calls(2, "nap", seconds=60)
    fleet = start("worker", "app:taskq", "-w", "2", "-c", "1")
    fleet.until(lambda: fleet.stderr().count(" started: ") == 2, "two members")
    fleet.until(lambda: (app_folder / "effects.txt").read_text().count("nap") == 2, "two naps")

    fleet.send(signal.SIGINT)
    fleet.until(lambda: fleet.stderr().count("stopping, handlers have") == 2, "a stop")
    fleet.send(signal.SIGINT)

    assert fleet.ends() == 1
    app = TaskQ()
    assert app.stats().by_status["pending"] == 2
    app.close()


def test_a_burst_ends_when_all_have(app_folder: Path, start: Start) -> None:
    calls(20, "greet", name="Ada")
    fleet = start("worker", "app:taskq", "-w", "2", "--burst")

    assert fleet.ends() == 0
    assert (app_folder / "effects.txt").read_text().count("greet Ada") == 20


def test_an_app_that_cannot_be_loaded_ends_the_fleet_with_one_error(
    app_folder: Path, start: Start
) -> None:
    fleet = start("worker", "app:nothing", "-w", "3")

    assert fleet.ends() == 2
    assert fleet.stderr().count("has no 'nothing'") == 1


def test_what_several_processes_cannot_do_is_refused(
    app_folder: Path, cli: Cli, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = cli("worker", "app:taskq", "-w", "2", "--reload")
    assert (result.exit_code, "leave out -w" in result.stderr) == (2, True)
    assert cli("worker", "app:taskq", "--member", "x").exit_code == 2
    assert cli("worker", "app:taskq", "-w", "0").exit_code == 2

    monkeypatch.setenv("TASKQ_DATABASE_URL", "memory://")
    fleet = start("worker", "app:taskq", "-w", "2")
    assert fleet.ends() == 2
    assert "several cannot work on it" in fleet.stderr()


DRAINED = said(last=True, drained=True)
GOOD = f"say({said()!r}); time.sleep(0.5); say({DRAINED!r})"
BAD = {
    "killed": "os.kill(os.getpid(), 9)",
    "left by a handler": f"say({said()!r}); os._exit(0)",
    "failed by a handler": f"say({said()!r}); os._exit(1)",
    "stopped": f"say({said(last=True)!r})",
    "silent": f"say({said(patience=0.0)!r}); time.sleep(60)",
    "speaks nonsense": "say(b'nonsense\\n'); sys.exit(pipe.recv(1) != b's')",
}


class Spawner:
    """Starts small programs as members. At its first time one seat has a bad one."""

    def __init__(self, seat: int, bad: str) -> None:
        self.members: list[tuple[int, subprocess.Popen[bytes]]] = []
        self._bad: dict[int, str] = {seat: bad}

    def __call__(self, seat: int) -> tuple[subprocess.Popen[bytes], socket.socket]:
        bad = self._bad.pop(seat, "")
        if bad == "not started":
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        here, there = socket.socketpair()
        with there:
            number = there.fileno()
            program = (
                f"import os, socket, sys, time; pipe = socket.socket(fileno={number});"
                f" say = pipe.sendall; {BAD.get(bad, GOOD)}"
            )
            process = subprocess.Popen([sys.executable, "-SIc", program], pass_fds=(number,))
        self.members.append((seat, process))
        return process, here


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("seat", "bad"),
    [
        (0, "killed"),
        (0, "not started"),
        (1, "killed"),
        (1, "not started"),
        (1, "speaks nonsense"),
        (0, "left by a handler"),
        (0, "failed by a handler"),
        (1, "stopped"),
        (1, "silent"),
    ],
)
async def test_a_member_that_comes_to_nothing_is_tried_again_and_hurts_no_other(
    seat: int, bad: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleets, "FIRST", 0.05)
    monkeypatch.setattr(fleets, "SPARE", 1.5)
    spawn = Spawner(seat, bad)

    assert await Fleet(2, burst=True, spawn=spawn).run(None) == 0

    codes = [(seat, process.returncode) for seat, process in spawn.members]
    assert [code for code in codes if code[1] == 0 and code[0] != seat] == [(1 - seat, 0)]
    assert codes[-1][1] == 0 and sorted({seat for seat, _ in codes}) == [0, 1]
    assert len(codes) == (2 if bad == "not started" else 3)


class Sick:
    """An engine as its member sees it."""

    stuck: Stuck | None = None
    patience = 60.0
    drained = False

    def health(self) -> Health:
        raise AssertionError("nobody asks for it here")


def membership(engine: Sick, clock: ManualClock, done: list[str]) -> Membership:
    return Membership(
        Place(0, 0),
        engine,
        name="mill",
        grace=30.0,
        stop=lambda stage: done.append(f"stop {stage}"),
        leave=lambda code: done.append(f"leave {code}"),
        clock=clock,
    )


def test_a_member_whose_event_loop_is_stuck_leaves_at_once() -> None:
    engine, done = Sick(), list[str]()
    member = membership(engine, ManualClock(), done)

    member.consider()
    assert done == []
    engine.stuck = Stuck.LOOP
    member.consider()

    assert done == ["leave 1"]


def test_a_member_whose_slots_are_all_held_by_late_threads_for_long_stops() -> None:
    engine, clock, done = Sick(), ManualClock(), list[str]()
    member = membership(engine, clock, done)

    engine.stuck = Stuck.SLOTS
    member.consider()
    clock.advance(LONG - 1)
    member.consider()
    engine.stuck = None
    member.consider()
    engine.stuck = Stuck.SLOTS
    member.consider()
    clock.advance(LONG - 1)
    member.consider()
    assert done == []
    clock.advance(1)
    member.consider()

    assert done == ["stop 1"]
