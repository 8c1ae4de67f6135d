"""Log lines: what they say of the activity they are about, and that one line is one record."""

from __future__ import annotations

import io
import json
import logging
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from taskq import NonRetryError, TaskQ, current, events
from taskq.errors import BackendError, BackendUnavailable
from taskq.identifiers import new_id
from taskq.logs import FIELDS, ContextFilter, JsonFormatter, LoggingListener, TextFormatter
from taskq.testing import ManualClock, drain

logger = logging.getLogger("shop")


class Lines:
    """What a handler as the command line configures it writes."""

    def __init__(self, formatter: logging.Formatter) -> None:
        self._stream = io.StringIO()
        self.handler = logging.StreamHandler(self._stream)
        self.handler.setFormatter(formatter)
        self.handler.addFilter(ContextFilter())

    def all(self) -> list[str]:
        return self._stream.getvalue().splitlines()

    def json(self) -> list[dict[str, Any]]:
        return [json.loads(line, parse_constant=pytest.fail) for line in self.all()]

    def line(self, message: str) -> dict[str, Any]:
        """The one JSON line with this message."""
        (found,) = [line for line in self.json() if line["message"] == message]
        return found


@pytest.fixture
def lines() -> Iterator[Lines]:
    yield from listening(Lines(JsonFormatter()))


@pytest.fixture
def text() -> Iterator[Lines]:
    yield from listening(Lines(TextFormatter()))


def listening(lines: Lines) -> Iterator[Lines]:
    root = logging.getLogger()
    level = root.level
    root.addHandler(lines.handler)
    root.setLevel(logging.DEBUG)
    yield lines
    root.removeHandler(lines.handler)
    root.setLevel(level)


@pytest.fixture
def taskq() -> Iterator[TaskQ]:
    app = TaskQ("memory://", listeners=[LoggingListener()])
    yield app
    app.close()


async def test_every_line_about_an_attempt_names_it_also_those_of_its_handler(
    taskq: TaskQ, lines: Lines
) -> None:
    """seed:M7: the start, the end, what the handler logs itself, and what a thread of it logs."""

    def deep() -> None:
        logger.info("from a thread")

    @taskq.activity
    async def work() -> str:
        logger.info("from the handler")
        await anyio.to_thread.run_sync(deep)
        return str(current().worker)

    future = await work.adelay()
    await drain(taskq)

    about = {
        "activity": str(future.id),
        "type": "work",
        "queue": "default",
        "attempt": 1,
        "worker": await future,
    }
    (completed,) = [line["message"] for line in lines.json() if "completed" in line["message"]]
    for message in ("started work", "from the handler", "from a thread", completed):
        line = lines.line(message)
        assert {name: line[name] for name in FIELDS} == about


async def test_a_sync_handlers_lines_name_its_activity(taskq: TaskQ, text: Lines) -> None:
    """seed:M7"""

    @taskq.activity
    def work() -> None:
        logger.warning("from a sync handler")

    future = await work.adelay()
    await drain(taskq)

    (line,) = [line for line in text.all() if "from a sync handler" in line]
    assert f" activity={future.id} type=work queue=default attempt=1 worker=" in line


async def test_attempts_that_run_beside_each_other_are_not_mixed_up(
    taskq: TaskQ, lines: Lines
) -> None:
    @taskq.activity
    async def work(number: int) -> None:
        await anyio.lowlevel.checkpoint()
        logger.info("number %d", number)

    futures = await taskq.aenqueue([work.build(number) for number in range(20)])
    await drain(taskq)

    for number, future in enumerate(futures):
        assert lines.line(f"number {number}")["activity"] == str(future.id)


async def test_a_line_about_a_child_is_the_childs_though_its_parent_runs(
    taskq: TaskQ, lines: Lines
) -> None:
    @taskq.activity
    async def child() -> None: ...

    @taskq.activity
    async def parent() -> str:
        return str((await child.adelay()).id)

    future = await parent.adelay()
    await drain(taskq)

    line = lines.line("enqueued child")
    assert (line["activity"], line["type"]) == (await future, "child")


async def test_a_failed_attempt_is_logged_with_its_traceback_on_the_same_line(
    taskq: TaskQ, lines: Lines
) -> None:
    @taskq.activity
    async def work() -> None:
        raise NonRetryError('two\nlines and a "quote"')

    await work.adelay()
    await drain(taskq)

    (line,) = [line for line in lines.json() if line["level"] == "ERROR"]
    assert 'two\nlines and a "quote"' in line["message"]
    assert "raise NonRetryError" in line["traceback"]


