"""Who asks, why and under which id: said alike of queues and schedules as of activities."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from taskq import TaskQ
from taskq.backends.memory import MemoryBackend
from taskq.identifiers import new_id
from taskq.model import Status


@pytest.fixture
def taskq() -> Iterator[TaskQ]:
    taskq = TaskQ(backend=MemoryBackend())
    yield taskq
    taskq.close()


def test_a_program_that_names_nobody_is_on_record_as_one(taskq: TaskQ) -> None:
    @taskq.activity
    def report() -> None: ...

    taskq.queues.pause(queue="mail")
    taskq.schedules.create("nightly", report.build(), cron="@daily")
    taskq.schedules.pause("nightly")

    assert {each.actor for each in taskq.operator.audit()} == {"program"}


def test_a_command_id_makes_it_safe_to_ask_again(taskq: TaskQ) -> None:
    @taskq.activity
    def report() -> None: ...

    paused, made, triggered = new_id(), new_id(), new_id()
    for _ in range(2):
        taskq.queues.pause(queue="mail", command_id=paused, actor="ada")
        taskq.schedules.create("nightly", report.build(), cron="@daily", command_id=made)
        future = taskq.schedules.trigger("nightly", command_id=triggered)

    recorded = [each.command_id for each in taskq.operator.audit()]
    assert recorded == [triggered, made, paused]
    assert future.id == triggered
    assert future.info().status is Status.PENDING
