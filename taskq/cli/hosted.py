"""taskq's commands inside of another program's command line: ``litestar taskq …``."""

from __future__ import annotations

from typing import Any

import click

from taskq.app import TaskQ
from taskq.cli import commands
from taskq.cli.command import Commands


class HostedCommands(Commands):
    """All commands, for this app where none is named. ``TASKQ_APP`` does not count here."""

    def __init__(self, app: TaskQ) -> None:
        super().__init__(
            "taskq",
            commands=commands.commands,
            help="Run workers of this application's TaskQ, look and steer.",
        )
        self._app = app

    def outermost(self, ctx: click.Context) -> bool:
        """It says errors in one sentence wherever it stands."""
        return True

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named, with this app."""
        ctx.obj = self._app
        return super().invoke(ctx)
