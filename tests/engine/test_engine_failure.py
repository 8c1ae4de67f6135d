"""What an exception means, whatever it does (fault:C5)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import json

from taskq.engine.running import failure
from taskq.engine.running.failure import classify, describe, sole, timeout_error, unstorable
from taskq.errors import (
    ActivityCancelled,
    ActivityDeadLettered,
    ActivityFailed,
    ActivityNotFound,
    BackendUnavailable,
    NonRetryError,
    RetryError,
    SerializationError,
    Snooze,
)
from taskq.identifiers import new_id
from taskq.lifecycle import Failed, Snoozed
from taskq.model import Attempt, ErrorInfo, ErrorKind, Policy


def attempt(**fields: object) -> Attempt:
    """An attempt, the third of its activity."""
    id = new_id()
    now = datetime.now(UTC)
    values = {"timeout": 1.5, "retry_count": 2, "created_at": now, "ready_at": now} | fields
    return Attempt(
        id=id,
        worker=new_id(),
        claim=7,
        type="t",
        queue="q",
        payload="{}",
        root_id=id,
        origin_id=id,
        **values,  # type: ignore[arg-type]
    )


def raised(error: BaseException) -> BaseException:
    """The same error with a traceback."""
    try:
        raise error
    except BaseException as caught:
        return caught


def decided(error: BaseException, **fields: object) -> Failed:
    """The failure that an error means."""
    outcome = classify(raised(error), attempt(**fields))
    assert isinstance(outcome, Failed)
    return outcome


class Says(Exception):
    """An error that says whether it can be retried."""

    def __init__(self, retryable: object) -> None:
        super().__init__("says")
        self.retryable = retryable


def caused(error: BaseException, cause: BaseException) -> BaseException:
    """The error, raised from a cause."""
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (ValueError(), True),
        (RetryError("again"), True),
        (NonRetryError(), False),
        (SerializationError("bad"), False),
        (BackendUnavailable("gone"), True),
        (ActivityNotFound("what", id=new_id()), False),
        (Says(True), True),
        (Says(False), False),
        (Says("false"), True),
        (Says(0), True),
        (caused(ValueError(), Says(False)), False),
        (caused(ValueError(), NonRetryError()), False),
        (caused(Says(True), Says(False)), True),
        (caused(Says(None), caused(ValueError(), Says(False))), False),
        (ExceptionGroup("g", [Says(False)]), False),
        (ExceptionGroup("g", [ExceptionGroup("h", [NonRetryError()])]), False),
        (ExceptionGroup("g", [NonRetryError(), ValueError()]), True),
        (SystemExit(), True),
    ],
    ids=repr,
)
def test_an_error_says_whether_it_is_retried(error: BaseException, retryable: bool) -> None:
    """seed:R5 to R7: outermost first, through the causes."""
    assert decided(error).retryable is retryable


def test_the_context_of_an_error_is_no_cause() -> None:
    """What was being handled when something else went wrong decides nothing."""
    error = KeyError("a bug while handling it")
    error.__context__ = Says(False)
    assert decided(error).retryable


def test_taskqs_own_errors_come_before_no_retry_and_that_before_retryable() -> None:
    """design 2: the order."""
    everything: tuple[type[BaseException], ...] = (Exception,)
    own = classify(RetryError("again", 5), attempt(), no_retry=everything)
    listed = classify(Says(True), attempt(), no_retry=(Says,))
    assert isinstance(own, Failed) and own.retryable and own.delay == 5.0
    assert isinstance(listed, Failed) and not listed.retryable


def test_a_cycle_of_causes_ends() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    outcome = decided(first)
    assert outcome.retryable
    assert outcome.error.message == "first"


def test_a_property_that_raises_says_nothing() -> None:
    class Hostile(Exception):
        @property
        def retryable(self) -> bool:
            raise SystemExit("ha")

    assert decided(Hostile()).retryable


@pytest.mark.parametrize(
    ("delay", "seconds"), [(0, 0.0), (2.5, 2.5), (timedelta(minutes=1), 60.0), (10**9, 1e9)]
)
def test_delays_are_seconds_or_timedeltas(delay: float | timedelta, seconds: float) -> None:
    assert classify(Snooze(delay), attempt()) == Snoozed(seconds)
    assert decided(RetryError("again", delay)).delay == seconds


@pytest.mark.parametrize(
    "delay",
    [
        -1,
        -0.001,
        float("nan"),
        float("inf"),
        float("-inf"),
        10**400,
        timedelta(seconds=-1),
        timedelta.max,
        True,
        "5",
        1e12,
    ],
    ids=repr,
)
def test_a_delay_that_is_none_makes_an_ordinary_failure_that_says_so(delay: object) -> None:
    for error in (Snooze(delay), RetryError("again", delay)):  # type: ignore[arg-type]
        outcome = decided(error)
        assert (outcome.retryable, outcome.delay) == (True, None)
        assert outcome.error.message.startswith("a delay is ")
        assert outcome.error.attempts == 3


@pytest.mark.parametrize(("choice", "retryable"), [("fail", False), ("retry", True)])
def test_a_childs_failure_is_its_parents_by_policy(choice: str, retryable: bool) -> None:
    child = ErrorInfo(type="E", message="m")
    error = ActivityDeadLettered("the child", id=new_id(), error=child)
    outcome = decided(error, policy=Policy(on_child_failure=choice))  # type: ignore[arg-type]
    assert (outcome.retryable, outcome.error.kind) == (retryable, ErrorKind.CHILD)


def test_a_childs_cancellation_is_never_retried() -> None:
    outcome = decided(ActivityCancelled("the child", id=new_id()))
    assert (outcome.retryable, outcome.error.kind) == (False, ErrorKind.CHILD)


@pytest.mark.parametrize(("choice", "retryable"), [("fail", False), ("retry", True)])
def test_several_children_that_fail_in_one_task_group_count_as_a_child(
    choice: str, retryable: bool
) -> None:
    """design 2.1."""
    info = ErrorInfo(type="E", message="m")
    children = [ActivityFailed("the child", id=new_id(), error=info) for _ in range(150)]
    group = ExceptionGroup("outer", [*children, ExceptionGroup("inner", children[:2])])
    outcome = decided(group, policy=Policy(on_child_failure=choice))  # type: ignore[arg-type]
    assert (outcome.retryable, outcome.error.kind) == (retryable, ErrorKind.CHILD)

    cancelled = ActivityCancelled("the child", id=new_id())
    group = ExceptionGroup("group", [*children, cancelled])
    outcome = decided(group, policy=Policy(on_child_failure=choice))  # type: ignore[arg-type]
    assert (outcome.retryable, outcome.error.kind) == (False, ErrorKind.CHILD)


def test_a_child_that_fails_beside_another_error_is_no_childs_failure() -> None:
    child = ActivityFailed("the child", id=new_id(), error=ErrorInfo(type="E", message="m"))
    outcome = decided(ExceptionGroup("group", [child, ExceptionGroup("g", [ValueError()])]))
    assert (outcome.retryable, outcome.error.kind) == (True, ErrorKind.ERROR)


def test_what_is_recorded_is_name_message_traceback_and_attempt() -> None:
    info = describe(raised(Says(True)), attempt(), kind=ErrorKind.ERROR)
    assert info.type == f"{__name__}.Says"
    assert (info.message, info.attempts) == ("says", 3)
    assert info.traceback.startswith("Traceback")
    assert "raise error" in info.traceback
    assert describe(ValueError("v"), attempt(), kind=ErrorKind.ERROR).type == "ValueError"


def test_a_group_with_one_member_goes_by_its_name_and_shows_the_whole() -> None:
    group = raised(ExceptionGroup("several", [ExceptionGroup("one", [KeyError("inner")])]))
    info = describe(group, attempt(), kind=ErrorKind.ERROR)
    assert (info.type, info.message) == ("KeyError", "'inner'")
    assert "several" in info.traceback
    both = ExceptionGroup("both", [KeyError(), ValueError()])
    assert sole(both) is both
    assert describe(both, attempt(), kind=ErrorKind.ERROR).type == "ExceptionGroup"


def test_local_variables_are_not_recorded() -> None:
    def leaky(password: str) -> None:
        raise ValueError(len(password))

    try:
        leaky("".join(["hunt", "er2"]))
    except ValueError as error:
        info = describe(error, attempt(), kind=ErrorKind.ERROR)
    assert "hunter2" not in info.traceback


def test_long_texts_are_cut_the_traceback_in_its_middle() -> None:
    def deep(left: int) -> None:
        if left == 0:
            raise ValueError("x" * 100_000 + "the end")
        (shallow if left % 2 else deep)(left - 1)

    def shallow(left: int) -> None:
        deep(left - 1) if left else deep(0)

    try:
        deep(300)
    except ValueError as error:
        info = describe(error, attempt(), kind=ErrorKind.ERROR)
    assert len(info.message) == failure.LONGEST_MESSAGE
    assert info.message.endswith("…")
    assert len(info.traceback) <= failure.LONGEST_TRACEBACK
    assert info.traceback.startswith("Traceback")
    assert info.traceback.rstrip().endswith("the end")
    assert "\n  …\n" in info.traceback


class Unspeakable(Exception):
    """Its text cannot be made."""

    def __str__(self) -> str:
        raise KeyboardInterrupt


class Surrogate(Exception):
    """Its text cannot be stored as it is."""

    def __str__(self) -> str:
        return "a\0b\ud800c\N{PILE OF POO}"


def endless(depth: int) -> int:
    """Recurses until it cannot."""
    return endless(depth + 1)


def recursion() -> BaseException:
    """A RecursionError with its traceback."""
    try:
        endless(0)
    except RecursionError as error:
        return error
    raise AssertionError


def nested(depth: int) -> BaseException:
    """Groups in groups."""
    error: Exception = ValueError("innermost")
    for _ in range(depth):
        error = ExceptionGroup("g", [error, ValueError("other")])
    return error


def chain(length: int) -> BaseException:
    """A long chain of causes."""
    error = ValueError("first")
    for number in range(length):
        error = caused(ValueError(str(number)), error)  # type: ignore[assignment]
    return error


STRANGE = [
    Unspeakable(),
    Surrogate(),
    recursion(),
    nested(300),
    chain(5000),
    ExceptionGroup("many", [ValueError(str(number)) for number in range(5000)]),
    type("Nameless", (Exception,), {"__module__": None})("x"),
    type("Long" * 500, (Exception,), {})("x"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    SyntaxError("bad", ("file\0.py", 1, 1, "x\ud800", 1, 2)),
]


@pytest.mark.parametrize("error", STRANGE, ids=lambda error: type(error).__name__[:20].encode())
def test_the_strangest_exception_still_becomes_a_storable_failure(error: BaseException) -> None:
    outcome = decided(error)
    text = json.encode(outcome.error).decode()
    assert "\\u0000" not in text
    assert len(outcome.error.type) <= failure.LONGEST_TYPE
    assert len(outcome.error.message) <= failure.LONGEST_MESSAGE
    assert len(outcome.error.traceback) <= failure.LONGEST_TRACEBACK


def test_what_no_store_keeps_is_replaced() -> None:
    info = describe(Surrogate(), attempt(), kind=ErrorKind.ERROR)
    assert info.message == "a\ufffdb\ufffdc\N{PILE OF POO}"
    unspeakable = describe(Unspeakable(), attempt(), kind=ErrorKind.ERROR)
    assert "could not be made: KeyboardInterrupt" in unspeakable.message


def test_a_traceback_that_cannot_be_made_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> object:
        raise MemoryError

    monkeypatch.setattr(failure, "TracebackException", refuse)
    info = describe(ValueError("v"), attempt(), kind=ErrorKind.ERROR)
    assert info.traceback == "<its traceback could not be made: MemoryError>"


def test_a_timeout_says_how_long_it_was() -> None:
    info = timeout_error(attempt(), None)
    assert (info.kind, info.traceback) == (ErrorKind.TIMEOUT, "")
    assert info.message == "it ran longer than its timeout of 1.5 s"


def test_an_outcome_the_store_refused_says_what_it_said() -> None:
    outcome = unstorable(attempt(), ValueError("too big"))
    assert not outcome.retryable
    assert outcome.error.kind is ErrorKind.RESULT
    assert outcome.error.message == "result cannot be stored: too big"
