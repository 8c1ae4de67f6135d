"""An order is a parent: what it calls in its handler are its children, and it awaits them.

Each child is an activity of its own, with its own priority, retries and timeout, and may run in any
worker. A child that fails for good fails its parent, unless that catches it. ``gather`` waits for
several at once; what is scheduled for later need not be awaited at all. ``SPEED`` makes the hour
until the notification shorter.
"""

import os
from datetime import timedelta

import anyio

from taskq import ActivityFailed, NonRetryError, Priority, TaskQ, gather

SPEED = float(os.environ.get("SPEED", "3600"))  # an hour takes a second

taskq = TaskQ()
notified = anyio.Event()
stock = {"chair": 10, "table": 2}


@taskq.activity(priority=Priority.HIGH, max_retries=3, timeout=timedelta(minutes=2))
async def validate_payment(order: int, cents: int) -> str:
    if cents > 100_000:
        raise NonRetryError("the card is refused")
    return f"payment-{order}"


@taskq.activity
async def update_inventory(article: str, count: int) -> int:
    stock[article] -= count
    return stock[article]


@taskq.activity(max_retries=5, timeout=timedelta(minutes=5))
async def send_delivery_notification(order: int, email: str) -> None:
    print(f"order {order} is on its way: told {email}")
    notified.set()


@taskq.activity
async def process_order(order: int, articles: dict[str, int], cents: int, email: str) -> str:
    payment = await (await validate_payment.adelay(order, cents))

    left = await gather(
        *[await update_inventory.adelay(article, count) for article, count in articles.items()]
    )

    an_hour = timedelta(hours=1) / SPEED
    await send_delivery_notification.aschedule(an_hour, order, email)
    return f"{payment}, left in stock: {left}"


async def main() -> None:
    async with taskq, taskq.worker(concurrency=5):
        articles = {"chair": 4, "table": 1}
        print(await (await process_order.adelay(7, articles, 41_000, "ada@example.com")))
        await notified.wait()

        refused = await process_order.adelay(8, {"table": 900}, 900_000, "eve@example.com")
        try:
            await refused
        except ActivityFailed as failed:
            print(f"{failed.error.kind}: {failed.error.message.rpartition(': ')[2]}")


if __name__ == "__main__":
    anyio.run(main)
