"""The process that ``tests.forked`` has others begin as: what taskq needs of others is imported.

For each byte on the socket of the given number it forks. The new process becomes what was asked
for, ``python`` with some arguments, and ends as that would: only there does the last line of this
file come to be run, and whatever it raises is for the interpreter.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any

PACKAGES = (
    "anyio._backends._asyncio",
    "anyio._backends._trio",
    "asyncpg",
    "click",
    "cronsim",
    "msgspec",
    "psycopg",
    "sqlalchemy.dialects.postgresql.asyncpg",
    "sqlalchemy.dialects.sqlite",
    "sqlalchemy.ext.asyncio",
    "sqlalchemy.ext.compiler",
    "sqlite3",
    "tomllib",
    "trio",
    "zoneinfo",
)

Asked = dict[str, Any]
"""``arguments`` of Python, and the ``folder`` and ``environment`` to run it in."""


def serve(number: int) -> Asked:
    """Fork until nobody is there who could ask. Returns in each new process what was asked for."""
    requests = socket.socket(fileno=number)
    ended, waker = socket.socketpair()
    waker.setblocking(False)
    signal.signal(signal.SIGCHLD, look_again)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    reports: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([requests, ended], [], [])
        if ended in ready:
            ended.recv(4096)
            report_ends(reports)
        if requests in ready:
            byte, files, _, _ = socket.recv_fds(requests, 1, 5)
            if not byte:
                raise SystemExit
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (requests, ended, waker):
                    each.close()
                return taken(files, reports)
            *others, reports[pid] = files
            os.write(reports[pid], b"%d\n" % pid)
            for file in others:
                os.close(file)


def look_again(number: int, frame: object) -> None:
    """A signal's handler; that there is one writes to the waker."""


def report_ends(reports: dict[int, int]) -> None:
    """Write the exit code of each process that has ended to the file of its reports."""
    while reports:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        file = reports.pop(pid)
        with suppress(BrokenPipeError):  # nobody wants to know
            os.write(file, b"%d\n" % os.waitstatus_to_exitcode(status))
        os.close(file)


def taken(files: Sequence[int], reports: dict[int, int]) -> Asked:
    """In a new process: what is asked for, once the standard streams are those that were sent and
    no other file is open."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    request, *streams, _ = files
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    with open(request, closefd=False) as file:
        asked: Asked = json.load(file)
    for file in (*files, *reports.values()):
        os.close(file)
    return asked


def become(asked: Asked, paths: Sequence[str]) -> None:
    """Be ``python`` with these arguments."""
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    at_once = -1 if not os.environ.get("PYTHONUNBUFFERED") else 1
    sys.stdin = sys.__stdin__ = os.fdopen(0, closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", buffering=at_once, closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(
        2, "w", buffering=1, errors="backslashreplace", closefd=False
    )
    arguments = asked["arguments"]
    sys.orig_argv = [sys.executable, *arguments]
    if arguments[:2] == ["-W", "error"]:
        sys.warnoptions, arguments = ["error"], arguments[2:]
        warnings.simplefilter("error")
    paths = [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *paths]
    match arguments:
        case ["-m", name, *rest]:
            sys.argv, sys.path = [name, *rest], [os.getcwd(), *paths]
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        case ["-c", code, *rest]:
            sys.argv, sys.path = ["-c", *rest], ["", *paths]
            main = sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(code, "<string>", "exec"), vars(main))
        case [script, *rest]:
            sys.argv, sys.path = arguments, [os.path.dirname(script) or os.getcwd(), *paths]
            runpy.run_path(script, run_name="__main__")
        case _:
            raise SystemExit(f"no arguments: {arguments}")


if __name__ == "__main__":
    for package in PACKAGES:
        import_module(package)
    gc.collect()
    gc.freeze()
    become(serve(int(sys.argv[1])), sys.path[1:])
