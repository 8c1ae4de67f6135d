"""Where the stream comes from."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar, TypeVarTuple

from taskq.app import TaskQ
from taskq.backends import Inspector

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Source(Protocol):
    """What a stream needs of its console."""

    @property
    def app(self) -> TaskQ:
        """Whose store is watched."""
        ...

    @property
    def reader(self) -> Inspector:
        """What is asked."""
        ...

    async def ask(self, function: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts) -> T:
        """See ``Console.ask``."""
        ...
