"""Hints: from this backend's own commits at once, from those of others within 10 ms."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Final

from sqlalchemy import Connection, Engine, PoolProxiedConnection

from taskq.backends import Hint, Topic
from taskq.backends.sql.postgres.subscription import Subscription, tell
from taskq.bridge import forks
from taskq.errors import BackendError

INTERVAL: Final = 0.01
"""Seconds between two looks; one costs about 3 µs."""

LONGEST_PAUSE: Final = 1.0
"""Seconds between two looks, at most, while they fail."""

ASKING_INTERVAL: Final = 0.05
"""Seconds at least between two questions to the writer's thread, while own commits flow."""


class Watches:
    """The watches of one backend. They share one ``Poller``, which runs while there are any.

    ``elsewhere`` says whether another process has committed since it was last asked; it is asked
    where the poller cannot tell that from this backend's own commits.
    """

    def __init__(self, engine: Engine, elsewhere: Callable[[], Awaitable[bool]]) -> None:
        self._watches: tuple[Subscription, ...] = ()
        self._poller = Poller(engine, self._changed)
        self._elsewhere = elsewhere
        self._own_commits = 0
        self._own_commits_seen = 0
        self._asked_at = -ASKING_INTERVAL

    def add(self, topics: Collection[Topic], listener: Callable[[Hint], None]) -> Subscription:
        """Begin a watch; on the storage loop. Whatever is committed from now on gives a hint."""
        self._poller.start()
        watch = Subscription(topics, listener, self._remove)
        self._watches = (*self._watches, watch)
        return watch

    async def close(self) -> None:
        """End every watch."""
        for watch in self._watches:
            await watch.close()

    def forget(self) -> None:
        """After a fork: the listeners belong to the parent."""
        self._watches = ()

    def committed(self, hints: Iterable[Hint]) -> None:
        """This backend has committed; on the writer's thread."""
        self._own_commits += 1
        self._tell(hints)

    async def _changed(self) -> bool:
        """The poller saw a commit, perhaps only our own, whose hints were sent already.

        False: too soon to say, to be called again.
        """
        if self._own_commits != self._own_commits_seen:
            now = asyncio.get_running_loop().time()
            if now - self._asked_at < ASKING_INTERVAL:
                return False
            self._asked_at = now
            self._own_commits_seen = self._own_commits
            if not await self._by_others():
                return True
        self._tell([Hint(topic) for topic in Topic])
        return True

    async def _by_others(self) -> bool:
        try:
            return await self._elsewhere()
        except BackendError:
            return True

    def _tell(self, hints: Iterable[Hint]) -> None:
        tell(self._watches, hints)

    def _remove(self, watch: Subscription) -> None:
        self._watches = tuple(each for each in self._watches if each is not watch)
        if not self._watches:
            self._poller.stop()


class Poller:
    """Calls ``changed`` when ``PRAGMA data_version`` says that another connection committed.

    It is called again until it answers True. The poller has a connection of its own, never in a
    transaction, used on the storage loop's thread only: the pragma reads shared memory and waits
    for nobody, and neither may ``engine``. While looking fails it looks less and less often; each
    kind of failure is reported once, to the loop's exception handler. Only ``stop`` ends it.
    """

    def __init__(self, engine: Engine, changed: Callable[[], Awaitable[bool]]) -> None:
        self._engine = engine
        self._changed = changed
        self._connection: PoolProxiedConnection | None = None
        self._version: int | None = None
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._held = False
        self._reported: set[str] = set()
        forks.guard(self)

    def start(self) -> None:
        """Take note of the version and look from now on, if that is not so already."""
        loop = asyncio.get_running_loop()
        if self._task is not None and not self._task.done() and self._loop is loop:
            return
        self._loop = loop
        self._reported.clear()
        try:
            self._version = self._look()
        except Exception as error:
            self._fail(error)
        self._task = loop.create_task(self._poll(), name="taskq-data-version")

    def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
        self._task = self._loop = None
        self._drop()

    def hold(self) -> threading.Event:
        """See ``forks.Guarded``."""
        gone = threading.Event()
        self._held = True
        loop = self._loop
        if loop is None or loop.is_closed():
            gone.set()
        elif loop is _running_loop():
            self._let_go(gone)
        else:
            loop.call_soon_threadsafe(self._let_go, gone)
        return gone

    def resume(self) -> None:
        """See ``forks.Guarded``."""
        self._held = False

    def forget(self) -> None:
        """See ``forks.Guarded``."""
        self._held = False
        self._task = self._loop = None
        if self._connection is not None:
            forks.keep_open(self._connection)
            self._connection = None

    async def _poll(self) -> None:
        pause = INTERVAL
        while True:
            await asyncio.sleep(pause)
            try:
                version = self._look()
                if version not in (None, self._version) and await self._changed():
                    self._version = version
                pause = INTERVAL
            except Exception as error:
                self._fail(error)
                pause = min(LONGEST_PAUSE, 2 * pause)

    def _look(self) -> int | None:
        """The version, None before a fork; what a new connection says is a change."""
        if self._held:
            return None
        if self._connection is None:
            self._connection = self._engine.raw_connection()
            self._version = None
        [version] = _execute(self._connection, "PRAGMA data_version")
        return version

    def _fail(self, error: Exception) -> None:
        """Report it, if it is the first of its kind, and begin anew with another connection."""
        try:
            self._drop()
        except Exception as worse:
            error.add_note(f"and its connection could not be closed: {worse!r}")
        if (kind := _kind(error)) not in self._reported:
            self._reported.add(kind)
            report = {"message": "hints may be late: a look at the file failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(report)

    def _let_go(self, gone: threading.Event) -> None:
        self._drop()
        gone.set()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def data_version(connection: Connection) -> int:
    """A number that changes when another connection than this one has committed.

    Read past SQLAlchemy, which would begin a transaction for it.
    """
    [version] = _execute(connection.connection, "PRAGMA data_version")
    return version


def _kind(error: Exception) -> str:
    cause = getattr(error, "orig", error)
    return f"{type(cause).__name__} {getattr(cause, 'sqlite_errorname', '')}"


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _execute(connection: PoolProxiedConnection, pragma: str) -> tuple[int]:
    driver = connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    row: tuple[int] = driver.execute(pragma).fetchone()
    return row
