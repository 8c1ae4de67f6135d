"""``taskq demo``: a real workload on a real database with a real worker, in a temporary folder."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Protocol
from uuid import UUID

import click
from msgspec import Struct

from taskq.app import TaskQ
from taskq.cli.command import Command
from taskq.cli.console_server import PORT
from taskq.cli.demo_app import build
from taskq.cli.demo_serving import serve_demo
from taskq.cli.failure import NotDone, Refused
from taskq.cli.output import emit, emit_table, on_terminal
from taskq.cli.text import duration, printable
from taskq.hooks import hook_type
from taskq.model import Priority, Status
from taskq.phrases import outcome
from taskq.snapshot import ActivityInfo, Filter, Page

_PATIENCE = 15.0
"""Seconds after which the demo gives up."""

_APP = "taskq.cli.demo_app:build"


class Expected(Struct, frozen=True, kw_only=True):
    """One activity of the demo: what it shows, and how it must end."""

    id: UUID
    shows: str
    status: Status = Status.COMPLETED
    attempts: int = 1
    result: str | None = None


@click.command("demo", cls=Command)
@click.option("--keep", is_flag=True, help="Keep the folder with the database and the log.")
@click.option("--serve", is_flag=True, help="Then go on until Ctrl-C, with the console.")
@click.option(
    "--port", type=click.IntRange(0, 65535),
    help=f"The console's port; 0 chooses one.  [default: {PORT}]",
)  # fmt: skip
@click.option(
    "--async-backend", "backend", type=click.Choice(["asyncio", "trio"]), default="asyncio",
    show_default=True, help="The worker's event loop.",
)  # fmt: skip
def demo_command(keep: bool, serve: bool, port: int | None, backend: str) -> None:
    """Run a small workload on SQLite in a temporary folder, with a live worker.

    Priorities, a delay, retries, a dead letter with its hook, a parent with children, an
    idempotency key and a sync handler. Exit code 1 when anything did not end as it should.
    """
    if port is not None and not serve:
        raise Refused("--port is for --serve")
    where = (PORT if port is None else port) if serve else None
    with _interruptible():
        if keep:
            _demonstrate(Path(tempfile.mkdtemp(prefix="taskq-demo-")), backend, where, keep=True)
            return
        with tempfile.TemporaryDirectory(prefix="taskq-demo-", ignore_cleanup_errors=True) as name:
            _demonstrate(Path(name), backend, where, keep=False)


def workload(app: TaskQ) -> list[Expected]:
    """Enqueue everything; lowest priority first, so that order is the worker's doing."""
    task = app.tasks
    expected = [
        Expected(
            id=task["greet"].options(priority=level).delay(name).id,
            shows=f"priority {level.name}",
            result=f'"hello {name}"',
        )
        for level in Priority
        for name in ("Ada", "Grace")
    ]
    charge = task["charge"].options(idempotency_key="order-42")
    first, second = charge.delay(42), charge.delay(42)
    if first.id != second.id:
        raise NotDone(f"one idempotency key gave two activities, {first.id} and {second.id}")
    return [
        *expected,
        Expected(id=first.id, shows="two calls, one key", result='"charged order 42"'),
        Expected(
            id=task["remind"].schedule(1.5, "water the plants").id,
            shows="delayed 1.5 s",
            result='"remembered to water the plants"',
        ),
        Expected(
            id=task["flaky"].delay("Bergen").id,
            shows="fails twice, retried",
            attempts=3,
            result='"sunny in Bergen, at attempt 3"',
        ),
        Expected(
            id=task["doomed"].delay(7).id,
            shows="retries exhausted",
            status=Status.DEAD_LETTER,
            attempts=2,
        ),
        Expected(
            id=task["report"].delay(["to be or not to be", "that is the question"]).id,
            shows="parent of 2 children",
            result="10",
        ),
        Expected(
            id=task["checksum"].delay("taskq").id,
            shows="sync handler, in a thread",
            result='"ca86ba29611e"',
        ),
    ]


def complaints(
    expected: Sequence[Expected], found: dict[UUID, ActivityInfo], family: Sequence[ActivityInfo]
) -> list[str]:
    """What did not end as it should, one sentence each; empty when all is well."""
    wrong: list[str] = []
    for item in expected:
        info = found[item.id]
        ended = (info.status, info.attempts, info.result)
        if ended != (item.status, item.attempts, item.result):
            wrong.append(
                f"{info.type} ({item.shows}) ended {info.status} after {info.attempts} attempts"
                f" with {outcome(info, 200)!r}, not {item.status} after {item.attempts} with"
                f" {item.result!r}"
            )
    return wrong + _order(found) + _family(expected, found, family)


def _order(found: dict[UUID, ActivityInfo]) -> list[str]:
    """A higher priority starts no later than any lower one (seed:P1)."""
    starts = sorted(
        (-info.priority, info.started_at)
        for info in found.values()
        if info.type == "greet" and info.started_at is not None
    )
    times = [at for _, at in starts]
    return [] if times == sorted(times) else ["a lower priority started before a higher one"]


def _family(
    expected: Sequence[Expected], found: dict[UUID, ActivityInfo], family: Sequence[ActivityInfo]
) -> list[str]:
    """The parent's two children and the dead letter's hook are there and completed."""
    roots = {item.id for item in expected}
    completed = sorted(
        info.type
        for info in family
        if info.root_id in roots and info.status is Status.COMPLETED and info.id not in found
    )
    wanted = sorted(["count_words", "count_words", hook_type("doomed", "on_dead_letter")])
    return [] if completed == wanted else [f"completed children: {completed}, not {wanted}"]


