"""SQL that fills the tables: ids in time order, as real ones are, made where they are stored."""

from __future__ import annotations

QUEUE = "default"
NOOP = "noop"
TYPES = tuple(f"kind{number}" for number in range(200))

_FUTURE, _FINISHED, _READY = 1, 100_000_000, 200_000_000
_ID = """(lpad(to_hex(number), 12, '0') || '70008000' || lpad(to_hex(number), 12, '0'))::uuid"""
_NAMES = (
    "(id, queue, type, status, payload, created_at, ready_at,"
    " result, worker, claim, started_at, finished_at)"
)


def ready(count: int) -> list[str]:
    """``count`` ready activities."""
    due = "now() - interval '1 hour' + number * interval '1 microsecond'"
    return [_inserted(_READY, count, status="pending", type=f"'{NOOP}'", ready_at=due)]


def future(count: int) -> list[str]:
    """``count`` activities that are due tomorrow."""
    due = "now() + interval '1 day' + number * interval '1 millisecond'"
    return [_inserted(_FUTURE, count, status="scheduled", type="'later'", ready_at=due)]


def finished(count: int) -> list[str]:
    """``count`` activities that ended yesterday."""
    due = "now() - interval '2 days' + number * interval '1 millisecond'"
    return [_inserted(_FINISHED, count, status="completed", type="'done'", ready_at=due)]


def types(count: int, first: int) -> list[str]:
    """``first`` ready activities of the first type and ``count`` of the others, well mixed."""
    due = "now() - interval '1 hour' + number * interval '1 microsecond'"
    others = f"'kind' || (1 + number % {len(TYPES) - 1})"
    return [
        _inserted(_FUTURE, count, status="pending", type=others, ready_at=due),
        _inserted(_READY, first, status="pending", type="'kind0'", ready_at=due),
    ]


def emptied() -> list[str]:
    """Take away what ``ready`` made, whatever became of it."""
    return [f"DELETE FROM taskq_activities WHERE type = '{NOOP}'", "DELETE FROM taskq_rollup"]


def settled() -> list[str]:
    """Leave the server with nothing to do."""
    return ["VACUUM (ANALYZE) taskq_activities", "CHECKPOINT"]


def _inserted(start: int, count: int, *, status: str, type: str, ready_at: str) -> str:
    if status == "completed":
        end = f"'null', {_ID}, 1, {ready_at}, {ready_at}"
    else:
        end = "NULL, NULL, 0, NULL, NULL"
    return (
        f"INSERT INTO taskq_activities {_NAMES}"
        f" SELECT {_ID}, '{QUEUE}', {type}, '{status}', '{{}}',"
        f" least(now(), {ready_at}), {ready_at}, {end}"
        f" FROM generate_series({start}, {start + count - 1}) number"
    )
