"""Hints between processes: heard again after every kind of break, sent not too often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from uuid import UUID

import anyio
import pytest

from taskq.backends import ClaimRequest, Hint, Topic
from taskq.backends.changes import Changes
from taskq.backends.sql import PostgresBackend
from taskq.backends.sql.postgres import listening, notifying
from taskq.backends.sql.postgres.channels import (
    MESSAGES,
    MOST,
    Message,
    channels_of,
    hint,
    messages,
)
from taskq.backends.sql.postgres.notifying import INTERVAL, RESTS, Notifier
from taskq.bridge import ResidentBridge
from taskq.errors import BackendUnavailable
from taskq.identifiers import new_id
from taskq.lifecycle import Snoozed, decide
from taskq.testing.conformance.samples import call
from taskq.testing.conformance.watches import mentions
from tests.postgres.conftest import MakeBackend, Sql

CHANNELS = channels_of("public")
SESSIONS = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    " AND (query ILIKE 'LISTEN%' OR query ILIKE '%pg_listening_channels()')"
    " AND pid <> pg_backend_pid()"
)


async def until(condition: Callable[[], bool]) -> None:
    """Poll; the test fails after some seconds."""
    with anyio.fail_after(10):
        while not condition():
            await anyio.sleep(0.005)


class Watched:
    """A backend that listens, and one that sends."""

    def __init__(
        self, make_backend: MakeBackend, bridge: ResidentBridge, sql: Sql, **options: object
    ) -> None:
        self.listens = make_backend(**options)
        self.sends = make_backend()
        self.hints: list[Hint] = []
        self.sql = sql
        self._bridge = bridge
        bridge.call_sync(self.listens.watch, list(Topic), self.hints.append)

    def submit(self) -> UUID:
        activity = call()
        self._bridge.call_sync(self.sends.submit, [activity])
        return activity.id

    def until_heard(self, topic: Topic) -> None:
        async def wait() -> None:
            await until(lambda: mentions(self.hints, topic))

        self._bridge.call_sync(wait)

    def sessions(self) -> list[int]:
        return [row[0] for row in self.sql(SESSIONS)]


@pytest.fixture
def watched(
    make_backend: MakeBackend,
    bridge: ResidentBridge,
    sql: Sql,
    monkeypatch: pytest.MonkeyPatch,
) -> Watched:
    """Both, on one database; the session is looked after often."""
    monkeypatch.setattr(listening, "CHECK", 0.05)
    return Watched(make_backend, bridge, sql)


def test_what_one_sends_the_other_hears(watched: Watched) -> None:
    """seed:L10: events across processes, by LISTEN and NOTIFY."""
    watched.submit()

    watched.until_heard(Topic.READY)


def test_a_terminated_session_listens_again_and_tells_that_it_missed_some(
    watched: Watched,
) -> None:
    """bug:B145, bug:B147, fault:DB19"""
    [before] = watched.sessions()
    watched.sql(f"SELECT pg_terminate_backend({before})")

    watched.until_heard(Topic.DONE)
    assert all(each.ids is None for each in watched.hints)
    assert {each.topic for each in watched.hints} == set(Topic)
    watched.hints.clear()
    watched.submit()
    watched.until_heard(Topic.READY)
    assert before not in watched.sessions()


def test_a_session_that_no_longer_listens_is_replaced(
    watched: Watched, bridge: ResidentBridge
) -> None:
    """fault:DB19: the connection holds, but a pooler gave it to another server session."""

    async def deafen() -> None:
        listener = watched.listens._hints._listener
        assert listener is not None and listener._raw is not None
        await listener._raw.execute("UNLISTEN *")

    bridge.call_sync(deafen)

    watched.until_heard(Topic.DONE)
    watched.hints.clear()
    watched.submit()
    watched.until_heard(Topic.READY)


def test_a_first_reconnect_that_fails_is_not_the_last(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bug:B145: the database is down at the first try."""
    tries: list[int] = []
    real = listening.connect

    async def refused(address: object) -> object:
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionRefusedError
        return await real(address)  # type: ignore[arg-type]

    monkeypatch.setattr(listening, "connect", refused)
    watched.sql(f"SELECT pg_terminate_backend({watched.sessions()[0]})")

    watched.until_heard(Topic.DONE)
    assert len(tries) == 3


