"""``taskq doctor``: what is wrong around taskq, and what to do about it (fault:K4)."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

import click

from taskq.app import TaskQ
from taskq.backends.examination import Examinable, Finding, Level
from taskq.cli.command import Command
from taskq.cli.failure import Refused
from taskq.cli.loading import chosen
from taskq.cli.output import emit, emit_json
from taskq.cli.queues import held_up, held_up_text, resuming
from taskq.cli.target import missing, target
from taskq.cli.text import duration, printable
from taskq.errors import BackendError, BackendUnavailable, SchemaError, TaskQError
from taskq.pausing import WAITING
from taskq.settings import ignored
from taskq.snapshot import Filter, Page, UnservedType, WorkerInfo
from taskq.version import VERSION

_DISTRIBUTION = "taskq-anyio"
_OLDEST_SQLITE = (3, 35)
_SKEW = 2.0


@click.command("doctor", cls=Command)
@click.argument("app", required=False)
@click.option("-A", "--app", "app_option", metavar="APP", help="The app, instead of the argument.")
@click.option("--database", metavar="URL", help="Look at this database.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor_command(
    app: str | None, app_option: str | None, database: str | None, as_json: bool
) -> None:
    """Check the installation, the database, the clock and the workers.

    Exit code 1 when a check fails; warnings do not count.
    """
    if database is not None and (app or app_option):
        raise Refused(
            "--database and an app exclude each other: to look at this app with another database,"
            " set TASKQ_DATABASE_URL"
        )
    named = None if database is not None else chosen(app, app_option)
    findings: list[Finding] = []
    for finding in examined(database, named):
        findings.append(finding)
        if not as_json:
            emit(_line(finding))
    if as_json:
        emit_json(findings)
    if any(finding.level is Level.FAIL for finding in findings):
        raise click.exceptions.Exit(1)


def examined(database: str | None, app: str | None) -> Iterator[Finding]:
    """Every check, one after the other; those that need a database are left out without one."""
    yield _versions()
    yield owner(_distributions(), Path(__file__).parents[1])
    yield from _environment()
    try:
        found = target(database, app)
    except (click.ClickException, TaskQError) as error:
        message = error.message if isinstance(error, click.ClickException) else str(error)
        yield Finding(Level.FAIL, "app", message, "correct the name or the setting")
        return
    try:
        yield _app(found, named=app is not None)
        yield from _store(found)
    except BackendError as error:
        yield _refused(error)
    finally:
        found.close()


def _refused(error: BackendError) -> Finding:
    """What the store answered; its message says what to do, except where it was not there."""
    advice = ""
    if isinstance(error, BackendUnavailable) and isinstance(error.__cause__, OSError):
        advice = "see that the server runs and that host and port are right"
    return Finding(Level.FAIL, "database", str(error), advice)


def _versions() -> Finding:
    loops = [name for name in ("trio", "uvloop") if find_spec(name) is not None]
    also = f", with {' and '.join(loops)}" if loops else ""
    message = f"taskq {VERSION}, Python {platform.python_version()}{also}"
    return Finding(Level.OK, "versions", message)


def sqlite(version: tuple[int, ...]) -> Finding:
    """Whether this SQLite is new enough."""
    found, needed = (".".join(map(str, numbers)) for numbers in (version, _OLDEST_SQLITE))
    if version >= _OLDEST_SQLITE:
        return Finding(Level.OK, "sqlite", f"SQLite {found}")
    advice = "take a newer Python build, or keep activities elsewhere"
    return Finding(Level.FAIL, "sqlite", f"SQLite {found} is older than {needed}", advice)


def _distributions() -> list[str]:
    """The installed distributions that say they own the import name."""
    from importlib.metadata import packages_distributions

    return list(packages_distributions().get("taskq", ()))


def owner(distributions: Iterable[str], folder: Path) -> Finding:
    """Whether one distribution alone owns the import name (the plain name belongs to another)."""
    others = sorted(set(distributions) - {_DISTRIBUTION})
    if others:
        named = ", ".join(others)
        message = f"the import name taskq also belongs to {named}; {folder} is what is imported"
        advice = f"pip uninstall {' '.join(others)}, then reinstall {_DISTRIBUTION}"
        return Finding(Level.FAIL, "import", message, advice)
    return Finding(Level.OK, "import", f"taskq comes from {folder} and has no other owner")


def _environment() -> Iterator[Finding]:
    """What is set and read by nothing."""
    for each in ignored():
        advice = f"did you mean {each.meant}?" if each.meant else "taskq config lists what there is"
        yield Finding(Level.WARN, "settings", str(each), advice)


def _app(found: TaskQ, *, named: bool) -> Finding:
    if not named:
        return Finding(Level.OK, "app", "none is named: only the database is looked at")
    if found.tasks:
        return Finding(Level.OK, "app", f"its activities: {', '.join(sorted(found.tasks))}")
    advice = "import the modules whose functions are decorated with @taskq.activity"
    return Finding(Level.WARN, "app", "it has no activities", advice)


def _store(found: TaskQ) -> Iterator[Finding]:
    """The database and what is in it."""
    from taskq.backends.sql import SQLiteBackend

    store = found.client.store
    if isinstance(store, SQLiteBackend):
        yield sqlite(sqlite3.sqlite_version_info)
    if not store.capabilities.shared:
        message = f"{store.location} lives inside one process: nothing else can be seen from here"
        yield Finding(Level.WARN, "database", message, "use SQLite where processes share work")
        return
    if missing(store.location) and not Path(store.location).parent.is_dir():
        message = f"there is no folder for the database {store.location}"
        yield Finding(Level.FAIL, "database", message, "create the folder, or name another file")
        return
    if missing(store.location):
        message = f"there is no database at {store.location} yet"
        advice = "the first delay() or worker makes it; or go to the folder where the app runs"
        yield Finding(Level.WARN, "database", message, advice)
        return
    begun = found.clock.monotonic()
    try:
        found.client.bridge.call_sync(found.client.ready)
    except SchemaError as error:
        yield Finding(Level.FAIL, "schema", str(error))
        yield from _examined(found)
        return
    took = duration(found.clock.monotonic() - begun)
    yield Finding(Level.OK, "database", f"{store.location}, opened in {took}")
    yield Finding(Level.OK, "schema", "its tables are those of this version")
    yield from _examined(found)
    workers = found.client.call_sync(store.workers)
    newest = found.client.call_sync(store.list, Filter(), Page(limit=1)).items
    times = [*(item.created_at for item in newest), *(worker.seen_at for worker in workers)]
    yield clock(times, found.clock.now())
    yield from _workers(workers)
    yield from _gaps(found, found.client.call_sync(store.unserved))
    for load in held_up(found):
        yield Finding(Level.WARN, "paused", held_up_text(load), f"let it go on: {resuming(load)}")


def _examined(found: TaskQ) -> Iterable[Finding]:
    """What the backend itself has to say of its database."""
    store = found.client.store
    if not isinstance(store, Examinable):
        return ()
    return found.client.bridge.call_sync(store.examine, found.clock.now)


def clock(stored: Sequence[datetime], now: datetime) -> Finding:
    """Whether a stored time lies ahead of this host's clock: then one of the clocks is wrong."""
    ahead = max(((at - now).total_seconds() for at in stored), default=0.0)
    if ahead <= _SKEW:
        return Finding(Level.OK, "clock", "no stored time is ahead of this host's clock")
    message = f"the database has times {duration(ahead)} ahead of this host's clock"
    return Finding(Level.WARN, "clock", message, "synchronise the clocks (NTP)")


