"""The commands' common behaviour: ``--traceback``, and errors that become one sentence."""

from __future__ import annotations

import errno
import traceback
from typing import Any

import click

from taskq.cli.failure import Refused, translated

_SHOWN = "taskq.traceback"


def _remember(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.meta[_SHOWN] = True


_TRACEBACK = click.Option(
    ["--traceback"],
    is_flag=True,
    expose_value=False,
    callback=_remember,
    help="Show where an error came from.",
)


class Command(click.Command):
    """A command of taskq. Every one of them takes ``--traceback``."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own parameters, then the common one."""
        own = super().get_params(ctx)
        return [*own[:-1], _TRACEBACK, *own[-1:]]


class Commands(click.Group):
    """The group of them. An exception that leaves a command is said in one sentence."""

    command_class = Command

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own parameters, then the common one."""
        own = super().get_params(ctx)
        return [*own[:-1], _TRACEBACK, *own[-1:]]

    def outermost(self, ctx: click.Context) -> bool:
        """Whether this is taskq's own command line, and not a group inside of it."""
        return ctx.parent is None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named. A group inside of another leaves errors to that one."""
        if not self.outermost(ctx):
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort):
            raise
        except click.ClickException as error:
            failure, cause = error, error.__cause__
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise
            failure, cause = translated(error), error
        if cause is not None and ctx.meta.get(_SHOWN):
            traceback.print_exception(cause)
        raise failure from cause


def refuse_before_command(context: click.Context, *given: object) -> None:
    """Refused where options stand between a group and its command, which would not see them."""
    if any(given):
        command = f"taskq {context.info_name} {context.invoked_subcommand}"
        raise Refused(f"options go behind the command: {command} …")
