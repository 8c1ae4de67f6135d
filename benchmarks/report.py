"""The table and the JSON of a run."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from typing import assert_never

import msgspec
from rich.table import Table

from benchmarks.row import AtLeast, AtMost, Row, Scale, Target, Within


def table(rows: Sequence[Row]) -> Table:
    """As people read it."""
    drawn = Table(title="taskq beside its floors", title_justify="left")
    for name in ("scenario", "what", "value", "floor", "ratio", "target", ""):
        drawn.add_column(name, justify="right" if name in ("value", "floor", "ratio") else "left")
    for row in rows:
        drawn.add_row(*cells(row))
    return drawn


def cells(row: Row) -> tuple[str, ...]:
    """A line of the table."""
    floor, ratio = row.floor, row.ratio
    return (
        row.scenario,
        row.what,
        _amount(row.value, row.unit),
        "" if floor is None else _amount(floor, row.unit),
        "" if ratio is None else f"{ratio:.2f}",
        _wanted(row.target, row.unit),
        {True: "ok", False: "miss", None: ""}[row.met],
    )


def markdown(rows: Sequence[Row]) -> str:
    """The same for a page."""
    lines = ["| scenario | what | value | floor | ratio | target | |", "|---" * 7 + "|"]
    lines += [f"| {' | '.join(cells(row))} |" for row in rows]
    return "\n".join(lines)


def document(rows: Sequence[Row], scale: Scale, server: str) -> bytes:
    """All that was measured, and where."""
    lines = [
        {
            **msgspec.to_builtins(row),
            "value": row.value,
            "floor": row.floor,
            "ratio": row.ratio,
            "met": row.met,
        }
        for row in rows
    ]
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "server": server,
    }
    body = {"machine": machine, "scale": scale, "rows": lines}
    return msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n"


def _amount(value: float, unit: str) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 3 if unit in ("s", "") else 2
    return f"{value:,.{digits}f} {unit}".strip()


def _wanted(target: Target | None, unit: str) -> str:
    match target:
        case AtLeast(times=times):
            return f"≥ {times:g} × floor"
        case Within(times=times):
            return f"≤ {times:g} × floor"
        case AtMost(limit=limit):
            return f"≤ {limit:g} {unit}".strip()
        case None:
            return ""
        case _:
            assert_never(target)
