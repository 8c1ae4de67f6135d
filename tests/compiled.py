"""Statements that one test has compiled, for the engines of all that come after it.

SQLAlchemy keeps what it has compiled with an engine. Nearly every test has an engine of its own, of
the same dialect as the others, and would compile the same statements once more: half of what a
short test costs.
"""

from __future__ import annotations

from typing import Any, cast

from sqlalchemy import Connection, Dialect, Engine, event

MOST = 2000
"""Statements; one that is as long as a filter makes it has 50 kB."""

Key = tuple[Any, ...]
"""The dialect, and what else a compiled statement depends on."""


class Compiled(dict[Key, Any]):
    """The value of SQLAlchemy's option ``compiled_cache``: engines that would compile a statement
    alike find it here."""

    def get(self, key: Key, default: Any = None) -> Any:
        """What was compiled, by whichever engine."""
        return super().get(_alike(key), default)

    def __setitem__(self, key: Key, compiled: Any) -> None:
        if len(self) >= MOST:
            self.clear()
        super().__setitem__(_alike(key), compiled)


def share() -> None:
    """From now on every connection of every engine of this process uses them."""
    compiled = Compiled()

    @event.listens_for(Engine, "engine_connect")
    def _(connection: Connection) -> None:
        connection.execution_options(compiled_cache=compiled)


def _alike(key: Key) -> Key:
    """The key with what the dialect is instead of which one."""
    dialect = cast("Dialect", key[0])
    told = (
        getattr(dialect, name, None)
        for name in (
            "driver",
            "paramstyle",
            "server_version_info",
            "_json_serializer",
            "_json_deserializer",
        )
    )
    return (type(dialect), *told, *key[1:])
