"""How a command ends when it does not succeed: one sentence on stderr and an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import click

from taskq.cli.text import printable
from taskq.errors import ConfigurationError, TaskQError


class NotDone(click.ClickException):
    """What was asked for did not succeed. Exit code 1."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class Refused(NotDone):
    """The command was used wrongly; nothing was done. Exit code 2."""

    exit_code = 2


def translated(error: Exception) -> click.ClickException:
    """The sentence for any exception: wrong use for ConfigurationError, else not done."""
    if isinstance(error, ConfigurationError):
        return Refused(str(error))
    if isinstance(error, TaskQError):
        return NotDone(str(error))
    return NotDone(f"{sentence(error)} (--traceback shows where)")


def sentence(error: BaseException) -> str:
    """An exception as ``TypeName: the first line of its message``; of a group of one, that one."""
    error = _leaf(error)
    try:
        lines = str(error).strip().splitlines()
    except Exception as broken:
        lines = [f"its message cannot be read: {type(broken).__name__}"]
    name = type(error).__name__
    return f"{name}: {lines[0]}" if lines else name


def _leaf(error: BaseException) -> BaseException:
    inner = _inner(error)
    return _leaf(inner[0]) if len(inner) == 1 else error


def _inner(error: BaseException) -> Sequence[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return cast("BaseExceptionGroup[BaseException]", error).exceptions
    return ()
