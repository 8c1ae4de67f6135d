"""What the README shows first works between processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.arena import WorkerProcess, until

pytestmark = pytest.mark.chaos

APP = """
from taskq import TaskQ, Priority

taskq = TaskQ()


@taskq.activity(priority=Priority.HIGH, max_retries=5, timeout=30)
async def send_email(to: str, subject: str = "Welcome") -> str:
    return f"{subject} to {to}"
"""


def test_a_call_from_one_process_is_run_by_a_worker_in_another(tmp_path: Path, loop: str) -> None:
    """Point 2 of what the spine must show; nothing but an app.py in an empty folder."""
    (tmp_path / "app.py").write_text(APP)
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TASKQ_")}
    command = [sys.executable, "-m", "taskq", "worker", "app:taskq", "--async-backend", loop]
    worker = WorkerProcess(tmp_path, command, kept)
    try:
        call = "from app import send_email; print(send_email.delay(to='a@b.c').result(timeout=10))"
        client = subprocess.run(
            [sys.executable, "-c", call], cwd=tmp_path, env=kept, capture_output=True, text=True
        )
        assert (client.stdout, client.stderr) == ("Welcome to a@b.c\n", "")
        until(lambda: "completed send_email" in worker.said(), "the worker says so")
    finally:
        worker.destroy()