def test_a_watch_begins_also_where_no_session_can_be_had(
    make_backend: MakeBackend, bridge: ResidentBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bug:B148: it hears at least of this backend's own changes; the rest is polled."""

    async def refused(_: object) -> object:
        raise ConnectionRefusedError

    monkeypatch.setattr(listening, "connect", refused)
    backend = make_backend()
    hints: list[Hint] = []

    bridge.call_sync(backend.watch, [Topic.READY], hints.append)
    bridge.call_sync(backend.submit, [call()])

    assert mentions(hints, Topic.READY)


def test_with_listen_off_no_session_listens(
    make_backend: MakeBackend, bridge: ResidentBridge, sql: Sql
) -> None:
    quiet = Watched(make_backend, bridge, sql, listen=False)
    bridge.call_sync(quiet.listens.submit, [call()])

    assert quiet.sessions() == []
    assert mentions(quiet.hints, Topic.READY)


def test_only_wanted_topics_are_listened_to(
    backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    """design 7.8: finished ids are listened to only where someone waits."""

    async def channels() -> set[str]:
        listener = backend._hints._listener
        assert listener is not None and listener._raw is not None
        return {row[0] for row in await listener._raw.fetch("SELECT pg_listening_channels()")}

    bridge.call_sync(backend.watch, [Topic.READY], lambda _: None)
    assert bridge.call_sync(channels) == {CHANNELS[Topic.READY]}
    bridge.call_sync(backend.watch, [Topic.DONE], lambda _: None)
    assert bridge.call_sync(channels) == {CHANNELS[Topic.READY], CHANNELS[Topic.DONE]}


def test_a_session_whose_topics_change_as_it_is_closed_is_closed(
    backend: PostgresBackend, bridge: ResidentBridge
) -> None:
    """Python 3.11's ``wait_for`` swallows a cancel that comes with what it waits for."""

    async def close() -> bool:
        listener = backend._hints._listener
        assert listener is not None and listener._raw is not None
        raw = listener._raw
        listener._changed.set()
        await listener.close()
        return raw.is_closed()

    bridge.call_sync(backend.watch, [Topic.READY], lambda _: None)
    assert bridge.call_sync(close, deadline=10)


def test_closing_sends_what_waits(watched: Watched, bridge: ResidentBridge) -> None:
    """design 7.8: the trailing one is always sent. seed:N12"""
    ids = [watched.submit() for _ in range(3)]
    bridge.call_sync(watched.sends.cancel, ids[:1])
    bridge.call_sync(watched.sends.cancel, ids[1:2])
    bridge.call_sync(watched.sends.cancel, ids[2:])
    bridge.call_sync(watched.sends.close)

    async def wait() -> None:
        await until(lambda: all(mentions(watched.hints, Topic.DONE, id) for id in ids))

    bridge.call_sync(wait)


def test_two_schemas_of_one_database_do_not_hear_each_other() -> None:
    """fault:DB26"""
    assert set(channels_of("a").values()).isdisjoint(channels_of("b").values())
    long = channels_of("x" * 63)
    assert max(len(channel) for channel in long.values()) <= 63
    assert len(set(long.values())) == len(Topic)


# -- messages --


@pytest.mark.parametrize("count", [1, MOST, MOST + 1, MOST * MESSAGES])
def test_ids_travel_in_messages_that_postgresql_takes(count: int) -> None:
    """seed:L10, fault:DB20"""
    ids = frozenset(new_id() for _ in range(count))

    sent = messages("c", "12345678", ids)

    assert max(len(each.payload) for each in sent) < 8000
    heard = [hint(Topic.DONE, each.payload, "other") for each in sent]
    assert frozenset().union(*(each.ids or () for each in heard if each)) == ids


def test_too_many_ids_are_not_named() -> None:
    [sent] = messages("c", "12345678", [new_id() for _ in range(MOST * MESSAGES + 1)])

    assert hint(Topic.DONE, sent.payload, "other") == Hint(Topic.DONE)


@pytest.mark.parametrize("payload", ["", "x", "12345678zz", "12345678" + "0" * 33])
def test_what_others_write_into_the_channel_means_any(payload: str) -> None:
    assert hint(Topic.DONE, payload, "other") == Hint(Topic.DONE)


def test_ones_own_messages_are_not_heard_twice() -> None:
    assert hint(Topic.READY, "12345678", "12345678") is None


# -- how often --


class Sent:
    """Takes what a notifier sends."""

    def __init__(self) -> None:
        self.batches: list[Sequence[Message]] = []
        self.fails = False
        self.notifier = Notifier(CHANNELS, "12345678", self)

    async def __call__(self, batch: Sequence[Message]) -> None:
        self.batches.append(batch)
        if self.fails:
            raise BackendUnavailable("gone")


READY = Changes(ready=True)


@pytest.fixture
def long_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """However short a sending is, its channel then rests for the whole interval. seed:N12"""
    monkeypatch.setattr(notifying, "RESTS", 1e9)


@pytest.mark.usefixtures("long_rests")
def test_the_first_goes_with_its_statement_the_next_are_gathered() -> None:
    async def run() -> None:
        sent = Sent()
        with sent.notifier.carried(READY) as first:
            assert [message.channel for message in first] == [CHANNELS[Topic.READY]]
        for _ in range(100):
            with sent.notifier.carried(READY) as other:
                assert other == []
        assert sent.batches == []
        await until(lambda: len(sent.batches) == 1)
        await asyncio.sleep(2 * INTERVAL)
        assert [len(batch) for batch in sent.batches] == [1]

    asyncio.run(run())


@pytest.mark.usefixtures("long_rests")
def test_what_a_statement_does_not_carry_goes_out_after_its_commit() -> None:
    """promise:G4: a hint that comes before its commit finds nothing, and none would follow."""

    async def run() -> None:
        sent = Sent()
        with sent.notifier.carried(READY):
            pass
        with sent.notifier.carried(READY) as carried:
            assert carried == []
            await asyncio.sleep(2 * INTERVAL)
            assert sent.batches == []
        await until(lambda: len(sent.batches) == 1)
        await sent.notifier.close()

    asyncio.run(run())


@pytest.mark.usefixtures("long_rests")
def test_a_statement_that_may_have_been_done_is_announced() -> None:
    async def run() -> None:
        sent = Sent()
        with sent.notifier.carried(READY):
            pass
        with pytest.raises(BackendUnavailable), sent.notifier.carried(READY):
            raise BackendUnavailable("no reply")
        await until(lambda: len(sent.batches) == 1)
        await sent.notifier.close()

    asyncio.run(run())


def test_who_sends_one_after_the_other_is_not_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that awaits each result before its next call would wait for each hint otherwise."""

    async def run() -> None:
        sent = Sent()
        clock = asyncio.get_running_loop().time
        for _ in range(20):
            began = clock()
            with sent.notifier.carried(READY) as carried:
                assert len(carried) == 1
                await asyncio.sleep(0.0001)
            await asyncio.sleep(RESTS * (clock() - began))
        assert sent.batches == []

    monkeypatch.setattr(notifying, "INTERVAL", 30.0)
    asyncio.run(run())


def test_a_slow_sending_is_followed_by_a_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        sent = Sent()
        with sent.notifier.carried(READY) as carried:
            assert len(carried) == 1
            await asyncio.sleep(0.001)
        with sent.notifier.carried(READY) as carried:
            assert carried == []
        await sent.notifier.close()

    monkeypatch.setattr(notifying, "INTERVAL", 30.0)
    monkeypatch.setattr(notifying, "RESTS", 1_000_000)
    asyncio.run(run())


def test_what_waits_goes_out_when_the_rest_turns_out_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What does not carry its hint says nothing about how long a sending takes."""

    async def run() -> None:
        sent = Sent()
        with sent.notifier.carried(READY):
            with sent.notifier.carried(READY) as other:
                assert other == []
            await asyncio.sleep(0)
            assert sent.batches == []
        await until(lambda: len(sent.batches) == 1)
        await sent.notifier.close()

    monkeypatch.setattr(notifying, "INTERVAL", 30.0)
    asyncio.run(run())


def test_topics_do_not_wait_for_each_other() -> None:
    async def run() -> None:
        sent = Sent()
        with sent.notifier.carried(READY):
            pass
        with sent.notifier.carried(Changes(done=frozenset([new_id()]))) as [message]:
            assert message.channel == CHANNELS[Topic.DONE]
        await sent.notifier.close()

    asyncio.run(run())


def test_nothing_goes_out_after_the_close() -> None:
    async def run() -> None:
        sent = Sent()
        with sent.notifier.carried(READY), sent.notifier.carried(READY):
            await sent.notifier.close()
        await asyncio.sleep(2 * INTERVAL)
        assert sent.batches == []

    asyncio.run(run())


@pytest.mark.usefixtures("long_rests")
def test_gathered_ids_are_all_sent_at_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifying, "INTERVAL", 60.0)

    async def run() -> None:
        sent = Sent()
        ids = [new_id() for _ in range(500)]
        for id in ids:
            with sent.notifier.carried(Changes(done=frozenset([id]))):
                pass
        await sent.notifier.close()
        [batch] = sent.batches
        named = [hint(Topic.DONE, each.payload, "") for each in batch]
        assert frozenset().union(*(each.ids or () for each in named if each)) == set(ids[1:])

    asyncio.run(run())


def test_a_hint_that_cannot_be_sent_is_dropped() -> None:
    async def run() -> None:
        sent = Sent()
        sent.fails = True
        sent.notifier.post(Changes(ready=True))
        await until(lambda: len(sent.batches) == 1)
        await sent.notifier.close()

    asyncio.run(run())


def test_a_cancel_that_wins_over_a_retry_is_told_as_an_end(
    watched: Watched, bridge: ResidentBridge
) -> None:
    """The hint that goes with the statement does not know of it yet."""
    id = watched.submit()
    request = ClaimRequest(worker=new_id(), queues=("default",), types=None, limit=1, lease=30)
    [attempt] = bridge.call_sync(watched.sends.claim, request)
    bridge.call_sync(watched.listens.cancel, [id])
    watched.hints.clear()

    bridge.call_sync(watched.sends.settle, [decide(attempt, Snoozed(60.0))])

    async def wait() -> None:
        await until(lambda: mentions(watched.hints, Topic.DONE, id))

    bridge.call_sync(wait)
