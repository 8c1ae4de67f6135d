"""``taskq worker -w N``: worker processes under one parent, which replaces those that end.

Each is the same command in a fresh interpreter with a pipe to the parent: it says each second how
it fares, and hears of a stop; when the pipe closes, whoever is left knows. Members are in process
groups of their own, so that Ctrl-C reaches them once, through the parent.
"""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from types import FrameType
from typing import Final, TypeAlias

import anyio
import msgspec
from anyio.abc import UNIXSocketStream

from taskq import logs
from taskq.bridge import Doorbell
from taskq.cli.health import HealthEndpoint, health_endpoint
from taskq.cli.member import EVERY, GRACEFULLY, NOW, Report
from taskq.cli.stopping import MARGIN
from taskq.cli.stopping import NOW as NOW_SECONDS
from taskq.clock import Clock, SystemClock
from taskq.engine import Health, State

FIRST: Final = 1.0
LAST: Final = 30.0
"""Seconds before a member that ended is replaced: doubling from the first to the last."""
PROVEN: Final = 10.0
"""Seconds of life after which the pause begins anew: what fails at once fails sooner."""
PATIENCE: Final = 5.0
"""Seconds of silence after which a member counts as unhealthy, and for which the other members wait
for the first one to run."""
SPARE: Final = 10.0
"""Seconds beyond its own patience in which a member whose event loop is stuck must have ended."""
GLANCE: Final = 0.2
"""Seconds between two looks whether a member is still there."""
GRACE: Final = 30.0
"""Seconds of grace of a member that has not said how many it has."""


class Member:
    """One process, as the parent sees it."""

    def __init__(self, process: subprocess.Popen[bytes], stream: UNIXSocketStream, now: float):
        self.process = process
        self.began_at = now
        self.heard_at = now
        self.report: Report | None = None
        self.misspoke = False
        """Whether it said what nobody understands, so that it is to be replaced."""
        self._stream = stream
        self._silent = anyio.Event()

    @property
    def name(self) -> str:
        """Its worker's name, as far as it is known."""
        return self.report.name if self.report is not None else "worker"

    @property
    def grace(self) -> float:
        """Seconds that its handlers have at a stop, as far as it is known."""
        return self.report.grace if self.report is not None else GRACE

    @property
    def patience(self) -> float:
        """Seconds for which it may say nothing. It ends by itself when its event loop is stuck,
        unless a handler in C keeps the GIL: no thread of it runs then."""
        if self.report is None or self.report.patience is None:
            return math.inf
        return self.report.patience + SPARE

    @property
    def left_by_itself(self) -> bool:
        """Whether its worker came to an end, and not only the process."""
        return self.report is None or self.report.last

    @property
    def drained(self) -> bool:
        """Whether it found nothing left to do. A handler can end a process with any exit code."""
        return self.report is not None and self.report.last and self.report.drained

    async def reports(self, clock: Clock) -> None:
        """Take in what it says until it says no more."""
        lines = b""
        while True:
            try:
                lines += await self._stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self._silent.set()
                return
            *whole, lines = lines.split(b"\n")
            if not whole:
                continue
            try:
                self.report = msgspec.json.decode(whole[-1], type=Report)
            except msgspec.DecodeError as error:
                await self._dismiss(error)
                return
            self.heard_at = clock.monotonic()

    async def say(self, word: bytes) -> None:
        """Tell it to stop; nothing is said to one that is gone."""
        try:
            with anyio.move_on_after(1.0):
                await self._stream.send(word)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return

    async def ends(self) -> int:
        """Wait for its end; its exit code, negative for a signal."""
        while self.process.poll() is None:
            with anyio.move_on_after(GLANCE):
                await self._silent.wait()
            if self._silent.is_set():
                await anyio.sleep(GLANCE / 10)
        with anyio.move_on_after(EVERY):  # its last words; others may hold its end of the pipe
            await self._silent.wait()
        await self._stream.aclose()
        return self.process.returncode

    def kill(self) -> None:
        """End it now."""
        if self.process.poll() is None:
            self.process.kill()

    async def _dismiss(self, error: msgspec.DecodeError) -> None:
        """Have it end in order: it is perhaps of another version, but it holds activities."""
        self.misspoke = True
        logs.member_misspoke(self.name, self.process.pid, error)
        await self.say(GRACEFULLY)
        await anyio.sleep(self.grace + 2 * MARGIN)
        self.kill()


