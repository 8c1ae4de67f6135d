"""``taskq.operator``: what is done from code."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from taskq import ActivityNotFound, InvalidState, NonRetryError, Priority, Status, TaskQ
from taskq.backends.memory import MemoryBackend
from taskq.editing import Edit
from taskq.errors import SerializationError
from taskq.identifiers import new_id
from taskq.model import DeadLetter, ErrorKind
from taskq.testing import drain

SOON = datetime(2100, 1, 1, tzinfo=UTC)


class Shop:
    """An app whose task fails for all but good addresses."""

    def __init__(self, **settings: Any) -> None:
        self.app = app = TaskQ(backend=MemoryBackend(), **settings)
        self.sent: list[str] = []
        self.hooked: list[str] = []

        @app.activity(
            max_retries=0,
            on_dead_letter=lambda dead: self.note("on_dead_letter", dead),
            on_failure=lambda dead: self.note("on_failure", dead),
        )
        async def send(to: str, copies: int = 1) -> None:
            if "@" not in to:
                raise ValueError(f"no address: {to!r}")
            self.sent.append(f"{to} x {copies}")

        self.send = send

    def note(self, hook: str, dead: DeadLetter) -> None:
        self.hooked.append(f"{hook} {dead.error.kind}")

    async def dead(self, to: str = "ada") -> UUID:
        future = await self.send.adelay(to=to)
        await drain(self.app)
        return future.id


async def test_dead_letters_are_retried_with_changed_arguments() -> None:
    """seed:R18"""
    shop = Shop()
    ids = [await shop.dead(name) for name in ("ada", "grace")]
    [cause] = await shop.app.operator.adead_letters("type:send")
    assert (cause.title, cause.count) == ("ValueError: no address: <text>", 2)

    before = await shop.app.operator.aretry(
        ids, edit=Edit(changes={"to": "a@example.com"}), actor="ada", reason="typo"
    )
    await drain(shop.app)

    assert before == dict.fromkeys(ids, Status.DEAD_LETTER)
    assert shop.sent == ["a@example.com x 1"] * 2
    [entry] = await shop.app.operator.aaudit()
    assert (entry.action, entry.actor, entry.reason) == ("retry", "ada", "typo")
    assert await shop.app.operator.adead_letters() == []


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (Edit(changes={"tu": "a@example.com"}), TypeError),
        (Edit(changes={"copies": "many"}), SerializationError),
        (Edit(arguments={}), TypeError),
    ],
)
async def test_arguments_that_do_not_fit_retry_nothing(edit: Edit, error: type[Exception]) -> None:
    shop = Shop()
    id = await shop.dead()

    with pytest.raises(error, match=str(id)):
        await shop.app.operator.aretry(id, edit=edit)

    assert (await shop.app.future(id).ainfo()).status is Status.DEAD_LETTER
    assert await shop.app.operator.aaudit() == []


async def test_all_arguments_can_be_given_anew_also_of_a_task_that_is_not_known_here() -> None:
    shop = Shop()
    id = await shop.dead()
    stranger = TaskQ(backend=shop.app.client.store)

    await stranger.operator.aretry(id, edit=Edit(arguments={"to": "b@example.com"}))

    assert json.loads((await shop.app.future(id).ainfo()).payload) == {"to": "b@example.com"}


Verb = Callable[[TaskQ, UUID], Awaitable[Any]]
VERBS: dict[str, tuple[Verb, str]] = {
    "retry": (lambda app, id: app.operator.aretry(id), "cannot be retried: it is completed"),
    "run_now": (lambda app, id: app.operator.arun_now(id), "cannot be run now: it is completed"),
    "reschedule": (
        lambda app, id: app.operator.areschedule(id, SOON),
        "cannot be rescheduled: it is completed",
    ),
    "set_priority": (
        lambda app, id: app.operator.aset_priority(id, 4),
        "cannot be given another priority: it is completed",
    ),
    "cancel": (lambda app, id: app.operator.acancel(id), "cannot be cancelled: it is completed"),
}


@pytest.mark.parametrize("name", VERBS)
async def test_one_in_the_wrong_state_raises_and_names_it(name: str) -> None:
    """seed:N16: InvalidState names the state that does not allow it."""
    shop = Shop()
    id = await shop.dead("a@example.com")
    verb, sentence = VERBS[name]

    with pytest.raises(InvalidState, match=sentence):
        await verb(shop.app, id)
    with pytest.raises(ActivityNotFound):
        await verb(shop.app, new_id())


async def test_of_several_the_wrong_ones_are_left_and_reported() -> None:
    shop = Shop()
    dead, done = await shop.dead(), await shop.dead("a@example.com")

    answer = await shop.app.operator.aretry([dead, str(done), new_id()])

    assert answer == {dead: Status.DEAD_LETTER, done: Status.COMPLETED}


async def test_a_command_with_an_id_can_be_repeated() -> None:
    """seed:N16"""
    shop = Shop()
    id, command = await shop.dead(), new_id()

    await shop.app.operator.aretry(id, command_id=command)
    await drain(shop.app)
    await shop.app.operator.aretry(id, command_id=command)

    assert (await shop.app.future(id).ainfo()).status is Status.DEAD_LETTER


async def test_what_lives_below_keeps_from_being_deleted() -> None:
    shop = Shop()
    pending = await shop.send.adelay(to="a")

    with pytest.raises(InvalidState, match="cannot be deleted: it is pending"):
        await shop.app.operator.adelete(pending.id)

    dead = await shop.dead()
    assert (await shop.app.operator.adelete(dead))[dead].deleted >= 1


def test_sync_code_has_the_same() -> None:
    shop = Shop()
    first, second = (shop.send.schedule(3600, to=name).id for name in ("a@b.c", "d@e.f"))
    operator = shop.app.operator

    operator.set_priority(first, Priority.HIGH)
    operator.reschedule(first, SOON)
    operator.run_now(first, reason="now")
    operator.cancel([second], reason="no")
    operator.retry(second, delay=60)

    info = shop.app.future(first).info()
    assert (info.status, info.priority) == (Status.PENDING, Priority.HIGH)
    assert shop.app.future(second).info().status is Status.SCHEDULED
    actions = [(entry.action, entry.actor) for entry in operator.audit()]
    names = ("retry", "cancel", "run_now", "reschedule", "set_priority")
    assert actions == [(name, "program") for name in names]
    assert operator.dead_letters() == []
    operator.cancel(second)
    assert operator.delete(second)[second].deleted == 1


@pytest.mark.parametrize("how", ["setting", "task"])
async def test_without_dead_letters_what_is_exhausted_ends_failed(how: str) -> None:
    """seed:E27"""
    shop = Shop(dead_letter_queue_enabled=how != "setting")
    task = shop.send if how == "setting" else shop.send.options(dead_letter=False)

    future = await task.adelay(to="ada")
    await drain(shop.app)

    info = await future.ainfo()
    assert info.status is Status.FAILED and info.error is not None
    assert info.error.kind is ErrorKind.RETRIES_EXHAUSTED
    assert shop.hooked == ["on_failure retries_exhausted"]


async def test_what_failed_for_good_is_no_exhausted_one() -> None:
    app = TaskQ(backend=MemoryBackend(), dead_letter_queue_enabled=False)

    @app.activity
    async def refuse() -> None:
        raise NonRetryError("no")

    future = await refuse.adelay()
    await drain(app)

    error = (await future.ainfo()).error
    assert error is not None and error.kind is ErrorKind.ERROR
