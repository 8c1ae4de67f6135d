"""The ground on which the parts of one engine stand."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from msgspec import Struct

from taskq.backends import Store
from taskq.clock import Clock
from taskq.engine.access import Access
from taskq.engine.claiming.holdings import Holdings
from taskq.engine.options import EngineOptions
from taskq.engine.supervisor import Supervisor
from taskq.events import Event
from taskq.model import Attempt


class Ground(Struct, frozen=True, kw_only=True):
    """What most parts need: who this worker is, its ways out, and what it holds.

    Calls to ``backend`` go through ``access``. ``emit`` publishes an event and does not raise;
    ``random`` gives numbers in 0 to 1. ``hide`` takes the secrets that an attempt was given out of
    a text that is to be recorded about it.
    """

    worker: UUID
    options: EngineOptions
    backend: Store
    access: Access
    holdings: Holdings
    supervisor: Supervisor
    clock: Clock
    emit: Callable[[Event], None]
    new_id: Callable[[], UUID]
    random: Callable[[], float]
    hide: Callable[[Attempt, str], str]
