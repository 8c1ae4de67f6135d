"""An order and its e-mail in one transaction: both are there, or neither.

A web handler stores the order by SQLAlchemy and calls the task with the same ``AsyncSession``. If
anything in it fails, no mail goes out; if it commits, the mail is as durable as the order. On
SQLite by aiosqlite, or with ``TASKQ_DATABASE_URL=postgresql://…`` on PostgreSQL by asyncpg.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from litestar import Litestar, post
from litestar.exceptions import HTTPException
from litestar.params import JSONBody
from litestar.testing import AsyncTestClient
from msgspec import Struct
from sqlalchemy import Column, Integer, MetaData, Table, Text, insert, make_url
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine

from taskq import TaskQ

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}

taskq = TaskQ()
url = make_url(taskq.settings.database_url)
engine = create_async_engine(url.set(drivername=DRIVERS[url.drivername]))
sessions = async_sessionmaker(engine)
metadata = MetaData()
orders = Table(
    "example_orders", metadata, Column("number", Integer, primary_key=True), Column("email", Text)
)


class NewOrder(Struct):
    email: str
    amount: int


@taskq.activity
async def confirm(order: int, email: str) -> str:
    return f"order {order} is confirmed to {email}"


@post("/orders")
async def place_order(data: JSONBody[NewOrder]) -> dict[str, str]:
    async with sessions.begin() as session:
        stored = insert(orders).values(email=data.email).returning(orders.c.number)
        number = (await session.execute(stored)).scalar_one()
        mail = await confirm.options(session=session).adelay(number, data.email)
        if data.amount > 1000:
            raise HTTPException("the card is refused", status_code=402)  # no order, and no mail
    return {"mail": str(mail.id)}


@asynccontextmanager
async def lifespan(_: Litestar) -> AsyncGenerator[None]:
    async with taskq:
        async with engine.begin() as connection:
            await connection.run_sync(metadata.create_all)
        yield
    await engine.dispose()


app = Litestar([place_order], lifespan=[lifespan], logging_config=None)


async def main() -> None:
    async with AsyncTestClient(app) as client, taskq.worker():
        answer = await client.post("/orders", json={"email": "ada@example.com", "amount": 20})
        print(answer.status_code, await taskq.future(answer.json()["mail"]))
        answer = await client.post("/orders", json={"email": "bob@example.com", "amount": 2000})
        print(answer.status_code, answer.json()["detail"])
        print(sum((await taskq.astats()).by_status.values()), "activity")


if __name__ == "__main__":
    anyio.run(main)
