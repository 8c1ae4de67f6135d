"""A statement as PostgreSQL's driver takes it: its SQL, and the names of its values in order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

from msgspec import Struct
from sqlalchemy import Executable
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.sql import ClauseElement

_make: Any = PGDialect_asyncpg
DIALECT: Final[Any] = _make()
"""How SQL is written for the driver."""


class Prepared(Struct, frozen=True):
    """SQL with ``$1`` …; ``values`` puts named values in its order."""

    sql: str
    names: tuple[str, ...]
    constants: Mapping[str, object]

    def values(self, given: Mapping[str, object]) -> list[object]:
        """The values in order. KeyError for one that is neither given nor constant."""
        constants = self.constants
        return [given[name] if name in given else constants[name] for name in self.names]


@cache
def prepared(statement: Executable, schema: str | None) -> Prepared:
    """Compile a statement, once; its tables are in ``schema``, else where the search path says."""
    compiled: Any = cast("ClauseElement", statement).compile(
        dialect=DIALECT,
        schema_translate_map=None if schema is None else {None: schema},
        compile_kwargs={"render_postcompile": True},
        render_schema_translate=schema is not None,
    )
    constants = {name: value for name, value in compiled.params.items() if value is not None}
    return Prepared(str(compiled), tuple(compiled.positiontup or ()), constants)