def test_a_handlers_own_extras_do_not_take_the_place_of_the_fields(lines: Lines) -> None:
    """An activity's line is found by its id, whatever its handler calls ``activity``."""
    taskq = TaskQ("memory://")

    @taskq.activity
    def work() -> None:
        logger.info("mine", extra={"activity": "cooking", "order": 42})

    future = work.delay()
    anyio.run(drain, taskq)
    line = lines.line("mine")
    assert (line["activity"], line["type"]) == (str(future.id), "work")
    assert line["extra"] == {"order": 42}
    taskq.close()


class Stubborn:
    """Refuses to be text."""

    def __str__(self) -> str:
        raise RuntimeError("no")


def circle() -> list[object]:
    ring: list[object] = []
    ring.append(ring)
    return ring


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ('line\nbreak and "quote" \x1b[31m', 'line\nbreak and "quote" \x1b[31m'),
        (7, 7),
        (True, True),
        (None, None),
        (1.5, 1.5),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (2**70, 2**70),
        (datetime(2030, 1, 1, tzinfo=UTC), "2030-01-01 00:00:00+00:00"),
        ({"a": [1, {2: (3,)}]}, {"a": [1, {"2": [3]}]}),
        (b"bytes", "b'bytes'"),
        ("half a pair: \ud800", "half a pair: ?"),
        (Stubborn(), "<its text could not be made: RuntimeError>"),
    ],
)
def test_any_extra_leaves_a_json_line_one_valid_object(
    lines: Lines, value: object, shown: object
) -> None:
    """threat:T15"""
    logger.info("an extra", extra={"given": value})
    assert lines.line("an extra")["extra"] == {"given": shown}


def test_an_extra_that_holds_itself_ends_somewhere(lines: Lines) -> None:
    logger.info("an extra", extra={"given": circle()})
    assert "[...]" in str(lines.line("an extra")["extra"])


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
def test_a_message_whose_arguments_do_not_fit_is_still_one_line(
    formatter: logging.Formatter,
) -> None:
    record = logging.LogRecord("shop", logging.INFO, "f.py", 1, "%d of them", ("many",), None)
    assert "%d of them ('many',)" in formatter.format(record)


def test_an_exception_is_part_of_its_line_in_json_and_follows_it_in_text(
    lines: Lines, text: Lines
) -> None:
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        logger.exception("it failed:\nfor a reason")

    (line,) = lines.json()
    assert line["message"] == "it failed:\nfor a reason"
    assert line["traceback"].endswith("ValueError: first\nsecond")
    head, following = text.all()[:2]
    assert head.endswith("ERROR shop: it failed:\\nfor a reason")
    assert following.startswith("Traceback")


def test_nothing_is_written_for_a_look_that_found_nothing(lines: Lines) -> None:
    """An idle worker's log stays empty, also at DEBUG."""
    worker = UUID(int=1)
    listener = LoggingListener()
    for count in (0, 3):
        listener.on_event(events.Claimed(worker=worker, limit=9, count=count, seconds=0.0))
        listener.on_event(events.Promoted(worker=worker, count=count))
        listener.on_event(events.Swept(worker=worker, count=count))
    assert [line["message"] for line in lines.json()] == ["claimed 3", "promoted 3", "swept 3"]


def background_error(worker: UUID, error: Exception) -> events.BackgroundError:
    return events.BackgroundError(worker=worker, loop="keeper", error=error)


def test_a_worker_that_cannot_open_its_database_tries_again(lines: Lines) -> None:
    error = BackendUnavailable("nobody is there")
    LoggingListener().on_event(
        events.BackgroundError(worker=new_id(), loop=events.OPENING, error=error)
    )
    [line] = lines.json()
    assert line["message"] == "cannot open the database, trying again: nobody is there"


def test_a_loop_that_fails_on_and_on_is_named_now_and_then(lines: Lines) -> None:
    clock, worker = ManualClock(), new_id()
    listener = LoggingListener(clock)
    for _ in range(70):
        listener.on_event(background_error(worker, BackendUnavailable("gone")))
        clock.advance(1)
    said = [line for line in lines.json() if line["level"] == "ERROR"]
    assert len(said) == 3
    listener.on_event(background_error(worker, BackendError("another trouble")))
    listener.on_event(events.BackgroundRecovered(worker=worker, loop="keeper", seconds=71.0))
    listener.on_event(background_error(worker, BackendError("another trouble")))
    assert [line["message"] for line in lines.json() if line["level"] != "DEBUG"][3:] == [
        "keeper met an error and goes on: another trouble",
        "keeper works again, after 71 s",
        "keeper met an error and goes on: another trouble",
    ]
