"""Trio's tasks take no callbacks; an instrument sees each one that ends."""

from __future__ import annotations

from collections.abc import Callable

from trio.abc import Instrument
from trio.lowlevel import RunVar, Task, add_instrument, current_task


class Endings(Instrument):
    """What to call for which task of one run."""

    def __init__(self) -> None:
        self.callbacks: dict[Task, list[Callable[[], object]]] = {}

    def task_exited(self, task: Task) -> None:
        """Trio's hook."""
        for callback in self.callbacks.pop(task, ()):
            callback()


_endings: RunVar[Endings] = RunVar("taskq_endings")


def on_task_end(callback: Callable[[], object]) -> None:
    """See ``task_end``."""
    try:
        endings = _endings.get()
    except LookupError:
        endings = Endings()
        _endings.set(endings)
        add_instrument(endings)
    endings.callbacks.setdefault(current_task(), []).append(callback)
