"""The schedules of an app: those that its code declares, and those made and steered at run time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, TypedDict, TypeVar, Unpack
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from taskq.audit import PROGRAM, Command, Who, command_of
from taskq.client import StoreClient
from taskq.codec import from_json
from taskq.defining import schedule, template, timing
from taskq.errors import ConfigurationError, InvalidState
from taskq.future import ActivityFuture
from taskq.identifiers import new_id
from taskq.model import Activity
from taskq.occurrences import Timing
from taskq.schedule import CatchUp, Overlap, Schedule, ScheduleInfo
from taskq.showing import Showing
from taskq.task import Task

T = TypeVar("T")

Named = Callable[[str], Coroutine[Any, Any, T]]
Put = Callable[[], Coroutine[Any, Any, ScheduleInfo | None]]


class CommonOptions(TypedDict, total=False):
    """What may be said of a schedule besides cron text, for type checkers: see ``TaskQ.periodic``.
    ``every`` and ``jitter`` are timedeltas or seconds."""

    every: timedelta | float
    tz: str
    catch_up: CatchUp
    overlap: Overlap
    jitter: timedelta | float


class ScheduleOptions(CommonOptions, total=False):
    """The same with cron text. One of ``cron`` and ``every`` is given."""

    cron: str


class Declaration(Struct, frozen=True):
    """One ``@taskq.periodic``: the task, its arguments, and the schedule as far as it is known
    before the app's queues are. ``draft`` has the call as it was then."""

    task: Task[..., Any]
    arguments: Mapping[str, object]
    draft: Schedule

    def schedule(self) -> Schedule:
        """The whole of it, with the options that the app has now."""
        call = self.task.build(**self.arguments)
        return replace(self.draft, template=template(self.draft.name, call))


