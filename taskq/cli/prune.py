"""``taskq prune``: deletes what has ended long enough ago."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

import click

from taskq import audit
from taskq.app import TaskQ
from taskq.cli import bulk
from taskq.cli.actor import actor
from taskq.cli.command import Command
from taskq.cli.failure import Refused
from taskq.cli.output import emit, emit_json, say
from taskq.cli.selection import final_yes_option, reason_option
from taskq.cli.target import opened, target_options
from taskq.cli.values import DURATION
from taskq.identifiers import new_id
from taskq.model import TERMINAL, Status
from taskq.pruning import Total
from taskq.retention import check_rules, spelled

_STATUSES: Final = [status.value for status in Status]


@click.command("prune", cls=Command)
@target_options
@click.option("--older-than", type=DURATION, help="Such as 7d, instead of the retention.")
@click.option(
    "--status",
    "names",
    multiple=True,
    type=click.Choice(_STATUSES),
    help="Only what ended so; repeatable.",
)
@click.option("--batch", type=click.IntRange(1, 1000), default=100, help="Trees a transaction.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Trees a second.")
@reason_option
@click.option("--dry-run", is_flag=True, help="Count, and delete nothing.")
@final_yes_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def prune_command(
    database: str | None,
    app: str | None,
    older_than: float | None,
    names: tuple[str, ...],
    batch: int,
    rate: float | None,
    reason: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete activities that ended long enough ago, each with all that is below it.

    By the app's retention, or what --older-than and --status say: for example
    "taskq prune --older-than 7d --status completed", which says how many there are and asks. A tree
    goes whole or not at all. It may be interrupted at any time, and asked for again. With --json:
    {"trees": 12, "activities": 34, "dry_run": false}.
    """
    with opened(database, app) as found:
        rules = _rules(found, older_than, [Status(name) for name in names])
        total = _counted(found, rules, batch)
        kept = spelled(rules)
        if dry_run or not total.trees:
            _answer(total, kept, dry_run=dry_run, as_json=as_json)
            return
        say(f"{_said(total)} may go ({kept})")
        bulk.ask("delete them?", yes=yes, without="nothing was deleted: add --yes to delete them")
        command = audit.Command(actor=actor(), reason=reason, id=new_id())
        _answer(
            _pruned(found, rules, total, command, batch=batch, rate=rate),
            kept,
            dry_run=False,
            as_json=as_json,
        )


def _rules(
    found: TaskQ, older_than: float | None, statuses: list[Status]
) -> Mapping[Status, float]:
    """What to keep for how long. Refused where nothing says so, or what has not ended is meant."""
    given = dict.fromkeys(statuses, older_than or 0.0)
    check_rules(given, "taskq prune")
    if older_than is not None:
        if not statuses:
            ended = ", ".join(status for status in Status if status in TERMINAL)
            raise Refused(f"--older-than needs --status: which of {ended} may go")
        return given
    rules = found.retention.rules
    if not rules:
        raise Refused(
            "nothing says what may go: give --older-than and --status, or set retention"
            " (TASKQ_RETENTION=completed=7d)"
        )
    if without := [status for status in statuses if status not in rules]:
        raise Refused(f"retention says nothing about {without[0]}: give --older-than too")
    return {status: rules[status] for status in statuses or rules}


def _counted(found: TaskQ, rules: Mapping[Status, float], batch: int) -> Total:
    """What may go now."""
    total = Total()
    with bulk.bar("looking", None) as advance:
        for part in found.retention.batches(spelled_out(rules), batch=batch, dry_run=True):
            total = total.plus(part)
            advance(part.activities)
    return total


def _pruned(
    found: TaskQ,
    rules: Mapping[Status, float],
    expected: Total,
    command: audit.Command,
    *,
    batch: int,
    rate: float | None,
) -> Total:
    """Delete it; says how much was done when somebody interrupts or the database fails."""
    total = Total()
    begun = time.monotonic()
    try:
        with bulk.bar("deleting", expected.activities) as advance:
            for part in found.retention.batches(spelled_out(rules), command=command, batch=batch):
                total = total.plus(part)
                advance(part.activities)
                if rate is not None:
                    time.sleep(max(0.0, begun + total.trees / rate - time.monotonic()))  # the rate
    except BaseException:  # also Ctrl-C: what is done is said
        say(f"{_said(total)} were deleted before that")
        raise
    return total


def spelled_out(rules: Mapping[Status, float]) -> dict[str, float]:
    """Rules by the states' names."""
    return {status.value: seconds for status, seconds in rules.items()}


def _answer(total: Total, kept: str, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        emit_json({"trees": total.trees, "activities": total.activities, "dry_run": dry_run})
    elif not total.trees:
        emit(f"nothing may go ({kept})")
    elif dry_run:
        emit(f"{_said(total)} would be deleted ({kept})")
    else:
        emit(f"{_said(total)} were deleted")


def _said(total: Total) -> str:
    trees = f"{total.trees} {'tree' if total.trees == 1 else 'trees'}"
    return f"{total.activities} {'activity' if total.activities == 1 else 'activities'} in {trees}"
