"""Column types: the same Python values on every dialect, each stored as that dialect likes it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import TIMESTAMP, BigInteger, Dialect, Integer, Uuid
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine, UserDefinedType

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SERIAL = BigInteger().with_variant(Integer(), "sqlite")
"""A growing integer key; 64 bits on either dialect."""

_MICROSECOND = timedelta(microseconds=1)


def to_microseconds(at: datetime) -> int:
    """Whole microseconds since the epoch. ValueError for a naive datetime."""
    if at.tzinfo is None:
        raise ValueError(f"an instant must be aware, not {at!r}")
    return (at - EPOCH) // _MICROSECOND


def from_microseconds(value: int) -> datetime:
    """The aware UTC instant; exact, unlike ``fromtimestamp``."""
    return EPOCH + timedelta(microseconds=value)


class Instant(TypeDecorator[datetime]):
    """An aware UTC datetime.

    TIMESTAMP WITH TIME ZONE on PostgreSQL; on SQLite an INTEGER, microseconds since the epoch.
    What is none, which another program can only store against the tables' rules, is read as None.
    """

    impl = TIMESTAMP(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """See ``TypeDecorator``."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(_Microseconds())
        return dialect.type_descriptor(TIMESTAMP(timezone=True))


class Id(TypeDecorator[UUID]):
    """A UUID; sorting ids (UUIDv7) sorts by time.

    UUID on PostgreSQL; on SQLite a BLOB of its 16 bytes, which sort alike and make small indexes.
    What is none is read as None, see ``Instant``.
    """

    impl = Uuid()
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """See ``TypeDecorator``."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(_Bytes())
        return dialect.type_descriptor(Uuid())


class _Microseconds(TypeDecorator[datetime]):
    impl = Integer()
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else to_microseconds(value)

    def process_literal_param(self, value: datetime | None, dialect: Dialect) -> str:
        return "NULL" if value is None else str(to_microseconds(value))

    def process_result_value(self, value: object, dialect: Dialect) -> datetime | None:
        try:
            return from_microseconds(value) if isinstance(value, int) else None
        except OverflowError:
            return None


class _Blob(UserDefinedType[bytes]):
    """Unlike LargeBinary it hands bytes to the driver as they are."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "BLOB"


class _Bytes(TypeDecorator[UUID]):
    impl = _Blob()
    cache_ok = True

    def process_bind_param(self, value: UUID | None, dialect: Dialect) -> bytes | None:
        return None if value is None else value.bytes

    def process_result_value(self, value: object, dialect: Dialect) -> UUID | None:
        return UUID(bytes=value) if isinstance(value, bytes) and len(value) == 16 else None


class DatabaseNow(FunctionElement[datetime]):
    """The database's own clock: a column default for clients that give no instant."""

    inherit_cache = True
    type = Instant()


@compiles(DatabaseNow, "postgresql")
def _now_on_postgresql(element: DatabaseNow, compiler: SQLCompiler, **_: object) -> str:
    return "now()"


@compiles(DatabaseNow, "sqlite")
def _now_on_sqlite(element: DatabaseNow, compiler: SQLCompiler, **_: object) -> str:
    seconds = "CAST(strftime('%s', 'now') AS INTEGER)"
    milliseconds = "CAST(substr(strftime('%f', 'now'), 4) AS INTEGER)"
    return f"{seconds} * 1000000 + {milliseconds} * 1000"
