"""A client's own rows beside its calls, in one transaction: committed, rolled back, or cut short.

An order is a row of the client's own table. Its id is that of the activity that was stored with it.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct
from sqlalchemy import NullPool, create_engine, insert, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.schema import Column, CreateTable, MetaData, Table
from sqlalchemy.types import Text

from taskq.errors import TaskQError
from tests.chaos.database import Database

ORDERS = Table("orders", MetaData(), Column("id", Text, primary_key=True))

DRIVERS = {
    "sqlite": ("sqlite+pysqlite", "sqlite+aiosqlite"),
    "postgresql": ("postgresql+psycopg", "postgresql+asyncpg"),
}
"""By the scheme of a URL: the one that blocks, and the one that is awaited."""

FAILURES = (SQLAlchemyError, TaskQError, OSError)
LONGEST = 0.1
"""Seconds for which a transaction stays open, at the most: on SQLite nobody else writes then."""

End = Literal["commit", "rollback", "death"]
Write = Callable[..., None]


class Plan(Struct, frozen=True):
    """How an order goes. ``call_first``: the activity comes before the row. ``half``: it ends
    between the two, which no commit does. ``pause`` in seconds, before it ends."""

    awaited: bool
    call_first: bool
    end: End
    half: bool
    pause: float


def make_table(database: Database) -> None:
    """The table of orders."""
    database.execute(str(CreateTable(ORDERS)))


def planned(dice: random.Random, *, end: End | None, deadly: bool) -> Plan:
    """One at random, but for its ``end`` if that is given. ``deadly``: it may kill this process."""
    ends: list[End] = ["commit", "rollback", "death"]
    end = end or dice.choices(ends, weights=[60, 30, 8 * deadly])[0]
    half = end != "commit" and dice.random() < 0.5
    awaited, call_first = dice.random() < 0.3, dice.random() < 0.5
    return Plan(awaited, call_first, end, half, dice.uniform(0.0, LONGEST))


class Orders:
    """Places orders with ``app`` in the database of ``url``, and writes down before it acts."""

    def __init__(self, app: Any, url: str, write: Write) -> None:
        self._app = app
        self._write = write
        sync, awaited = DRIVERS[make_url(url).get_backend_name()]
        self._url = make_url(url).set(drivername=sync)
        self._async_url = make_url(url).set(drivername=awaited)

    def place(self, activity: Any, plan: Plan) -> bool:
        """Order one activity; False where that failed, and nobody knows how it ended."""
        self._write("ordered", activity.id)
        try:
            if plan.awaited:
                asyncio.run(self._aplace(activity, plan))
            else:
                self._place(activity, plan)
        except FAILURES as error:
            self._write("refused", activity.id, error=str(error))
            return False
        return True

    def _place(self, activity: Any, plan: Plan) -> None:
        engine = create_engine(self._url, poolclass=NullPool)
        with Session(engine) as session:
            for step in self._steps(plan):
                if step == "row":
                    session.execute(insert(ORDERS), {"id": activity.id.hex})
                else:
                    self._app.taskq.enqueue([activity], session=session)
            time.sleep(plan.pause)
            if self._ends_well(activity.id, plan):
                session.commit()
                self._write("stored", activity.id, answer=activity.id.hex)
            else:
                session.rollback()
                self._write("withdrawn", activity.id)

    async def _aplace(self, activity: Any, plan: Plan) -> None:
        engine = create_async_engine(self._async_url, poolclass=NullPool)
        async with AsyncSession(engine) as session:
            for step in self._steps(plan):
                if step == "row":
                    await session.execute(insert(ORDERS), {"id": activity.id.hex})
                else:
                    await self._app.taskq.aenqueue([activity], session=session)
            await asyncio.sleep(plan.pause)
            if self._ends_well(activity.id, plan):
                await session.commit()
                self._write("stored", activity.id, answer=activity.id.hex)
            else:
                await session.rollback()
                self._write("withdrawn", activity.id)

    def _steps(self, plan: Plan) -> list[str]:
        steps = ["call", "row"] if plan.call_first else ["row", "call"]
        return steps[:1] if plan.half else steps

    def _ends_well(self, id: UUID, plan: Plan) -> bool:
        """Whether to commit now, which is written down; it may be the end of this process."""
        if plan.end == "death":
            self._write("died in it", id)
            os.kill(os.getpid(), signal.SIGKILL)
        if plan.end == "commit":
            self._write("committing", id)
        return plan.end == "commit"
