"""``taskq tail``, and what it makes of two looks at an activity."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from taskq.backends import ProgressReport
from taskq.filtering.reading import narrowed, parsed
from taskq.following import Bounds, Lately
from taskq.lifecycle import Failed, Succeeded
from taskq.model import Attempt, ErrorInfo, Status
from taskq.news import News, Seen, news
from taskq.progress import Progress
from taskq.snapshot import ActivityInfo, Filter
from taskq.testing.conformance.samples import call

NOW = datetime(2030, 1, 1, tzinfo=UTC)
NO = ErrorInfo(type="ValueError", message="no")


@pytest.fixture
def waiting(shelf) -> ActivityInfo:
    """An activity that waits."""
    future = shelf.greet.delay("Ada")
    return replace(future.info(), created_at=NOW, ready_at=NOW)


def later(info: ActivityInfo, seconds: float, **changes: Any) -> ActivityInfo:
    """As it is so much later."""
    at = NOW + timedelta(seconds=seconds)
    return replace(info, **{name: at if value is ... else value for name, value in changes.items()})


def whats(before: ActivityInfo | None, info: ActivityInfo) -> list[str]:
    seen = None if before is None else Seen.of(before)
    return [each.what for each in news(seen, info, NOW + timedelta(hours=1))]


class Tail:
    """What has happened lately, as ``taskq tail`` looks at it."""

    def __init__(self, shelf, wanted: Filter | None = None, **bounds: int) -> None:
        self._client = shelf.app.client
        self._lately = Lately(
            self._client.store, shelf.app.clock, wanted or Filter(), Bounds(**bounds)
        )
        self.cut = False
        self._client.call_sync(self._lately.begin)

    def look(self) -> list[News]:
        look = self._client.call_sync(self._lately.look)
        self.cut = look.cut
        return [*look.news]


def test_what_happened_between_two_looks_is_told_in_its_order(waiting: ActivityInfo) -> None:
    running = later(waiting, 1, status=Status.PROCESSING, claim=1, started_at=...)
    said = replace(running, progress=Progress(done=1, total=3, at=NOW + timedelta(seconds=2)))
    asked = later(said, 3, cancel_requested_at=...)
    ended = later(said, 4, status=Status.COMPLETED, finished_at=..., result="1")

    assert whats(None, waiting) == ["enqueued"]
    assert whats(waiting, running) == ["started"]
    assert whats(running, said) == ["progress"]
    assert whats(said, asked) == ["cancel_requested"]
    assert whats(said, ended) == ["completed"]
    assert whats(None, ended) == ["enqueued", "started", "progress", "completed"]
    for info in (waiting, running, said, asked, ended):
        assert whats(info, info) == []


def test_a_retry_and_what_comes_after_it_is_told(waiting: ActivityInfo) -> None:
    running = later(waiting, 1, status=Status.PROCESSING, claim=1, started_at=...)
    retrying = later(running, 9, status=Status.RETRYING, retry_count=1, ready_at=..., error=NO)
    [told] = news(Seen.of(running), retrying, NOW)
    again = later(retrying, 9, status=Status.PROCESSING, claim=2, started_at=...)
    dead = later(again, 10, status=Status.DEAD_LETTER, finished_at=..., error=NO)
    sent = replace(dead, status=Status.PENDING, finished_at=None, error=None)

    assert told.what == "retrying"
    assert told.detail == "again 2030-01-01 00:00:09.000Z: ValueError: no"
    assert whats(retrying, replace(retrying, status=Status.PENDING)) == ["pending"]
    assert whats(retrying, again) == ["started"]
    assert whats(again, dead) == ["dead_letter"]
    assert whats(dead, sent) == ["pending"]


def test_what_waits_for_its_time_is_scheduled(waiting: ActivityInfo) -> None:
    scheduled = later(waiting, 60, status=Status.SCHEDULED, ready_at=...)
    [told] = news(None, scheduled, NOW)
    assert (told.what, told.detail) == ("scheduled", "ready 2030-01-01 00:01:00.000Z")


def test_all_that_is_new_is_told_once_and_what_was_there_is_none(shelf) -> None:
    shelf.greet.delay("before")
    lately = Tail(shelf)
    assert lately.look() == []
    ids = [shelf.greet.delay(f"{place}").id for place in range(3)]

    assert [(each.info.id, each.what) for each in lately.look()] == [(id, "enqueued") for id in ids]
    assert lately.look() == []
    shelf.end(Succeeded("1"))
    whats = [each.what for each in lately.look()]
    assert sorted(whats) == ["completed"] * 4 + ["started"] * 4
    assert lately.look() == []


def test_a_filter_tells_of_what_comes_to_match(shelf) -> None:
    """seed:Q15"""
    lately = Tail(shelf, narrowed(Filter(), parsed("status:failed args.name:Ada")))
    ids = [shelf.greet.delay(name).id for name in ("Ada", "Grace")]
    assert lately.look() == []

    shelf.end(Failed(error=NO, retryable=False))
    told = lately.look()

    assert {each.info.id for each in told} == {ids[0]}
    assert [each.what for each in told] == ["enqueued", "started", "failed"]
    assert lately.look() == []


def test_a_filter_that_means_nothing_is_refused(cli, shelf) -> None:
    shelf.greet.delay("Ada")
    result = cli("tail", "stats:failed")
    assert result.exit_code == 2 and "no field 'stats'" in result.stderr


def test_what_has_left_the_first_page_is_followed(shelf) -> None:
    lately = Tail(shelf, page=2)
    first = shelf.greet.delay("Ada")
    lately.look()
    for place in range(6):
        shelf.greet.delay(f"{place}")

    assert len(lately.look()) == 6
    first.cancel()
    assert [(each.info.id, each.what) for each in lately.look()] == [(first.id, "cancelled")]


def test_more_than_can_be_shown_is_said(shelf) -> None:
    lately = Tail(shelf, page=2, pages=2)
    shelf.app.enqueue([shelf.greet.build(f"{place}") for place in range(7)])

    assert len(lately.look()) == 4
    assert lately.cut
    assert lately.look() == []
    assert not lately.cut


def test_what_is_forgotten_is_not_new_again(shelf) -> None:
    lately = Tail(shelf, remembered=3)
    for place in range(6):
        shelf.greet.delay(f"{place}")
    assert len(lately.look()) == 6
    assert lately.look() == []


def test_tail_of_what_has_ended_tells_its_story_and_ends(cli, shelf) -> None:
    id = str(shelf.greet.delay("Ada").id)
    shelf.end(Succeeded('"hello"'))

    result = cli("tail", id)

    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[4] for line in lines] == ["enqueued", "started", "completed"]
    assert lines[0].split()[2:4] == [id, "greet"]
    assert lines[2].endswith('"hello"')


def test_tail_fails_when_one_ended_without_a_result(cli, shelf) -> None:
    good = str(shelf.greet.delay("Ada").id)
    shelf.end(Succeeded("1"))
    bad = str(shelf.greet.delay("Grace").id)
    shelf.end(Failed(error=NO, retryable=False))

    result = cli("tail", good, bad, "--json")

    assert result.exit_code == 1
    told = [json.loads(line) for line in result.stdout.splitlines()]
    last = {each["id"]: (each["what"], each["detail"]) for each in told}
    assert last == {good: ("completed", "1"), bad: ("failed", "ValueError: no")}


def test_tail_follows_progress_until_the_end(cli, shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    future = shelf.greet.delay("Ada")
    [attempt] = shelf.claimed()
    said = ProgressReport(
        attempt.lease, Progress(done=3, total=10, note="half\nway", at=datetime.now(UTC))
    )
    shelf.app.client.call_sync(shelf.app.client.store.report_progress, attempt.worker, [said])
    assert "3 of 10: half\\nway" in cli("show", str(future.id)).stdout
    items = json.loads(cli("list", "--json").stdout)["items"]
    assert items[0]["progress"]["note"] == "half\nway"
    looks = [partial(shelf.app.client.cancel, future.id), partial(hand_back, shelf, attempt)]
    monkeypatch.setattr("taskq.cli.tail._wait", lambda _: looks.pop(0)())

    result = cli("tail", str(future.id))

    whats = [line.split()[4] for line in result.stdout.splitlines()]
    assert whats == ["enqueued", "started", "progress", "cancel_requested", "cancelled"]
    assert result.exit_code == 1


def hand_back(shelf, attempt: Attempt) -> None:
    client = shelf.app.client
    client.call_sync(client.store.hand_back, attempt.worker, [attempt.lease])


def test_tail_of_what_is_not_there_says_so(cli, shelf) -> None:
    shelf.greet.delay("Ada")
    result = cli("tail", str(UUID(int=7)))
    assert result.exit_code == 1 and "there is no activity" in result.stderr


def test_tail_takes_no_filter_beside_ids(cli, shelf) -> None:
    id = str(shelf.greet.delay("Ada").id)
    assert cli("tail", id, "--type", "greet").exit_code == 2


def heed_interrupts() -> None:
    """As a terminal's programs do. What a shell starts in the background ignores SIGINT, and so
    does whatever that starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def tailing(folder: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts ``taskq tail`` in a process of its own."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "taskq", "tail", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_interrupts,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_tail_prints_what_comes_until_ctrl_c(
    shelf, tailing: Callable[..., subprocess.Popen[str]]
) -> None:
    shelf.greet.delay("before")
    process = tailing("--type", "greet", "--json")
    assert process.stdout is not None
    store, call_sync = shelf.app.client.store, shelf.app.client.call_sync
    lines: list[str] = []
    reader = Thread(target=lambda out: lines.append(out.readline()), args=(process.stdout,))
    reader.start()
    for place in range(200):  # it begins with what comes after its first look
        call_sync(store.submit, [call("other"), call("greet", source=f"{place}")])
        reader.join(0.1)
        if not reader.is_alive():
            break
    told = json.loads(lines[0])
    assert (told["what"], told["type"], told["status"]) == ("enqueued", "greet", "pending")

    process.send_signal(signal.SIGINT)

    rest, errors = process.communicate(timeout=10)
    assert (process.returncode, errors) == (0, "")
    assert {json.loads(line)["type"] for line in rest.splitlines()} <= {"greet"}
