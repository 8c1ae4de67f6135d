"""``taskq demo``."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from uuid import UUID

import httpx
import msgspec
import pytest

from taskq.cli.demo import Expected, complaints
from taskq.cli.demo_app import build
from tests import forked
from tests.processes.alive import until_sync
from tests.web.socket_server import sign_in


def demo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return forked.run(
        ["-m", "taskq", "demo", *arguments],
        cwd=folder,
        env={"TMPDIR": str(folder), "TASKQ_DATABASE_URL": "sqlite:////no/such/place.db"},
    )


@contextmanager
def begun(folder: Path, *arguments: str) -> Generator[tuple[forked.Running, IO[str]]]:
    """A demo, and what it says."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as out, os.fdopen(reader) as said:
        process = forked.Forked(
            ["-m", "taskq", "demo", *arguments],
            stdout=out,
            stderr=out,
            env={"TMPDIR": str(folder)},
        )
        out.close()
        try:
            yield process, said
        finally:
            process.kill()


def test_the_demo_ends_well_and_shows_results_and_keep_keeps_its_database(tmp_path: Path) -> None:
    """seed:E31"""

    done = demo(tmp_path, "--keep")
    assert (done.returncode, done.stderr) == (0, "")
    for text in (
        "hello Ada",
        "sunny in Bergen, at attempt 3",
        "dead_letter",
        "doomed:on_dead_letter",
        "remembered to water the plants",
        "charged order 42",
        "all 17 activities ended as they should",
    ):
        assert text in done.stdout
    (folder,) = tmp_path.iterdir()
    assert (folder / "demo.db").exists() and str(folder) in done.stdout


def test_the_demo_runs_on_trio_and_leaves_nothing(tmp_path: Path) -> None:
    done = demo(tmp_path, "--async-backend", "trio")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_a_demo_that_is_served_goes_on_until_it_is_stopped(tmp_path: Path) -> None:
    """seed:O9"""
    with begun(tmp_path, "--serve", "--port", "0") as (process, said):
        [url, link] = next(
            found.groups()
            for line in said
            if (found := re.search(r"console at (http://\S+/)login#(\S+)", line))
        )
        with httpx.Client(base_url=url) as client:
            assert sign_in(client, "", {"link": link}).status_code == 200
            until_sync(lambda: done(client) > 17)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0, said.read()
    assert list(tmp_path.iterdir()) == []


def done(client: httpx.Client) -> int:
    counts: dict[str, int] = client.get("api/stats").json()["by_status"]
    return sum(counts.values())


def test_the_port_of_the_demo_is_for_one_that_is_served(tmp_path: Path) -> None:
    refused = demo(tmp_path, "--port", "0")
    assert refused.returncode == 2
    assert "--port is for --serve" in refused.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_demo_that_is_stopped_or_killed_takes_its_worker_along(
    tmp_path: Path, number: signal.Signals
) -> None:
    worker = 0
    with begun(tmp_path) as (process, said):
        for line in said:
            if found := re.search(r"process (\d+)", line):
                worker = int(found[1])
            if "completed" in line:
                process.send_signal(number)
                break
        said.read()
        code = process.wait(20)
    assert code == (1 if number is signal.SIGTERM else -signal.SIGKILL)
    if number is signal.SIGTERM:
        assert list(tmp_path.iterdir()) == []
    wait_until_gone(worker)


def wait_until_gone(pid: int) -> None:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    pytest.fail(f"process {pid} is still there")


def test_what_did_not_end_as_it_should_is_said(tmp_path: Path) -> None:
    app = build(f"sqlite:///{tmp_path / 'x.db'}")
    try:
        future = app.tasks["greet"].delay("Ada")
        info = future.info()
    finally:
        app.close()
    expected = [Expected(id=future.id, shows="a greeting", result='"hello Ada"')]
    wrong = complaints(expected, {future.id: info}, [])
    assert "greet (a greeting) ended pending after 0 attempts" in wrong[0]
    assert "completed children: [], not" in wrong[-1]


def test_a_wrong_order_of_priorities_is_said(tmp_path: Path) -> None:
    app = build(f"sqlite:///{tmp_path / 'x.db'}")
    try:
        info = app.tasks["greet"].options(priority=1).delay("Ada").info()
    finally:
        app.close()
    low = msgspec.structs.replace(info, started_at=info.created_at)
    late = msgspec.structs.replace(low, priority=4, started_at=info.created_at.replace(year=2999))
    found = {UUID(int=1): low, UUID(int=2): late}
    assert "a lower priority started before a higher one" in complaints([], found, [])
