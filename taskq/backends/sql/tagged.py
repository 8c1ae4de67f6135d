"""Whether an activity has a tag: asked of JSON text that may be none, in each dialect's own way."""

from __future__ import annotations

from typing import Final

from sqlalchemy import JSON, Boolean, ColumnElement, Text, case, cast, exists, func, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

_X = "[0-9a-f]"
_CODE = rf"(00{_X}[1-9a-f]|00[1-9a-f]0|0[1-9a-f]{_X}{_X}|[1-9abcef]{_X}{_X}{_X}|d[0-7]{_X}{_X})"
_TEXT = rf'"([^"\\\x01-\x1f]|\\["\\/bfnrt]|\\u{_CODE})*"'
_PAIR = rf"\s*{_TEXT}\s*:\s*{_TEXT}\s*"
MAP: Final = rf"^\s*\{{({_PAIR}(,{_PAIR})*|\s*)\}}\s*$"
"""A JSON object of texts that PostgreSQL can read without an error; versions before 16 have no
other way to ask. Tags as taskq writes them are always like that."""


class _HasTag(FunctionElement[bool]):
    """Three clauses: the column of tags, a key, a value."""

    type = Boolean()
    inherit_cache = True


def has_tag(tags: ColumnElement[str | None], key: str, value: str) -> ColumnElement[bool]:
    """Whether the JSON text ``tags`` has this text under this key; bad JSON has no tags."""
    return _HasTag(tags, literal(key), literal(value))


@compiles(_HasTag, "sqlite")
def _on_sqlite(element: _HasTag, compiler: SQLCompiler, **options: object) -> str:
    """Through json_each, because a key may hold what a JSON path cannot."""
    column, key, value = element.clauses
    tags = case((func.json_valid(column) == 1, column), else_="{}")
    each = func.json_each(tags).table_valued("key", "value", name="tag")
    found = exists().select_from(each).where(each.c.key == key, each.c.value == value)
    return compiler.process(found, **options)


@compiles(_HasTag, "postgresql")
def _on_postgresql(element: _HasTag, compiler: SQLCompiler, **options: object) -> str:
    column, key, value = element.clauses
    found = cast(column, JSON).op("->>", return_type=Text())(key)
    readable = case((column.bool_op("~*")(literal(MAP)), found == value), else_=False)
    return compiler.process(readable, **options)