class Schedules:
    """``taskq.schedules``. Thread-safe; each method blocks for one round trip, and has a twin whose
    name begins with ``a`` that is awaited instead.

    What changes something is on record, with ``actor``, ``reason`` and ``command_id``: see
    ``audit.Who``.
    """

    def __init__(self, client: StoreClient, showing: Showing) -> None:
        self._client = client
        self._showing = showing
        self._declarations: dict[str, Declaration] = {}

    # -- in code --

    def declare(self, declaration: Declaration) -> None:
        """Add what ``@taskq.periodic`` was put on. Raises ConfigurationError for a name taken."""
        name = declaration.draft.name
        if name in self._declarations:
            raise ConfigurationError(
                f"@taskq.periodic on {declaration.task.name!r}: there is a schedule {name!r}"
                " already; give one of them another name="
            )
        self._declarations[name] = declaration

    def declared(self) -> Sequence[Schedule]:
        """What the code of this app declares; a worker puts it into the store when it starts."""
        return [each.schedule() for each in self._declarations.values()]

    # -- looking --

    def list(self) -> Sequence[ScheduleInfo]:
        """All schedules in the store, by name."""
        return self._client.call_sync(self._client.store.schedules)

    async def alist(self) -> Sequence[ScheduleInfo]:
        """The same without blocking the event loop."""
        return await self._client.call(self._client.store.schedules)

    def get(self, name: str) -> ScheduleInfo:
        """One schedule. Raises InvalidState where there is none of this name."""
        return _found(name, self._client.call_sync(self._client.store.schedules, [name]))

    async def aget(self, name: str) -> ScheduleInfo:
        """The same without blocking the event loop."""
        return _found(name, await self._client.call(self._client.store.schedules, [name]))

    # -- changing --

    def create(
        self,
        name: str,
        activity: Activity[Any],
        *,
        actor: str = PROGRAM,
        reason: str = "",
        command_id: UUID | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> ScheduleInfo:
        """Make a schedule of a built call: ``create("mail", send.build(to="ada"), cron="@daily")``.

        The call's options hold for each that is made. Raises ConfigurationError naming the field
        for what makes no sense, InvalidState where the name is taken.
        """
        new = _new(name, activity, options)
        command = _command(actor=actor, reason=reason, command_id=command_id)
        put = self._put(new, None, command)
        return _made(name, self._client.call_sync(put))

    async def acreate(
        self,
        name: str,
        activity: Activity[Any],
        *,
        actor: str = PROGRAM,
        reason: str = "",
        command_id: UUID | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> ScheduleInfo:
        """The same without blocking the event loop."""
        new = _new(name, activity, options)
        command = _command(actor=actor, reason=reason, command_id=command_id)
        put = self._put(new, None, command)
        return _made(name, await self._client.call(put))

    def update(
        self,
        name: str,
        *,
        activity: Activity[Any] | None = None,
        revision: int | None = None,
        actor: str = PROGRAM,
        reason: str = "",
        command_id: UUID | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> ScheduleInfo:
        """Change what is given, leave the rest. Other times make another next time. ``revision`` is
        the one that is to be changed; None: the one that there is.

        Raises as ``create``; InvalidState for an unknown name, or where somebody else has changed
        it since that revision.
        """
        before = self.get(name)
        after = _changed(before, activity, options)
        command = _command(actor=actor, reason=reason, command_id=command_id)
        put = self._put(after, before.revision if revision is None else revision, command)
        return _edited(name, self._client.call_sync(put))

    async def aupdate(
        self,
        name: str,
        *,
        activity: Activity[Any] | None = None,
        revision: int | None = None,
        actor: str = PROGRAM,
        reason: str = "",
        command_id: UUID | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> ScheduleInfo:
        """The same without blocking the event loop."""
        before = await self.aget(name)
        after = _changed(before, activity, options)
        command = _command(actor=actor, reason=reason, command_id=command_id)
        put = self._put(after, before.revision if revision is None else revision, command)
        return _edited(name, await self._client.call(put))

    def pause(self, name: str, **who: Unpack[Who]) -> ScheduleInfo:
        """Fire no more until ``resume``. Raises InvalidState for an unknown name."""
        pause = self._pause(True, who)
        return _one(name, self._client.call_sync(pause, name))

    async def apause(self, name: str, **who: Unpack[Who]) -> ScheduleInfo:
        """The same without blocking the event loop."""
        pause = self._pause(True, who)
        return _one(name, await self._client.call(pause, name))

    def resume(self, name: str, **who: Unpack[Who]) -> ScheduleInfo:
        """Go on with the first occurrence after now: what passed meanwhile is left out. Raises
        InvalidState for an unknown name."""
        resume = self._pause(False, who)
        return _one(name, self._client.call_sync(resume, name))

    async def aresume(self, name: str, **who: Unpack[Who]) -> ScheduleInfo:
        """The same without blocking the event loop."""
        resume = self._pause(False, who)
        return _one(name, await self._client.call(resume, name))

    def trigger(self, name: str, **who: Unpack[Who]) -> ActivityFuture[object]:
        """Make one activity now, besides the occurrences, which stay as they are; ``overlap`` does
        not hold for it. It has the ``command_id``, where one is given, as its id: the same call
        again answers the same activity. Raises InvalidState for an unknown name."""
        id = who.get("command_id") or new_id()
        return self._triggered(name, id, self._client.call_sync(self._trigger(id, who), name))

    async def atrigger(self, name: str, **who: Unpack[Who]) -> ActivityFuture[object]:
        """The same without blocking the event loop."""
        id = who.get("command_id") or new_id()
        return self._triggered(name, id, await self._client.call(self._trigger(id, who), name))

    def delete(self, name: str, **who: Unpack[Who]) -> None:
        """Forget a schedule; what it has made stays. One that code declares comes back with the
        next worker. Raises InvalidState for an unknown name."""
        _there(name, self._client.call_sync(self._delete(who), name))

    async def adelete(self, name: str, **who: Unpack[Who]) -> None:
        """The same without blocking the event loop."""
        _there(name, await self._client.call(self._delete(who), name))

    def _put(self, new: Schedule, revision: int | None, command: Command) -> Put:
        shown = self._showing.definition(new)
        put = self._client.store.put_schedule
        return partial(put, new, revision=revision, command=command, shown=shown)

    def _pause(self, paused: bool, who: Who) -> Named[ScheduleInfo | None]:
        command = _command(**who)
        return partial(self._client.store.pause_schedule, paused=paused, command=command)

    def _trigger(self, id: UUID, who: Who) -> Named[bool]:
        return partial(self._client.store.trigger_schedule, id=id, command=_command(**who))

    def _delete(self, who: Who) -> Named[bool]:
        return partial(self._client.store.delete_schedule, command=_command(**who))

    def _triggered(self, name: str, id: UUID, done: bool) -> ActivityFuture[object]:
        _there(name, done)
        return ActivityFuture(id, self._client, from_json)


def _command(**who: Unpack[Who]) -> Command:
    """With an id in any case: what is sent again after a lost answer is done once."""
    return command_of({**who, "command_id": who.get("command_id") or new_id()})


def _new(name: str, activity: Activity[Any], options: ScheduleOptions) -> Schedule:
    where = f"schedule {name!r}"
    known(f"{where}: create()", options)
    return schedule(
        where,
        name,
        timing=times(where, options),
        template=template(where, activity),
        jitter=options.get("jitter", 0),
        catch_up=options.get("catch_up", "latest"),
        overlap=options.get("overlap", "allow"),
    )


def _changed(
    info: ScheduleInfo, activity: Activity[Any] | None, options: ScheduleOptions
) -> Schedule:
    before, where = info.schedule, f"schedule {info.name!r}"
    known(f"{where}: update()", options)
    if info.broken is not None and activity is None:
        raise InvalidState(f"{where} is broken: {info.broken}; give its activity again, or delete")
    return schedule(
        where,
        before.name,
        timing=_other_times(where, before.timing, options),
        template=before.template if activity is None else template(where, activity),
        jitter=options.get("jitter", before.jitter / 1000),
        catch_up=options.get("catch_up", before.catch_up),
        overlap=options.get("overlap", before.overlap),
    )


def times(where: str, options: ScheduleOptions) -> Timing:
    """The times among the options. Raises ConfigurationError."""
    return timing(
        where, cron=options.get("cron"), every=options.get("every"), timezone=options.get("tz")
    )


def known(where: str, options: Mapping[str, object]) -> None:
    """Raises TypeError for a keyword that is no option."""
    for name in options:
        if name not in ScheduleOptions.__annotations__:
            raise TypeError(f"{where} got an unexpected keyword {name!r}")


def _other_times(where: str, before: Timing, options: ScheduleOptions) -> Timing:
    """A zone alone is for the text that is there; a text alone keeps its zone."""
    if not options.keys() & {"cron", "every", "tz"}:
        return before
    merged = ScheduleOptions(**options)
    if "cron" not in options and "every" not in options:
        if before.cron is None:
            merged["every"] = (before.every or 0) / 1000
        else:
            merged["cron"] = before.cron
    elif "cron" in options and "tz" not in options and before.cron is not None:
        merged["tz"] = before.timezone
    return times(where, merged)


def _found(name: str, found: Sequence[ScheduleInfo]) -> ScheduleInfo:
    return _one(name, found[0] if found else None)


def _one(name: str, info: ScheduleInfo | None) -> ScheduleInfo:
    if info is None:
        raise InvalidState(f"there is no schedule {name!r}")
    return info


def _there(name: str, done: bool) -> None:
    if not done:
        raise InvalidState(f"there is no schedule {name!r}")


def _made(name: str, info: ScheduleInfo | None) -> ScheduleInfo:
    if info is None:
        raise InvalidState(f"there is a schedule {name!r} already")
    return info


def _edited(name: str, info: ScheduleInfo | None) -> ScheduleInfo:
    if info is None:
        raise InvalidState(f"schedule {name!r} was changed by somebody else meanwhile: look again")
    return info
