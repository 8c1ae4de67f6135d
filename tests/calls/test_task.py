"""What a decorated function is and what its calls store."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from taskq import (
    ActivityFuture,
    AsyncTask,
    ConfigurationError,
    IdempotencyConflict,
    OnDuplicate,
    Priority,
    RetryPolicy,
    SerializationError,
    Status,
    SyncTask,
    TaskQ,
)
from taskq.options import CallArguments


def stored(future: ActivityFuture[object]) -> dict[str, object]:
    payload: dict[str, object] = json.loads(future.info().payload)
    return payload


async def test_a_plain_call_runs_the_function_here(taskq: TaskQ) -> None:
    """seed:E30"""

    @taskq.activity
    async def double(n: int) -> int:
        return n * 2

    @taskq.activity
    def triple(n: int) -> int:
        return n * 3

    assert isinstance(double, AsyncTask)
    assert isinstance(triple, SyncTask)
    assert (await double(2), triple(2)) == (4, 6)
    assert sum(taskq.stats().by_status.values()) == 0


def test_a_task_keeps_the_functions_name_and_docstring(taskq: TaskQ) -> None:
    @taskq.activity
    async def send() -> None:
        """Sends."""

    assert (send.__name__, send.__doc__, send.name) == ("send", "Sends.", "send")


def test_delay_stores_named_arguments_with_defaults_filled(taskq: TaskQ) -> None:
    """seed:Q1"""

    @taskq.activity
    async def send_email(to: str, subject: str = "Welcome") -> None: ...

    future = send_email.delay("ada@example.com")
    assert stored(future) == {"to": "ada@example.com", "subject": "Welcome"}
    info = future.info()
    assert (info.status, info.type, info.queue) == (Status.PENDING, "send_email", "default")
    assert (info.priority, info.max_retries, info.timeout) == (Priority.NORMAL, 3, 300.0)


async def test_adelay_stores_the_same(taskq: TaskQ) -> None:
    @taskq.activity
    async def send_email(to: str) -> None: ...

    future = await send_email.adelay(to="ada@example.com")
    assert (await future.ainfo()).status is Status.PENDING


def test_a_wrong_call_is_a_type_error_with_the_signature_and_stores_nothing(taskq: TaskQ) -> None:
    """seed:Q1"""

    @taskq.activity
    async def send_email(to: str, subject: str = "Welcome") -> None: ...

    with pytest.raises(TypeError, match=r"send_email\(to: str, subject: str = 'Welcome'\)"):
        send_email.delay()  # type: ignore[call-arg]
    assert sum(taskq.stats().by_status.values()) == 0


def test_a_value_that_cannot_be_stored_is_named_by_its_path_and_stores_nothing(
    taskq: TaskQ,
) -> None:
    @taskq.activity
    async def order(items: list[dict[str, float]]) -> None: ...

    with pytest.raises(SerializationError, match=r"items\[1\]\.price") as caught:
        order.delay([{"price": 1.0}, {"price": float("nan")}])
    assert caught.value.path == "items[1].price"
    assert sum(taskq.stats().by_status.values()) == 0


@pytest.mark.parametrize("when", [timedelta(hours=1), 3600, 3600.0])
def test_schedule_takes_a_timedelta_or_seconds(taskq: TaskQ, when: timedelta | float) -> None:
    """seed:Q7"""

    @taskq.activity
    async def later() -> None: ...

    info = later.schedule(when).info()
    assert info.status is Status.SCHEDULED
    assert timedelta(minutes=59) < info.ready_at - info.created_at <= timedelta(hours=1)


def test_schedule_takes_an_aware_datetime_of_any_zone(taskq: TaskQ) -> None:
    """bug:B43"""

    @taskq.activity
    async def later() -> None: ...

    when = datetime(2035, 6, 1, 12, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    assert later.schedule(when).info().ready_at == when
    assert later.options(run_at=when).delay().info().ready_at == when


def test_a_time_in_the_past_is_pending_at_once(taskq: TaskQ) -> None:
    @taskq.activity
    async def later() -> None: ...

    assert later.schedule(datetime(2001, 1, 1, tzinfo=UTC)).info().status is Status.PENDING


@pytest.mark.parametrize(
    ("when", "words"),
    [
        (datetime(2035, 1, 1), "no time zone"),
        (timedelta(seconds=-1), "at least 0"),
        (-0.5, "at least 0"),
        (float("nan"), "finite"),
        (float("inf"), "finite"),
        (1e300, "9998"),
        (timedelta.max, "9998"),
        (datetime(9999, 12, 31, 23, 59, tzinfo=UTC), "1970 to 9998"),
        (datetime(1969, 12, 31, tzinfo=UTC), "1970 to 9998"),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))), "1970 to 9998"),
        (True, "timedelta or seconds, or at an aware datetime, not True"),
        ("soon", r"schedule\(\): it is due after .* or at an aware datetime, not 'soon'"),
    ],
)
def test_a_time_that_makes_no_sense_is_refused(taskq: TaskQ, when: object, words: str) -> None:
    @taskq.activity
    async def later() -> None: ...

    with pytest.raises(ValueError, match=words):
        later.schedule(when)  # type: ignore[arg-type]
    assert sum(taskq.stats().by_status.values()) == 0


def test_build_stores_nothing_until_it_is_enqueued(taskq: TaskQ) -> None:
    @taskq.activity
    async def send(to: str) -> None: ...

    built = [send.build(to=str(number)) for number in range(3)]
    assert sum(taskq.stats().by_status.values()) == 0
    futures = taskq.enqueue(built)
    assert [future.id for future in futures] == [activity.id for activity in built]
    assert [stored(future)["to"] for future in futures] == ["0", "1", "2"]


def test_enqueueing_one_activity_twice_stores_it_once(taskq: TaskQ) -> None:
    @taskq.activity
    async def send() -> None: ...

    built = send.build()
    taskq.enqueue([built])
    taskq.enqueue([built])
    assert sum(taskq.stats().by_status.values()) == 1


async def test_aenqueue_is_the_same_without_blocking(taskq: TaskQ) -> None:
    @taskq.activity
    async def send(to: str) -> None: ...

    futures = await taskq.aenqueue([send.build("a"), send.build("b")])
    assert len(futures) == 2
    assert await taskq.aenqueue([]) == []


def test_a_batch_with_a_conflict_stores_nothing(taskq: TaskQ) -> None:
    @taskq.activity
    async def send(to: str) -> None: ...

    keyed = send.options(idempotency_key="k", on_duplicate=OnDuplicate.NO_REUSE)
    keyed.delay("a")
    with pytest.raises(IdempotencyConflict):
        taskq.enqueue([send.build("b"), keyed.build("a")])
    assert sum(taskq.stats().by_status.values()) == 1


def test_the_same_key_gives_the_same_future(taskq: TaskQ) -> None:
    """promise:G3, seed:Q8"""

    @taskq.activity
    async def send(to: str) -> None: ...

    keyed = send.options(idempotency_key="order-42")
    assert keyed.delay("a").id == keyed.delay("a").id
    with pytest.raises(IdempotencyConflict, match="other arguments"):
        keyed.delay("b")
    assert keyed.options(on_mismatch="ignore").delay("b").id == keyed.delay("a").id


def test_kodus_metadata_is_stored_beside_free_metadata(taskq: TaskQ) -> None:
    """seed:Q9, seed:Q17, D29, D30"""

    @taskq.activity
    async def send() -> None: ...

    info = (
        send.options(
            source="web",
            correlation_id="not-a-uuid",
            user_id="42",
            tags={"region": "eu"},
            metadata={"a": [1, {"b": None}]},
        )
        .delay()
        .info()
    )
    assert (info.source, info.correlation_id, info.user_id) == ("web", "not-a-uuid", "42")
    assert (info.tags, info.metadata) == ({"region": "eu"}, {"a": [1, {"b": None}]})


def test_a_call_beats_the_decorator_beats_the_queue_beats_the_app() -> None:
    """seed:Q2"""

    taskq = TaskQ("memory://", max_retries=1, timeout=10.0, retry=RetryPolicy(max_delay=7))
    taskq.queue("mail", priority=Priority.LOW, max_retries=2, timeout=20)

    @taskq.activity(queue="mail", max_retries=3)
    async def send() -> None: ...

    @taskq.activity
    async def plain() -> None: ...

    from_queue = send.delay().info()
    assert (from_queue.priority, from_queue.max_retries, from_queue.timeout) == (1, 3, 20.0)
    called = send.options(max_retries=4, priority=Priority.CRITICAL).delay().info()
    assert (called.priority, called.max_retries) == (4, 4)
    elsewhere = send.options(queue="other").delay().info()
    assert (elsewhere.queue, elsewhere.priority, elsewhere.timeout) == ("other", 2, 10.0)
    assert plain.build().max_retries == 1
    assert plain.build().policy.retry.max_delay == 7
    assert plain.options(max_retry_delay=timedelta(seconds=5)).build().policy.retry.max_delay == 5


def test_max_attempts_is_one_more_than_max_retries(taskq: TaskQ) -> None:
    """D1, seed:Q3"""

    @taskq.activity(max_attempts=3)
    async def send() -> None: ...

    assert send.build().max_retries == 2
    assert send.options(max_attempts=1).build().max_retries == 0
    assert send.options(max_retries=None).build().max_retries is None


@pytest.mark.parametrize(
    "options",
    [
        {"max_retries": 1, "max_attempts": 2},
        {"max_retries": -1},
        {"max_attempts": 0},
        {"max_crashes": 0},
        {"timeout": 0},
        {"timeout": float("inf")},
        {"priority": 77},
        {"queue": "no spaces"},
        {"retry": {"initial_delay": 1}},
        {"on_child_failure": "ignore"},
        {"retry_on_timeout": 1},
    ],
)
def test_a_bad_option_is_named_where_it_is_written(
    taskq: TaskQ, options: dict[str, object]
) -> None:
    """seed:Q6"""

    with pytest.raises(ConfigurationError, match="send") as caught:

        @taskq.activity(**options)  # type: ignore[call-overload, misc]
        async def send() -> None: ...

    assert any(name in str(caught.value) for name in options)


@pytest.mark.parametrize("name", ["", "no spaces", "1st", "a" * 101, "naïve", 3])
def test_a_bad_task_name_is_refused(taskq: TaskQ, name: str) -> None:
    with pytest.raises(ConfigurationError, match="task name"):

        @taskq.activity(name=name)
        async def send() -> None: ...


@pytest.mark.parametrize("name", ["user.registration", "email-notification", "snake_case", "a:b"])
def test_names_may_be_dotted_dashed_or_snake(taskq: TaskQ, name: str) -> None:
    """seed:E23"""

    @taskq.activity(name=name)
    async def send() -> None: ...

    assert send.build().type == name


def test_a_taken_name_names_both_places(taskq: TaskQ) -> None:
    """seed:E17 was silent"""

    @taskq.activity
    async def send() -> None: ...

    with pytest.raises(ConfigurationError, match=r"test_task.*test_task"):

        @taskq.activity(name="other", aliases=["send"])
        async def another() -> None: ...


@pytest.mark.parametrize("option", ["run_in"])
def test_an_option_whose_machinery_is_not_there_is_not_accepted(taskq: TaskQ, option: str) -> None:
    @taskq.activity
    async def send() -> None: ...

    assert option not in CallArguments.__annotations__
    with pytest.raises(TypeError, match=option):
        send.options(**{option: 1})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"idempotency_key": ""}, "idempotency_key"),
        ({"idempotency_key": "a\0b"}, "NUL"),
        ({"idempotency_key": "\ud800"}, "surrogate"),
        ({"correlation_id": 3}, "correlation_id"),
        ({"tags": {"a": 1}}, "tags"),
        ({"tags": ["a"]}, "tags"),
        ({"metadata": 3}, "metadata"),
        ({"on_duplicate": "maybe"}, "on_duplicate"),
        ({"on_mismatch": "maybe"}, "on_mismatch"),
        ({"unique_for": 60}, "idempotency_key"),
        ({"unique_for": 0, "idempotency_key": "a"}, "unique_for"),
        ({"unique_for": "1h", "idempotency_key": "a"}, "unique_for"),
        ({"run_at": datetime(2035, 1, 1, tzinfo=UTC), "delay": 1}, "exclude"),
    ],
)
def test_a_bad_call_option_is_a_value_error_that_names_it(
    taskq: TaskQ, options: dict[str, object], words: str
) -> None:
    @taskq.activity
    async def send() -> None: ...

    with pytest.raises(ValueError, match=words):
        send.options(**options)  # type: ignore[arg-type]


def test_metadata_that_cannot_be_stored_is_refused_at_the_call(taskq: TaskQ) -> None:
    @taskq.activity
    async def send() -> None: ...

    with pytest.raises(SerializationError):
        send.options(metadata={"a": float("nan")}).delay()


def test_a_very_long_idempotency_key_works(taskq: TaskQ) -> None:
    """reliability F5: only a hash is indexed"""

    @taskq.activity
    async def send() -> None: ...

    keyed = send.options(idempotency_key="k" * 1_000_000)
    assert keyed.delay().id == keyed.delay().id
    assert len(keyed.delay().info().idempotency_key or "") == 200


def test_a_future_can_be_made_from_an_id_elsewhere(taskq: TaskQ) -> None:
    @taskq.activity
    async def send() -> None: ...

    future = send.delay()
    assert send.future(str(future.id)).info().id == future.id
    assert taskq.future(future.id).info().type == "send"
    for of in (send, taskq):
        with pytest.raises(ValueError, match="id is a UUID, and 'nonsense' is none"):
            of.future("nonsense")


def test_ids_grow_with_time(taskq: TaskQ) -> None:
    """seed:Q13"""

    @taskq.activity
    async def send() -> None: ...

    ids: list[UUID] = [send.build().id for _ in range(100)]
    assert ids == sorted(ids)


@pytest.mark.parametrize(
    "options",
    [
        {"aliases": "old"},
        {"no_retry": [3]},
        {"on_failure": 3},
        {"max_retries": 10**10},
    ],
)
def test_a_decorator_option_that_makes_no_sense_is_refused(
    taskq: TaskQ, options: dict[str, object]
) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):

        @taskq.activity(**options)  # type: ignore[call-overload, misc]
        async def send() -> None: ...


def test_one_exception_type_is_enough_for_no_retry(taskq: TaskQ) -> None:
    @taskq.activity(no_retry=ValueError)  # type: ignore[call-overload, misc]
    async def send() -> None: ...

    assert send.definition.no_retry == (ValueError,)


def test_generators_and_methods_are_no_tasks(taskq: TaskQ) -> None:
    def generator() -> Iterator[int]:
        yield 1

    async def async_generator() -> AsyncIterator[int]:
        yield 1

    class Service:
        def method(self, n: int) -> None: ...

    for function in (generator, async_generator):
        with pytest.raises(ConfigurationError, match="generator"):
            taskq.activity(function)
    with pytest.raises(ConfigurationError, match="method"):
        taskq.activity(Service.method)


@pytest.mark.parametrize("given", [["x"], [("send", 1)], "send", 3])
def test_enqueue_takes_what_build_made(taskq: TaskQ, given: object) -> None:
    with pytest.raises(TypeError, match=r"task\.build"):
        taskq.enqueue(given)  # type: ignore[arg-type]


def test_texts_of_a_call_have_a_bound(taskq: TaskQ) -> None:
    @taskq.activity
    async def send() -> None: ...

    with pytest.raises(ValueError, match="correlation_id"):
        send.options(correlation_id="x" * 1001)
    with pytest.raises(ConfigurationError, match="as_root"):
        send.options(as_root="no")  # type: ignore[arg-type]


def test_bad_metadata_is_named_by_its_path(taskq: TaskQ) -> None:
    @taskq.activity
    async def send() -> None: ...

    with pytest.raises(SerializationError, match="metadata: a"):
        send.options(metadata={"a": float("nan")}).build()
