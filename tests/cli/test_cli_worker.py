"""``taskq worker``: its flags, and real workers in processes of their own."""

from __future__ import annotations

import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from importlib import util
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from taskq import TaskQ
from taskq.cli.worker import backend_options
from taskq.model import Status
from taskq.snapshot import ActivityInfo, Filter, Page

on_each_loop = pytest.mark.parametrize("backend", ["asyncio", "trio"])


def enqueued(cli, name: str, /, **arguments: object) -> str:
    result = cli("enqueue", "app:taskq", name, json.dumps(arguments))
    assert result.exit_code == 0, result.stderr
    return result.stdout.strip()


def everything(folder: Path) -> list[ActivityInfo]:
    """What is in the folder's database, oldest first."""
    app = TaskQ(f"sqlite:///{folder / 'taskq.db'}")
    try:
        page = app.client.call_sync(app.client.store.list, Filter(), Page())
        return list(reversed(page.items))
    finally:
        app.close()


def test_uvloop_is_used_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskq.cli.worker.find_spec", lambda name: object())
    assert backend_options("asyncio") == {"use_uvloop": True}
    assert backend_options("trio") == {}
    monkeypatch.setattr("taskq.cli.worker.find_spec", lambda name: None)
    assert backend_options("asyncio") == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-q", "a,,b"), "names with commas between"),
        (("-q", "not valid"), "queue name"),
        (("-t", "*,greet"), "stands alone"),
        (("-t", "great"), "great"),
        (("-c", "0"), "concurrency"),
        (("--threads", "0"), "threads"),
        (("--shutdown-grace", "-1"), "shutdown_grace"),
        (("--async-backend", "curio"), "curio"),
        (("--log-level", "loud"), "loud"),
        (("--health-port", "70000"), "70000"),
    ],
)
def test_a_bad_flag_is_wrong_use_before_anything_starts(
    cli, app_folder: Path, arguments: tuple[str, ...], said: str
) -> None:
    """seed:W23, seed:E5"""
    result = cli("worker", "app:taskq", *arguments)
    assert result.exit_code == 2 and said in result.stderr
    assert not (app_folder / "taskq.db").exists()


@pytest.mark.parametrize(
    ("flag", "package", "extra"),
    [("--async-backend=trio", "trio", "trio"), ("--reload", "watchfiles", "reload")],
)
def test_a_missing_extra_says_how_to_install_it(
    cli, app_folder: Path, monkeypatch: pytest.MonkeyPatch, flag: str, package: str, extra: str
) -> None:
    found = util.find_spec

    def without(name: str) -> object:
        return None if name == package else found(name)

    monkeypatch.setattr("taskq.cli.worker.find_spec", without)
    monkeypatch.setattr("taskq.cli.reload.find_spec", without)
    result = cli("worker", "app:taskq", flag)
    assert result.exit_code == 2
    assert f'pip install "taskq-anyio[{extra}]"' in result.stderr


def test_a_file_that_is_no_database_ends_the_worker_in_one_sentence(
    start, app_folder: Path
) -> None:
    (app_folder / "taskq.db").write_text("certainly not a database, though quite long enough")
    worker = start("worker", "app:taskq")
    assert worker.ends() == 1
    last = worker.stderr().splitlines()[-1]
    assert last.startswith("Error: ") and str(app_folder / "taskq.db") in last
    assert "Traceback" not in worker.stderr()


def test_a_newer_schema_ends_the_worker_in_one_sentence(cli, start, app_folder: Path) -> None:
    enqueued(cli, "greet", name="Ada")
    connection = sqlite3.connect(app_folder / "taskq.db")
    connection.execute("update taskq_alembic_version set version_num = 'tq9999'")
    connection.commit()
    connection.close()
    worker = start("worker", "app:taskq")
    assert worker.ends() == 1
    assert "newer taskq" in worker.stderr().splitlines()[-1]


def test_a_lifespan_that_fails_ends_the_worker_in_one_sentence(start, folder: Path) -> None:
    (folder / "app.py").write_text(
        "from contextlib import asynccontextmanager\n"
        "from taskq import TaskQ\n"
        "@asynccontextmanager\n"
        "async def lifespan(taskq):\n"
        "    raise OSError('no pool')\n"
        "    yield\n"
        "taskq = TaskQ(lifespan=lifespan)\n"
        "@taskq.activity\n"
        "async def greet() -> None: ...\n"
    )
    worker = start("worker", "app:taskq")
    assert worker.ends() == 1
    assert "Error: OSError: no pool" in worker.stderr()
    assert "Traceback" not in worker.stderr()


