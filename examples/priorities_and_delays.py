"""What runs first, and what runs later.

A higher priority is always claimed before a lower one; within a priority the one that has been
ready longest comes first. What is scheduled waits until it is due, and is not in the line before.
"""

from datetime import UTC, datetime, timedelta

import anyio

from taskq import Priority, TaskQ

taskq = TaskQ()


@taskq.activity
async def note(text: str) -> None:
    print(text)


async def main() -> None:
    async with taskq:
        # Stored while no worker runs, so that all of these compete.
        futures = [
            await note.options(priority=Priority.LOW).adelay("low"),
            await note.adelay("normal, stored first"),
            await note.adelay("normal, stored second"),
            await note.options(priority=Priority.HIGH).adelay("high"),
            await note.options(priority=Priority.CRITICAL).adelay("critical"),
        ]

        # A timedelta, seconds, or an aware datetime; to the microsecond, by the store's clock.
        in_a_moment = datetime.now(UTC) + timedelta(seconds=1.5)
        urgent = note.options(priority=Priority.CRITICAL)
        futures += [
            await urgent.aschedule(in_a_moment, "critical, but at its own time"),
            await note.aschedule(timedelta(seconds=0.75), "a little later"),
        ]
        print(f"{futures[-1].id} is {(await futures[-1].ainfo()).status}")

        async with taskq.worker(concurrency=1):  # one at a time, to see the order
            for future in futures:
                await future


if __name__ == "__main__":
    anyio.run(main)
