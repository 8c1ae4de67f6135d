"""Filters on the command line: the words of several arguments, as the shell has left them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import IO, Any, Final

import click

from taskq.cli.command import Command
from taskq.cli.failure import Refused
from taskq.cli.text import printable
from taskq.errors import FilterError
from taskq.filtering.fields import FIELDS, names_field
from taskq.filtering.reading import parsed
from taskq.filtering.terms import Term
from taskq.filtering.words import words

_NEGATED: Final = re.compile(f"-({'|'.join(FIELDS)})(\\.[^:<>=]*)?[:<>=]")


class FilterCommand(Command):
    """A command that takes a filter. ``-status:failed`` is a word of it, and not the option -s."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See ``click.Command``."""
        end = args.index("--") if "--" in args else len(args)
        negated = [each for each in args[:end] if _NEGATED.match(each)]
        if negated:
            options = [each for each in args[:end] if not _NEGATED.match(each)]
            args = [*options, "--", *negated, *args[end + 1 :]]
        return super().parse_args(ctx, args)


class Misread(Refused):
    """A filter that means nothing: the sentence, and below it the place. Exit code 2."""

    def __init__(self, error: FilterError) -> None:
        super().__init__(str(error))
        self._text = printable(error.text)
        self._before = printable(error.text[: error.column])

    def show(self, file: IO[Any] | None = None) -> None:
        """Say it on stderr."""
        from rich.cells import cell_len

        super().show(file)
        click.echo(f"  {self._text}\n  {' ' * cell_len(self._before)}^", file=file, err=True)


def terms(arguments: Sequence[str]) -> tuple[Term, ...]:
    """The terms that arguments ask for together. Misread where they mean nothing."""
    try:
        return parsed(" ".join(spelled(each) for each in arguments))
    except FilterError as error:
        raise Misread(error) from error


def spelled(argument: str) -> str:
    """An argument as the language writes it.

    The shell has taken quotes away that the language needs: ``error:"timed out"`` arrives as
    ``error:timed out``. So an argument without quotes is one term, blanks and all, unless a later
    word of it names a field: then it is a whole filter, which was quoted for the shell.
    """
    argument = argument.strip()
    if '"' in argument or len(argument.split()) < 2:
        return argument
    try:
        first, *others = words(argument)
    except FilterError:
        return argument
    if any(names_field(each) for each in others):
        return argument
    value = first.values[0] if first.values else first.path[0]
    text = argument[value.column :].replace("\\", "\\\\")
    return f'{argument[: value.column]}"{text}"'
