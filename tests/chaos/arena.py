"""A folder with an app and a database, worker processes in it, and what is seen from outside."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from types import ModuleType
from uuid import UUID

from tests.chaos.database import Database, Row
from tests.forked import Forked, Start

REPOSITORY = Path(__file__).parents[2]
APP = Path(__file__).with_name("chaos_app.py")
PATIENCE = 60.0
"""Seconds after which something that should happen has not; no measure of speed."""


def now() -> int:
    """Microseconds since the epoch, the clock of the database and of the logs."""
    return time.time_ns() // 1000


def until(condition: Callable[[], object], what: str, *, within: float = PATIENCE) -> None:
    """Wait for a condition; AssertionError when it does not come true in time."""
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, f"not within {within:g} s: {what}"
        time.sleep(0.02)


class WorkerProcess:
    """Python with arguments in a process, and in a session, of its own."""

    def __init__(
        self,
        folder: Path,
        arguments: Sequence[str],
        environment: dict[str, str],
        *,
        start: Start = Forked,
    ) -> None:
        self.log = folder / f"worker-{time.monotonic_ns()}.log"
        with self.log.open("wb") as log:
            self._process = start(arguments, cwd=folder, env=environment, stdout=log, stderr=log)
        self._ended_at = 0
        self._watcher = Thread(target=self._watch, daemon=True)
        self._watcher.start()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code, None while it lives."""
        return self._process.poll()

    @property
    def ended_at(self) -> int:
        """When it ended (microseconds), once it has."""
        self._watcher.join()
        return self._ended_at

    def _watch(self) -> None:
        self._process.wait()
        self._ended_at = now()

    def send(self, number: signal.Signals) -> int:
        """Send a signal; when (microseconds). What no worker can heed is noted for the audit."""
        at = now()
        if number in (signal.SIGKILL, signal.SIGSTOP):
            line = {"what": "harmed", "at": at, "pid": self.pid}
            with (self.log.parent / "clients-harm.jsonl").open("a") as log:
                log.write(json.dumps(line) + "\n")
        self._process.send_signal(number)
        return at

    def ends(self, within: float = PATIENCE) -> int:
        """Wait for its end; the exit code."""
        until(lambda: self.code is not None, f"the end of the worker\n{self.said()}", within=within)
        assert self.code is not None
        return self.code

    def said(self) -> str:
        """What it has logged."""
        return self.log.read_text(errors="replace")

    def destroy(self) -> None:
        """Kill it, if it lives, and collect it."""
        if self.code is None:
            self.send(signal.SIGKILL)
        self._watcher.join()


class Arena:
    """An app in ``folder`` on a ``database``. ``app`` is the app's module, to enqueue from here.

    The app finds its database at ``url``: another way to it, if one is given. ``settings`` are the
    workers' ``TASKQ_`` variables.
    """

    def __init__(
        self, folder: Path, database: Database, *, url: str | None = None, **settings: float
    ) -> None:
        self.folder = folder
        self.database = database
        self.url = database.url if url is None else url
        self.workers: list[WorkerProcess] = []
        self.settings: dict[str, float] = {
            "LEASE": 3.0,
            "REAPER_INTERVAL": 0.3,
            "POLL_INTERVAL": 0.2,
            "POLL_MAX": 0.5,
            "SHUTDOWN_GRACE": 5.0,
            **settings,
        }
        shutil.copy(APP, folder / "app.py")
        (folder / "url").write_text(self.url)
        self.app = self._loaded()

    def worker(self, loop: str, *flags: str, **settings: float) -> WorkerProcess:
        """Start ``taskq worker app:taskq`` and wait until it claims."""
        command = ["-m", "taskq", "worker", "app:taskq", "--async-backend", loop, *flags]
        return self.python(*command, **settings)

    def python(self, *arguments: str, ready: bool = True, **settings: float) -> WorkerProcess:
        """Start Python in the folder; wait until it claims, if it is to be ``ready``."""
        process = WorkerProcess(self.folder, arguments, self.environment(**settings))
        self.workers.append(process)
        if ready:
            self.wait_until_ready(process)
        return process

    def pause(self, process: WorkerProcess) -> None:
        """Stop a process where it stands, but not in the middle of a transaction: whoever stands
        still there may keep everybody from writing."""

        def paused() -> bool:
            process.send(signal.SIGSTOP)
            if self.database.at_rest():
                return True
            process.send(signal.SIGCONT)
            return False

        until(paused, "it is paused outside of a transaction")

    def wait_until_ready(self, process: WorkerProcess) -> None:
        """Wait until it claims."""

        def started() -> bool:
            assert process.code is None, f"the worker has ended:\n{process.said()}"
            return bool(self.effects("WorkerStarted", pid=process.pid))

        until(started, "a worker starts")

    def environment(self, **settings: float) -> dict[str, str]:
        """The environment of the arena's processes."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith("TASKQ_")}
        given = {**self.settings, **settings}
        path = os.pathsep.join(filter(None, [str(REPOSITORY), kept.get("PYTHONPATH")]))
        texts = {f"TASKQ_{name}": str(value) for name, value in given.items()}
        return {**kept, **texts, "PYTHONPATH": path}

    def open(self, name: str) -> None:
        """Make the file that ``gate`` waits for."""
        (self.folder / name).touch()

    def query(self, sql: str, *values: object) -> list[Row]:
        """Rows of the database; it is only read."""
        return self.database.query(sql, *values)

    def rows(self, type: str | None = None) -> list[Row]:
        """The activities, or those of one type, in the order in which they were made."""
        where = "" if type is None else "WHERE type = ?"
        sql = f"SELECT * FROM taskq_activities {where} ORDER BY id"
        return self.query(sql, *(() if type is None else (type,)))

    def row(self, id: UUID) -> Row:
        """One activity by its UUID."""
        [row] = self.query("SELECT * FROM taskq_activities WHERE id = ?", id)
        return row

    def notes(self, id: UUID) -> list[Row]:
        """The event rows of one activity, oldest first."""
        return self.query("SELECT * FROM taskq_events WHERE activity_id = ? ORDER BY id", id)

    def pid_of(self, worker: str) -> int:
        """The process of a worker that has a row."""
        [row] = self.query("SELECT pid FROM taskq_workers WHERE id = ?", UUID(worker))
        return int(row["pid"])

    def effects(self, what: str | None = None, **fields: object) -> list[Row]:
        """The lines of the effects log that tell ``what`` and have these fields, in order."""
        file = self.folder / "effects.jsonl"
        lines = [json.loads(line) for line in file.read_bytes().splitlines()]
        return [
            line
            for line in lines
            if (what is None or line["what"] == what)
            and all(line.get(name) == value for name, value in fields.items())
        ]

    def until_all(self, *statuses: str, type: str | None = None, within: float = PATIENCE) -> None:
        """Wait until every activity (of the type) is in one of these states."""

        def reached() -> bool:
            return all(row["status"] in statuses for row in self.rows(type))

        until(reached, f"every activity is {' or '.join(statuses)}", within=within)

    def close(self) -> None:
        """End every process."""
        for process in self.workers:
            process.destroy()
        self.app.taskq.close()

    def _loaded(self) -> ModuleType:
        """The app in this process, under a name of its own."""
        name = f"app_{self.folder.name.replace('-', '_')}"
        spec = importlib.util.spec_from_file_location(name, self.folder / "app.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module
