"""``taskq status``, ``list``, ``show`` and ``workers``: what is in a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast
from uuid import UUID

import click
import msgspec

from taskq.app import TaskQ
from taskq.backends.timeline import ended_unstarted
from taskq.cli.activity import activity_fields, attempts, outcome, progress_text
from taskq.cli.command import Command
from taskq.cli.failure import NotDone
from taskq.cli.filters import FilterCommand, terms
from taskq.cli.names import names
from taskq.cli.names import statuses as to_statuses
from taskq.cli.output import emit, emit_json, emit_pairs, emit_table, say
from taskq.cli.queues import held_up, held_up_text, load_fields
from taskq.cli.target import identified, opened, target_options
from taskq.cli.text import (
    duration,
    instant,
    moment,
    printable_lines,
    shortened,
)
from taskq.cli.tree import emit_tree, shown_tree, tree_fields
from taskq.filtering.reading import narrowed
from taskq.lifecycle import Note
from taskq.model import Priority, Status
from taskq.snapshot import (
    ActivityInfo,
    ActivityPage,
    Filter,
    Page,
    Stats,
    TimelineEntry,
    UnservedType,
    WorkerInfo,
)

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command("status", cls=Command)
@target_options
@click.option("-q", "--queue", "queues", multiple=True, metavar="A,B", help="Only these queues.")
@_JSON
def status_command(
    database: str | None, app: str | None, queues: tuple[str, ...], as_json: bool
) -> None:
    """Count activities by status, queue and priority."""
    with opened(database, app) as found:
        store = found.client.store
        stats = found.client.call_sync(store.stats, names("--queue", queues))
        unserved = found.client.call_sync(store.unserved)
        paused = held_up(found)
        location = store.location
    if as_json:
        emit_json(
            {
                "database": location,
                **stats_fields(stats),
                "unserved": unserved,
                "paused": [load_fields(each) for each in paused],
            }
        )
        return
    _emit_stats(location, stats, unserved)
    for load in paused:
        say(held_up_text(load))


@click.command("list", cls=FilterCommand)
@click.argument("words", nargs=-1, metavar="[FILTER]...")
@target_options
@click.option(
    "-s",
    "--status",
    "statuses",
    multiple=True,
    metavar="A,B",
    help=f"Only these statuses: {', '.join(Status)}.",
)
@click.option("-q", "--queue", "queues", multiple=True, metavar="A,B", help="Only these queues.")
@click.option(
    "-t", "--type", "types", multiple=True, metavar="A,B", help="Only these types, or prefix*."
)
@click.option("--parent", metavar="ID", help="Only children of this activity.")
@click.option(
    "-n", "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="At most."
)
@click.option("--before", type=click.UUID, help="Only older ones than this id: the next page.")
@_JSON
def list_command(
    words: tuple[str, ...],
    database: str | None,
    app: str | None,
    statuses: tuple[str, ...],
    queues: tuple[str, ...],
    types: tuple[str, ...],
    parent: str | None,
    limit: int,
    before: UUID | None,
    as_json: bool,
) -> None:
    """List activities, newest first.

    FILTER is, for example: status:failed type:send_* age>1h -user:42 "timed out". All of it must
    match, and the options too. docs/filters.md has the fields; one that is unknown is told them.

    With --json: {"items": [...], "next": ID or null}. An item has the fields that "taskq show" has
    under --json, without the timeline: id, type, queue, status, payload, result, error and so on;
    times are ISO 8601 in UTC, durations seconds. "next" is what --before takes for the next page.
    """
    wanted = Filter(
        statuses=to_statuses("--status", statuses),
        queues=tuple(names("--queue", queues)),
        types=tuple(names("--type", types)),
    )
    asked = terms(words)
    with opened(database, app) as found:
        if parent is not None:
            wanted = msgspec.structs.replace(wanted, parent_id=identified(found, parent))
        wanted = narrowed(wanted, asked)
        page = found.client.call_sync(
            found.client.store.list, wanted, Page(limit=limit, before=before)
        )
        page = msgspec.structs.replace(page, items=[*map(found.showing.activity, page.items)])
    if as_json:
        emit_json({"items": [activity_fields(item) for item in page.items], "next": page.next})
        return
    _emit_page(page)


@click.command("show", cls=Command)
@click.argument("id")
@target_options
@click.option("--tree", "as_tree", is_flag=True, help="Show the whole tree that it belongs to.")
@click.option("--reveal", is_flag=True, help="Show secrets too.")
@_JSON
def show_command(
    id: str, database: str | None, app: str | None, as_tree: bool, reveal: bool, as_json: bool
) -> None:
    """Show one activity and what happened to it.

    ID may be its first digits: 8 or more, as many as make it unique. With --tree: its root, all
    that this has made, and what those made, one below the other; ">" marks the one that was named,
    "?" one whose parent was deleted. With --json: {"root_id": ID, "nodes": [...], "cut": false}.

    Secrets are shown as [redacted]: what is named like one, or is a Secret of the app's task.
    """
    with opened(database, app) as found:
        store = found.client.store
        identity = identified(found, id)
        if as_tree:
            _show_tree(found, identity, as_json=as_json)
            return
        info = found.client.call_sync(store.get, [identity]).get(identity)
        timeline = found.client.call_sync(store.timeline, identity)
        family = None if info is None or as_json else _family(found, info)
        if info is not None and not reveal:
            timeline = found.showing.timeline(info, timeline)
            info = found.showing.activity(info)
    if info is None:
        raise NotDone(f"there is no activity {identity}")
    if family is None:
        emit_json({**activity_fields(info), "timeline": timeline})
        return
    _emit_activity(info, family, timeline)


@click.command("workers", cls=Command)
@target_options
@_JSON
def workers_command(database: str | None, app: str | None, as_json: bool) -> None:
    """List live workers: those that were heard of within a minute."""
    with opened(database, app) as found:
        workers = found.client.call_sync(found.client.store.workers)
    if as_json:
        emit_json(workers)
        return
    if not workers:
        say("no live worker")
        return
    rows = [_worker_row(worker, found.clock.now()) for worker in workers]
    emit_table(_WORKER_COLUMNS, rows, spare=("id", "types", "host", "queues"))


def stats_fields(stats: Stats) -> dict[str, object]:
    """Counts as JSON: keys are the names of statuses and priorities."""
    return {
        **msgspec.structs.asdict(stats),
        "by_status": {status.value: count for status, count in stats.by_status.items()},
        "by_priority": {level.name: count for level, count in stats.by_priority.items()},
    }


def _emit_stats(location: str, stats: Stats, unserved: Sequence[UnservedType]) -> None:
    emit_pairs(
        [
            ("database", location),
            ("workers", f"{stats.workers} live, {stats.slots_used} of {stats.slots} slots used"),
            ("oldest pending", duration(stats.oldest_pending)),
        ]
    )
    emit("")
    emit_table(
        ("status", "activities"),
        [
            (status.value, f"{count}{'+' if stats.capped(status) else ''}")
            for status, count in stats.by_status.items()
        ],
    )
    queues = sorted(stats.by_queue.items())
    if queues:
        emit("")
        emit_table(("queue", "not ended"), [(queue, str(count)) for queue, count in queues])
    levels = [level for level in reversed(Priority) if stats.by_priority.get(level)]
    if levels:
        emit("")
        rows = [(level.name, str(stats.by_priority[level])) for level in levels]
        emit_table(("priority", "pending"), rows)
    for gap in unserved:
        say(f"no live worker serves {gap.type!r} on queue {gap.queue!r}: {gap.waiting} waiting")


_ACTIVITY_COLUMNS = (
    "id",
    "type",
    "queue",
    "status",
    "priority",
    "attempts",
    "created",
    "outcome",
)


def _emit_page(page: ActivityPage) -> None:
    if not page.items:
        say("no activity matches")
        return
    rows = [_activity_row(item) for item in page.items]
    emit_table(_ACTIVITY_COLUMNS, rows, spare=("queue", "priority", "created", "outcome"))
    if page.next is not None:
        say(f"there are more: --before {page.next}")


def _activity_row(info: ActivityInfo) -> tuple[str, ...]:
    return (
        str(info.id),
        info.type,
        info.queue,
        info.status.value,
        info.priority.name,
        str(attempts(info)),
        moment(info.created_at),
        outcome(info, 60),
    )


_WORKER_COLUMNS = ("name", "id", "host", "pid", "state", "slots", "queues", "types", "seen")


def _worker_row(worker: WorkerInfo, now: datetime) -> tuple[str, ...]:
    stuck = f", {worker.threads_stuck} stuck" if worker.threads_stuck else ""
    suspended = f", {worker.suspended} suspended" if worker.suspended else ""
    return (
        worker.name,
        str(worker.id),
        worker.host,
        str(worker.pid),
        worker.state,
        f"{worker.slots_used}/{worker.concurrency}{suspended}{stuck}",
        ",".join(worker.queues),
        ",".join(worker.types) or "*",
        f"{duration((now - worker.seen_at).total_seconds())} ago",
    )


def _show_tree(found: TaskQ, id: UUID, *, as_json: bool) -> None:
    tree = found.client.call_sync(found.client.store.tree, id)
    if not tree.nodes:
        raise NotDone(f"there is no activity {id}")
    if as_json:
        emit_json(tree_fields(shown_tree(tree, found.showing)))
    else:
        emit_tree(tree, id, found.clock.now())


class Family(msgspec.Struct, frozen=True):
    """The parent of an activity, None where there is none, and its newest children."""

    parent: ActivityInfo | None
    children: ActivityPage


def _family(found: TaskQ, info: ActivityInfo) -> Family:
    store = found.client.store
    parent = None
    if info.parent_id is not None:
        parent = found.client.call_sync(store.get, [info.parent_id]).get(info.parent_id)
    children = found.client.call_sync(store.list, Filter(parent_id=info.id), Page())
    return Family(parent, children)


def _emit_activity(info: ActivityInfo, family: Family, timeline: Sequence[TimelineEntry]) -> None:
    emit_pairs(_details(info, family))
    if info.error is not None and info.error.traceback:
        emit("")
        emit(printable_lines(info.error.traceback.rstrip("\n")))
    emit("")
    emit_table(("at", "what", "attempt", "detail"), [_timeline_row(entry) for entry in timeline])


def _parent(info: ActivityInfo, parent: ActivityInfo | None) -> str:
    if parent is None:
        return str(info.parent_id or "")
    return f"{parent.id} ({parent.type}, {parent.status})"


def _children(info: ActivityInfo, page: ActivityPage) -> str:
    if not page.items:
        return ""
    count = len(page.items)
    return f"{count}{'+' if page.next else ''}: taskq list --parent {info.id}"


def _details(info: ActivityInfo, family: Family) -> list[tuple[str, str]]:
    """What is known, and what differs from the usual."""
    retries = "unlimited" if info.max_retries is None else info.max_retries
    timeout = "no timeout" if info.timeout is None else f"timeout {duration(info.timeout)}"
    pairs: list[tuple[str, object]] = [
        ("id", info.id),
        ("type", info.type),
        ("status", info.status.value),
        ("queue", f"{info.queue}, priority {info.priority.name}"),
        ("attempts", attempts(info)),
        ("retries", f"{info.retry_count} of {retries}"),
        ("crashes", f"{info.crash_count} of {info.max_crashes}"),
        ("limits", timeout),
        ("created", instant(info.created_at)),
        ("ready", instant(info.ready_at)),
        ("starts by", info.expires_at and instant(info.expires_at)),
        ("ends by", info.deadline_at and instant(info.deadline_at)),
        ("started", _started(info)),
        ("finished", info.finished_at and instant(info.finished_at)),
        ("lease until", info.lease_until and instant(info.lease_until)),
        ("cancel asked", info.cancel_requested_at and instant(info.cancel_requested_at)),
        ("progress", progress_text(info)),
        ("worker", info.worker),
        ("parent", _parent(info, family.parent)),
        ("children", _children(info, family.children)),
        ("step", info.step),
        ("root", None if info.root_id == info.id else info.root_id),
        ("origin", None if info.origin_id == info.root_id else info.origin_id),
        ("generation", info.generation or None),
        ("key", info.idempotency_key),
        ("source", info.source),
        ("correlation", info.correlation_id),
        ("user", info.user_id),
        ("tags", ", ".join(f"{key}={value}" for key, value in info.tags.items())),
        ("arguments", _cut(info.payload)),
        ("result", info.result and _cut(info.result)),
        ("error", info.error and f"{info.error.type}: {info.error.message}"),
        ("cause", info.fingerprint),
    ]
    return [(name, str(value)) for name, value in pairs if value is not None and value != ""]


def _started(info: ActivityInfo) -> str | None:
    """When its latest attempt began, if that was more than a claim to end it."""
    if info.started_at is None or ended_unstarted(info):
        return None
    return instant(info.started_at)


def _cut(text: str) -> str:
    short = shortened(text, 2000)
    return short if not short.endswith("…") else f"{short} (--json shows all)"


def _timeline_row(entry: TimelineEntry) -> tuple[str, ...]:
    attempt = "" if entry.attempt is None else str(entry.attempt)
    return instant(entry.at), entry.kind, attempt, shortened(_detail(entry), 100)


def _detail(entry: TimelineEntry) -> str:
    """What an event says, without the traceback."""
    if entry.kind == Note.LINKED:
        return _link(entry)
    parts: list[str] = []
    for name, value in entry.detail.items():
        if name == "error" and isinstance(value, dict):
            error = cast("Mapping[str, object]", value)
            parts.append(f"{error.get('type')}: {error.get('message')}")
        elif name == "delay" and isinstance(value, (int, float)):
            parts.append(f"again in {duration(value)}")
        else:
            parts.append(f"{name} {value}")
    return ", ".join(parts)


def _link(entry: TimelineEntry) -> str:
    parent, root = entry.detail.get("parent"), entry.detail.get("root")
    return f"also awaited by {parent}" + ("" if root == parent else f", root {root}")
