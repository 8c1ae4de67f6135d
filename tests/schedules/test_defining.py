"""Schedules as they are written down: what is refused, and what is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from taskq import ConfigurationError, InvalidState, Priority, TaskQ

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no times": ({}, "times are not given: give cron text or every"),
    "both": ({"cron": "@daily", "every": 5}, "cron text and every exclude each other"),
    "malformed": ({"cron": "1 2 3"}, "cron '1 2 3' cannot be read"),
    "out of range": ({"cron": "61 * * * *"}, "bad minute"),
    "never": ({"cron": "0 0 31 2 *"}, "cron '0 0 31 2 \\*'"),
    "never, as a day of week": ({"cron": "0 0 * 1 MON#6"}, "cron"),
    "unknown zone": ({"cron": "@daily", "tz": "Mars/Base"}, "'Mars/Base' is no time zone"),
    "zone that is a folder": ({"cron": "@daily", "tz": "America"}, "'America' is no time zone"),
    "zone outside": ({"cron": "@daily", "tz": "../etc"}, "is no time zone"),
    "zone of an interval": ({"every": 5, "tz": "UTC"}, "tz is for cron text"),
    "no interval": ({"every": 0}, "every must be at least 0.1 s"),
    "negative interval": ({"every": timedelta(-1)}, "every must be at least 0"),
    "interval without end": ({"every": float("inf")}, "every must be"),
    "interval that is none": ({"every": "5"}, "every must be a timedelta or seconds"),
    "negative jitter": ({"every": 5, "jitter": -1}, "jitter must be at least 0"),
    "catch_up": ({"every": 5, "catch_up": "some"}, "catch_up must be one of 'latest'"),
    "overlap": ({"every": 5, "overlap": "no"}, "overlap must be one of 'allow'"),
    "name": ({"every": 5, "name": ""}, "name has 1 to 120"),
    "arguments": ({"every": 5, "arguments": {"who": 1}}, "the arguments do not fit"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_makes_no_sense_is_refused_where_it_is_written(taskq: TaskQ, case: str) -> None:
    given, told = BAD[case]
    options = dict(given)
    cron = options.pop("cron", None)

    with pytest.raises(ConfigurationError, match=told):

        @taskq.periodic(cron, **options)
        async def report() -> None: ...


def test_unknown_keywords_are_type_errors(taskq: TaskQ) -> None:
    with pytest.raises(TypeError, match="'evry'"):
        cast("Any", taskq.periodic)(evry=5)


def test_a_schedule_goes_on_a_task_or_makes_one(taskq: TaskQ) -> None:
    @taskq.periodic("@daily", name="again")
    @taskq.periodic(every=timedelta(seconds=5))
    def plain() -> None: ...

    @taskq.periodic("@hourly", arguments={"to": "ada"})
    @taskq.activity(priority=Priority.HIGH, queue="mail")
    async def send(to: str) -> None: ...

    declared = {each.name: each for each in taskq.schedules.declared()}
    assert sorted(declared) == ["again", "plain", "send"]
    assert sorted(taskq.tasks) == ["plain", "send"]
    template = declared["send"].template
    assert (template.priority, template.queue) == (Priority.HIGH, "mail")
    assert template.payload == '{"to":"ada"}'


def test_defaults_of_a_queue_that_come_later_hold(taskq: TaskQ) -> None:
    @taskq.periodic("@daily")
    @taskq.activity(queue="mail")
    async def report() -> None: ...

    taskq.queue("mail", priority=Priority.LOW)

    [declared] = taskq.schedules.declared()
    assert declared.template.priority is Priority.LOW


def test_a_name_is_given_once(taskq: TaskQ) -> None:
    @taskq.periodic("@daily")
    async def report() -> None: ...

    with pytest.raises(ConfigurationError, match="there is a schedule 'report' already"):
        taskq.periodic("@hourly")(report)


def test_a_task_of_another_app_is_refused(taskq: TaskQ) -> None:
    other = TaskQ("memory://")

    @other.activity
    async def report() -> None: ...

    with pytest.raises(ConfigurationError, match="another app"):
        taskq.periodic("@hourly")(report)


INSTANT = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "options",
    [{"delay": 5}, {"idempotency_key": "k"}, {"expires": INSTANT}, {"deadline": INSTANT}],
    ids=["delay", "idempotency_key", "expires", "deadline"],
)
def test_what_is_for_a_single_call_is_refused(taskq: TaskQ, options: dict[str, Any]) -> None:
    """bug:B114: an option is kept or refused, never ignored"""

    @taskq.activity
    async def report() -> None: ...

    with pytest.raises(ConfigurationError, match=next(iter(options))):
        taskq.schedules.create("nightly", report.options(**options).build(), cron="@daily")


async def test_a_schedule_made_in_a_handler_has_nothing_of_it(taskq: TaskQ) -> None:
    """Its calls are made for ever, long after that handler's deadline."""

    refused: list[str] = []

    @taskq.activity(deadline=30, max_retries=0)
    async def make() -> None:
        await taskq.schedules.acreate("plain", report.build(), every=60)
        said = report.options(deadline=5, correlation_id="mine", user_id="me")
        await taskq.schedules.acreate("said", said.build(), every=60)
        late = report.options(deadline=INSTANT + timedelta(days=36500))
        try:
            await taskq.schedules.acreate("late", late.build(), every=60)
        except ConfigurationError as error:
            refused.append(str(error))

    @taskq.activity
    async def report() -> None: ...

    async with taskq.worker(concurrency=1):
        await (await make.options(correlation_id="its", user_id="ada").adelay())

    assert len(refused) == 1 and "deadline" in refused[0]
    plain, said = [each.schedule.template for each in await taskq.schedules.alist()]
    assert (plain.deadline_in, plain.correlation_id, plain.user_id) == (None, None, None)
    assert (said.deadline_in, said.correlation_id, said.user_id) == (5, "mine", "me")


