"""Who asks for something on the command line, for the record."""

from __future__ import annotations

import getpass


def actor() -> str:
    """The account's name, where it has one."""
    try:
        return f"cli:{getpass.getuser()}"
    except (OSError, KeyError, ImportError):
        return "cli"