@on_each_loop
def test_burst_drains_and_ends(cli, start, app_folder: Path, backend: str) -> None:
    for name in ("Ada", "Grace"):
        enqueued(cli, "greet", name=name)
    worker = start("worker", "app:taskq", "--burst", "--async-backend", backend)
    assert worker.ends() == 0
    assert [info.result for info in everything(app_folder)] == ['"hello Ada"', '"hello Grace"']


def test_the_banner_says_who_where_and_what(cli, start, app_folder: Path) -> None:
    worker = start("worker", "app:taskq", "-b", "-n", "one", "-q", "mail,other", "-t", "greet")
    assert worker.ends() == 0
    lines = [line.split(maxsplit=1) for line in worker.stderr().splitlines()]
    banner = {words[0]: words[1] for words in lines if len(words) == 2}
    assert banner["taskq"].endswith("worker one")
    assert banner["database"] == str(app_folder / "taskq.db")
    assert (banner["queues"], banner["types"], banner["slots"]) == ("mail, other", "greet", "10")


def test_with_json_every_line_on_stderr_is_json(cli, start, app_folder: Path) -> None:
    """seed:M7"""

    enqueued(cli, "greet", name="Ada")
    worker = start("worker", "app:taskq", "--burst", "--log-format", "json")
    assert worker.ends() == 0
    lines = [json.loads(line) for line in worker.stderr().splitlines()]
    assert lines[0]["database"] == str(app_folder / "taskq.db")
    assert any(line["message"].startswith("completed greet") for line in lines)


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_stop_is_said_once_in_the_form_of_the_log(
    cli, start, app_folder: Path, style: str
) -> None:
    enqueued(cli, "hang", seconds=60)
    worker = start(
        "worker", "app:taskq", "--log-format", style, "--shutdown-grace", "0.2", "-c", "1"
    )
    worker.does("hang")

    worker.send(signal.SIGTERM)

    assert worker.ends(within=6) == 1
    lines = worker.stderr().splitlines()
    if style == "json":
        lines = [json.loads(line)["message"] for line in lines]
    assert sum("a second signal stops them now" in line for line in lines) == 1
    assert sum("stopping, handlers have 0.2 s" in line for line in lines) == 1
    assert sum("leaving them" in line for line in lines) == 1


def test_a_log_level_hides_what_is_less(cli, start, app_folder: Path) -> None:
    enqueued(cli, "fail", why="no")
    worker = start("worker", "app:taskq", "--burst", "--log-level", "error")
    assert worker.ends() == 0
    assert "ERROR taskq: failed fail" in worker.stderr() and " INFO " not in worker.stderr()


def test_a_live_worker_gives_its_result_to_enqueue(cli, start, app_folder: Path) -> None:
    start("worker", "app:taskq").says("started")
    result = cli("enqueue", "app:taskq", "greet", '{"name": "Ada"}', "--wait", "20")
    assert (result.exit_code, result.stdout) == (0, '"hello Ada"\n')


def test_waiting_for_a_failure_tells_it_and_did_not_succeed(cli, start, app_folder: Path) -> None:
    start("worker", "app:taskq").says("started")
    result = cli("enqueue", "app:taskq", "fail", '{"why": "no paper\\u001b"}', "--wait")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "ended failed: taskq.errors.NonRetryError: no paper\\x1b" in result.stderr


def test_workers_shows_a_live_one(cli, start, app_folder: Path) -> None:
    worker = start("worker", "app:taskq", "-n", "one", "-c", "3")
    worker.says("started")
    worker.until(lambda: cli("workers").stdout != "", "a row of the worker")
    found = json.loads(cli("workers", "--json").stdout)
    assert [(row["name"], row["pid"], row["concurrency"]) for row in found] == [
        ("one", worker.pid, 3)
    ]
    assert re.search(r"^one .* 0/3 ", cli("workers").stdout, re.MULTILINE)


@on_each_loop
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_lets_handlers_end(
    cli, start, app_folder: Path, backend: str, number: signal.Signals
) -> None:
    """promise:G14, seed:E21"""
    enqueued(cli, "nap", seconds=1.0)
    worker = start("worker", "app:taskq", "-c", "1", "--async-backend", backend)
    worker.does("nap")
    enqueued(cli, "greet", name="Ada")
    worker.send(number)
    assert worker.ends() == 0
    nap, greet = everything(app_folder)
    assert (nap.status, nap.result) == (Status.COMPLETED, '"rested"')
    assert (greet.status, greet.claim) == (Status.PENDING, 0)


