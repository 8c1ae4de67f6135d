"""A client under fault runs: ``python -m tests.chaos.producer FOLDER SEED SECONDS RATE``.

It enqueues, orders, cancels and looks at random, by its seed, and writes what it means to do before
it does it and what it was told afterwards, so that it may be killed at any moment.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from taskq.errors import BackendError, TaskQError
from tests.chaos.orders import End, Orders, planned

KEYS = 40
"""Idempotency keys that all producers share."""


class Producer:
    """Makes ``rate`` activities a second at the most, in the app of a folder: each kind of deed
    once, again while it fails, then as it comes. ``deadly``: some activities kill their worker, and
    some orders this process."""

    def __init__(self, app: Any, log: Path, *, seed: int, rate: float, deadly: bool = True) -> None:
        self._app = app
        self._store = app.taskq.client.store
        self._call = app.taskq.client.call_sync
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._random = random.Random(seed)
        self._rate = rate
        self._deadly = deadly
        self._orders = Orders(app, (log.parent / "url").read_text(), self._write)
        self._recent: deque[UUID] = deque(maxlen=200)
        self._deeds: dict[Callable[[], int], float] = {
            self._call_one: 46,
            self._call_many: 20,
            self._order: 12,
            self._look: 10,
            self._cancel: 8,
            self._change_mind: 4,
        }
        ends: tuple[End, ...] = ("rollback", "commit")
        self._first: list[Callable[[], int]] = [
            *(partial(self._order, end) for end in ends),
            *self._deeds,
        ][::-1]

    def run(self, seconds: float) -> None:
        """Go on for so long."""
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            made = self._step()
            pause = made / self._rate - (time.monotonic() - now)
            time.sleep(max(0.0, min(pause, end - time.monotonic())))

    def _step(self) -> int:
        """One deed; how many activities it made, at least 1 for the pace."""
        if self._first:
            deed = self._first.pop()
        else:
            [deed] = self._random.choices(list(self._deeds), weights=list(self._deeds.values()))
        return deed()

    def _call_one(self) -> int:
        self._enqueue([self._built()])
        return 1

    def _call_many(self) -> int:
        count = self._random.randint(2, 20)
        self._enqueue([self._built() for _ in range(count)])
        return count

    def _order(self, end: End | None = None) -> int:
        """A call in a transaction of this client's own, which may have to ``end`` in some way."""
        dice, app = self._random, self._app
        delay = dice.choice([None, dice.uniform(0.2, 1.0)])
        activity = (app.quick if delay is None else app.quick.options(delay=delay)).build()
        self._write("intent", activity.id, **intent(activity))
        plan = planned(dice, end=end, deadly=self._deadly)
        if not self._orders.place(activity, plan) and end is not None:
            self._first.append(partial(self._order, end))
        return 1

    def _change_mind(self) -> int:
        """Cancel what waits for its time."""
        activity = self._app.quick.options(delay=self._random.uniform(1.0, 2.0)).build()
        self._enqueue([activity])
        if not self._cancel_one(activity.id):
            self._first.append(self._change_mind)
        return 1

    def _built(self) -> Any:
        app, dice = self._app, self._random
        [build] = dice.choices(
            [
                lambda: app.quick.build(),
                lambda: app.nap.build(round(dice.uniform(0.01, 0.5), 3)),
                lambda: app.thread_nap.build(round(dice.uniform(0.01, 0.3), 3)),
                lambda: app.flaky.build(dice.randint(1, 2)),
                lambda: app.snoozing.build(),
                lambda: app.refuse.build(),
                lambda: app.hopeless.build(),
                lambda: app.family.build(2),
                lambda: app.quick.options(delay=dice.uniform(0.2, 2.0)).build(),
                lambda: app.quick.options(run_at=soon(dice.uniform(0.2, 2.0))).build(),
                lambda: app.nap.options(idempotency_key=f"key-{dice.randrange(KEYS)}").build(0.05),
                lambda: app.kill.build(),
            ],
            weights=[30, 20, 8, 8, 5, 4, 3, 4, 5, 5, 8, 0.2 * self._deadly],
        )
        return build()

    def _enqueue(self, activities: list[Any]) -> None:
        for activity in activities:
            self._write("intent", activity.id, **intent(activity))
        try:
            futures = self._app.taskq.enqueue(activities)
        except TaskQError as error:
            for activity in activities:
                self._write("refused", activity.id, error=str(error))
            return
        for activity, future in zip(activities, futures, strict=True):
            self._write("stored", activity.id, answer=future.id.hex)
            self._recent.append(future.id)

    def _cancel(self) -> int:
        """One of the latest; perhaps it runs."""
        if self._recent:
            self._cancel_one(self._random.choice(list(self._recent)[-8:]))
        return 1

    def _cancel_one(self, id: UUID) -> bool:
        """Whether there was an answer that says what it was."""
        try:
            met = self._call(self._store.cancel, [id]).get(id)
        except BackendError:
            return False
        before = None if met is None else met.status
        self._write("cancelled", id, before=before)
        return before is not None

    def _look(self) -> int:
        """See which have ended, and how."""
        ids = self._random.sample(list(self._recent), k=min(3, len(self._recent)))
        try:
            found = self._call(self._store.outcomes, ids)
        except BackendError:
            return 1
        for id, ended in found.items():
            if ended is not None:
                self._write("seen", id, status=ended.status, result=ended.result)
        return 1

    def _write(self, what: str, id: UUID, **fields: object) -> None:
        line = {"what": what, "at": time.time_ns() // 1000, "id": id.hex, **fields}
        os.write(self._log, json.dumps(line).encode() + b"\n")


def soon(seconds: float) -> datetime:
    """An instant."""
    return datetime.now(UTC) + timedelta(seconds=seconds)


def intent(activity: Any) -> dict[str, object]:
    """What a client may expect of an activity: its key, and when it may run at the earliest."""
    key, run_at, delay = activity.idempotency, activity.run_at, activity.delay
    earliest = None if run_at is None else run_at.timestamp()
    if delay is not None:
        earliest = time.time() + delay
    return {
        "idempotency": None if key is None else f"{activity.type} {key.key}",
        "run_at": None if earliest is None else int(earliest * 1_000_000),
    }


def main() -> None:
    """Run one producer."""
    folder, seed, seconds, rate = sys.argv[1:]
    sys.path.insert(0, folder)
    import app

    log = Path(folder) / f"clients-{os.getpid()}.jsonl"
    Producer(app, log, seed=int(seed), rate=float(rate)).run(float(seconds))
    app.taskq.close()


if __name__ == "__main__":
    main()
