"""Writes into the pages beside it what they show of the code: ``python docs/draw.py``.

A drawn place lies between ``<!-- drawn: name -->`` and ``<!-- end -->``. In seeds.md the last cell
of each row is drawn too. ``tests/docs`` fails when a page is out of date.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import msgspec

from taskq.backends import Capabilities, from_url
from taskq.clock import SystemClock
from taskq.lifecycle import (
    TRANSITIONS,
    Cancelled,
    Crashed,
    Died,
    Expired,
    Failed,
    Interrupted,
    Outcome,
    Overdue,
    Snoozed,
    Succeeded,
    TimedOut,
    Transition,
    decide,
)
from taskq.model import Attempt, ErrorInfo, Policy, Status
from taskq.redaction import NAMES
from taskq.settings import Settings

HERE = Path(__file__).parent
ROOT = HERE.parent
PAGES = (
    "lifecycle.md",
    "backends.md",
    "guarantees.md",
    "seeds.md",
    "settings.md",
    "console.md",
)

_PLACE = re.compile(
    r"(?P<begin><!-- drawn: (?P<name>.+?) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)
_ROW = re.compile(r"^(?P<rest>\| (?P<id>[A-Z][0-9]+) \|.*\|) (?P<drawn>[^|]*) \|$", re.MULTILINE)
_REFERENCE = re.compile(r" \((?:seed:|design |D\d)[^)]*\)")
_NAMED = re.compile(r"(promise|seed):([A-Z][0-9]+(?:(?:, |–)[A-Z][0-9]+)*)")


def diagram() -> str:
    """The state machine, as Mermaid draws it."""
    lines = ["```mermaid", "stateDiagram-v2"]
    lines += ["    [*] --> pending: stored", "    [*] --> scheduled: stored for later"]
    for status, following in TRANSITIONS.items():
        lines += [f"    {status} --> {after}: {why}" for after, why in following.items()]
    lines += [f"    {status} --> [*]" for status in Status if status.terminal]
    return "\n".join([*lines, "```"])


_NOBODY, _SOME_DAY = UUID(int=0), datetime(2030, 1, 1, tzinfo=UTC)
_POLICY = Policy(hooks=("on_dead_letter", "on_failure"))
_ATTEMPT = Attempt(
    id=_NOBODY,
    worker=_NOBODY,
    claim=1,
    type="t",
    queue="q",
    payload="{}",
    root_id=_NOBODY,
    origin_id=_NOBODY,
    created_at=_SOME_DAY,
    ready_at=_SOME_DAY,
    policy=_POLICY,
)
_ONCE = msgspec.structs.replace(_POLICY, retry_on_timeout=False)
_NO_DEAD_LETTER = msgspec.structs.replace(_POLICY, dead_letter=False)
_ERROR = ErrorInfo(type="ValueError", message="no")
_ENDS: tuple[tuple[str, Outcome, Mapping[str, object]], ...] = (
    ("it returned", Succeeded("null"), {}),
    ("it failed, retries left", Failed(error=_ERROR), {}),
    ("it failed, no retry left", Failed(error=_ERROR), {"max_retries": 0}),
    (
        "it failed, no retry left, `dead_letter=False`",
        Failed(error=_ERROR),
        {"max_retries": 0, "policy": _NO_DEAD_LETTER},
    ),
    ("it failed, not to be retried", Failed(error=_ERROR, retryable=False), {}),
    ("it timed out, retries left", TimedOut(_ERROR), {}),
    ("it timed out, no retry left", TimedOut(_ERROR), {"max_retries": 0}),
    ("it timed out, `retry_on_timeout=False`", TimedOut(_ERROR), {"policy": _ONCE}),
    ("it was snoozed", Snoozed(60.0), {}),
    ("it was cancelled", Cancelled(), {}),
    ("its worker was stopped", Interrupted(), {}),
    ("its worker was lost", Crashed(), {}),
    ("its worker was lost, and next time would be the last", Crashed(), {"max_crashes": 2}),
    ("its worker was lost once too often", Crashed(), {"max_crashes": 1}),
    ("its own process died", Died("ended"), {}),
    ("its own process died once too often", Died("ended"), {"max_crashes": 1}),
    ("it was claimed after its `expires`", Expired(), {}),
    ("its `deadline` passed", Overdue(started=True), {}),
)
"""Every way in which an attempt ends, with what an activity must be like for it."""


def outcomes() -> str:
    """What ``decide`` makes of each outcome."""
    heads = ("an attempt ended because", "state", "counts", "ready again", "event row", "hooks")
    rows = [
        (why, *_consequences(decide(msgspec.structs.replace(_ATTEMPT, **fields), outcome)))
        for why, outcome, fields in _ENDS
    ]
    return _table(heads, rows)


def _consequences(transition: Transition) -> tuple[str, ...]:
    counts = {"retry_count": transition.retry_count, "crash_count": transition.crash_count}
    if transition.status.terminal:
        ready = "–"
    elif transition.delay is not None:
        ready = "after its delay"
    else:
        ready = "at its old place" + (", isolated" if transition.isolate else "")
    return (
        f"`{transition.status}`",
        ", ".join(f"`{name}` + {count}" for name, count in counts.items() if count) or "–",
        ready,
        f"`{transition.note}`" if transition.note is not None else "–",
        ", ".join(f"`{hook}`" for hook in transition.hook_names) or "–",
    )


STORES = {
    "PostgreSQL": "postgresql://host/name",
    "SQLite": "sqlite:///taskq.db",
    "memory": "memory://",
}
"""The backends that come with taskq, by the URL that opens one."""


def capabilities() -> str:
    """What the backends declare."""
    names = Capabilities.__struct_fields__
    rows = [
        (name, f"`{url}`", *("yes" if getattr(can, each) else "no" for each in names))
        for name, url in STORES.items()
        for can in (from_url(url, clock=SystemClock()).capabilities,)
    ]
    return _table(("backend", "URL", *(f"`{name}`" for name in names)), rows)


def settings() -> str:
    """Every setting, with what its docstring says."""
    rows = [
        (f"`{name}`", f"`TASKQ_{name.upper()}`", f"`{getattr(Settings(), name)}`", meaning)
        for name, meaning in _meanings().items()
    ]
    return _table(("setting", "variable", "default", "meaning"), rows)


def hidden_names() -> str:
    """The names that hide a value."""
    return f"{', '.join(f'`{name}`' for name in sorted(NAMES))}."


def _meanings() -> Mapping[str, str]:
    """The docstring below each field of Settings, without what refers to pages elsewhere."""
    [definition] = ast.parse(inspect.getsource(Settings)).body
    assert isinstance(definition, ast.ClassDef)
    return {
        field.target.id: _REFERENCE.sub("", said.value.value).replace("``", "`")
        for field, said in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(said, ast.Expr)
        and isinstance(said.value, ast.Constant)
        and isinstance(said.value.value, str)
    }


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


DRAWN: Mapping[str, Callable[[], str]] = {
    "diagram": diagram,
    "outcomes": outcomes,
    "capabilities": capabilities,
    "settings": settings,
    "hidden names": hidden_names,
}


def test_files() -> Iterator[Path]:
    """Every file of tests, those for backends of others included."""
    yield from sorted((ROOT / "tests").rglob("*.py"))
    yield from sorted((ROOT / "taskq" / "testing" / "conformance").rglob("*.py"))


def named() -> dict[str, list[str]]:
    """For each ``promise:…`` and ``seed:…``, the test files that name it, below their roots."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in test_files():
        parts = path.relative_to(ROOT).with_suffix("").parts
        for name in names_in(path.read_text(encoding="utf-8")):
            found[name].append("/".join(parts[1:] if parts[0] == "tests" else parts[2:]))
    return dict(found)


