"""Data goes to stdout: aligned columns in a pipe, a table on a terminal. Messages go to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO, cast

import click

from taskq.cli.text import json_text, printable


def say(message: str) -> None:
    """A message for the person: one line on stderr, also where nobody reads it any more."""
    try:
        click.echo(message, err=True)
    except OSError:
        return


def emit(text: str) -> None:
    """Data: text on stdout, flushed, so that a broken pipe shows here."""
    click.echo(text)


def emit_json(value: object) -> None:
    """Data as JSON on stdout."""
    emit(json_text(value))


def flush() -> None:
    """Write out what is buffered. Where nobody reads it any more it is dropped, without a word."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None or stream.closed:
            continue
        try:
            stream.flush()
        except OSError:
            _abandon(stream)


class Enduring:
    """A text stream that drops what nobody reads any more, where others raise BrokenPipeError.

    So a handler that prints does not fail because a pager or ``tee`` has gone (fault:I37).
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write it, or drop it."""
        try:
            return self._stream.write(text)
        except OSError:
            _abandon(self._stream)
            return len(text)

    def flush(self) -> None:
        """Write out what is buffered, or drop it."""
        try:
            self._stream.flush()
        except OSError:
            _abandon(self._stream)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def endure() -> None:
    """Make stdout and stderr of this process enduring."""
    if sys.stdout is not None:
        sys.stdout = cast("TextIO", Enduring(sys.stdout))
    if sys.stderr is not None:
        sys.stderr = cast("TextIO", Enduring(sys.stderr))


def _abandon(stream: TextIO) -> None:
    """Let whatever is written to this stream go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def on_terminal() -> bool:
    """Whether a person reads stdout."""
    return sys.stdout is not None and sys.stdout.isatty()


def emit_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, spare: Sequence[str] = ()
) -> None:
    """Rows of texts under headings. Whatever the texts hold is escaped.

    On a terminal that is too narrow, ``spare`` columns are left out, the first named first.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    if on_terminal():
        _rich_table(columns, cells, spare)
    else:
        emit(aligned(columns, cells))


def emit_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Names and values, one pair a line, values aligned."""
    width = max(len(name) for name, _ in pairs)
    emit("\n".join(f"  {name:<{width}}  {printable(value)}".rstrip() for name, value in pairs))


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Plain columns, two blanks apart, nothing cut."""
    lines = [tuple(columns), *(tuple(row) for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def fitting(
    columns: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str], width: int
) -> list[int]:
    """Which columns, by number, to show so that lines fit ``width``, as far as that can be had."""
    widths = [max(len(line[at]) for line in (columns, *rows)) for at in range(len(columns))]
    shown = list(range(len(columns)))
    for name in spare:
        if sum(widths[at] for at in shown) + 3 * len(shown) <= width:
            break
        shown = [at for at in shown if columns[at] != name]
    return shown


def _rich_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str]
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    shown = fitting(columns, rows, spare, console.width)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for at in shown:
        last = at == shown[-1]
        table.add_column(columns[at], no_wrap=True, overflow="ellipsis" if last else "fold")
    for row in rows:
        table.add_row(*(Text(row[at]) for at in shown))
    console.print(table)