@on_each_loop
def test_the_second_signal_stops_handlers_now(cli, start, app_folder: Path, backend: str) -> None:
    """bug:B93, promise:G14"""
    enqueued(cli, "nap", seconds=60)
    worker = start("worker", "app:taskq", "--async-backend", backend)
    worker.does("nap")
    worker.send(signal.SIGTERM)
    worker.says("a second signal stops them now")
    worker.send(signal.SIGTERM)
    assert worker.ends(within=3.5) == 1
    (nap,) = everything(app_folder)
    assert (nap.status, nap.retry_count, nap.crash_count) == (Status.PENDING, 0, 0)


def test_putting_back_what_the_grace_was_too_short_for_is_a_clean_stop(
    cli, start, app_folder: Path
) -> None:
    """promise:G14"""
    enqueued(cli, "nap", seconds=60)
    worker = start("worker", "app:taskq", "--shutdown-grace", "0.2")
    worker.does("nap")
    worker.send(signal.SIGTERM)
    assert worker.ends(within=5) == 0
    assert everything(app_folder)[0].status is Status.PENDING


def test_the_third_signal_ends_the_process_at_once(cli, start, app_folder: Path) -> None:
    """bug:B93: also while a handler blocks the event loop."""
    enqueued(cli, "block", seconds=60)
    worker = start("worker", "app:taskq")
    worker.does("block")
    for _ in range(3):
        worker.send(signal.SIGINT)
        time.sleep(0.1)
    assert worker.ends(within=2) == 1
    assert "Timeout" not in worker.stderr()


def test_a_handler_that_blocks_the_loop_does_not_outlive_the_grace(
    cli, start, app_folder: Path
) -> None:
    """bug:B93: the signal is heard although the event loop is not running."""
    enqueued(cli, "block", seconds=60)
    worker = start("worker", "app:taskq", "--shutdown-grace", "0.1")
    worker.does("block")
    worker.send(signal.SIGTERM)
    assert worker.ends(within=6) == 1
    assert "in block" in worker.stderr()


@on_each_loop
def test_a_handler_that_will_not_be_cancelled_ends_with_the_process(
    cli, start, app_folder: Path, backend: str
) -> None:
    """bug:B93"""
    enqueued(cli, "resist")
    worker = start("worker", "app:taskq", "--async-backend", backend)
    worker.does("resist")
    worker.send(signal.SIGTERM)
    worker.says("a second signal stops them now")
    worker.send(signal.SIGTERM)
    assert worker.ends(within=3.5) == 1
    resist = everything(app_folder)[0]
    assert (resist.status, resist.retry_count, resist.crash_count) == (Status.PENDING, 0, 0)


@on_each_loop
def test_a_thread_that_does_not_end_is_left_behind(
    cli, start, app_folder: Path, backend: str
) -> None:
    """fault:D15"""
    enqueued(cli, "hang", seconds=60)
    worker = start("worker", "app:taskq", "--shutdown-grace", "0.2", "--async-backend", backend)
    worker.does("hang")
    worker.send(signal.SIGTERM)
    assert worker.ends(within=6) == 1
    assert backend == "trio" or "leaving them" in worker.stderr()
    hang = everything(app_folder)[0]
    assert (hang.status, hang.retry_count, hang.crash_count) == (Status.PENDING, 0, 0)


def test_a_thread_that_does_not_end_keeps_no_worker_that_failed(cli, start, folder: Path) -> None:
    """fault:D15"""
    (folder / "app.py").write_text(
        "from contextlib import asynccontextmanager\n"
        "from pathlib import Path\n"
        "from time import sleep\n"
        "from taskq import TaskQ\n"
        "@asynccontextmanager\n"
        "async def lifespan(taskq):\n"
        "    yield\n"
        "    raise OSError('pool is gone')\n"
        "taskq = TaskQ(lifespan=lifespan)\n"
        "@taskq.activity\n"
        "def hang() -> None:\n"
        "    Path('effects.txt').write_text('hang')\n"
        "    sleep(60)\n"
    )
    enqueued(cli, "hang")
    worker = start("worker", "app:taskq", "--shutdown-grace", "0.2")
    worker.does("hang")
    worker.send(signal.SIGTERM)
    assert worker.ends(within=6) == 1
    assert "leaving them" in worker.stderr()
    assert "Error: OSError: pool is gone" in worker.stderr()


