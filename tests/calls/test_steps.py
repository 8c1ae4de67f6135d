"""step= and orphans= at the call-site (design 7.10)."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import anyio
import pytest
from sqlalchemy import create_engine

from taskq import (
    ActivityFailed,
    IdempotencyConflict,
    NonRetryError,
    OnDuplicate,
    RetryError,
    RetryPolicy,
    Snooze,
    Status,
    TaskQ,
    current,
)
from taskq.errors import ConfigurationError

SOON = RetryPolicy(initial_delay=0.01)


async def test_a_parent_that_runs_again_finds_the_step_that_it_made(app: TaskQ) -> None:
    """Sync or async: the child has run once, and its result comes again."""
    charged: list[UUID] = []

    @app.activity
    async def charge(cents: int) -> int:
        charged.append(current().id)
        return cents

    @app.activity(retry=SOON)
    async def order() -> int:
        cents = await (await charge.options(step="charge").adelay(100))
        if current().retry_count == 0:
            raise RetryError("once more", delay=0.01)
        return cents

    @app.activity(retry=SOON)
    def sync_order() -> int:
        cents = charge.options(step="charge").delay(200).result(timeout=10)
        if current().retry_count == 0:
            raise RetryError("once more", delay=0.01)
        return cents

    async with app.worker():
        assert await (await order.adelay()) == 100
        assert await (await sync_order.adelay()) == 200
    assert len(charged) == 2
    info = await charge.future(charged[0]).ainfo()
    assert (info.step, info.idempotency_key) == ("charge", None)


async def test_a_failed_step_is_made_anew_when_the_handler_is_retried(app: TaskQ) -> None:
    made: list[UUID] = []

    @app.activity
    async def flaky(attempt: int) -> str:
        if attempt == 1:
            raise NonRetryError("not today")
        return "fine"

    @app.activity(retry=SOON, on_child_failure="retry")
    async def parent() -> str:
        step = flaky.options(step="flaky", on_mismatch="ignore")
        future = await step.adelay(current().attempt)
        made.append(future.id)
        return await future

    async with app.worker():
        assert await (await parent.adelay()) == "fine"
    assert len(set(made)) == 2


async def test_a_failed_step_is_found_again_within_one_run(app: TaskQ) -> None:
    @app.activity
    async def broken() -> None:
        raise NonRetryError("no")

    @app.activity
    async def parent() -> bool:
        futures = []
        for _ in range(2):
            futures.append(await broken.options(step="broken").adelay())
            with pytest.raises(ActivityFailed):
                await futures[-1]
        return futures[0].id == futures[1].id

    async with app.worker():
        assert await (await parent.adelay())


async def test_a_step_of_a_batch_and_of_a_build_is_found_too(app: TaskQ) -> None:
    runs: list[int] = []

    @app.activity
    async def work(number: int) -> int:
        runs.append(number)
        return number

    @app.activity(retry=SOON)
    async def parent() -> list[int]:
        steps = [work.options(step=f"work {number}").build(number) for number in range(3)]
        futures = await app.aenqueue(steps)
        results = [await future for future in futures]
        if current().retry_count == 0:
            raise RetryError("again", delay=0.01)
        return results

    async with app.worker():
        assert await (await parent.adelay()) == [0, 1, 2]
    assert sorted(runs) == [0, 1, 2]


async def test_other_arguments_are_a_conflict_that_names_step_and_parent(app: TaskQ) -> None:
    @app.activity
    async def work(number: int) -> int:
        return number

    @app.activity
    async def parent() -> str:
        step = work.options(step="work")
        await step.adelay(1)
        with pytest.raises(IdempotencyConflict) as caught:
            await step.adelay(2)
        return str(caught.value)

    async with app.worker():
        future = await parent.adelay()
        message = await future
    assert f"the step 'work' of activity {future.id} was used with other arguments" in message


async def test_a_snoozed_parent_finds_its_steps_and_loses_its_other_children(app: TaskQ) -> None:
    made: dict[str, UUID] = {}

    @app.activity
    async def later() -> None: ...

    @app.activity
    async def parent() -> None:
        if made:
            return
        made["step"] = (await later.options(step="s", delay=3600).adelay()).id
        made["orphan"] = (await later.options(delay=3600).adelay()).id
        made["root"] = (await later.options(delay=3600, as_root=True).adelay()).id
        raise Snooze(0.01)

    async with app.worker():
        await (await parent.adelay())
    states = {name: (await later.future(id).ainfo()).status for name, id in made.items()}
    assert states == {
        "step": Status.SCHEDULED,
        "orphan": Status.CANCELLED,
        "root": Status.SCHEDULED,
    }


async def test_a_parent_that_runs_again_awaits_its_child_with_a_key(app: TaskQ) -> None:
    """It lives, and is not cancelled under the parent that is to find it."""
    made: list[UUID] = []
    gate = anyio.Event()

    @app.activity
    async def charge() -> str:
        await gate.wait()
        return "charged"

    @app.activity(retry=SOON)
    async def parent() -> str:
        future = await charge.options(idempotency_key="order-42").adelay()
        made.append(future.id)
        if len(made) == 1:
            raise RetryError("once more", delay=0.01)
        gate.set()
        return await future

    async with app.worker():
        assert await (await parent.adelay()) == "charged"
    assert len(made) == 2
    assert len(set(made)) == 1


async def test_orphans_that_are_kept_are_kept(app: TaskQ) -> None:
    made: list[UUID] = []

    @app.activity
    async def later() -> None: ...

    @app.activity(orphans="keep")
    async def parent() -> None:
        if not made:
            made.append((await later.options(delay=3600).adelay()).id)
            raise Snooze(0.01)

    async with app.worker():
        await (await parent.adelay())
    assert (await later.future(made[0]).ainfo()).status is Status.SCHEDULED


async def test_a_step_in_a_transaction_of_the_callers_is_a_step(tmp_path: Path) -> None:
    """seed:E32 holds there as well: the child, its step and its uniqueness."""
    path = f"{tmp_path}/app.db"
    app = TaskQ(f"sqlite:///{path}", poll_interval=0.05)
    engine = create_engine(f"sqlite:///{path}")
    made: list[UUID] = []

    @app.activity
    async def work() -> None: ...

    @app.activity(retry=SOON)
    def parent() -> None:
        with engine.begin() as connection:
            made.append(work.options(step="work", connection=connection).delay().id)
        if len(made) == 1:
            raise RetryError("again", delay=0.01)

    async with app.worker():
        future = await parent.adelay()
        await future
    info = await work.future(made[0]).ainfo()
    assert made[0] == made[1]
    assert (info.step, info.parent_id) == ("work", future.id)
    engine.dispose()
    await app.aclose()


def test_a_step_outside_of_a_handler_is_refused(taskq: TaskQ) -> None:
    @taskq.activity
    async def work() -> None: ...

    with pytest.raises(ValueError, match="names a child of the running handler"):
        work.options(step="one").delay()
    with pytest.raises(ValueError, match="names a child of the running handler"):
        work.options(step="one").build()


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ({"as_root": True}, "a root has no parent"),
        ({"idempotency_key": "k"}, "a step is the key of its parent"),
        ({"on_duplicate": OnDuplicate.NO_REUSE}, "depends on how its step ended"),
    ],
)
def test_what_excludes_a_step_is_said_in_one_sentence(
    taskq: TaskQ, others: dict[str, object], why: str
) -> None:
    @taskq.activity
    async def work() -> None: ...

    with pytest.raises(ValueError, match=why):
        work.options(step="one", **others)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=why):
        work.options(**others).options(step="one")  # type: ignore[arg-type]


@pytest.mark.parametrize("step", ["", "a\0b", "\ud800", "x" * 1001, 3])
def test_a_step_is_a_text_that_every_store_keeps(taskq: TaskQ, step: object) -> None:
    @taskq.activity
    async def work() -> None: ...

    with pytest.raises(ValueError, match="step"):
        work.options(step=step)  # type: ignore[arg-type]


def test_orphans_is_one_of_two_words(taskq: TaskQ) -> None:
    with pytest.raises(ConfigurationError, match='orphans must be "cancel" or "keep"'):

        @taskq.activity(orphans="drop")  # type: ignore[call-overload]
        async def work() -> None: ...