def names_in(text: str) -> set[str]:
    """What a text names. ``seed:E2, E3`` and ``seed:Z1–Z6`` name each of theirs."""
    return {
        f"{page}:{id}"
        for page, ids in _NAMED.findall(text)
        for part in ids.split(", ")
        for id in _range(*part.split("–"))
    }


def _range(first: str, last: str | None = None) -> Iterator[str]:
    for number in range(int(first[1:]), int((last or first)[1:]) + 1):
        yield f"{first[0]}{number}"


def drawn(text: str) -> str:
    """A page's text with everything that is drawn in it as the code is now."""
    tests = named()

    def listed(name: str) -> str:
        return ", ".join(f"`{path}`" for path in tests.get(name, ())) or "–"

    def place(match: re.Match[str]) -> str:
        name = match["name"]
        content = DRAWN[name]() if name in DRAWN else f"Held by {listed(name)}."
        return f"{match['begin']}{content}\n{match['end']}"

    def row(match: re.Match[str]) -> str:
        name = f"seed:{match['id']}"
        return f"{match['rest']} {listed(name)} |"

    return _ROW.sub(row, _PLACE.sub(place, text))


def main() -> None:
    """Draw every page anew."""
    for page in PAGES:
        path = HERE / page
        path.write_text(drawn(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
