"""What the engine needs of those who run handlers outside of its process.

They run whole attempts, one in a process at a time: they decode the arguments and encode the result
there, and classify what the handler raised, since exceptions are no data.
"""

from __future__ import annotations

from types import TracebackType
from typing import Protocol

from taskq.context import Context
from taskq.lifecycle import Died, Failed, Snoozed
from taskq.model import Attempt


class EndedOutside(Exception):
    """A handler in another process did not end with a result; ``outcome`` says what it means."""

    def __init__(self, outcome: Failed | Snoozed | Died) -> None:
        super().__init__(_told(outcome))
        self.outcome = outcome


class Program(Protocol):
    """A process that is ready for one attempt. As an async context manager it is given back."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    async def run(self, attempt: Attempt, context: Context) -> str:
        """Run the attempt's handler; the JSON text of its result. Raises EndedOutside.

        Cancelled, it returns when the process has ended, which it makes sure of.
        """
        ...


class Outside(Protocol):
    """Runs the handler of one type in processes of its own."""

    async def program(self, attempt: Attempt) -> Program:
        """A process that is ready, started if need be. Raises EndedOutside if none will start."""
        ...


class Processes(Protocol):
    """All the processes of one worker."""

    async def tidy(self) -> None:
        """End those that have been idle for long; called now and then."""
        ...

    async def aclose(self) -> None:
        """End all of them, within a few seconds, also when this is cancelled."""
        ...


class Encoded(str):
    """A result that is JSON text already: what middleware around such a handler sees."""


def _told(outcome: Failed | Snoozed | Died) -> str:
    match outcome:
        case Failed():
            return f"{outcome.error.type}: {outcome.error.message}"
        case Snoozed(delay):
            return f"snoozed for {delay:g} s"
        case Died(reason):
            return f"the handler's process {reason}"
