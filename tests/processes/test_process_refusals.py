"""Which errors of the worker's a handler in a process meets as what they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from taskq import errors
from taskq.errors import TaskQError
from taskq.identifiers import new_id
from taskq.processes.refusal import raised, refusal
from taskq.settings.values import SettingError

ID = new_id()
WITH_FIELDS: dict[type[TaskQError], TaskQError] = {
    errors.QueueFull: errors.QueueFull("full", queue="mail", bound=2, waiting=3),
    errors.IdempotencyConflict: errors.IdempotencyConflict("taken", existing=ID),
    errors.ActivityNotFound: errors.ActivityNotFound("none", id=ID),
}
LEFT_OUT = {
    "FilterError": "operators' filters are no request of a handler's",
    "ActivityError": "how an activity ended comes as data, and is raised in the process",
    "ActivityFailed": "the same",
    "ActivityDeadLettered": "the same",
    "ActivityTimedOut": "the same",
    "ActivityCancelled": "the same",
    "AttemptStopped": "for waits on other event loops than the worker's",
    "RetryError": "raised by handlers, whose outcomes are classified in the process",
    "NonRetryError": "the same",
    "Snooze": "the same",
}


def every(kind: type[TaskQError] = TaskQError) -> Iterator[type[TaskQError]]:
    """Those of the one tree (``taskq.errors``)."""
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            yield each
            yield from every(each)


def told(error: Exception) -> TaskQError:
    """What becomes of it on its way to the process."""
    return raised(refusal(1, error))


@pytest.mark.parametrize("kind", [*every()], ids=lambda kind: kind.__name__)
def test_every_error_comes_as_it_is_or_is_left_out_for_a_reason(kind: type[TaskQError]) -> None:
    if kind.__name__ in LEFT_OUT:
        return
    error = WITH_FIELDS.get(kind) or kind("why")
    assert type(told(error)) is kind
    assert (str(told(error)), vars(told(error))) == (str(error), vars(error))


def test_a_class_of_another_module_comes_as_the_nearest_one_above_it() -> None:
    assert type(told(SettingError("why", "queue"))) is errors.ConfigurationError
    foreign = told(OSError("no"))
    assert (type(foreign), str(foreign)) == (errors.BackendError, "OSError: no")


def test_left_out_are_only_errors_that_there_are() -> None:
    assert {kind.__name__ for kind in every()} >= {*LEFT_OUT}