Spawn: TypeAlias = Callable[[int], tuple[subprocess.Popen[bytes], socket.socket]]
"""Starts the member for a seat; gives the parent's end of its pipe with it. Raises OSError."""


class Fleet:
    """The members and what is to become of them. ``burst``: each ends when nothing is left to do,
    and so does the fleet. Use ``run`` once, in the main thread."""

    def __init__(self, count: int, *, burst: bool, spawn: Spawn | None = None) -> None:
        self._burst = burst
        self._spawn = spawn or Spawning(None)
        self._clock = SystemClock()
        self._members: list[Member | None] = [None] * count
        self._signals: list[int] = []
        self._stopping = Doorbell()
        self._first_runs = anyio.Event()
        self._code = 0

    def listen(self) -> None:
        """Take SIGINT and SIGTERM from here on."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    async def run(self, health_port: int | None) -> int:
        """Keep the members running until stopped. 0 when all ended well, else 1; the exit code of
        the first one, if it never came to run."""
        endpoint = None
        if health_port is not None:
            endpoint = await health_endpoint(health_port, self.health)
        logs.fleet_started(len(self._members), endpoint.url if endpoint is not None else None)
        async with anyio.create_task_group() as group:
            group.start_soon(self._heed)
            if endpoint is not None:
                group.start_soon(HealthEndpoint.serve, endpoint)
            try:
                async with anyio.create_task_group() as seats:
                    for seat in range(len(self._members)):
                        seats.start_soon(self._keep, seat)
            finally:
                for member in self._alive():
                    member.kill()
            group.cancel_scope.cancel()
        return self._code

    def health(self) -> Health:
        """All of them together: healthy if each of them is there and is."""
        reasons: list[str] = []
        found: list[Health] = []
        for seat, member in enumerate(self._members):
            if member is None or member.report is None:
                reasons.append(f"worker {seat + 1} is not running")
                continue
            said = member.report.health
            found.append(said)
            if self._clock.monotonic() - member.heard_at > PATIENCE:
                reasons.append(f"{member.name} says nothing")
            reasons += [f"{member.name}: {reason}" for reason in said.reasons]
        return Health(
            state=State.STOPPING if self._signals else State.RUNNING,
            healthy=not reasons,
            reasons=tuple(reasons),
            slots=sum(health.slots for health in found),
            slots_used=sum(health.slots_used for health in found),
            suspended=sum(health.suspended for health in found),
            threads_stuck=sum(health.threads_stuck for health in found),
            last_progress={},
        )

    def _alive(self) -> list[Member]:
        return [member for member in self._members if member is not None]

    async def _keep(self, seat: int) -> None:
        """Keep one seat taken."""
        if seat:
            await self._first_runs.wait()
        pause = FIRST
        while not self._signals and not self._code:
            try:
                member = self._members[seat] = await self._started(seat)
            except OSError as error:
                logs.member_not_started(seat + 1, error, pause)
            else:
                code = await self._watched(member)
                self._members[seat] = None
                if self._over(member, code):
                    return
                if self._clock.monotonic() - member.began_at >= PROVEN:
                    pause = FIRST
                logs.member_ended(member.name, member.process.pid, code, pause)
            with anyio.move_on_after(pause):
                await self._stopping.wait()
            pause = min(2 * pause, LAST)

    def _over(self, member: Member, code: int) -> bool:
        """Whether the seat stays empty after this."""
        done = self._burst and member.drained
        if not self._signals and not done:
            failed = code > 0 and not self._first_runs.is_set() and member.left_by_itself
            if member.misspoke or not failed:
                return False
            self._code = code
        self._first_runs.set()
        self._code = self._code or int(code != 0)
        return True

    async def _started(self, seat: int) -> Member:
        process, end = self._spawn(seat)
        try:
            stream = await UNIXSocketStream.from_socket(end)
        except OSError:
            end.close()
            process.kill()
            process.wait()
            raise
        return Member(process, stream, self._clock.monotonic())

    async def _watched(self, member: Member) -> int:
        """Hear it until it has ended."""
        async with anyio.create_task_group() as group:
            group.start_soon(member.reports, self._clock)
            group.start_soon(self._see_it_run, member)
            group.start_soon(self._see_it_live, member)
            if self._signals:  # they came while it was being started
                await member.say(NOW if len(self._signals) > 1 else GRACEFULLY)
            code = await member.ends()
            group.cancel_scope.cancel()
            return code
        raise AssertionError("the scope of a group that ends by itself swallows nothing")

    async def _see_it_run(self, member: Member) -> None:
        """Let the others start when one runs, or waits for its database."""
        while not self._first_runs.is_set():
            await anyio.sleep(EVERY / 20)
            report, age = member.report, self._clock.monotonic() - member.began_at
            if report is not None and (report.health.state == State.RUNNING or age > PATIENCE):
                self._first_runs.set()

    async def _see_it_live(self, member: Member) -> None:
        """Kill it when it has been silent for too long. Only seconds in which this process was
        awake count: after it was stopped, or the machine slept, there is much to be heard yet."""
        heard_at, silent = member.heard_at, 0.0
        while silent <= member.patience:
            await anyio.sleep(EVERY)
            silent = silent + EVERY if member.heard_at == heard_at else 0.0
            heard_at = member.heard_at
        logs.member_silent(member.name, member.process.pid, silent)
        member.kill()

    async def _heed(self) -> None:
        """Pass every stop on, and see that it is obeyed."""
        async with anyio.create_task_group() as group:
            told = 0
            while True:
                await self._stopping.wait()
                while told < len(self._signals):
                    told += 1
                    logs.signalled(signal.Signals(self._signals[told - 1]).name, first=told == 1)
                    group.start_soon(self._pass_on, told == 1)
                self._first_runs.set()
                await anyio.sleep(0.05)

    async def _pass_on(self, first: bool) -> None:
        """One grace for all of them."""
        members = self._alive()
        grace = max((member.grace for member in members), default=GRACE)
        async with anyio.create_task_group() as group:
            for member in members:
                group.start_soon(member.say, GRACEFULLY if first else NOW)
        await anyio.sleep((grace + MARGIN if first else NOW_SECONDS) + MARGIN)
        for member in members:
            member.kill()

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        self._signals.append(number)
        if len(self._signals) > 2:
            for member in self._alive():
                member.kill()
            os._exit(1)
        self._stopping.ring()


class Spawning:
    """See ``Spawn``. Members are this very command; the first seat's serves the console on
    ``listener``, which stays open here, so that clients meet the next one at the same place."""

    def __init__(self, listener: socket.socket | None) -> None:
        self._listener = listener

    def __call__(self, seat: int) -> tuple[subprocess.Popen[bytes], socket.socket]:
        """Start the member for a seat."""
        here, there = socket.socketpair()
        with there:
            passed = [there.fileno()]
            if self._listener is not None and seat == 0:
                passed.append(self._listener.fileno())
            try:
                process = subprocess.Popen(
                    _command(passed[0], seat, *passed[1:]),
                    stdin=subprocess.DEVNULL,
                    pass_fds=passed,
                    process_group=0,
                )
            except BaseException:  # whatever it was, no socket stays open
                here.close()
                raise
        return process, here


def _command(*place: int) -> list[str]:
    """The command that was given, as a member: how Python was started, then the same arguments."""
    before = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
    words = sys.argv[1:]
    at = words.index("worker") + 1 if "worker" in words else 1
    member = ["--member", ":".join(map(str, place))]
    return [sys.executable, *before, *words[:at], *member, *words[at:]]


def run_fleet(
    count: int, *, burst: bool, health_port: int | None, listener: socket.socket | None = None
) -> int:
    """Run so many workers until stopped; the exit code. ``listener`` is the console's."""

    async def run() -> int:
        fleet = Fleet(count, burst=burst, spawn=Spawning(listener))
        fleet.listen()
        return await fleet.run(health_port)

    with listener or nullcontext():
        return anyio.run(run)
