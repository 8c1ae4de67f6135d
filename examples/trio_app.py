"""A trio program: the worker, the handlers and the callers run on trio.

The store keeps to a thread of its own, so nothing here knows or cares that it speaks asyncio.
Needs trio: ``pip install "taskq-anyio[trio]"``. The worker of the command line runs on trio with
``taskq worker trio_app:taskq --async-backend trio``.
"""

import hashlib

import trio

from taskq import ActivityCancelled, TaskQ

taskq = TaskQ()


@taskq.activity
async def fetch(page: str) -> str:
    await trio.sleep(0.05)
    return f"<{page}>"


@taskq.activity
def digest(text: str) -> str:  # a sync handler: runs in a thread
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@taskq.activity
async def crawl(pages: list[str]) -> dict[str, str]:
    """A parent: its children are made by calls, its waiting is a nursery."""
    digests: dict[str, str] = {}

    async def one(page: str) -> None:
        text = await (await fetch.adelay(page))
        digests[page] = await (await digest.adelay(text))

    async with trio.open_nursery() as nursery:
        for page in pages:
            nursery.start_soon(one, page)
    return dict(sorted(digests.items()))


@taskq.activity
async def sleep_for_ever() -> None:
    await trio.sleep_forever()


async def main() -> None:
    async with taskq, taskq.worker(concurrency=10):
        for page, text in (await (await crawl.adelay(["about", "home", "news"]))).items():
            print(page, text)

        # A cancel reaches the running handler as trio.Cancelled.
        stuck = await sleep_for_ever.adelay()
        with trio.move_on_after(0.2):
            await stuck  # giving up waiting does not cancel the activity …
        await stuck.acancel()  # … this does
        try:
            await stuck
        except ActivityCancelled:
            print("cancelled")


if __name__ == "__main__":
    trio.run(main)