async def test_a_schedule_lives_at_run_time(taskq: TaskQ) -> None:
    @taskq.activity
    async def report(region: str = "eu") -> None: ...

    schedules = taskq.schedules
    made = await schedules.acreate("nightly", report.build("us"), cron="0 3 * * *", tz="Asia/Tokyo")
    assert list(await schedules.alist()) == [made] == list(schedules.list())
    assert made.next_at is not None and made.next_at.hour == 18 and not made.declared
    with pytest.raises(InvalidState, match="already"):
        schedules.create("nightly", report.build(), every=5)

    edited = await schedules.aupdate("nightly", cron="0 4 * * *", jitter=timedelta(seconds=2))
    assert edited.schedule.timing.timezone == "Asia/Tokyo"
    assert (edited.schedule.jitter, edited.next_at and edited.next_at.hour) == (2000, 19)
    assert schedules.update("nightly", tz="UTC").schedule.timing.cron == "0 4 * * *"
    assert schedules.update("nightly", every=5).schedule.timing.every == 5000
    assert schedules.pause("nightly", reason="holiday").paused_at is not None
    assert (await schedules.aresume("nightly")).paused_at is None
    future = schedules.trigger("nightly", actor="ada")
    info = await future.ainfo()
    assert (info.type, info.source, info.metadata["trigger"]) == ("report", "cron", "manual")

    await schedules.adelete("nightly")

    for call in (schedules.get, schedules.pause, schedules.trigger, schedules.delete):
        with pytest.raises(InvalidState, match="no schedule 'nightly'"):
            call("nightly")
    entries = await taskq.client.call(taskq.client.store.audit)
    assert [entry.action.partition(".")[2] for entry in reversed(entries)] == [
        *("create", "edit", "edit", "edit", "pause", "resume", "trigger", "delete")
    ]
    assert {entry.reason for entry in entries} == {"", "holiday"}
