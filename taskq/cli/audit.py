"""``taskq audit``: what operators did."""

from __future__ import annotations

import click

from taskq.audit import AuditEntry, effect
from taskq.cli.command import Command
from taskq.cli.output import emit_json, emit_table, say
from taskq.cli.target import opened, target_options
from taskq.cli.text import moment, shortened


@click.command("audit", cls=Command)
@target_options
@click.option(
    "-n", "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="At most."
)
@click.option("--before", type=int, metavar="NUMBER", help="Only older ones than this entry.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def audit_command(
    database: str | None, app: str | None, limit: int, before: int | None, as_json: bool
) -> None:
    """List what operators did, newest first: who, what, and why.

    With --json also the ids that each was about: [{"number", "at", "actor", "action", "reason",
    "target", "detail", "command_id"}].
    """
    with opened(database, app) as found:
        entries = found.operator.audit(limit=limit, before=before)
        entries = [*map(found.showing.audit, entries)]
    if as_json:
        emit_json(entries)
        return
    if not entries:
        say("nothing is on record")
        return
    emit_table(
        ("number", "at", "actor", "action", "target", "reason"),
        [_row(entry) for entry in entries],
        spare=("number",),
    )


def _row(entry: AuditEntry) -> tuple[str, ...]:
    target = ", ".join(filter(None, (entry.target, effect(entry))))
    texts = (shortened(each, 60) for each in (entry.actor, entry.action, target))
    return str(entry.number), moment(entry.at), *texts, shortened(entry.reason, 100)
