"""A reader of its own for an SQLite file: one connection, on a thread of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection

from taskq.backends.sql.inspecting import SqlInspector
from taskq.backends.sql.sqlite.connect import Mode, interrupted, make_reading_engine, transaction
from taskq.backends.sql.sqlite.failures import mapped
from taskq.backends.sql.sqlite.schema import check
from taskq.bridge.lane import Lane
from taskq.clock import Clock
from taskq.errors import BackendError, BackendUnavailable

T = TypeVar("T")


class SQLiteReader(SqlInspector):
    """``taskq.backends.reading.Reader``. Its connection refuses to write, and the file is not made
    where there is none: then ``open`` raises BackendUnavailable. A question, of however many
    statements, is stopped after ``timeout`` seconds."""

    def __init__(self, path: str, *, clock: Clock, timeout: float) -> None:
        self._path = path
        self._clock = clock
        self._timeout = timeout
        self._mapped = partial(mapped, path, lock_timeout=timeout)
        self._engine = make_reading_engine(path, lock_timeout=timeout)
        self._lane = Lane(
            "taskq-own-reader", open=self._connect, close=self._disconnect, spoils=BackendError
        )

    @property
    def location(self) -> str:
        """The file's absolute path."""
        return self._path

    async def open(self) -> None:
        """See ``Reader.open``. Raises SchemaError where the tables are not those of this
        version."""
        await self._lane.run(self._check)

    async def close(self) -> None:
        """See ``Reader.close``."""
        await self._lane.close()

    def after_fork(self) -> None:
        """See ``Reader.after_fork``."""
        self._lane.forget()

    async def _read(self, function: Callable[[Connection, datetime], T]) -> T:
        return await self._lane.run(lambda connection: self._inside(connection, function))

    async def _ask(self, function: Callable[[Connection, datetime], T]) -> T:
        return await self._lane.run(lambda connection: self._inside(connection, function, "NONE"))

    def _inside(
        self,
        connection: Connection,
        function: Callable[[Connection, datetime], T],
        mode: Mode = "DEFERRED",
    ) -> T:
        until = self._monotonic() + self._timeout
        with (
            self._mapped(),
            interrupted(connection, lambda: self._monotonic() >= until),
            transaction(connection, mode),
        ):
            return function(connection, self._clock.now())

    def _monotonic(self) -> float:
        return self._clock.monotonic()

    # -- on the lane --

    def _connect(self) -> Connection:
        if not os.path.exists(self._path):
            raise BackendUnavailable(
                f"there is no file {self._path}: it is made when the first activity is stored, or"
                " when a worker starts"
            )
        with self._mapped():
            return self._engine.connect()

    def _disconnect(self, connection: Connection) -> None:
        with self._mapped():
            connection.close()

    def _check(self, connection: Connection) -> None:
        with self._mapped():
            check(connection, self._path)
