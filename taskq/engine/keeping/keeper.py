"""The keeper: renews leases, beside the store (design 7.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import anyio

from taskq.backends import Heartbeat, Renewal
from taskq.bridge import Doorbell
from taskq.bridge.poster import Post
from taskq.engine.backoff import Backoff
from taskq.engine.claiming.holdings import Held, Stop
from taskq.engine.ground import Ground
from taskq.engine.keeping.contact import Contact
from taskq.engine.keeping.pulse import Pulse
from taskq.engine.recording.rollup import Rollup
from taskq.errors import BackendUnavailable
from taskq.snapshot import WorkerInfo

TICK = 1.0
"""Seconds between two looks at the event loop's pulse."""
LONGEST_RETRY = 1.0
"""Seconds between two tries to renew at the most."""


class Keeper:
    """One heartbeat each interval: the worker's row, the leases, the counts.

    It runs on the storage thread where there is one, so that a handler that blocks the engine's
    event loop does not lose its lease (bug:B25). What it learns reaches that loop by ``post``. An
    error is no lost lease (bug:B28): it tries again, and the fence watches the time. While the
    event loop is stuck it renews nothing.

    ``describe`` makes the worker's row. ``begun`` is rung after the first heartbeat.
    """

    def __init__(
        self,
        ground: Ground,
        *,
        contact: Contact,
        rollup: Rollup,
        pulse: Pulse,
        describe: Callable[[], WorkerInfo],
        post: Post,
    ) -> None:
        self.begun = Doorbell()
        self._backend = ground.backend
        self._holdings = ground.holdings
        self._clock = ground.clock
        self._random = ground.random
        self._interval = ground.options.renew_interval
        self._progress = partial(ground.supervisor.progress, "keeper")
        self._report = partial(ground.supervisor.report, "keeper")
        self._contact = contact
        self._rollup = rollup
        self._pulse = pulse
        self._describe = describe
        self._post = post
        self._retry = Backoff(ground.random, last=LONGEST_RETRY)
        self._bell = Doorbell()
        self._due_at = ground.clock.monotonic()
        self._stopping = False

    def hurry(self) -> None:
        """Renew now. From any thread."""
        self._due_at = self._clock.monotonic()
        self._bell.ring()

    def stop(self) -> None:
        """Give a last heartbeat, or two if there is more to count than one holds, and end. From any
        thread."""
        self._stopping = True
        self._bell.ring()

    async def run(self) -> None:
        """Keep leases until stopped. Runs beside the store; errors are reported, not raised."""
        while not self._stopping:
            self._bell.clear()
            now = self._clock.monotonic()
            if self._pulse.feel(now):
                self._report(TimeoutError("the event loop is stuck: leases are no longer renewed"))
            if now >= self._due_at and not self._pulse.stuck:
                await self._beat()
            await self._wait()
        await self._beat()
        if self._rollup.behind:
            await self._beat()

    async def _wait(self) -> None:
        pause = min(TICK, max(0.0, self._due_at - self._clock.monotonic()))
        if self._pulse.stuck:
            pause = TICK
        with anyio.move_on_after(pause):
            await self._bell.wait()

    async def _beat(self) -> None:
        began = self._clock.monotonic()
        held = self._holdings.due_for_renewal(began, older_than=self._interval / 2)
        try:
            renewal = await self._renewed(held)
        except Exception as error:
            self._contact.failed()
            self._report(error)
            self._due_at = self._clock.monotonic() + self._retry.pause()
            return
        self._retry.reset()
        self._contact.answered(began)
        self._due_at = began + self._interval * (0.8 + 0.2 * self._random())
        self._pass_on(held, renewal, began)
        if renewal.unreported is not None:
            self._report(renewal.unreported)
        self._progress()
        self.begun.ring()

    async def _renewed(self, held: Sequence[Held]) -> Renewal:
        number, buckets = self._rollup.portion()
        beat = Heartbeat(
            worker=self._describe(),
            leases=tuple(each.attempt.lease for each in held),
            lease=self._holdings.lease,
            number=number,
            buckets=buckets,
        )
        # The bridge sets no deadline for calls made beside the store. A scope may leave a driver's
        # connection unusable, which after so long a silence is no loss.
        with anyio.move_on_after(self._holdings.lease / 4):
            renewal = await self._backend.heartbeat(beat)
            if not isinstance(renewal.unreported, BackendUnavailable):
                self._rollup.acknowledge(number)  # counts that the store refuses are dropped
            return renewal
        raise BackendUnavailable("the store did not answer a renewal in time")

    def _pass_on(self, held: Sequence[Held], renewal: Renewal, began: float) -> None:
        """Note what is renewed, and tell the engine's loop what is lost or cancelled."""
        lost: list[Held] = []
        cancelled: list[Held] = []
        for each in held:
            if each.attempt.id in renewal.lost:
                lost.append(each)
                continue
            each.renewed_at = began
            if each.attempt.id in renewal.cancelled:
                cancelled.append(each)
        if lost or cancelled:
            self._post(partial(_stop, lost, cancelled))


def _stop(lost: Sequence[Held], cancelled: Sequence[Held]) -> None:
    for held in lost:
        held.stop(Stop.LEASE_LOST)
    for held in cancelled:
        held.stop(Stop.CANCELLED)
