"""``taskq status``, ``list``, ``show`` and ``workers``."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

from taskq import ActivityCancelled
from taskq.lifecycle import Expired, Failed, Succeeded
from taskq.model import ErrorInfo
from taskq.testing.conformance.samples import call, keyed
from tests.forked import Forked

NASTY = ErrorInfo(
    type="Bad\x1b[2J", message="one\ntwo\x1b]0;owned\x07", traceback="at\x1b[31m line 1\nline 2"
)


def test_status_counts_by_status_queue_and_priority(cli, shelf) -> None:
    shelf.greet.delay("Ada")
    shelf.greet.options(queue="mail", priority=4, delay=60).delay("Grace")
    shelf.greet.options(priority=3).delay("Joan")
    lines = cli("status").stdout.splitlines()
    assert any(line.split() == ["pending", "2"] for line in lines)
    assert any(line.split() == ["scheduled", "1"] for line in lines)
    assert any(line.split() == ["mail", "1"] for line in lines)
    assert [line.split() for line in lines[-2:]] == [["HIGH", "1"], ["NORMAL", "1"]]


def test_status_names_the_database_and_what_nobody_serves(cli, shelf, folder: Path) -> None:
    shelf.greet.delay("Ada")
    result = cli("status")
    assert str(folder / "taskq.db") in result.stdout
    assert "no live worker serves 'greet' on queue 'default': 1 waiting" in result.stderr


def test_status_as_json_names_statuses_and_priorities(cli, shelf) -> None:
    """seed:P2"""

    shelf.greet.delay("Ada")
    found = json.loads(cli("status", "--json").stdout)
    assert found["by_status"]["pending"] == 1
    assert found["by_priority"] == {"LOW": 0, "NORMAL": 1, "HIGH": 0, "CRITICAL": 0}
    assert found["unserved"] == [{"queue": "default", "type": "greet", "waiting": 1}]


def test_status_of_one_queue_counts_only_that(cli, shelf) -> None:
    shelf.greet.delay("Ada")
    shelf.greet.options(queue="mail").delay("Grace")
    found = json.loads(cli("status", "--json", "-q", "mail").stdout)
    assert found["by_status"]["pending"] == 1


def test_list_shows_newest_first_and_says_how_to_go_on(cli, shelf) -> None:
    ids = [str(shelf.greet.delay(f"n{n}").id) for n in range(5)]
    first = cli("list", "--limit", "3")
    assert [line.split()[0] for line in first.stdout.splitlines()[1:]] == ids[:1:-1]
    assert first.stderr.strip() == f"there are more: --before {ids[2]}"
    second = cli("list", "--limit", "3", "--before", ids[2])
    assert [line.split()[0] for line in second.stdout.splitlines()[1:]] == ids[1::-1]
    assert second.stderr == ""


def test_list_as_json_has_the_cursor_and_arguments_as_values(cli, shelf) -> None:
    for name in ("Ada", "Grace"):
        shelf.greet.delay(name)
    found = json.loads(cli("list", "--json", "-n", "1").stdout)
    assert found["items"][0]["payload"] == {"name": "Grace"}
    assert found["next"] == found["items"][0]["id"]


def test_list_filters_by_status_queue_and_type(cli, shelf) -> None:
    """seed:R18"""

    shelf.greet.delay("Ada")
    later = shelf.greet.options(delay=60, queue="mail").delay("Grace")

    def listed(*arguments: str) -> list[str]:
        return [
            item["id"] for item in json.loads(cli("list", "--json", *arguments).stdout)["items"]
        ]

    assert listed("--status", "scheduled") == [str(later.id)]
    assert listed("--queue", "mail") == [str(later.id)]
    assert len(listed("--type", "gr*")) == 2
    assert listed("--type", "other") == []
    assert len(listed("--status", "scheduled, pending", "--queue", "mail,default")) == 2
    assert len(listed("--type", "other,greet", "--status", "failed", "--status", "pending")) == 1


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--status", "failed,lost", "--status 'lost' is not one of pending, scheduled"),
        ("--queue", "mail,", "--queue takes names with commas between them"),
        ("--parent", "me", "'me' is no activity id"),
    ],
)
def test_a_filter_that_means_nothing_is_wrong_use(
    cli, shelf, option: str, value: str, said: str
) -> None:
    shelf.greet.delay("Ada")
    result = cli("list", option, value)
    assert result.exit_code == 2 and said in result.stderr


def test_a_parent_and_its_children_name_each_other(cli, start, app_folder: Path) -> None:
    parent = cli("enqueue", "app:taskq", "herd", '{"names": ["Ada", "Grace"]}').stdout.strip()
    assert start("worker", "app:taskq", "--burst").ends() == 0

    children = json.loads(cli("list", "--parent", parent, "--json").stdout)["items"]

    assert [child["payload"]["name"] for child in children] == ["Grace", "Ada"]
    shown = cli("show", parent).stdout
    assert re.search(f"children +2: taskq list --parent {parent}\n", shown)
    assert f"{parent} (herd, completed)" in cli("show", children[0]["id"]).stdout
    assert "children" not in cli("show", children[0]["id"]).stdout


def test_a_cancelled_one_says_so_once(cli, shelf) -> None:
    future = shelf.greet.delay("Ada")
    future.cancel()

    assert "Cancelled: by request" in cli("show", str(future.id)).stdout
    with pytest.raises(ActivityCancelled) as caught:
        future.result(timeout=5)
    assert str(caught.value) == f"activity {future.id} was cancelled"


def test_list_without_a_match_says_so_on_stderr(cli, shelf) -> None:
    shelf.greet.delay("Ada")
    result = cli("list", "--status", "failed")
    assert (result.stdout, result.stderr, result.exit_code) == ("", "no activity matches\n", 0)


def test_nothing_stored_reaches_the_terminal_unescaped(cli, shelf) -> None:
    """threat:T15"""
    future = shelf.greet.options(source="s\x1b[1m\u202e").delay("\x1b[31mred\x07")
    shelf.end(Failed(error=NASTY, retryable=False))
    for arguments in (["list"], ["show", str(future.id)]):
        for flags in ([], ["--json"]):
            said = cli(*arguments, *flags).stdout
            assert all(char.isprintable() or char == "\n" for char in said)
            assert "owned" in said and "\x1b" not in said


def test_show_tells_details_and_what_happened(cli, shelf) -> None:
    """seed:O8"""

    future = shelf.greet.options(idempotency_key="order-42", tags={"a": "b"}).delay("Ada")
    shelf.end(Succeeded('"hello Ada"'))
    said = cli("show", str(future.id)).stdout
    for text in ("completed", "order-42", "a=b", '{"name":"Ada"}', '"hello Ada"', "enqueued"):
        assert text in said


def test_show_tells_the_error_its_traceback_and_the_retry(cli, shelf) -> None:
    future = shelf.greet.delay("Ada")
    error = ErrorInfo(type="OSError", message="gone", traceback="Traceback\n  line 7")
    shelf.end(Failed(error=error, delay=60))
    said = cli("show", str(future.id)).stdout
    assert "retrying" in said and "OSError: gone" in said
    assert "Traceback\n  line 7" in said and "again in 60 s" in said


def test_show_tells_limits_and_that_it_was_never_started(cli, shelf) -> None:
    """Its only claim was to end it; the limits and the step are said where there are any."""
    future = shelf.greet.options(expires=3600, deadline=7200).delay("Ada")
    plain = shelf.greet.options(delay=60).delay("Grace")
    before = cli("show", str(future.id)).stdout
    assert "starts by" in before and "ends by" in before
    shelf.end(Expired())
    said = cli("show", str(future.id)).stdout
    assert "Expired: it had not started by" in said
    lines = [line.split() for line in said.splitlines()]
    assert ["attempts", "0"] in lines
    assert "started" not in {line[0] for line in lines if line}
    assert "starts by" not in cli("show", str(plain.id)).stdout


def test_show_tells_who_else_awaits_it(cli, shelf) -> None:
    """seed:I8"""
    future = shelf.greet.options(idempotency_key="ada").delay("Ada")
    root, parent = call(), call()
    info = shelf.app.client.call_sync(shelf.app.client.store.get, [future.id])[future.id]
    above = [
        {"parent_id": root.id, "root_id": root.id},
        {"parent_id": parent.id, "root_id": root.id},
    ]
    for place in above:
        again = keyed("ada", type="greet", payload=info.payload, **place)
        shelf.app.client.call_sync(shelf.app.client.store.submit, [again])

    lines = cli("show", str(future.id)).stdout.splitlines()

    assert [line.split()[2:] for line in lines[-2:]] == [
        f"linked also awaited by {root.id}".split(),
        f"linked also awaited by {parent.id}, root {root.id}".split(),
    ]


def test_show_as_json_holds_the_timeline(cli, shelf) -> None:
    future = shelf.greet.delay("Ada")
    found = json.loads(cli("show", str(future.id), "--json").stdout)
    assert found["id"] == str(future.id)
    assert [entry["kind"] for entry in found["timeline"]] == ["enqueued"]


def test_an_id_may_be_cut_short_where_no_other_begins_so(cli, shelf) -> None:
    future = shelf.greet.delay("Ada")
    for text in (future.id.hex[:20], str(future.id)[:25], str(future.id).upper(), future.id.hex):
        assert cli("show", text).exit_code == 0


def test_a_cut_id_that_means_several_is_refused(cli, shelf) -> None:
    futures = [shelf.greet.delay("Ada") for _ in range(2)]
    assert futures[0].id.hex[:8] == futures[1].id.hex[:8]
    result = cli("show", futures[0].id.hex[:8])
    assert result.exit_code == 1 and "give more digits" in result.stderr
    assert all(f"{future.id} (greet, pending)" in result.stderr for future in futures)


def test_of_many_that_a_cut_id_means_five_are_named(cli, shelf) -> None:
    futures = [shelf.greet.delay("Ada") for _ in range(6)]
    said = cli("cancel", futures[0].id.hex[:8]).stderr
    assert said.count("(greet, pending)") == 5 and said.rstrip().endswith(", and more")


@pytest.mark.parametrize("text", ["ffffffff", "00000000", "01234567-89ab"])
def test_a_cut_id_that_means_none_is_said(cli, shelf, text: str) -> None:
    shelf.greet.delay("Ada")
    result = cli("show", text)
    assert result.exit_code == 1 and "no activity's id begins with" in result.stderr


@pytest.mark.parametrize("text", ["0123456", "not-an-id", "0" * 33, ""])
def test_what_is_no_id_is_wrong_use(cli, shelf, text: str) -> None:
    shelf.greet.delay("Ada")
    result = cli("show", text)
    assert result.exit_code == 2
    assert "is no activity id, nor the first 8 or more digits of one" in result.stderr


def test_an_unknown_id_is_said(cli, shelf) -> None:
    shelf.greet.delay("Ada")
    result = cli("show", str(UUID(int=7)))
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"there is no activity {UUID(int=7)}" in result.stderr


def test_workers_says_when_there_is_none(cli, shelf) -> None:
    shelf.greet.delay("Ada")
    result = cli("workers")
    assert (result.stdout, result.stderr) == ("", "no live worker\n")
    assert cli("workers", "--json").stdout.strip() == "[]"


@pytest.mark.parametrize("command", [["status"], ["list"], ["workers"], ["show", "0" * 32]])
def test_a_look_never_creates_a_database(cli, folder: Path, command: list[str]) -> None:
    result = cli(*command)
    assert result.exit_code == 1 and str(folder / "taskq.db") in result.stderr
    assert list(folder.iterdir()) == []


def test_memory_cannot_be_looked_at_from_outside(cli, folder: Path) -> None:
    result = cli("status", "--database", "memory://")
    assert result.exit_code == 2 and "inside one process" in result.stderr


def test_a_file_that_is_no_database_is_one_sentence(cli, folder: Path) -> None:
    (folder / "taskq.db").write_text("certainly not a database, but long enough to be read as one")
    result = cli("status")
    assert result.exit_code == 1 and str(folder / "taskq.db") in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_unknown_scheme_is_wrong_use_and_shows_no_password(cli, folder: Path) -> None:
    result = cli("status", "--database", "redis://user:secret@host")
    assert result.exit_code == 2 and "secret" not in result.output


def test_the_database_is_named_by_option_app_or_environment(
    cli, shelf, app_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory
) -> None:
    shelf.greet.delay("Ada")
    assert cli("list", "--app", "app:taskq").exit_code == 0
    url = f"sqlite:///{app_folder / 'taskq.db'}"
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert cli("list").exit_code == 1
    assert cli("list", "--database", url).exit_code == 0
    monkeypatch.setenv("TASKQ_DATABASE_URL", url)
    assert cli("list").exit_code == 0


def test_database_and_app_exclude_each_other(cli, app_folder: Path) -> None:
    result = cli("list", "--database", "sqlite:///x.db", "-A", "app:taskq")
    assert result.exit_code == 2 and "exclude each other" in result.stderr


def test_a_reader_that_goes_away_is_no_error(shelf) -> None:
    """fault:I37"""
    shelf.app.enqueue([shelf.greet.build("x" * 500) for _ in range(1000)])
    command = f"{sys.executable} -m taskq list --json -n 1000 | head -1"
    done = subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
    )
    assert (done.stdout, done.stderr) == ("{\n", "")


def test_a_locale_without_unicode_is_survived(shelf) -> None:
    """fault:I37"""
    id = str(shelf.greet.options(source="é漢").delay("Ada").id)
    done = subprocess.run(
        [sys.executable, "-m", "taskq", "show", id],
        capture_output=True,
        encoding="latin-1",
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"},
    )
    assert "é\\u6f22" in done.stdout


def test_a_terminal_gets_a_table_without_markup_of_the_data(shelf) -> None:
    """threat:T15"""
    shelf.greet.delay("Ada")
    shelf.end(Failed(error=ErrorInfo(type="[red]Bad", message="\x1b]0;x\x07"), retryable=False))
    leader, follower = pty.openpty()
    with os.fdopen(follower, "wb", buffering=0) as terminal:
        process = Forked(
            ["-m", "taskq", "list"],
            stdout=terminal,
            env={**os.environ, "COLUMNS": "200", "TERM": "xterm"},
        )
    said = b""
    while chunk := _read(leader):
        said += chunk
    os.close(leader)
    assert process.wait(30) == 0
    assert b"[red]Bad" in said and b"\x1b]0;" not in said
    assert "──".encode() in said


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""