def _workers(workers: Sequence[WorkerInfo]) -> Iterator[Finding]:
    if not workers:
        yield Finding(Level.WARN, "workers", "no worker is alive", "start one: taskq worker APP")
        return
    names = ", ".join(sorted(worker.name for worker in workers))
    yield Finding(Level.OK, "workers", f"{len(workers)} alive: {names}")
    for worker in workers:
        if worker.threads_stuck:
            message = f"{worker.name} has {worker.threads_stuck} threads past their timeout"
            yield Finding(Level.WARN, "workers", message, "give its blocking calls timeouts")
        if worker.version not in ("", VERSION):
            message = f"{worker.name} runs taskq {worker.version}, this is {VERSION}"
            yield Finding(Level.WARN, "workers", message, "run one version everywhere")


def _gaps(found: TaskQ, unserved: Sequence[UnservedType]) -> Iterator[Finding]:
    """Queues and types with rows that no live worker serves."""
    if not unserved:
        served = "a live worker serves every type that is waiting"
        yield Finding(Level.OK, "service", served if _waiting(found) else "nothing is waiting")
    for gap in unserved:
        message = f"no worker serves {gap.type!r} on queue {gap.queue!r}: {gap.waiting} waiting"
        known = not found.tasks or gap.type in found.registry.handlers()
        advice = "start a worker for it" if known else "no task of this app is named so: renamed?"
        yield Finding(Level.WARN, "service", message, advice)


def _waiting(found: TaskQ) -> bool:
    stats = found.client.call_sync(lambda: found.client.store.stats(cap=1))
    return any(stats.by_status[status] for status in WAITING)


def _line(finding: Finding) -> str:
    advice = f" ({finding.advice})" if finding.advice else ""
    return printable(f"{finding.level:<4}  {finding.check:<8}  {finding.message}{advice}")
