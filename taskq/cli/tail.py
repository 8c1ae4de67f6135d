"""``taskq tail``: what happens, as it happens.

Hints say when to look; without any, it looks all the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TypeVar
from uuid import UUID

import click
import msgspec

from taskq.app import TaskQ
from taskq.backends import Hint, Topic
from taskq.bridge import Doorbell
from taskq.cli.failure import NotDone
from taskq.cli.filters import FilterCommand, terms
from taskq.cli.names import names
from taskq.cli.output import emit, say
from taskq.cli.target import identified, is_id, opened, target_options
from taskq.cli.text import ascii_json, instant, printable, shortened
from taskq.errors import BackendUnavailable
from taskq.filtering.reading import narrowed
from taskq.following import Bounds, Lately
from taskq.model import Status
from taskq.news import News, Seen, news
from taskq.snapshot import ActivityInfo, Filter

T = TypeVar("T")

POLL = 0.5
"""Seconds between two looks without a hint; progress has none."""
REST = 0.1
"""Seconds between two looks at the least."""
BOUNDS = Bounds()
TOO_MANY = (
    f"more than {BOUNDS.page * BOUNDS.pages} new activities since the latest look: not all are"
    " shown"
)


@click.command("tail", cls=FilterCommand)
@click.argument("words", nargs=-1, metavar="[ID...|FILTER...]")
@target_options
@click.option(
    "-t", "--type", "types", multiple=True, metavar="A,B", help="Only these types, or prefix*."
)
@click.option("-q", "--queue", "queues", multiple=True, metavar="A,B", help="Only these queues.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def tail_command(
    words: tuple[str, ...],
    database: str | None,
    app: str | None,
    types: tuple[str, ...],
    queues: tuple[str, ...],
    as_json: bool,
) -> None:
    """Print what happens to activities as it happens, until Ctrl-C.

    Without ID: each activity that is enqueued from now on, starts, or ends; with FILTER those that
    match, for example "taskq tail status:dead_letter queue:mail", and what comes of them. With ID:
    where these stand, their states and progress, until all of them have ended; exit code 1 when one
    of them ended without a result. --json: {"at", "id", "type", "queue", "what", "status",
    "detail", "progress"} on each line.
    """
    ids = words if any(map(is_id, words)) else ()
    wanted = Filter(types=tuple(names("--type", types)), queues=tuple(names("--queue", queues)))
    if ids and (types or queues):
        raise click.UsageError("--type and --queue are for all activities, not for those named")
    if not ids:
        wanted = narrowed(wanted, terms(words))
    show = _show_json if as_json else _show
    with opened(database, app) as found:
        if not ids:
            _follow_all(found, wanted, show)
            return
        followed = [*dict.fromkeys(identified(found, id) for id in ids)]
        if not _follow(found, followed, show):
            raise click.exceptions.Exit(1)


def _follow_all(found: TaskQ, wanted: Filter, show: Callable[[News], None]) -> None:
    """Everything that is new from now on. Ctrl-C is how it ends."""
    client = found.client
    lately = Lately(client.store, found.clock, wanted, BOUNDS)
    try:
        with _bell(found, Topic.READY, Topic.DONE) as bell:
            client.call_sync(lately.begin)
            while True:
                look = _patiently(lambda: client.call_sync(lately.look))
                if look.cut:
                    say(TOO_MANY)
                for each in look.news:
                    show(each)
                _wait(bell)
    except KeyboardInterrupt:
        return


def _follow(found: TaskQ, ids: Sequence[UUID], show: Callable[[News], None]) -> bool:
    """Those named until they have ended; whether all of them have a result."""
    look = _Named(found, ids)
    try:
        with _bell(found, Topic.READY, Topic.DONE, Topic.CANCEL) as bell:
            while True:
                for each in _patiently(look.look):
                    show(each)
                if not look.left:
                    return not look.failed
                _wait(bell)
    except KeyboardInterrupt:
        return False


class _Named:
    """What is known of the activities that were named. ``left``: those that have not ended."""

    def __init__(self, found: TaskQ, ids: Sequence[UUID]) -> None:
        self._found = found
        self._seen: dict[UUID, Seen] = {}
        self.left = [*ids]
        self.failed = False

    def look(self) -> list[News]:
        """What is new, oldest first. NotDone for an id that is not there."""
        client = self._found.client
        infos = client.call_sync(client.store.get, self.left)
        for id in self.left:
            if id not in infos:
                gone = "" if id not in self._seen else " any more: it was deleted"
                raise NotDone(f"there is no activity {id}{gone}")
        told = _told(self._found, self._seen, infos.values())
        self._seen.update((id, Seen.of(info)) for id, info in infos.items())
        self.left = [id for id in self.left if not infos[id].status.terminal]
        ended = (info.status for info in infos.values() if info.status.terminal)
        self.failed = self.failed or any(status is not Status.COMPLETED for status in ended)
        return told


def _told(found: TaskQ, seen: dict[UUID, Seen], infos: Iterable[ActivityInfo]) -> list[News]:
    now = found.clock.now()
    shown = map(found.showing.activity, infos)
    fresh = [each for info in shown for each in news(seen.get(info.id), info, now)]
    return sorted(fresh, key=lambda each: each.at)


def _patiently(look: Callable[[], T]) -> T:
    """Look; what cannot be reached now is looked at again."""
    said = False
    while True:
        try:
            return look()
        except BackendUnavailable as error:
            if not said:
                say(f"{error}; trying again")
            said = True
        time.sleep(POLL)  # before the next try to reach the database


@contextmanager
def _bell(found: TaskQ, *topics: Topic) -> Generator[Doorbell]:
    """A bell that hints ring."""
    bell = Doorbell()
    client = found.client

    def hear(_: Hint) -> None:
        bell.ring()

    watch = client.call_sync(client.store.watch, topics, hear)
    try:
        yield bell
    finally:
        client.call_sync(watch.close)


def _wait(bell: Doorbell) -> None:
    """Until there may be something new."""
    time.sleep(REST)  # rung at every change, it looks no more often than this
    bell.wait_sync(POLL - REST)
    bell.clear()


def _show(each: News) -> None:
    info = each.info
    cells = (instant(each.at), str(info.id), f"{info.type}  {each.what}", each.detail)
    emit("  ".join(printable(cell) for cell in cells if cell))


def _show_json(each: News) -> None:
    info = each.info
    line = {
        "at": each.at,
        "id": info.id,
        "type": info.type,
        "queue": info.queue,
        "what": each.what,
        "status": info.status,
        "detail": shortened(each.detail, 1000),
        "progress": info.progress,
    }
    emit(ascii_json(msgspec.json.encode(line).decode()))
