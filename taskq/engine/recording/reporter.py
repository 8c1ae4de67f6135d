"""The reporter: writes how far running attempts have come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import anyio
from msgspec import Struct
from msgspec.structs import replace

from taskq.backends import ProgressReport
from taskq.bridge import Doorbell
from taskq.engine.ground import Ground
from taskq.engine.supervisor import IDLE
from taskq.errors import BackendUnavailable, SchemaError
from taskq.model import Attempt, Lease
from taskq.progress import LONGEST_NOTE, Progress, progress_of

INTERVAL = 1.0
"""Seconds between two writes at the least."""


class _Said(Struct, frozen=True):
    """What a handler said last; ``noted`` is its note as it came, and whose it is, where secrets
    are to be taken out of it yet."""

    progress: Progress
    noted: tuple[Attempt, str] | None = None


class Reporter:
    """Takes what handlers say, from any thread, without ever waiting; of each only the latest.

    All that is new is written together, at most once each ``INTERVAL``. What is still unwritten
    when a handler has ended is written by ``save``, before its outcome is settled. Each write is
    fenced by the claim, so that what an attempt says too late changes nothing.
    """

    def __init__(self, ground: Ground) -> None:
        self._access = ground.access
        self._backend = ground.backend
        self._worker = ground.worker
        self._clock = ground.clock
        self._hide = ground.hide
        self._progress = partial(ground.supervisor.progress, "reporter")
        self._report = partial(ground.supervisor.report, "reporter")
        self._bell = Doorbell()
        self._lock = anyio.Lock()
        self._latest: dict[Lease, _Said] = {}
        self._writing: frozenset[Lease] = frozenset()

    def take(self, attempt: Attempt, done: float, total: float | None, note: str | None) -> None:
        """A handler has come so far. From any thread. Raises TypeError, ValueError for nonsense."""
        said = progress_of(done, total, note, at=self._clock.now())
        self._latest[attempt.lease] = _Said(said, None if note is None else (attempt, note))
        self._bell.ring()

    async def run(self) -> None:
        """Write whatever comes, for ever. Raises BackendError when the store cannot be reached."""
        while True:
            self._progress()
            with anyio.move_on_after(IDLE):
                await self._bell.wait()
            if not self._bell.rung:
                continue
            self._bell.clear()
            await self._write([*self._latest])
            await anyio.sleep(INTERVAL)

    async def save(self, leases: Iterable[Lease]) -> None:
        """Write what is unwritten of these now. Raises BackendError like ``run``."""
        if not self._latest and not self._writing:
            return
        unwritten = [each for each in leases if each in self._latest or each in self._writing]
        if unwritten:
            await self._write(unwritten)

    async def _write(self, leases: Sequence[Lease]) -> None:
        """One call for all of these of which there is anything new, after any call on its way."""
        async with self._lock:
            new = {each: self._latest.pop(each, None) for each in leases}
            reports = [
                ProgressReport(each, self._shown(said))
                for each, said in new.items()
                if said is not None
            ]
            if not reports:
                return
            self._writing = frozenset(new)
            try:
                await self._access.call(self._backend.report_progress, self._worker, reports)
            except (BackendUnavailable, SchemaError):
                self._put_back(reports)
                raise
            except Exception as error:  # what the store refuses must keep no outcome from it
                self._report(error)
            finally:
                self._writing = frozenset()

    def _put_back(self, reports: Sequence[ProgressReport]) -> None:
        """What could not be written is tried again, unless something newer was said meanwhile."""
        for each in reports:
            self._latest.setdefault(each.lease, _Said(each.progress))
        self._bell.ring()

    def _shown(self, said: _Said) -> Progress:
        """What is written of it: secrets are looked for once a write, not once a call, as that
        takes a look at all arguments."""
        if said.noted is None:
            return said.progress
        attempt, note = said.noted
        return replace(said.progress, note=self._hide(attempt, note)[:LONGEST_NOTE])
