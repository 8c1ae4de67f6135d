"""``taskq demo --serve``: the demo goes on, with something to do each second, to be looked at.

What has ended is deleted after a while (see ``demo_app``), so that it can go on for days.
"""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

import anyio

from taskq.app import TaskQ
from taskq.cli.console_server import HOST, bound, console_server
from taskq.cli.failure import NotDone
from taskq.cli.output import emit
from taskq.cli.web import serve_until_stopped
from taskq.model import Priority

PAUSE = 1.0
"""Seconds between two calls."""

NAMES = ("Ada", "Grace", "Edsger", "Barbara", "Tony", "Frances", "Niklaus")
CITIES = ("Bergen", "Lisbon", "Kyoto")


def serve_demo(app: TaskQ, worker: subprocess.Popen[bytes], port: int) -> None:
    """Serve the console of the demo until a signal stops it. NotDone when the worker ends."""
    server = console_server(app, HOST, bound(HOST, port))

    async def beside() -> None:
        for call in calls(app):
            if worker.poll() is not None:
                server.stop()
                return
            await call()
            await anyio.sleep(PAUSE)

    said = "the demo goes on until Ctrl-C, with its console at"
    serve_until_stopped(server, lambda url: emit(f"{said} {url}"), beside)
    if worker.poll() is not None:
        raise NotDone(f"the worker ended by itself, with exit code {worker.returncode}")


def calls(app: TaskQ) -> Iterator[Callable[[], Awaitable[object]]]:
    """Calls without end, a bit of everything."""
    task = app.tasks
    levels = itertools.cycle(Priority)
    for number in itertools.count(1):
        name, city = NAMES[number % len(NAMES)], CITIES[number % len(CITIES)]
        yield partial(task["greet"].options(priority=next(levels)).adelay, name)
        yield partial(task["checksum"].adelay, f"{name}, {number}")
        yield partial(task["report"].adelay, [f"{name} in {city}", "that is the question"])
        yield partial(task["remind"].aschedule, 30, f"write to {name}")
        yield partial(task["flaky"].adelay, city)
        yield partial(task["charge"].options(idempotency_key=f"order-{number}").adelay, number)
        if number % 3 == 0:
            yield partial(task["doomed"].adelay, number)
