"""A schedule of every second, fired by workers of which one is killed again and again.

They are the members of one ``taskq worker -w``, which starts another where one was killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from tests.chaos.arena import REPOSITORY, WorkerProcess, until
from tests.chaos.database import Database

APP = """
from taskq import TaskQ

taskq = TaskQ()


@taskq.periodic(every=1, name="all", catch_up="all")
@taskq.periodic(every=1, name="latest", catch_up="latest")
@taskq.activity
async def tick() -> None: ...
"""
SETTINGS = {"LEASE": 1.5, "REAPER_INTERVAL": 0.3, "POLL_INTERVAL": 0.2, "POLL_MAX": 0.5}


class Ticks(Struct, frozen=True):
    """What was made: the seconds of each schedule's occurrences, in order, and how many workers
    were killed."""

    seconds: dict[str, Sequence[int]]
    killed: int

    def wrong(self, least: int) -> list[str]:
        """What is not as promised, of at least so many occurrences."""
        found = [
            f"{name}: second {second} was enqueued {count} times"
            for name, seconds in self.seconds.items()
            for second, count in Counter(seconds).items()
            if count > 1
        ]
        every = self.seconds["all"]
        if len(every) < least:
            found.append(f"all: {len(every)} of {least} occurrences")
        missing = set(range(every[0], every[-1] + 1)) - set(every)
        return found + [f"all: second {second} is missing" for second in sorted(missing)]


def ticking(
    folder: Path,
    database: Database,
    *,
    ticks: int,
    pause: float,
    kills: int,
    seed: int,
    workers: int = 3,
) -> Ticks:
    """Let workers fire ``ticks`` seconds in an empty folder, and more where that is needed for so
    many ``kills``, of one worker every ``pause`` seconds while there is another."""
    (folder / "app.py").write_text(APP)
    chance = random.Random(seed)
    fleet = _fleet(folder, database, workers)
    killed, next_kill = 0, time.monotonic() + pause
    patience = time.monotonic() + 2 * ticks + 60
    try:
        while len(_seconds(database, "all")) < ticks or killed < kills:
            assert time.monotonic() < patience, fleet.said()
            due = killed < kills and time.monotonic() >= next_kill
            if due and len(alive := _alive(database)) > 1:  # the first of a fleet starts alone
                os.kill(chance.choice(alive), signal.SIGKILL)
                killed, next_kill = killed + 1, next_kill + pause
            time.sleep(0.05)
        until(lambda: not _unfinished(database), "everything that was made has run")
        return Ticks({name: _seconds(database, name) for name in ("all", "latest")}, killed)
    finally:
        fleet.send(signal.SIGTERM)
        fleet.ends()
        fleet.destroy()


def _fleet(folder: Path, database: Database, workers: int) -> WorkerProcess:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TASKQ_")}
    given = {f"TASKQ_{name}": str(value) for name, value in SETTINGS.items()}
    place = {"TASKQ_DATABASE_URL": database.url, "PYTHONPATH": str(REPOSITORY)}
    command = ["-m", "taskq", "worker", "app:taskq", "-w", str(workers)]
    return WorkerProcess(folder, command, {**kept, **given, **place})


def _alive(database: Database) -> list[int]:
    """The processes of workers that are running."""
    pids = {int(row["pid"]) for row in _rows(database, "SELECT pid", "taskq_workers")}
    return sorted(filter(_lives, pids))


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _seconds(database: Database, name: str) -> list[int]:
    found = [json.loads(row["metadata"]) for row in _rows(database, "SELECT metadata")]
    times = [each["scheduled_for"] for each in found if each["cron_job"] == name]
    return sorted(round(datetime.fromisoformat(each).timestamp()) for each in times)


def _unfinished(database: Database) -> bool:
    """Of what was made by the seconds before the last: ticks go on while one looks."""
    rows = _rows(database, "SELECT status")
    return sum(row["status"] != "completed" for row in rows) > 4


def _rows(
    database: Database, columns: str, table: str = "taskq_activities"
) -> list[dict[str, str]]:
    """Nothing while no worker has made the tables yet."""
    try:
        return list(database.query(f"{columns} FROM {table}"))
    except Exception as error:
        if "no such table" in str(error) or "unable to open" in str(error):
            return []
        raise
