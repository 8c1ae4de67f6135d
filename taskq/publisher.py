"""Hands events to listeners; a listener's exception is counted and reported, never spreads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from taskq.events import Event, Listener


class Publisher:
    """Calls every listener with every event, in order.

    ``report`` is told of the first failure of each listener and of every thousandth one.
    ``failures`` counts them all.
    """

    def __init__(
        self,
        listeners: Sequence[Listener],
        *,
        report: Callable[[Listener, Event, Exception], None],
    ) -> None:
        self._listeners = tuple(listeners)
        self._report = report
        self._failed: dict[int, int] = {}

    @property
    def failures(self) -> int:
        """How often a listener has raised."""
        return sum(self._failed.values())

    @property
    def listened(self) -> bool:
        """Whether there is anybody to tell."""
        return bool(self._listeners)

    def add(self, listener: Listener) -> None:
        """Tell this listener too, from the next event on."""
        self._listeners = (*self._listeners, listener)

    def publish(self, event: Event) -> None:
        """Tell every listener."""
        for place, listener in enumerate(self._listeners):
            try:
                listener.on_event(event)
            except Exception as error:
                count = self._failed.get(place, 0) + 1
                self._failed[place] = count
                if count % 1000 == 1:
                    self._report(listener, event, error)
