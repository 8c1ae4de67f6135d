"""Giving back to the store what was claimed and not started; nothing counts (design 7.9)."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from taskq.engine.claiming.holdings import Held
from taskq.engine.ground import Ground
from taskq.events import HandedBack
from taskq.lifecycle import Unstarted, decide
from taskq.model import Lease


class Returns:
    """Hands activities back to pending at their old place.

    When a reply is lost, of a claim or of a hand-back, nobody here knows what the store thinks that
    this worker holds. Then it is ``in_doubt``, and ``reconcile`` asks and gives back what nobody
    here knows of.
    """

    def __init__(self, ground: Ground) -> None:
        self._access = ground.access
        self._backend = ground.backend
        self._holdings = ground.holdings
        self._worker = ground.worker
        self._emit = ground.emit
        self.in_doubt = False

    async def give_back(self, unstarted: Sequence[Held]) -> None:
        """Hand back what was never started here.

        Raises BackendError; it is in doubt then, and the next ``reconcile`` will do it.
        """
        await self._returned(unstarted, self._hand_back([held.attempt.lease for held in unstarted]))
        for held in unstarted:
            self._emit(HandedBack(attempt=held.attempt))

    async def put_back(self, looked_at: Sequence[Held]) -> None:
        """The same for what was claimed only to see whether it is there: its timeline shows none of
        it."""
        transitions = [decide(held.attempt, Unstarted()) for held in looked_at]
        await self._returned(looked_at, self._access.call(self._backend.settle, transitions))

    async def reconcile(self) -> None:
        """If in doubt, give back what the store holds in this worker's name and nobody here knows.

        Only between claims: the rows of a claim on its way are not known here either.
        """
        if not self.in_doubt:
            return
        self.in_doubt = False
        try:
            await self.give_back_unknown(await self._access.call(self._backend.held, self._worker))
        except BaseException:  # cancelled too: nothing is known yet
            self.in_doubt = True
            raise

    async def give_back_unknown(self, leases: Sequence[Lease]) -> None:
        """Of these leases of this worker, give back those that nobody here knows. May raise.

        What was let go is known: it was started, so its end is a crash and counts.
        """
        holdings = self._holdings
        await self._hand_back(
            [
                lease
                for lease in leases
                if not holdings.holds(lease) and not holdings.has_let_go(lease)
            ]
        )

    async def _returned(self, unstarted: Sequence[Held], call: Awaitable[object]) -> None:
        """Make the call that gives these back, and hold them no longer."""
        for held in unstarted:
            held.finish()
        try:
            await call
        except BaseException:  # cancelled too: nobody knows whether the store has them back
            self.in_doubt = True
            raise
        finally:
            for held in unstarted:
                self._holdings.release(held)

    async def _hand_back(self, leases: list[Lease]) -> None:
        if leases:
            await self._access.call(self._backend.hand_back, self._worker, leases)
