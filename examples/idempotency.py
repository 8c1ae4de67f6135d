"""One key, one activity, however often the call is made: webhooks, double clicks, lost replies.

A key belongs to a queue and an activity type, and outlives its activity's end. What a call with a
key that is taken gets is said by ``on_duplicate``.
"""

from uuid import uuid4

import anyio

from taskq import ActivityFailed, IdempotencyConflict, NonRetryError, OnDuplicate, TaskQ

taskq = TaskQ()


@taskq.activity
async def charge(order: str, cents: int) -> str:
    if cents <= 0:
        raise NonRetryError("nothing to charge")
    return f"charged {cents} cents"


async def main() -> None:
    async with taskq, taskq.worker():
        order = f"order-{uuid4()}"
        keyed = charge.options(idempotency_key=order)

        # RETURN_EXISTING, the default: fifty calls at once are one activity.
        ids = set[object]()

        async def call() -> None:
            ids.add((await keyed.adelay(order, 500)).id)

        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(call)
        print(f"50 calls, {len(ids)} activity")
        print(await (await keyed.adelay(order, 500)))  # it has ended; its result is still there

        # The same key with other arguments is a mistake, and said so.
        try:
            await keyed.adelay(order, 700)
        except IdempotencyConflict as conflict:
            print(f"conflict with the same activity: {conflict.existing in ids}")

        # NO_REUSE: whoever comes second is told.
        try:
            await keyed.options(on_duplicate=OnDuplicate.NO_REUSE).adelay(order, 500)
        except IdempotencyConflict:
            print("no reuse")

        # ALLOW_REUSE_ON_FAILURE: a new activity only where the earlier one did not make it.
        again = charge.options(
            idempotency_key=f"{order}-again", on_duplicate=OnDuplicate.ALLOW_REUSE_ON_FAILURE
        )
        first = await again.adelay(order, 0)
        try:
            await first
        except ActivityFailed as failed:
            print(f"failed: {failed.error.message}")
        second = await again.adelay(order, 300)
        print(f"{await second}, a new activity: {second.id != first.id}")


if __name__ == "__main__":
    anyio.run(main)
