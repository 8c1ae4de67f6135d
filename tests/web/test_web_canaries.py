"""Secrets that an attempt is given come out nowhere but in its handler. threat:T14"""

from __future__ import annotations

import io
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import anyio
import httpx
import msgspec
import pytest
from rich.pretty import pretty_repr

from taskq import (
    ActivityFailed,
    ActivityInfo,
    DeadLetter,
    NonRetryError,
    RetryError,
    Secret,
    Snooze,
    TaskQ,
    current,
)
from taskq.editing import Edit
from taskq.events import Event
from taskq.logs import JsonFormatter, LoggingListener
from taskq.model import Status
from taskq.redaction import MASK
from taskq.snapshot import Filter, Page
from taskq.web import Console, ConsoleOptions, Role
from taskq.web.application import build, handlers_of, routes_of, routing
from tests.web.listening import Listener, hurried, listening, until

PIN = "canary-pin-'\"\\71"
"""In a ``Secret`` whose name says nothing, with what ``repr`` and JSON escape."""
KEY = "canary-key-72"
"""In an argument that is named like a secret, inside another."""
META = "canary-meta-73"
"""In the metadata."""
CANARIES = ("canary-pin", "canary-key", "canary-meta")


class Ear:
    """A listener that keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_event(self, event: Event) -> None:
        self.events.append(event)


class House:
    """An app, what its listeners heard, and the lines that it logged."""

    def __init__(self) -> None:
        self.ear = Ear()
        self.app = TaskQ(
            "memory://", listeners=[self.ear, LoggingListener()], redact="door", max_retries=0
        )
        self.log = io.StringIO()

    async def call(self, task: Any, **options: Any) -> ActivityInfo:
        """Run one call with all canaries to its end, as the store has it."""
        given = {"pin": Secret(PIN), "login": {"user": "ada", "api_key": KEY}}
        placed = task.options(metadata={"door code": META}, **options)
        future = await placed.adelay(**given)
        await self.app.run_worker(burst=True)
        return await self.info(future.id)

    async def info(self, id: UUID) -> ActivityInfo:
        return (await self.app.client.call(self.app.client.store.get, [id]))[id]

    def shown(self, info: ActivityInfo) -> str:
        return msgspec.json.encode(self.app.showing.activity(info)).decode()

    def heard(self) -> str:
        """Each event in the ways in which programs print one."""
        return "\n".join(f"{event}\n{pretty_repr(event)}" for event in self.ear.events)


@pytest.fixture
async def house(anyio_backend: object) -> AsyncIterator[House]:
    house = House()
    logger, handler = logging.getLogger("taskq"), logging.StreamHandler(house.log)
    handler.setFormatter(JsonFormatter())
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    async with house.app:
        yield house
    logger.removeHandler(handler)
    logger.setLevel(before)


def clean(text: str) -> None:
    """No canary in it, and it is not empty."""
    assert text
    assert [canary for canary in CANARIES if canary in text] == []


def told(pin: Secret[str], login: dict[str, Any]) -> str:
    """What a careless handler says: each secret as it is, and as ``repr`` has it."""
    metadata = current().metadata
    return f"{pin.reveal()} {pin.reveal()!r} {login} {metadata} {login['api_key']!r}"


ENDS: dict[str, Any] = {
    "error": lambda text: ValueError(text),
    "no retry": lambda text: NonRetryError(text),
    "retry": lambda text: RetryError(text, timedelta(0)),
    "bad delay": lambda text: RetryError(text, -1),
    "group": lambda text: ExceptionGroup(text, [KeyError(text), OSError(2, text)]),
    "cut": lambda text: ValueError("x" * 4090 + text + "y" * 20000 + text),
}


@pytest.mark.parametrize("end", ENDS)
async def test_an_error_is_recorded_published_and_logged_without_them(
    house: House, end: str
) -> None:
    @house.app.activity
    async def fail(pin: Secret[str], login: dict[str, Any]) -> None:
        raise ENDS[end](told(pin, login))

    info = await house.call(fail)
    assert info.error is not None
    assert MASK in info.error.message + info.error.traceback
    clean(info.error.message + info.error.traceback)
    timeline = await house.app.client.call(house.app.client.store.timeline, info.id)
    clean(msgspec.json.encode(timeline).decode())
    clean(house.log.getvalue())
    clean(house.heard())


async def test_a_sync_handler_and_a_cause_are_no_way_out(house: House) -> None:
    @house.app.activity
    def fail(pin: Secret[str], login: dict[str, Any]) -> None:
        try:
            raise KeyError(pin.reveal())
        except KeyError as error:
            error.add_note(told(pin, login))
            raise ValueError("bad") from error

    info = await house.call(fail)
    assert info.error is not None and "KeyError" in info.error.traceback
    clean(info.error.traceback)


async def test_a_timeout_that_a_handler_explains_tells_none(house: House) -> None:
    @house.app.activity(timeout=0.05, retry_on_timeout=False)
    async def wait(pin: Secret[str], login: dict[str, Any]) -> None:
        import anyio

        try:
            await anyio.sleep_forever()
        except BaseException as error:
            error.add_note(told(pin, login))
            raise

    info = await house.call(wait)
    assert info.error is not None and info.error.type == "TimeoutError"
    assert info.error.traceback
    clean(info.error.traceback)


async def test_arguments_and_results_that_do_not_fit_are_refused_without_them(
    house: House,
) -> None:
    @house.app.activity
    async def odd(pin: Secret[str], login: dict[str, Any]) -> Any:
        return {told(pin, login): object()}

    clean(repr((await house.call(odd)).error))

    @house.app.activity
    async def strict(pin: Secret[int], login: dict[str, int]) -> None: ...

    call = house.app.tasks["odd"].build(pin=Secret(PIN), login={"api_key": KEY})
    call = msgspec.structs.replace(call, type="strict")
    await house.app.aenqueue([call])
    await house.app.run_worker(burst=True)
    info = await house.info(call.id)
    assert info.error is not None and info.error.kind == "arguments"
    clean(repr(info.error))


async def test_a_progress_note_tells_none(house: House) -> None:
    @house.app.activity
    async def report(pin: Secret[str], login: dict[str, Any]) -> None:
        current().progress(1, 2, told(pin, login))

    info = await house.call(report)
    assert info.progress is not None and info.progress.note is not None
    assert MASK in info.progress.note
    clean(info.progress.note)


async def test_a_snooze_and_a_success_tell_none(house: House) -> None:
    @house.app.activity
    async def later(pin: Secret[str], login: dict[str, Any]) -> str:
        if current().claim == 1:
            raise Snooze(0)
        return pin.reveal()

    info = await house.call(later)
    await house.app.run_worker(burst=True)
    assert (await house.info(info.id)).result == msgspec.json.encode(PIN).decode()
    clean(house.log.getvalue())
    clean(house.heard())


async def test_what_is_shown_has_none_and_the_handler_had_all(house: House) -> None:
    had: list[object] = []

    @house.app.activity
    async def keep(pin: Secret[str], login: dict[str, Any]) -> Secret[str]:
        had.extend([pin.reveal(), login["api_key"], current().metadata["door code"]])
        return pin

    info = await house.call(keep)
    assert had == [PIN, KEY, META]
    assert (
        info.payload
        == msgspec.json.encode(
            {"login": {"api_key": KEY, "user": "ada"}, "pin": PIN}, order="sorted"
        ).decode()
    )
    clean(house.shown(info))
    clean(repr(info))
    shown = house.app.showing.activity(info)
    assert shown.payload == f'{{"login":{{"api_key":"{MASK}","user":"ada"}},"pin":"{MASK}"}}'
    assert shown.metadata == {"door code": MASK}
    assert shown.result == f'"{MASK}"'


async def test_a_hook_gets_them_and_its_own_arguments_are_shown_without(house: House) -> None:
    had: list[DeadLetter] = []

    @house.app.activity(on_dead_letter=had.append)
    async def fail(pin: Secret[str], login: dict[str, Any]) -> None:
        raise ValueError(told(pin, login))

    await house.call(fail)
    await house.app.run_worker(burst=True)
    assert had[0].arguments["pin"] == PIN
    clean(repr(had))
    page = await house.app.client.call(house.app.client.store.list, Filter(), Page())
    [hook] = [item for item in page.items if item.type == "fail:on_dead_letter"]
    assert PIN in msgspec.json.decode(hook.payload)["dead"]["arguments"]["pin"]
    clean(house.shown(hook))


async def test_a_chain_shows_no_secret_of_its_parts(house: House) -> None:
    from taskq.canvas import Canvas

    canvas = Canvas(house.app)

    @house.app.activity
    async def step(pin: Secret[str], login: dict[str, Any]) -> str:
        return "done"

    part = step.build(pin=Secret(PIN), login={"api_key": KEY})
    call = canvas.chain(canvas.group([part])).build()
    await house.app.aenqueue([call])
    info = await house.info(call.id)
    assert "canary-pin" in info.payload
    clean(house.shown(info))


async def test_the_arguments_before_an_edit_are_kept_without_them(house: House) -> None:
    """seed:L7"""

    @house.app.activity
    async def fail(pin: Secret[str], login: dict[str, Any]) -> None:
        raise NonRetryError("no")

    info = await house.call(fail)
    shown = msgspec.json.decode(house.app.showing.activity(info).payload)
    shown["login"]["user"] = "eve"
    await house.app.operator.aretry(info.id, edit=Edit(arguments=shown))

    again = await house.info(info.id)
    assert again.status is Status.PENDING
    assert msgspec.json.decode(again.payload) == {
        "pin": PIN,
        "login": {"user": "eve", "api_key": KEY},
    }
    timeline = await house.app.client.call(house.app.client.store.timeline, info.id)
    [retried] = [entry for entry in timeline if entry.kind == "retried"]
    before = cast("str", retried.detail["payload"])
    assert msgspec.json.decode(before)["login"] == {"user": "ada", "api_key": MASK}
    clean(msgspec.json.encode(timeline).decode())
    clean(msgspec.json.encode(await house.app.operator.aaudit()).decode())


async def test_a_schedule_is_recorded_and_shown_without_them(house: House) -> None:
    @house.app.activity
    async def fire(pin: Secret[str], login: dict[str, Any]) -> None: ...

    call = fire.build(pin=Secret(PIN), login={"api_key": KEY})
    await house.app.schedules.acreate("nightly", call, every=3600)
    info = await house.app.schedules.aget("nightly")
    assert "canary-pin" in info.schedule.template.payload
    clean(msgspec.json.encode(house.app.showing.schedule(info)).decode())
    [entry] = await house.app.operator.aaudit()
    assert "canary-key" not in msgspec.json.encode(entry).decode()
    clean(msgspec.json.encode(house.app.showing.audit(entry)).decode())


async def test_who_awaits_a_failure_is_told_none(house: House) -> None:
    @house.app.activity
    async def fail(pin: Secret[str], login: dict[str, Any]) -> None:
        raise ValueError(told(pin, login))

    info = await house.call(fail)
    with pytest.raises(ActivityFailed) as caught:
        await house.app.future(info.id)
    clean(f"{caught.value}{caught.value.error}")


# -- the console -----------------------------------------------------------------------------------


async def test_no_answer_of_the_console_has_one(house: House) -> None:
    """Every route that is asked by GET, with what there is where it takes a name."""

    @house.app.activity
    async def fail(pin: Secret[str], login: dict[str, Any]) -> None:
        raise ValueError(told(pin, login))

    info = await house.call(fail)
    call = fail.options(metadata={"door code": META}).build(
        pin=Secret(PIN), login={"user": "ada", "api_key": KEY}
    )
    await house.app.schedules.acreate("nightly", call, cron="0 3 * * *")
    options = ConsoleOptions(allow_anonymous=Role.ADMIN)
    routes = routes_of(routing(tuple(handlers_of(options))))
    places = {"id": str(info.id), "key": str(info.id), "name": "nightly"}
    paths = [
        path.format(**places)
        for method, path in routes
        if method == "GET" and path.startswith("/api") and not path.endswith("stream")
    ]
    transport = httpx.ASGITransport(build(Console(house.app, options)))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as browser:
        answers = {path: await browser.get(path) for path in paths}
    assert {
        path: answer.status_code for path, answer in answers.items() if answer.status_code != 200
    } == {"/api/bulk/preview": 400, "/api/schedule-preview": 400, f"/api/bulk/{info.id}": 404}
    assert [
        (path, canary)
        for path, answer in answers.items()
        for canary in CANARIES
        if canary in answer.text
    ] == []
    for path in (f"/api/activities/{info.id}", "/api/dead-letters", "/api/audit"):
        assert MASK in answers[path].text, path


async def test_no_stream_has_one(house: House) -> None:
    """Of an activity that says all it has, while somebody listens."""

    @house.app.activity
    async def fail(pin: Secret[str], login: dict[str, Any]) -> None:
        current().progress(1, 2, told(pin, login))
        raise ValueError(told(pin, login))

    console = Console(house.app, ConsoleOptions(allow_anonymous=Role.ADMIN))
    hurried(console)
    asgi = build(console)
    async with anyio.create_task_group() as group:
        ours = await listening(group, asgi)
        seeds = Listener(asgi, path="/api/observability/stream")
        group.start_soon(seeds.run)
        await until(lambda: console.hub.streams == 2)
        info = await house.call(fail)
        await ours.until(lambda: b"ValueError" in ours.body)
        await seeds.until(lambda: str(info.id).encode() in seeds.body)
        ours.leave()
        seeds.leave()
    await console.aclose()
    clean(ours.body.decode())
    clean(seeds.body.decode())
