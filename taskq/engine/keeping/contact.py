"""Whether the store has been reachable, and since when."""

from __future__ import annotations


class Contact:
    """What renewals and sweeps tell about the store. Times are the clock's monotonic seconds.

    ``patience``: a silence longer than this counts as a break too, for example when the whole
    machine slept. Read and written from the engine's loop and from beside the store.
    """

    def __init__(self, *, patience: float) -> None:
        self._patience = patience
        self._since: float | None = None
        self._latest: float | None = None

    @property
    def latest(self) -> float | None:
        """When the store last answered; None: never."""
        return self._latest

    def answered(self, now: float) -> None:
        """The store has answered a call that began at ``now``."""
        silent = self._latest is None or now - self._latest > self._patience
        if self._since is None or silent:
            self._since = now
        self._latest = now

    def failed(self) -> None:
        """The store could not be reached."""
        self._since = None

    def unbroken(self, now: float) -> float:
        """For how many seconds it has been reachable without a break; 0.0 when it is not."""
        if self._since is None or self._latest is None or now - self._latest > self._patience:
            return 0.0
        return now - self._since
