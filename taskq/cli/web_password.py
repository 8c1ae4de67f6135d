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
@click.option("--role", type=click.Choice(ROLES), help="What NAME may do.  [default: viewer]")
def web_password_command(name: str | None, role: str | None) -> None:
    """Make the hash of a password for the console, and print it.

    With NAME the whole account, as TASKQ_WEB_USERS takes it; several are separated by commas. The
    table web_users has NAME = "ROLE:HASH" in its place. In a shell put it in single quotes. The
    password is asked for; where stdin is no terminal, it is its first line.
    """
    if name is None and role is not None:
        raise Refused("--role is for an account: give its NAME too")
    password = _password()
    if not SHORTEST <= len(password) <= LONGEST:
        raise Refused(f"a password has {SHORTEST} to {LONGEST} characters")
    text = hashed(password).text
    if name is None:
        emit(text)
        return
    account = f"{role or ROLES[0]}:{text}"
    users_of({name: account})
    emit(f"{name}={account}")


def _password() -> str:
    if sys.stdin is None:
        raise Refused("there is no stdin to read the password from")
    if sys.stdin.isatty():
        asked: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return asked
    return sys.stdin.readline().rstrip("\r\n")
