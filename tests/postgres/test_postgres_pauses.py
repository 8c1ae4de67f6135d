"""A pause is told to other processes on PostgreSQL, and waits for no producer."""

from __future__ import annotations

from functools import partial

from taskq.audit import Command
from taskq.backends import Hint, Topic
from taskq.bridge import ResidentBridge
from taskq.model import Bound, Overflow
from taskq.pausing import Kind
from taskq.testing.conformance.harness import eventually
from taskq.testing.conformance.samples import call
from tests.postgres.conftest import MakeBackend
from tests.postgres_databases import Databases

COMMAND = Command(actor="ada")


async def test_another_process_is_told(make_backend: MakeBackend, bridge: ResidentBridge) -> None:
    one, other = make_backend(), make_backend()
    hints: list[Hint] = []
    await bridge.call(other.watch, [Topic.CONTROL], hints.append)

    await bridge.call(partial(one.pause, command=COMMAND), Kind.QUEUE, "default")

    await eventually(lambda: Hint(Topic.CONTROL) in hints)
    [pause] = await bridge.call(other.pauses)
    assert pause.name == "default"


def test_a_producer_in_a_long_transaction_holds_no_pause_up(
    make_backend: MakeBackend, bridge: ResidentBridge, databases: Databases, postgres_url: str
) -> None:
    """It has its turn at a row of another kind."""
    backend = make_backend(lock_timeout=0.5)
    bridge.call_sync(backend.submit, [call(bound=Bound(5, Overflow.ERROR))])
    databases.run(postgres_url, "BEGIN", "UPDATE taskq_queues SET updated_at = now()")
    try:
        assert bridge.call_sync(partial(backend.pause, command=COMMAND), Kind.QUEUE, "default")
    finally:
        databases.run(postgres_url, "ROLLBACK")
