"""Whether a text holds another one in any case of ASCII letters, in each dialect's own way."""

from __future__ import annotations

from sqlalchemy import Boolean, ColumnElement, func, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from taskq.filtering.matching import lowered


class _Holds(FunctionElement[bool]):
    """Two clauses: a column of text, and a text whose ASCII letters are small."""

    type = Boolean()
    inherit_cache = True


def holding(column: ColumnElement[str], text: str) -> ColumnElement[bool]:
    """Whether the column holds the text somewhere; NULL holds nothing, and is answered by NULL."""
    return _Holds(column, literal(lowered(text)))


@compiles(_Holds, "sqlite")
def _on_sqlite(element: _Holds, compiler: SQLCompiler, **options: object) -> str:
    """Its ``lower`` changes ASCII letters only."""
    column, text = element.clauses
    return compiler.process((func.instr(func.lower(column), text) > 0).self_group(), **options)


@compiles(_Holds, "postgresql")
def _on_postgresql(element: _Holds, compiler: SQLCompiler, **options: object) -> str:
    """So does its ``lower`` in the collation C, whatever that of the database is."""
    column, text = element.clauses
    small = func.lower(column.collate("C"))
    return compiler.process(func.strpos(small, text) > 0, **options)
