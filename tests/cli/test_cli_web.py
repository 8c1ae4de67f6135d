"""``taskq web`` and ``taskq worker --web``: consoles in processes of their own."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import Cli, Process
from tests.web.socket_server import sign_in

Start = Callable[..., Process]

LINK = re.compile(r"(http://127\.0\.0\.1:\d+/(?:\w+/)?)login#(\S+)")
GRACE = 5.0


def entrance(process: Process) -> tuple[str, str]:
    """The console's URL, and the token of the link that it printed last."""
    process.says("login#")
    return LINK.findall(process.stderr())[-1]


@contextmanager
def logged_in(process: Process) -> Iterator[httpx.Client]:
    """A browser that has followed the link."""
    url, link = entrance(process)
    with httpx.Client(base_url=url, timeout=10) as client:
        assert client.get("health").json() == {"status": "ok"}
        assert client.get("api/stats").status_code == 401
        assert sign_in(client, "", {"link": link}).status_code == 200
        assert sign_in(client, "", {"link": link}).status_code == 401
        answer = client.get("api/stats")
        assert answer.status_code == 200, process.stderr()
        yield client


def ends_with_a_stream_open(process: Process, client: httpx.Client) -> None:
    with client.stream("GET", "api/stream") as stream:
        assert any(line == "event: hello" for line in stream.iter_lines())
        begun = time.monotonic()
        process.send(signal.SIGTERM)
        assert process.ends() == 0
        assert time.monotonic() - begun < GRACE


def test_the_console_stops_within_its_grace_with_a_stream_open(
    start: Start, app_folder: Path
) -> None:
    """threat:T1: the link that it prints works once."""
    console = start("web", "app:taskq", "--port", "0", "--base-path", "/ops")
    with logged_in(console) as client:
        assert client.base_url.path == "/ops/"
        assert re.search(r"login#\S+ \(works once, until \d\d:\d\d\)$", console.stderr(), re.M)
        ends_with_a_stream_open(console, client)
    assert "Traceback" not in console.stderr()


def test_a_worker_on_trio_serves_the_console_until_it_has_stopped(
    start: Start, app_folder: Path
) -> None:
    worker = start("worker", "app:taskq", "--async-backend", "trio", "--web", "--web-port", "0")
    worker.says("started: 10 slots")  # it has made the tables
    with logged_in(worker) as client:
        assert client.get("api/stats").json()["workers"] == 1
        ends_with_a_stream_open(worker, client)
    assert "Traceback" not in worker.stderr()


def test_a_worker_process_that_is_replaced_serves_the_console_at_the_same_place(
    start: Start, app_folder: Path
) -> None:
    """The first of them serves it, on a socket that their parent keeps."""
    fleet = start("worker", "app:taskq", "-w", "1", "--web", "--web-port", "0")
    url, first = entrance(fleet)
    [pid] = re.findall(r"^taskq \S+ worker \S+-(\d+)$", fleet.stderr(), re.MULTILINE)[:1]
    os.kill(int(pid), signal.SIGKILL)
    fleet.until(lambda: entrance(fleet)[1] != first, "a console again", within=20)
    again, _ = entrance(fleet)
    assert again == url
    fleet.says("opened")
    with logged_in(fleet):
        fleet.send(signal.SIGTERM)
        assert fleet.ends() == 0


@pytest.mark.parametrize("flags", [["--host", "0.0.0.0"], ["--host", "::"]])
def test_no_other_machine_is_let_in_without_accounts(
    cli: Cli, app_folder: Path, flags: list[str]
) -> None:
    """threat:T1"""
    refused = cli("web", "app:taskq", "--port", "0", *flags)
    assert refused.exit_code == 2
    assert "without authentication: set TASKQ_WEB_USERS" in refused.stderr


def test_a_port_that_is_taken_is_said_in_one_sentence(cli: Cli, app_folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        web = cli("web", "app:taskq", "--port", port)
        worker = cli("worker", "app:taskq", "--web", "--web-port", port)
    assert (web.exit_code, worker.exit_code) == (1, 1)
    reason = f"{port} of 127.0.0.1 cannot be listened on: Address already in use\n"
    assert web.stderr == f"Error: --port {reason}"
    assert worker.stderr == f"Error: --web-port {reason}"


def test_tables_of_a_newer_version_end_it_with_what_to_do(cli: Cli, app_folder: Path) -> None:
    assert cli("enqueue", "app:taskq", "greet", '{"name": "Ada"}').exit_code == 0
    connection = sqlite3.connect("taskq.db")
    connection.execute("update taskq_alembic_version set version_num = 'tq9999'")
    connection.commit()
    connection.close()
    for flags in ([], ["--read-only"]):
        ended = cli("web", "app:taskq", "--port", "0", *flags)
        assert ended.exit_code == 1
        assert "update taskq" in ended.stderr.splitlines()[-1]


def test_a_database_that_is_not_there_is_not_made_by_a_look(cli: Cli, folder: Path) -> None:
    ended = cli("web", "--database", "sqlite:///nothing.db", "--port", "0")
    assert ended.exit_code == 1
    assert "there is no database at" in ended.stderr
    assert not (folder / "nothing.db").exists()


def test_a_store_inside_of_a_process_cannot_be_seen_from_another(cli: Cli, folder: Path) -> None:
    refused = cli("web", "--database", "memory://")
    assert refused.exit_code == 2
    assert "taskq worker --web" in refused.stderr


def test_flags_of_the_console_are_refused_without_it(cli: Cli, app_folder: Path) -> None:
    refused = cli("worker", "app:taskq", "--web-port", "0")
    assert refused.exit_code == 2
    assert "are for --web" in refused.stderr
