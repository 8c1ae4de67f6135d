"""What the README shows first works between processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.arena import REPOSITORY, WorkerProcess, until
from tests.forked import spawned
from tests.postgres_databases import Databases

pytestmark = pytest.mark.chaos

APP = """
from taskq import TaskQ, Priority

taskq = TaskQ()


@taskq.activity(priority=Priority.HIGH, max_retries=5, timeout=30)
async def send_email(to: str, subject: str = "Welcome") -> str:
    return f"{subject} to {to}"
"""


CALL = "from app import send_email; print(send_email.delay(to='a@b.c').result(timeout=10))"
MIGRATE = [sys.executable, "-m", "taskq", "migrate"]
ALEMBIC = [sys.executable, "-m", "alembic", "upgrade", "head"]


def test_a_call_from_one_process_is_run_by_a_worker_in_another(tmp_path: Path, loop: str) -> None:
    """Point 2 of what the spine must show; nothing but an app.py in an empty folder."""
    first_steps(tmp_path, loop, environment())


@pytest.mark.parametrize(("migrate", "where"), [(MIGRATE, None), (ALEMBIC, REPOSITORY)])
def test_the_same_on_postgresql_once_its_tables_are_made(
    tmp_path: Path, databases: Databases, migrate: list[str], where: Path | None
) -> None:
    """By ``taskq migrate``, or from the repository root by ``alembic upgrade head``."""
    given = environment(TASKQ_DATABASE_URL=databases.create())
    done = subprocess.run(migrate, cwd=where or tmp_path, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first_steps(tmp_path, "trio" if where else "asyncio", given)


def environment(**variables: str) -> dict[str, str]:
    """This process's, with no other taskq variables than these."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TASKQ_")}
    return {**kept, **variables}


def first_steps(folder: Path, loop: str, given: dict[str, str]) -> None:
    """A worker in one process, a call from another."""
    (folder / "app.py").write_text(APP)
    command = ["-m", "taskq", "worker", "app:taskq", "--async-backend", loop]
    worker = WorkerProcess(folder, command, given, start=spawned)
    try:
        client = subprocess.run(
            [sys.executable, "-c", CALL], cwd=folder, env=given, capture_output=True, text=True
        )
        assert (client.stdout, client.stderr) == ("Welcome to a@b.c\n", "")
        until(lambda: "completed send_email" in worker.said(), "the worker says so")
    finally:
        worker.destroy()
