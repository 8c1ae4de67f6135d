"""``--log-level`` and ``--log-format`` of the commands that run until they are stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

import click

F = TypeVar("F", bound=Callable[..., object])
LogFormat = Literal["text", "json"]


def log_options(function: F) -> F:
    """Adds them: ``log_level`` and ``log_format``."""
    level = click.option(
        "-l", "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
        default="info", show_default=True, help="What to log, to stderr.",
    )  # fmt: skip
    style = click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
        help="How to log.",
    )  # fmt: skip
    return level(style(function))
