"""Puts a worker together from an app and the options it was started with."""

from __future__ import annotations

import faulthandler
import os
import random
import socket
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypedDict, TypeVar, cast

import anyio

from taskq.bulk.handler import bulk_handler
from taskq.engine import Engine, EngineOptions
from taskq.engine.backoff import Backoff
from taskq.errors import BackendUnavailable, ConfigurationError
from taskq.identifiers import new_id
from taskq.logs import configured as logs_configured
from taskq.processes.pool import ProcessPool
from taskq.processes.reference import reference
from taskq.reserved import BULK, RESERVED, reserved_name
from taskq.settings import NAME, Settings, bad_name, replaced
from taskq.version import VERSION

if TYPE_CHECKING:
    from taskq.app import TaskQ

T = TypeVar("T")
D = TypeVar("D")


class WorkerArguments(TypedDict, total=False):
    """The keywords of ``taskq.worker`` and ``taskq.run_worker``; the CLI's flags.

    ``queues``: those to serve (default: every queue that tasks name, and the app's).
    ``types``: only these task names; ``"*"`` claims every type and puts unknown ones back.
    ``burst``: drain, then return. ``claim_ahead``: a fixed number of activities claimed beyond free
    slots, instead of what recent run times allow. ``reserve_slots_for_leaves``: slots that only
    ``leaf_types`` get while any of these wait (seed:E13). ``schedules`` False: leave what is
    periodic to other workers. The rest are settings.
    """

    queues: Sequence[str]
    types: Sequence[str] | str
    concurrency: int
    threads: int | None
    burst: bool
    name: str
    shutdown_grace: float
    lease: float
    renew_interval: float | None
    reaper_interval: float
    poll_interval: float
    poll_max: float
    claim_ahead: int | None
    suspend_on_await: bool
    max_suspended: int
    reserve_slots_for_leaves: int
    leaf_types: Sequence[str]
    priority_aging: float | None
    schedules: bool


def engine_for(app: TaskQ, options: Mapping[str, object]) -> Engine:
    """An engine for this app. Raises ConfigurationError for anything that does not fit."""
    given = dict(options)
    unknown = given.keys() - WorkerArguments.__annotations__.keys()
    if unknown:
        raise TypeError(f"worker() got an unexpected keyword {min(unknown)!r}")
    settings = replaced(
        app.settings, **{name: given[name] for name in given if hasattr(app.settings, name)}
    )
    if not app.tasks:
        raise ConfigurationError(
            "this app has no activities: decorate a function with @taskq.activity, and make sure"
            " that its module is imported"
        )
    processes = _processes(app, settings)
    tasks = app.registry.in_processes
    outside = {task.name: processes.outside(reference(task)) for task in tasks}
    return Engine(
        backend=app.client.store,
        bridge=app.client.bridge,
        handlers=app.registry.handlers(outside),
        reserved={BULK: bulk_handler(app)},
        options=_options(app, settings, given),
        clock=app.clock,
        emit=app.publisher.publish,
        middleware=app.middleware,
        schedules=app.schedules.declared(),
        owner=app,
        new_id=new_id,
        random=random.random,
        dump=faulthandler.dump_traceback,
        processes=processes if outside else None,
        hide=app.showing.hide,
    )


def _options(app: TaskQ, settings: Settings, given: Mapping[str, object]) -> EngineOptions:
    types, catch_all = _types(given.get("types"))
    host = socket.gethostname()
    return EngineOptions(
        name=_option(given, "name", str, f"{host}-{os.getpid()}"),
        host=host,
        pid=os.getpid(),
        version=VERSION,
        queues=_queues(given.get("queues")) or app.registry.queues(),
        types=types,
        catch_all=catch_all,
        concurrency=settings.concurrency,
        threads=settings.threads,
        lease=settings.lease,
        renew_interval=settings.renewal,
        reaper_interval=settings.reaper_interval,
        reaper_batch=settings.reaper_batch_size,
        poll_interval=settings.poll_interval,
        poll_max=settings.poll_max,
        claim_ahead=_option(given, "claim_ahead", int, None),
        suspend_on_await=settings.suspend_on_await,
        max_suspended=settings.max_suspended,
        reserve_slots_for_leaves=_option(given, "reserve_slots_for_leaves", int, 0),
        leaf_types=_names("leaf_types", given.get("leaf_types")),
        priority_aging=settings.priority_aging,
        shutdown_grace=settings.shutdown_grace,
        burst=_option(given, "burst", bool, False),
        retention=settings.retention,
        prune_interval=settings.prune_interval,
        schedules=_option(given, "schedules", bool, True),
    )


def _processes(app: TaskQ, settings: Settings) -> ProcessPool:
    return ProcessPool(
        app.client, clock=app.clock, most_idle=settings.concurrency, logs=logs_configured()
    )


async def run_engine(app: TaskQ, engine: Engine) -> None:
    """Open the store, however long that takes, enter the lifespan and run until stopped."""
    try:
        if not await _opened(app, engine):
            return
        async with app.lifespan(app) if app.lifespan is not None else nullcontext():
            await engine.run()
    finally:
        engine.close()


async def _opened(app: TaskQ, engine: Engine) -> bool:
    """Try with backoff while the store is unavailable; False when stopped meanwhile.

    Anything else (a schema that does not fit, a file that is no database) raises: waiting would not
    help.
    """
    backoff = Backoff(random.random)
    while not engine.stopping:
        try:
            await app.client.bridge.call(app.client.ready)
        except BackendUnavailable as error:
            engine.cannot_open(error)
        else:
            return True
        with anyio.move_on_after(backoff.pause()):
            await engine.stop_requested()
    return False


def _option(given: Mapping[str, object], name: str, kind: type[T], default: D) -> T | D:
    """An option that is no setting. Raises ConfigurationError for another type."""
    value = given.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ConfigurationError(f"{name} must be {kind.__name__}, not {value!r}")
    return value


def _queues(queues: object) -> tuple[str, ...]:
    names = _names("queues", queues)
    for name in names:
        if not NAME.match(name):
            raise ConfigurationError(bad_name("queue", name))
        if name in RESERVED:
            raise ConfigurationError(f"{reserved_name('queue', name)}: every worker serves it")
    return names


def _types(types: object) -> tuple[tuple[str, ...] | None, bool]:
    """The types to claim (None: those that have handlers), and whether to claim every type."""
    if types == "*":
        return None, True
    return _names("types", types) or None, False


def _names(what: str, names: object) -> tuple[str, ...]:
    if names is None:
        return ()
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise ConfigurationError(f"{what} must be a sequence of names, not {names!r}")
    found = cast("Sequence[object]", names)
    for name in found:
        if not isinstance(name, str):
            raise ConfigurationError(f"{what} must be a sequence of names, not {names!r}")
    return tuple(dict.fromkeys(cast("Sequence[str]", found)))
