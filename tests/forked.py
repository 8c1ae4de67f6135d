"""Python processes that need not import SQLAlchemy first.

To start ``python -m taskq worker`` costs more than a second of a processor, two thirds of it for
the packages that taskq imports. A test that starts several forks them from a process that has
imported those, and nothing of taskq: each has its own process, session, folder, environment and
streams, and runs and ends as ``python`` with its arguments would.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Event, Lock, Thread
from typing import IO, Protocol

UNTOLD = 255
"""The exit code of a process whose end nobody can tell: who forked it has ended before."""


class Running(Protocol):
    """A process: a part of what ``subprocess.Popen`` can do."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


class Start(Protocol):
    """Starts ``python`` with arguments in a session of its own, with an empty standard input. In
    the current folder and with this environment, if no others are given; what it writes is lost if
    no file is given."""

    def __call__(
        self,
        arguments: Sequence[str],
        *,
        stdout: IO[bytes] | None = None,
        stderr: IO[bytes] | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Running: ...


def spawned(
    arguments: Sequence[str],
    *,
    stdout: IO[bytes] | None = None,
    stderr: IO[bytes] | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Running:
    """As a shell does it, at its full price."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=stdout or subprocess.DEVNULL,
        stderr=stderr or subprocess.DEVNULL,
        cwd=cwd,
        env=env,
        start_new_session=True,
    )


class Forked:
    """By a fork of the process that has imported what taskq needs."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        stdout: IO[bytes] | None = None,
        stderr: IO[bytes] | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.args = [sys.executable, *arguments]
        self.returncode: int | None = None
        asked = {
            "arguments": list(arguments),
            "folder": str(cwd or Path.cwd()),
            "environment": dict(os.environ if env is None else env),
        }
        reader, writer = os.pipe()
        with tempfile.TemporaryFile() as request, open(os.devnull, "r+b") as nothing:
            request.write(json.dumps(asked).encode())
            request.seek(0)
            streams = (nothing, stdout or nothing, stderr or nothing)
            files = [file.fileno() for file in (request, *streams)]
            socket.send_fds(zygote(), [b"."], [*files, writer])
        os.close(writer)
        reports = os.fdopen(reader)
        self.pid = int(reports.readline())
        self._ended = Event()
        Thread(target=self._watch, args=(reports,), daemon=True).start()

    def poll(self) -> int | None:
        """Its exit code, None while it lives."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended; subprocess.TimeoutExpired if that takes longer."""
        self._ended.wait(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Send a signal, if it lives."""
        with suppress(ProcessLookupError):  # it has ended, and that is yet to be told
            if self.poll() is None:
                os.kill(self.pid, sig)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def _watch(self, reports: IO[str]) -> None:
        with reports:
            self.returncode = int(reports.readline() or UNTOLD)
        self._ended.set()


def run(
    arguments: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 90.0,
    start: Start = Forked,
) -> subprocess.CompletedProcess[str]:
    """What ``subprocess.run`` is, of ``python`` with arguments: how it ended and what it wrote."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = start(arguments, stdout=out, stderr=err, cwd=cwd, env=env)
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        return subprocess.CompletedProcess(list(arguments), code, _text(out), _text(err))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def zygote() -> socket.socket:
    """The way to the process that forks; it is started when first needed."""
    with _STARTING:
        return _started()


_STARTING = Lock()


@cache
def _started() -> socket.socket:
    here, there = socket.socketpair()
    program = [sys.executable, str(Path(__file__).with_name("zygote.py")), str(there.fileno())]
    plain = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    process = subprocess.Popen(
        program,
        pass_fds=[there.fileno()],
        env=plain,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    there.close()

    def end() -> None:
        here.close()
        process.wait()

    atexit.register(end)
    return here
