"""One process, as its worker holds it: a program, a pipe of its own to it, and its end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Final, cast

import anyio
from anyio.abc import UNIXSocketStream
from msgspec import Struct

from taskq.bridge import run_in_thread
from taskq.bridge.forks import make_private, no_fork, no_longer_private
from taskq.processes import wire

MOMENT: Final = 0.5
"""Seconds for a process that was told to end, to clean up; then it is killed."""
GLANCE: Final = 0.5
"""Seconds between two looks whether a process that says nothing is still there."""
LINGERING: Final = 3.0
"""Seconds in which a killed process must be gone; what the kernel holds longer is left to it."""
CHUNK: Final = 65536


class Gone(Exception):
    """The process has ended, or says nothing more; see ``Child.reason``."""


class Started(Struct, frozen=True):
    """What starting a program gives: its handle, the worker's end of its pipe, and a pipe of which
    nothing is read or written: when its writing end is closed, the process is killed."""

    process: subprocess.Popen[bytes]
    end: socket.socket
    lifeline: int


class Child:
    """A process. On one event loop; ``end`` must be called once."""

    def __init__(self, started: Started, stream: UNIXSocketStream) -> None:
        self._process = started.process
        self._lifeline = started.lifeline
        self._end = started.end.fileno()
        self._stream = stream
        self._buffer = bytearray()
        self._sending = anyio.Lock()
        self._own_kill = False
        self.sound = True
        """False when something was half said to it, so that it cannot be used again."""
        self.attempts = 0
        self.known: set[tuple[str, str]] = set()
        """Module and name of each task that it has run."""
        self.idle_since = 0.0

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def reason(self) -> str:
        """Once ``end`` has returned: how it ended, as the rest of a sentence about it."""
        code = self._process.returncode
        if self._own_kill or code is None:
            return "closed its pipe to the worker"
        if code >= 0:
            return f"ended with exit code {code}"
        why = ", as by the kernel when memory runs out" if -code == signal.SIGKILL else ""
        return f"was killed by {_signal(-code)}{why}"

    async def send(self, message: wire.ToProcess) -> None:
        """Say something to it. Raises Gone, TooLong."""
        data = wire.framed(message)
        async with self._sending:
            sound, self.sound = self.sound, False
            try:
                await self._stream.send(data)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
                raise Gone from error
            self.sound = sound

    async def receive(self) -> wire.FromProcess:
        """What it says next; nothing is lost by being cancelled. Raises Gone."""
        while True:
            body = self._whole()
            if body is not None:
                return wire.from_process(body)
            dead = self._process.poll() is not None
            with anyio.move_on_after(GLANCE / 10 if dead else GLANCE):
                try:
                    self._buffer += await self._stream.receive(CHUNK)
                except (anyio.EndOfStream, anyio.BrokenResourceError) as error:
                    raise Gone from error
                continue
            if dead:  # others hold its end of the pipe: processes that it has forked
                raise Gone

    async def end(self, *, told: bool = True) -> None:
        """See that it has ended, with the processes of its group: told to, killed after a moment.

        Without ``told`` it has ended by itself or is in the course of it. Returns when it is gone,
        after about ``MOMENT`` seconds at the most. Not to be cancelled.
        """
        if told:
            with anyio.move_on_after(MOMENT / 5):
                await self._say_stop()
        with anyio.move_on_after(MOMENT):
            await self._ends()
        if self._process.returncode is None:
            self._own_kill = not told
        self._kill_group()
        with anyio.move_on_after(LINGERING):
            await self._ends()
        no_longer_private(self._end, self._lifeline)
        await self._stream.aclose()
        os.close(self._lifeline)

    @property
    def ended(self) -> bool:
        """Whether it is gone and reaped."""
        return self._process.poll() is not None

    async def _say_stop(self) -> None:
        try:
            await self.send(wire.Stop())
        except Gone:
            return

    async def _ends(self) -> None:
        """Poll: what tells of a process's end differs between systems and event loops."""
        pause = 0.002
        while self._process.poll() is None:
            await anyio.sleep(pause)
            pause = min(pause * 1.5, 0.05)

    def _kill_group(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # nobody is left (macOS: only zombies are)
            return

    def _whole(self) -> bytes | None:
        """The next message, taken out of the buffer, if all of it is there."""
        if len(self._buffer) < wire.HEADER:
            return None
        end = wire.HEADER + wire.length_of(bytes(self._buffer[: wire.HEADER]))
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[wire.HEADER : end])
        del self._buffer[:end]
        return body


def _signal(number: int) -> str:
    """Its name, as far as it has one: most real-time signals have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


async def start() -> Child:
    """Start a process that waits to be told what to import. Raises OSError."""
    with anyio.CancelScope(shield=True):  # a process that was started is never lost sight of
        started = await run_in_thread(_spawned, on_end=_nothing)
        return Child(started, await UNIXSocketStream.from_socket(started.end))
    raise AssertionError("nobody cancels this scope")


def _nothing() -> None:
    return


def _spawned() -> Started:
    """A fresh interpreter, never a fork: threads and locks of the worker are not its. It is in a
    group of its own, so that signals for the worker's group (Ctrl-C) are not for it. What a handler
    in a thread forks has no part in its pipes, else it would not learn of the worker's end."""
    with no_fork():
        here, there = socket.socketpair()
        try:
            watched, lifeline = os.pipe()
        except BaseException:
            here.close()
            there.close()
            raise
        make_private(here.fileno(), lifeline)
    try:
        try:
            process = subprocess.Popen(
                _command(there.fileno(), watched),
                stdin=subprocess.DEVNULL,
                pass_fds=(there.fileno(), watched),
                process_group=0,
            )
        finally:
            os.close(watched)
            there.close()
    except BaseException:
        no_longer_private(here.fileno(), lifeline)
        os.close(lifeline)
        here.close()
        raise
    return Started(process, here, lifeline)


def _command(pipe: int, lifeline: int) -> Sequence[str]:
    """The import path is the worker's own: also what it was given while it ran."""
    code = (
        f"import sys; sys.path[:] = {sys.path!r};"
        f" from taskq.processes.inside import main; main({pipe}, {lifeline})"
    )
    return [sys.executable, "-u", *_flags(), "-c", code]


def _flags() -> list[str]:
    """Those of this interpreter that change how it imports and warns."""
    options = cast("dict[str, str | bool]", getattr(sys, "_xoptions", {}))
    given = [name if value is True else f"{name}={value}" for name, value in options.items()]
    return [*(f"-X{option}" for option in given), *(f"-W{option}" for option in sys.warnoptions)]
