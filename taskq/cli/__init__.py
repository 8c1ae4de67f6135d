"""The command line. ``main`` is the ``taskq`` script and ``python -m taskq``.

Messages go to stderr, data to stdout. Exit codes: 0; 1 when something did not succeed; 2 for wrong
use. Nothing heavy (rich, a database driver) is imported before a command needs it.
"""

from __future__ import annotations

import io
import sys

import click

from taskq.cli.audit import audit_command
from taskq.cli.cancel import cancel_command
from taskq.cli.command import Command, Commands
from taskq.cli.config import config_command
from taskq.cli.dead import dead_commands
from taskq.cli.delete import delete_command
from taskq.cli.demo import demo_command
from taskq.cli.doctor import doctor_command
from taskq.cli.enqueue import enqueue_command
from taskq.cli.inspect import list_command, show_command, status_command, workers_command
from taskq.cli.migrate import migrate_command
from taskq.cli.output import emit, flush
from taskq.cli.prune import prune_command
from taskq.cli.queues import queues_command
from taskq.cli.retry import retry_command
from taskq.cli.schedules import schedules_command
from taskq.cli.steer import priority_command, reschedule_command, run_now_command
from taskq.cli.tail import tail_command
from taskq.cli.web import web_command
from taskq.cli.web_password import web_password_command
from taskq.cli.worker import worker_command
from taskq.version import VERSION


@click.group("taskq", cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, message="%(version)s", help="Print the version.")
def commands() -> None:
    """A durable task queue: run workers, enqueue, look and steer.

    An app is written module:attribute, for example app:taskq; TASKQ_APP names it once for all.
    """


@click.command("version", cls=Command)
def version_command() -> None:
    """Print the version."""
    emit(VERSION)


for _command in (
    worker_command,
    web_command,
    enqueue_command,
    status_command,
    list_command,
    show_command,
    tail_command,
    workers_command,
    retry_command,
    cancel_command,
    prune_command,
    run_now_command,
    reschedule_command,
    priority_command,
    delete_command,
    dead_commands,
    audit_command,
    queues_command,
    schedules_command,
    migrate_command,
    demo_command,
    doctor_command,
    config_command,
    web_password_command,
    version_command,
):
    commands.add_command(_command)


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        commands(prog_name="taskq")
    finally:
        flush()
