"""``taskq web-password``: what to write into the settings for somebody who logs in by password."""

from __future__ import annotations

import sys
from typing import Final

import click

from taskq.cli.command import Command
from taskq.cli.failure import Refused
from taskq.cli.output import emit
from taskq.passwords import LONGEST, hashed
from taskq.settings.accounts import ROLES, users_of

SHORTEST: Final = 8
"""Characters of a new password."""


@click.command("web-password", cls=Command)
@click.argument("name", required=False)
@click.option("--role", type=click.Choice(ROLES), default="viewer", show_default=True)
def web_password_command(name: str | None, role: str) -> None:
    """Make the hash of a password for the console, and print it.

    With NAME the whole account, as TASKQ_WEB_USERS and web_users take it; several are separated by
    commas. In a shell put it in single quotes. The password is asked for; where stdin is no
    terminal, it is its first line.
    """
    password = _password()
    if not SHORTEST <= len(password) <= LONGEST:
        raise Refused(f"a password has {SHORTEST} to {LONGEST} characters")
    text = hashed(password).text
    if name is None:
        emit(text)
        return
    users_of({name: f"{role}:{text}"})
    emit(f"{name}={role}:{text}")


def _password() -> str:
    if sys.stdin is None:
        raise Refused("there is no stdin to read the password from")
    if sys.stdin.isatty():
        asked: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return asked
    return sys.stdin.readline().rstrip("\r\n")
