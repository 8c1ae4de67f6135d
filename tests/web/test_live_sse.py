"""The response of a stream: how it is written, how it ends, and that its slot comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from taskq import TaskQ
from taskq.backends import ProgressReport
from taskq.progress import progress_of
from taskq.web import Console, ConsoleOptions, Role
from taskq.web.live.event import Form
from taskq.web.live.hub import Hub, Pace
from taskq.web.live.sse import EventStream
from tests.web.listening import Listener, hurried, listening
from tests.web.stage import NO, Stage, at_once


@pytest.fixture
async def hub(app: TaskQ) -> AsyncIterator[Hub]:
    hub = hurried(Console(app, ConsoleOptions(allow_anonymous=Role.ADMIN)))
    yield hub
    await hub.aclose()


@pytest.fixture
def stage(app: TaskQ) -> Stage:
    return Stage(app.client.store)


async def heard(hub: Hub, stage: Stage, form: Form) -> Listener:
    """What a stream of this form tells of one that reported and failed."""
    async with anyio.create_task_group() as group:
        listener = await listening(group, EventStream(hub, form=Form.FULL))
        other = await listening(group, EventStream(hub, form=form))
        stage.add()
        [attempt] = stage.start()
        said = progress_of(1, 2, "canary note", at=attempt.claimed_at)
        at_once(stage.store.report_progress(attempt.worker, [ProgressReport(attempt.lease, said)]))
        await listener.until(lambda: "progress" in {what for _, what in listener.whats})
        stage.end([attempt], NO)
        await listener.until(lambda: "failed" in {what for _, what in listener.whats})
        ended = b'"event_type":"Failed"' if form.of_seeds else b'"what":"failed"'
        await other.until(lambda: ended in other.body)
        listener.leave()
        other.leave()
    return other


async def test_it_is_an_event_stream_that_nothing_keeps_or_changes_on_the_way(hub: Hub) -> None:
    async with anyio.create_task_group() as group:
        listener = await listening(group, EventStream(hub))
        listener.leave()
    assert listener.status == 200
    assert listener.headers == {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store, no-transform",
        "x-accel-buffering": "no",
    }
    assert listener.body.startswith(b"retry: 2000\n\n")


async def test_silence_is_broken_by_a_comment(hub: Hub) -> None:
    """seed:O5"""
    hub.pace = Pace(silence=0.03)
    async with anyio.create_task_group() as group:
        listener = await listening(group, EventStream(hub))
        await listener.until(lambda: listener.blocks.count(": keep-alive") == 2)
        listener.leave()


async def test_one_who_never_reads_is_let_go(hub: Hub) -> None:
    """threat:T8"""
    hub.pace = Pace(patience=0.03)
    listener = Listener(EventStream(hub), reads=False)
    async with anyio.create_task_group() as group:
        group.start_soon(listener.run)
        await listener.until_ended()
    assert hub.streams == 0


async def test_a_stream_ends_after_its_life_and_says_so(hub: Hub) -> None:
    """threat:T8"""
    hub.pace = Pace(life=0.03)
    async with anyio.create_task_group() as group:
        listener = await listening(group, EventStream(hub))
        await listener.until_ended()
    assert hub.streams == 0


async def test_one_who_may_not_listen_any_more_is_cut_off_though_events_flow(
    hub: Hub, stage: Stage
) -> None:
    """threat:T3"""
    answers = [True, True, False]

    async def recheck() -> bool:
        stage.add()
        return answers.pop(0)

    async with anyio.create_task_group() as group:
        hub.pace = Pace(recheck=0.01)
        stream = EventStream(hub, recheck=recheck)
        listener = await listening(group, stream)
        await listener.until_ended()
    assert answers == [] and hub.streams == 0


async def test_one_who_leaves_before_the_first_byte_gives_its_slot_back(hub: Hub) -> None:
    """threat:T8"""
    listener = Listener(EventStream(hub), reads=False)
    listener.leave()
    async with anyio.create_task_group() as group:
        group.start_soon(listener.run)
        await listener.until_ended()
    assert hub.streams == 0


async def test_a_request_that_is_cancelled_gives_its_slot_back(hub: Hub) -> None:
    """threat:T8"""
    async with anyio.create_task_group() as group:
        await listening(group, EventStream(hub))
        assert hub.streams == 1
        group.cancel_scope.cancel()
    assert hub.streams == 0


async def test_a_server_that_says_by_an_error_that_the_client_left_is_understood(hub: Hub) -> None:
    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            raise BrokenPipeError

    async def receive() -> Any:
        await anyio.sleep_forever()

    await EventStream(hub)({}, receive, send)  # type: ignore[typeddict-item]
    assert hub.streams == 0


async def test_another_error_is_raised_and_the_slot_comes_back(hub: Hub) -> None:
    async def send(message: Any) -> None:
        raise ZeroDivisionError

    async def receive() -> Any:
        await anyio.sleep_forever()

    with pytest.raises(ExceptionGroup) as raised:
        await EventStream(hub)({}, receive, send)  # type: ignore[typeddict-item]
    assert raised.group_contains(ZeroDivisionError)
    assert hub.streams == 0


async def test_the_veiled_form_has_nothing_that_a_handler_has_said(hub: Hub, stage: Stage) -> None:
    """threat:T14"""
    told = await heard(hub, stage, Form.VEILED)
    assert [what for _, what in told.whats] == ["enqueued", "started", "progress", "failed"]
    assert b"canary" not in told.body and b"no such customer" not in told.body
    assert told.of("activity")[-1]["progress"]["percent"] == 50.0


async def test_the_stream_of_the_seeds_has_data_lines_alone(hub: Hub, stage: Stage) -> None:
    """seed:O3, L6"""
    told = await heard(hub, stage, Form.SEEDS)
    assert all(block.startswith(("data: ", ":")) for block in told.blocks)
    events = [data for _, _, data in told.events]
    assert [each["event_type"] for each in events] == ["Enqueued", "Dequeued", "Progress", "Failed"]
    assert {*events[0]} == {"activity_id", "timestamp", "event_type", "detail"}
    assert events[-1]["detail"]["error"] == "ValueError: no such customer"
    assert events[-1]["worker_id"]


async def test_the_stream_of_the_seeds_is_veiled_too(hub: Hub, stage: Stage) -> None:
    """threat:T14"""
    told = await heard(hub, stage, Form.SEEDS_VEILED)
    assert b"canary" not in told.body and b"no such customer" not in told.body
