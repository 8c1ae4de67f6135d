"""Trees of eight activities, and a ninth that is a tree of its own, as a console shows them.

Start as many as you like on one database. ``WORKER_MODE``: ``all``; ``spawner`` makes the roots and
runs the parents; ``leaves`` runs the rest. ``MAX_WORKERS``: slots of this process. A root comes
every 20 s, ``ROOTS`` of them (0: for ever), then it ends. ``SPEED`` divides times of work and rest.
"""

import os
import random
import signal
from itertools import count

import anyio

from taskq import Activity, ActivityFuture, RetryError, Status, TaskQ, as_completed, current, gather

SPEED = float(os.environ.get("SPEED", "1"))
MODE = os.environ.get("WORKER_MODE", "all")
ROOTS = int(os.environ.get("ROOTS", "0"))
PARENTS = ["research_workflow", "analyze_data", "draft_report"]
LEAVES = {  # milliseconds of work, at least and at most
    "fetch_documents": (2000, 3500),
    "extract_facts": (1500, 3000),
    "outline": (1200, 2000),
    "write_intro": (2200, 3400),
    "verify_sources": (800, 1600),
    "audit_log": (300, 300),
}
taskq = TaskQ(concurrency=int(os.environ.get("MAX_WORKERS", "8")), timeout=60, max_retries=2)
first_attempts = count(1)


async def work(least: int, most: int) -> None:
    await anyio.sleep(random.uniform(least, most) / 1000 / SPEED)


async def leaf() -> str:
    here = current()
    await work(*LEAVES[here.type])
    if here.type == "verify_sources" and here.attempt == 1 and next(first_attempts) % 3 == 0:
        raise RetryError("the source does not answer")
    return here.type


fetch, extract, outline, intro, verify, audit = [taskq.activity(name=name)(leaf) for name in LEAVES]


async def both(first: int, then: int, *calls: Activity[str], patience: float) -> list[str]:
    """Work, call the children and wait for them all, work again."""
    await work(first, first)
    futures = await taskq.aenqueue(calls)
    with anyio.fail_after(patience):
        results = await gather(*futures)
    await work(then, then)
    return results


@taskq.activity
async def analyze_data() -> str:
    return f"analysis of {await both(900, 500, extract.build(), verify.build(), patience=60)}"


@taskq.activity
async def draft_report() -> str:
    return f"draft of {await both(700, 600, outline.build(), intro.build(), patience=60)}"


@taskq.activity(max_retries=1)
async def research_workflow(topic: int) -> tuple[str, list[str]]:
    detached = await audit.options(as_root=True).adelay()
    calls = fetch.build(), analyze_data.build(), draft_report.build()
    return str(detached.id), await both(800, 400, *calls, patience=90)


async def spawn() -> None:
    """Make the roots, and say what became of them."""
    roots: list[ActivityFuture[tuple[str, list[str]]]] = []
    while not ROOTS or len(roots) < ROOTS:
        await anyio.sleep(20 / SPEED if roots else 0)
        roots.append(await research_workflow.adelay(len(roots) + 1))
    async for root in as_completed(roots):
        detached, parts = await root
        print(parts, await audit.future(detached))
    stats = await taskq.astats()
    ended = stats.by_status
    print(f"{ended[Status.COMPLETED]} completed, {ended[Status.DEAD_LETTER]} dead")


async def main() -> None:
    types = {"all": [*PARENTS, *LEAVES], "spawner": PARENTS, "leaves": list(LEAVES)}
    async with taskq, taskq.worker(types=types[MODE]):
        if MODE != "leaves":
            return await spawn()
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            await anext(signals)


if __name__ == "__main__":
    anyio.run(main)