def test_a_signal_before_the_store_can_be_opened_ends_the_worker(start, app_folder: Path) -> None:
    """seed:E20"""
    locked = sqlite3.connect(app_folder / "locked.db", isolation_level=None)
    locked.execute("BEGIN EXCLUSIVE")
    (app_folder / "app.py").write_text(
        (app_folder / "app.py")
        .read_text()
        .replace("TaskQ()", "TaskQ('sqlite:///locked.db', lock_timeout=0.1)")
    )
    worker = start("worker", "app:taskq")
    worker.says("cannot open the database, trying again: ")
    worker.send(signal.SIGTERM)
    assert worker.ends(within=5) == 0
    locked.close()


def test_a_database_in_a_folder_that_is_not_there_is_said_at_once(start, app_folder: Path) -> None:
    (app_folder / "app.py").write_text(
        (app_folder / "app.py").read_text().replace("TaskQ()", "TaskQ('sqlite:///no/such/x.db')")
    )
    worker = start("worker", "app:taskq")
    assert worker.ends(within=5) == 1
    assert "there is no folder" in worker.stderr()
    assert "Traceback" not in worker.stderr()


def fetched(url: str) -> tuple[int, Any]:
    try:
        with urlopen(url, timeout=5) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


@on_each_loop
def test_health_is_answered_over_http(start, app_folder: Path, backend: str) -> None:
    worker = start("worker", "app:taskq", "--health-port", "0", "--async-backend", backend)
    worker.says("started")
    found = re.search(r"health +(http://127\.0\.0\.1:\d+/health)", worker.stderr())
    assert found is not None
    status, health = fetched(found[1])
    assert (status, health["healthy"], health["slots"]) == (200, True, 10)
    assert fetched(found[1].replace("health", "other"))[0] == 404


def test_a_health_port_that_is_taken_ends_the_worker(start, app_folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        worker = start("worker", "app:taskq", "--health-port", str(port))
        assert worker.ends() == 1
    assert f"--health-port {port} cannot be listened on" in worker.stderr()


WATCHFILES = '''
"""Stands in for watchfiles: looks at one file's modification time."""
import anyio, os, time

class PythonFilter: ...

def stamp(folder):
    return os.stat(os.path.join(folder, "app.py")).st_mtime_ns

async def awatch(folder, watch_filter):
    before = stamp(folder)
    while stamp(folder) == before:
        await anyio.sleep(0.02)
    yield {"changed"}

def watch(folder, watch_filter):
    before = stamp(folder)
    while stamp(folder) == before:
        time.sleep(0.02)
    yield {"changed"}
'''


def test_reload_starts_again_with_the_new_code_and_survives_a_broken_one(
    cli, start, app_folder: Path
) -> None:
    app = app_folder / "app.py"
    right = app.read_text()
    (app_folder / "watchfiles.py").write_text(WATCHFILES)
    worker = start("worker", "app:taskq", "--reload")
    worker.says("started")
    app.write_text(right + "\ndef broken(:\n")
    worker.says("SyntaxError")
    app.write_text(right.replace("hello", "good morning"))
    worker.until(lambda: worker.stderr().count(" started: ") == 2, "a second start")
    result = cli("enqueue", "app:taskq", "greet", '{"name": "Ada"}', "--wait", "20")
    assert result.stdout == '"good morning Ada"\n'
    worker.send(signal.SIGTERM)
    assert worker.ends() == 0


def test_nobody_reading_what_handlers_print_is_survived(cli, app_folder: Path) -> None:
    """fault:I37"""
    enqueued(cli, "chat", text="hello")
    command = f"({sys.executable} -m taskq worker app:taskq -b; echo $? >code) 2>err | true"
    subprocess.run(["sh", "-c", command], timeout=60, check=True)
    assert (app_folder / "code").read_text() == "0\n"
    assert "Broken" not in (app_folder / "err").read_text()
    assert everything(app_folder)[0].status is Status.COMPLETED


def test_nobody_reading_stderr_is_survived(cli, app_folder: Path) -> None:
    """fault:I37"""
    enqueued(cli, "greet", name="Ada")
    command = f"{sys.executable} -m taskq worker app:taskq --burst 2>&1 | true"
    subprocess.run(["sh", "-c", command], timeout=60, check=True)
    deadline = time.monotonic() + 15
    while everything(app_folder)[0].status is not Status.COMPLETED:
        assert time.monotonic() < deadline
        time.sleep(0.05)