class Tell(Protocol):
    """Says one line of progress."""

    def __call__(self, line: str, /) -> None:
        """Say it."""
        ...


@contextmanager
def _narration() -> Generator[Tell]:
    """Lines of progress; on a terminal a spinner turns below them."""
    if not on_terminal():
        yield lambda line: emit(printable(line))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    with console.status("the worker runs"):
        yield lambda line: console.print(Text(printable(line)))


@contextmanager
def _interruptible() -> Generator[None]:
    """SIGTERM ends this block like Ctrl-C does, so that the worker process is always cleaned up."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _demonstrate(folder: Path, backend: str, port: int | None, *, keep: bool) -> None:
    app = build(f"sqlite:///{folder / 'demo.db'}")
    emit(f"database {app.client.store.location}")
    begun = app.clock.monotonic()
    try:
        expected = workload(app)
        emit(f"enqueued {len(expected)} activities")
        with _worker(folder, backend) as worker:
            everything = _followed(app, expected, worker, folder, begun)
            _conclude(expected, everything, app.clock.monotonic() - begun)
            if port is not None:
                serve_demo(app, worker, port)
    finally:
        app.close()
    if keep:
        emit(f"kept in {folder}; look with: taskq list --database sqlite:///{folder / 'demo.db'}")


@contextmanager
def _worker(folder: Path, backend: str) -> Generator[subprocess.Popen[bytes]]:
    """A worker process of its own; stopped on the way out, whatever happened."""
    command = [sys.executable, "-m", "taskq", "worker", _APP, "--name", "demo"]
    command += ["--concurrency", "4", "--shutdown-grace", "2", "--async-backend", backend]
    with (folder / "worker.log").open("wb") as log:
        worker = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        emit(f"started a worker on {backend}, process {worker.pid}")
        yield worker
    finally:
        _end(worker)


def _end(worker: subprocess.Popen[bytes]) -> None:
    """The end of its input stops the worker (see ``demo_app``)."""
    if worker.stdin is not None:
        worker.stdin.close()
    try:
        worker.wait(_PATIENCE / 3)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()


def _followed(
    app: TaskQ,
    expected: Sequence[Expected],
    worker: subprocess.Popen[bytes],
    folder: Path,
    begun: float,
) -> list[ActivityInfo]:
    """Tell what happens until everything has ended; all activities, oldest first."""
    shows = {item.id: item.shows for item in expected}
    seen: dict[UUID, tuple[Status, int]] = {}
    with _narration() as tell:
        while True:
            page = app.client.call_sync(app.client.store.list, Filter(), Page(limit=1000))
            everything = sorted(page.items, key=lambda info: info.id)
            for info in sorted(everything, key=_when):
                state = info.status, info.attempts
                if seen.get(info.id) == state or info.status in (Status.PENDING, Status.PROCESSING):
                    continue
                seen[info.id] = state
                tell(_line(info, shows.get(info.id, ""), app.clock.monotonic() - begun))
            if all(info.status.terminal for info in everything):
                return everything
            if worker.poll() is not None or app.clock.monotonic() - begun > _PATIENCE:
                raise NotDone(_why(worker, everything, folder))
            _pause(worker)


def _when(info: ActivityInfo) -> datetime:
    """When its latest news came."""
    return info.finished_at or info.started_at or info.created_at


def _pause(worker: subprocess.Popen[bytes]) -> None:
    """A moment, or less when the worker ends."""
    with suppress(subprocess.TimeoutExpired):
        worker.wait(0.05)


def _line(info: ActivityInfo, shows: str, at: float) -> str:
    said = outcome(info, 50) if info.status is not Status.SCHEDULED else ""
    line = f"{at:6.2f} s  {info.status:<11}  {info.type:<23}  {shows:<25}  {said}"
    return line.rstrip()


def _why(worker: subprocess.Popen[bytes], everything: Sequence[ActivityInfo], folder: Path) -> str:
    waiting = ", ".join(sorted(i.type for i in everything if not i.status.terminal))
    code = worker.poll()
    how = f"after {_PATIENCE:g} s" if code is None else f"when the worker ended with {code}"
    log = (folder / "worker.log").read_text(errors="replace").strip().splitlines()
    last = f"; its last line: {log[-1]}" if log else ""
    return f"not ended {how}: {waiting}{last}"


def _conclude(
    expected: Sequence[Expected], everything: Sequence[ActivityInfo], seconds: float
) -> None:
    """The table, then the verdict. NotDone when anything ended in another way."""
    shows = {item.id: item.shows for item in expected}
    emit("")
    emit_table(
        ("activity", "shows", "status", "attempts", "waited", "ran", "result or error"),
        [_row(info, shows.get(info.id, "its child or hook")) for info in everything],
    )
    found = {info.id: info for info in everything if info.id in shows}
    family = [info for info in everything if info.id not in shows]
    wrong = complaints(expected, found, family)
    if wrong:
        raise NotDone("; ".join(wrong))
    emit("")
    emit(f"all {len(everything)} activities ended as they should, in {seconds:.1f} s")


def _row(info: ActivityInfo, shows: str) -> tuple[str, ...]:
    waited = ran = None
    if info.started_at is not None:
        waited = (info.started_at - info.ready_at).total_seconds()
        if info.finished_at is not None:
            ran = (info.finished_at - info.started_at).total_seconds()
    return (
        info.type,
        shows,
        info.status.value,
        str(info.attempts),
        duration(waited),
        duration(ran),
        outcome(info, 60),
    )
