"""Three workers, one queue: each claims only the types it is there for.

A worker never claims what it does not run, so a flood of e-mail cannot delay a trade. Usually each
is a process of its own, ``taskq worker workload_isolation:taskq --types execute_trade`` for one;
here they share a program. A type that no worker serves waits in the queue, and ``taskq status``
says so.
"""

from collections import Counter
from uuid import UUID

import anyio

from taskq import TaskQ, current

taskq = TaskQ()
done = Counter[tuple[UUID, str]]()


async def work() -> None:
    await anyio.sleep(0.05)
    done[current().worker, current().type] += 1


@taskq.activity
async def send_email(to: str) -> None:
    await work()


@taskq.activity
async def send_sms(to: str) -> None:
    await work()


@taskq.activity
async def execute_trade(order: int) -> None:
    await work()


@taskq.activity
async def write_report(month: int) -> None:
    await work()


async def main() -> None:
    async with (
        taskq,
        taskq.worker(name="email", types=["send_email", "send_sms"], concurrency=2) as email,
        taskq.worker(name="trade", types=["execute_trade"], concurrency=2) as trade,
        taskq.worker(name="catch-all", concurrency=2) as rest,  # every type of this app
    ):
        futures = await taskq.aenqueue(
            [
                call
                for n in range(3)
                for call in (
                    send_email.build(f"{n}@example.com"),
                    send_sms.build(f"+1 555 {n}"),
                    execute_trade.build(n),
                    write_report.build(n),
                )
            ]
        )
        for future in futures:
            await future

    names = {email.id: "email", trade.id: "trade", rest.id: "catch-all"}
    for (worker, type), count in sorted(done.items(), key=lambda item: names[item[0][0]]):
        print(f"{names[worker]:9}  {type:13}  {count}")
    print(f"{done.total()} activities")


if __name__ == "__main__":
    anyio.run(main)
