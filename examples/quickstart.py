"""A durable call, end to end: decorate a function, call it, await the result.

Run it: ``python examples/quickstart.py``. Worker and caller share one program here; usually the
worker is a process of its own, ``taskq worker quickstart:taskq``, and nothing else changes.
"""

import anyio

from taskq import ActivityFailed, NonRetryError, TaskQ

taskq = TaskQ()  # TASKQ_DATABASE_URL, else sqlite:///taskq.db in the current folder


@taskq.activity(timeout=30)
async def send_email(to: str, subject: str = "Welcome") -> str:
    if "@" not in to:
        raise NonRetryError(f"{to!r} is no address")
    return f"{subject!r} sent to {to}"


async def main() -> None:
    async with taskq, taskq.worker():
        future = await send_email.adelay(to="ada@example.com")  # stored and committed
        print(await future)

        many = await taskq.aenqueue([send_email.build(f"{n}@example.com") for n in range(3)])
        for future in many:
            print(await future)

        try:
            await (await send_email.adelay(to="nobody"))
        except ActivityFailed as failed:
            print(f"failed: {failed.error.message}")


if __name__ == "__main__":
    anyio.run(main)
