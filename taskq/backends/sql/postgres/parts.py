"""What the statements of PostgreSQL are made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from sqlalchemy import (
    ARRAY,
    TIMESTAMP,
    Boolean,
    CheckConstraint,
    ColumnElement,
    CompoundSelect,
    Double,
    Interval,
    Select,
    Table,
    TableValuedAlias,
    Text,
    Uuid,
    and_,
    bindparam,
    column,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.types import TypeEngine

from taskq.backends.sql.postgres.prepared import DIALECT

INSTANT = TIMESTAMP(timezone=True)
SECONDS: TypeEngine[Any] = Double()
NOW: ColumnElement[Any] = literal_column("now()", INSTANT)
"""When the transaction began: it may have waited since, and then seen what came later."""
MOMENT: ColumnElement[Any] = literal_column("clock_timestamp()", INSTANT)
"""When this is evaluated."""
ARRIVAL: ColumnElement[Any] = literal_column("statement_timestamp()", INSTANT)
"""The instant of a call: in a transaction of its caller's, ``now()`` is when that one began."""
SECOND: ColumnElement[Any] = literal_column("interval '1 second'", Interval())


def lasting(wait: Literal["on", "off"] = "on") -> ColumnElement[bool]:
    """Make the commit wait for the disk or not, whatever the role's default says (promise:G1)."""
    setting = func.set_config(constant("synchronous_commit"), constant(wait), true())
    return select(setting).scalar_subquery().is_not(None)


def patient() -> ColumnElement[bool]:
    """Wait for each lock no longer than ``lock_timeout``, a text like ``3000ms``."""
    return _until_the_end("lock_timeout")


def limited() -> ColumnElement[bool]:
    """Let no statement that follows take longer than ``statement_timeout``, a text likewise."""
    return _until_the_end("statement_timeout")


def _until_the_end(name: str) -> ColumnElement[bool]:
    """Set it for this transaction to the value that is bound by its name."""
    setting = func.set_config(constant(name), bindparam(name, type_=Text()), true())
    return select(setting).scalar_subquery().is_not(None)


def telling() -> ColumnElement[bool]:
    """Send ``payloads`` to ``channels``, one to one, with the commit."""
    hints = spread("hints", {"channels": Text(), "payloads": Text()}, hidden=False)
    sent = func.count(func.pg_notify(hints.c.channels, hints.c.payloads))
    return select(sent).select_from(hints).scalar_subquery().is_not(None)


@cache
def lawful(table: Table) -> ColumnElement[bool]:
    """Whether a row is as the rules of ``table`` want it, but for those of kinds, which are
    SQLite's. Unknown is lawful, as it is for a CHECK."""
    compiler: Any = DIALECT.statement_compiler(DIALECT, None)
    rules = [
        compiler.process(each.sqltext, include_table=False, literal_binds=True)
        for each in table.constraints
        if isinstance(each, CheckConstraint) and not str(each.name).endswith("_kind")
    ]
    return and_(*(literal_column(f"({rule}) IS NOT FALSE", Boolean()) for rule in sorted(rules)))


def spread(
    name: str, columns: Mapping[str, TypeEngine[Any]], *, hidden: bool = True
) -> TableValuedAlias:
    """Arrays, bound by their column's name (behind that of ``name`` for buckets and keys), as rows.

    ``hidden``: the planner cannot count them.
    """
    prefix = f"{name}_" if name in ("bucket", "key") else ""
    arrays: list[ColumnElement[Any]] = [
        bindparam(f"{prefix}{each}", type_=ARRAY(kind)) for each, kind in columns.items()
    ]
    if hidden:
        arrays = [select(array).scalar_subquery() for array in arrays]
    typed = [column(each, kind) for each, kind in columns.items()]
    return func.unnest(*arrays).table_valued(*typed, name=name).render_derived(name=name)


def array_of(found: Select[Any] | CompoundSelect[Any]) -> ColumnElement[Any]:
    """The ids that a query finds, as an array: found first, then looked up."""
    return func.array(found.scalar_subquery(), type_=ARRAY(Uuid()))


def constant(value: str) -> ColumnElement[str]:
    """A constant, spelled out: fewer values to send."""
    return literal_column(f"'{value}'", Text())
