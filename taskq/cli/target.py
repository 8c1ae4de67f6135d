"""The database that a command looks at: by URL, by app, by environment, or the default one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import click

from taskq.app import TaskQ
from taskq.cli.failure import NotDone, Refused
from taskq.cli.loading import chosen, hosted, load_app
from taskq.snapshot import ActivityInfo, Filter, Page

F = TypeVar("F", bound=Callable[..., object])

_SHORTEST = 8
_SHOWN = 5


def target_options(function: F) -> F:
    """Adds ``--database`` and ``-A/--app``."""
    app = click.option("-A", "--app", metavar="APP", help="Look where this app keeps activities.")
    url = click.option("--database", metavar="URL", help="Look at this database.")
    return url(app(function))


@contextmanager
def opened(database: str | None, app: str | None) -> Generator[TaskQ]:
    """The app to read through, closed afterwards; ``TASKQ_APP`` and ``TASKQ_DATABASE_URL`` count.

    Refused for a store that other processes cannot see; NotDone for a file that is not there, which
    a look must not create.
    """
    found = target(database, app)
    store = found.client.store
    if not store.capabilities.shared:
        raise Refused(f"{store.location} lives inside one process: nothing can be seen from here")
    if missing(store.location):
        raise NotDone(
            f"there is no database at {store.location}: go to the folder where the app runs, or"
            " name it by --database or -A/--app"
        )
    try:
        yield found
    finally:
        found.close()


def target(database: str | None, app: str | None) -> TaskQ:
    """What ``--database`` and ``-A/--app`` or the environment name. Refused when both are given."""
    if database is not None and app is not None:
        raise Refused("--database and -A/--app exclude each other: name one of them")
    if database is not None:
        return TaskQ(database)
    named = chosen(None, app)
    return (hosted() or TaskQ()) if named is None else load_app(named)


def missing(location: str) -> bool:
    """Whether a store's location is a file that does not exist."""
    path = Path(location)
    return path.is_absolute() and not path.exists()


def identified(app: TaskQ, text: str) -> UUID:
    """The activity that a whole id, or its first 8 hexadecimal digits or more, means.

    The first 8 digits are those of about a minute, so it may take more to name one. Refused for a
    text that cannot be one, NotDone when none or several begin so.
    """
    digits = _digits(text)
    if not is_id(text):
        raise Refused(
            f"{text!r} is no activity id, nor the first {_SHORTEST} or more digits of one"
        )
    if len(digits) == 32:
        return UUID(digits)
    last = int(digits.ljust(32, "f"), 16)
    page = Page(limit=_SHOWN + 1, before=UUID(int=last + 1) if last + 1 < 1 << 128 else None)
    items = app.client.call_sync(app.client.store.list, Filter(), page).items
    matching = [item for item in items if item.id.hex.startswith(digits)]
    if not matching:
        raise NotDone(
            f"no activity's id begins with {text}; of one that the console shows by its last"
            " digits, copy the whole there"
        )
    if len(matching) > 1:
        raise NotDone(
            f"several activities' ids begin with {text}, give more digits: {_named(matching)}"
        )
    return matching[0].id


def is_id(text: str) -> bool:
    """Whether a text is a whole id, or the first digits of one."""
    digits = _digits(text)
    return _SHORTEST <= len(digits) <= 32 and not set(digits) - set("0123456789abcdef")


def _digits(text: str) -> str:
    return text.strip().lower().replace("-", "")


def _named(items: Sequence[ActivityInfo]) -> str:
    named = [f"{item.id} ({item.type}, {item.status})" for item in items[:_SHOWN]]
    return ", ".join([*named, "and more"] if len(items) > _SHOWN else named)
