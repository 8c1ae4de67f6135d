"""How attempts end: retried, failed for good, or dead-lettered with a hook.

An ordinary exception is retried with exponential backoff until ``max_retries`` are used up; then
the activity is in ``dead_letter``, where it stays until an operator sends it round again
(``taskq retry ID``). A handler may look at ``current().retry_count`` and try something else.
"""

import anyio

from taskq import (
    ActivityDeadLettered,
    ActivityFailed,
    DeadLetter,
    NonRetryError,
    RetryError,
    RetryPolicy,
    TaskQ,
    current,
)

taskq = TaskQ(retry=RetryPolicy(initial_delay=0.05, multiplier=1.5, jitter=0.1))
news: list[str] = []
told = anyio.Event()


@taskq.activity(max_retries=8)
async def deliver(message: str) -> str:
    """Another way for each stage of misfortune."""
    tries = current().retry_count
    if tries <= 2:
        raise ConnectionError("the first carrier does not answer")
    if tries <= 5:
        raise RetryError("the second one is busy", delay=0.02)  # instead of the policy's delay
    return f"{message!r} went by pigeon, at attempt {current().attempt}"


async def tell_somebody(dead: DeadLetter) -> None:
    """A hook is an activity of its own: durable, retried, visible."""
    news.append(f"dead: {dead.type}{dict(dead.arguments)} after {dead.retry_count} retries")
    told.set()


@taskq.activity(max_retries=2, on_dead_letter=tell_somebody)
async def print_label(parcel: int) -> None:
    raise OSError("the printer is on fire")


@taskq.activity(no_retry=[KeyError])
async def weigh(parcel: str) -> float:
    if parcel.startswith("-"):
        raise NonRetryError("there is no such parcel")
    return {"small": 0.5}[parcel]


async def main() -> None:
    async with taskq, taskq.worker():
        print(await (await deliver.adelay("hello")))
        for future in (await weigh.adelay("-1"), await weigh.adelay("huge")):
            try:
                await future
            except ActivityFailed as failed:
                print(f"failed: {failed.error.type} after {failed.error.attempts} attempt")
        try:
            await (await print_label.adelay(7))
        except ActivityDeadLettered as dead:
            print(f"dead_letter: {dead.error.message}, {dead.error.attempts} attempts")
        await told.wait()
        print(*news)


if __name__ == "__main__":
    anyio.run(main)
