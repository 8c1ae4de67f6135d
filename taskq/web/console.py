"""The console: an app seen through a browser. What all its routes share."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, MutableMapping
from typing import Any, Final, TypeVar, TypeVarTuple, cast
from uuid import UUID

from taskq.app import TaskQ
from taskq.backends import Inspector
from taskq.errors import ActivityNotFound
from taskq.snapshot import ActivityInfo
from taskq.web.access import Access
from taskq.web.live.hub import Hub
from taskq.web.options import ConsoleOptions
from taskq.web.reading import Reading
from taskq.web.role import Identity, Role

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

PATIENCE = 5.0
"""Seconds that one question to the store may take in all; then the answer is 503."""
_KEY: Final = "taskq_console"


def no_activity(id: UUID) -> ActivityNotFound:
    """What is raised for an unknown id."""
    return ActivityNotFound(f"there is no activity {id}", id=id)


class Console:
    """What routes share: the app, how to ask its store, who may come in, and the options.

    Nothing is opened before the first request, so that it can be mounted where no lifespan runs.
    """

    def __init__(self, app: TaskQ, options: ConsoleOptions) -> None:
        self.app = app
        self.options = options
        self.access = Access(app.settings, options, app.clock)
        self._reading = Reading(app.client)
        self.reader: Inspector = self._reading.inspector
        self.hub = Hub(self)

    async def ask(self, function: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts) -> T:
        """Ask the reader: ``await console.ask(console.reader.stats, queues)``. Raises
        BackendUnavailable where there is no answer in time."""
        return await self._reading.ask(function, *args, deadline=PATIENCE)

    async def activity(self, id: UUID) -> ActivityInfo:
        """One activity. Raises ActivityNotFound."""
        info = (await self.ask(self.reader.get, [id])).get(id)
        if info is None:
            raise no_activity(id)
        return info

    def shows_payloads(self, identity: Identity) -> bool:
        """Whether somebody may see arguments, results, error texts and what was reported: viewers
        only by the setting ``web_viewer_payloads``."""
        return identity.role > Role.VIEWER or self.app.settings.web_viewer_payloads

    async def aclose(self) -> None:
        """End the streams and give back the reader's connections. Safe to repeat; asked again, it
        opens them again."""
        await self.hub.aclose()
        await self._reading.aclose()


def of_console(scope: Mapping[str, Any], console: Console) -> MutableMapping[str, Any]:
    """The scope of a request, as one to this console."""
    return {**scope, _KEY: console}


def console_of(scope: Mapping[str, object]) -> Console:
    """The console that a request is to."""
    return cast("Console", scope[_KEY])
