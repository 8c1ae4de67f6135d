"""``taskq config``: each setting in force, and where it came from (D35)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import click
import msgspec

from taskq.app import TaskQ
from taskq.cli.command import Command
from taskq.cli.loading import chosen
from taskq.cli.output import emit_json, emit_table, say
from taskq.cli.target import target
from taskq.cli.text import printable
from taskq.retention import Rules, spelled
from taskq.settings import ignored
from taskq.settings.origin import Argument, Origin, told


class Shown(msgspec.Struct, frozen=True):
    """One setting: its value in force, a database URL without what may be secret, and its origin.

    Under ``--json`` ``from`` is an object: ``kind`` is argument, variable, file or default.
    """

    setting: str
    value: object
    origin: Origin = msgspec.field(name="from")


@click.command("config", cls=Command)
@click.argument("app", required=False)
@click.option("-A", "--app", "app_option", metavar="APP", help="The app, instead of the argument.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def config_command(app: str | None, app_option: str | None, as_json: bool) -> None:
    """Show each setting in force, and where it came from.

    Of APP, or without one what environment and file say. A flag of "taskq worker" beats them. With
    --json: {"settings": [{"setting": "lease", "value": 30.0, "from": {"kind": "default"}}, ...]};
    "from" has the "name" of an argument or variable, the "path" and "key" of a file. A variable
    TASKQ_... that is none of them is named on stderr.
    """
    found = target(None, chosen(app, app_option))
    try:
        settings = shown(found)
    finally:
        found.close()
    for each in ignored():
        guess = f"; did you mean {each.meant}?" if each.meant else ""
        say(printable(f"{each}{guess}"))
    if as_json:
        emit_json({"settings": settings})
        return
    rows = [(each.setting, _text(each.value), told(each.origin)) for each in settings]
    emit_table(("setting", "value", "from"), rows)


def shown(app: TaskQ) -> list[Shown]:
    """Every setting of an app, in the order in which ``Settings`` has them."""
    safe = {**dict(app.settings.__rich_repr__()), "database_url": _database(app)}
    return [Shown(name, safe[name], origin) for name, origin in app.configuration.origins.items()]


def _database(app: TaskQ) -> str:
    """The URL where it can hold no password, else what the store says of its place."""
    url = str(dict(app.settings.__rich_repr__())["database_url"])
    own = app.configuration.origins["database_url"] == Argument("backend")
    return app.client.store.location if own or url.endswith("…") else url


def _text(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "on" if value else "off"
        case float():
            return f"{value:g}"
        case Mapping():
            return spelled(cast("Rules", value)) or "none"
        case tuple():
            return ",".join(cast("tuple[str, ...]", value)) or "none"
        case _:
            return str(value) or "none"
