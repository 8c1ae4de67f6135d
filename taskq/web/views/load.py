"""Queues and types: what they hold, who serves them, how they fare."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct

from taskq.pausing import Load
from taskq.snapshot import Bucket, UnservedType
from taskq.task import Effective, Task
from taskq.web.views.latency import LatencyView, summed


class PauseView(Struct, frozen=True, kw_only=True):
    """Since when it is paused, by whom and why."""

    since: datetime
    by: str
    reason: str

    @classmethod
    def of(cls, load: Load | None) -> PauseView | None:
        """Of a queue or type, where it is paused."""
        pause = None if load is None else load.paused
        if pause is None:
            return None
        return cls(since=pause.since, by=pause.by, reason=pause.reason)


class RateView(Struct, frozen=True, kw_only=True):
    """How attempts ended in the last ``seconds``, about an hour, by outcome; how long what ended
    had waited and run."""

    seconds: float
    outcomes: Mapping[str, int]
    wait: LatencyView
    run: LatencyView

    @classmethod
    def of(cls, buckets: Iterable[Bucket], seconds: float) -> RateView:
        """Of the rollup's buckets of one queue or type."""
        outcomes: dict[str, int] = {}
        held = list(buckets)
        for bucket in held:
            outcomes[bucket.outcome] = outcomes.get(bucket.outcome, 0) + bucket.count
        return cls(
            seconds=seconds,
            outcomes=outcomes,
            wait=LatencyView.of(summed(bucket.waits for bucket in held)),
            run=LatencyView.of(summed(bucket.runs for bucket in held)),
        )


class UnservedView(Struct, frozen=True, kw_only=True):
    """How many ``waiting`` activities of a queue and type no live worker serves."""

    queue: str
    type: str
    waiting: int

    @classmethod
    def of(cls, unserved: UnservedType) -> UnservedView:
        """As the store has it."""
        return cls(queue=unserved.queue, type=unserved.type, waiting=unserved.waiting)


class QueueView(Struct, frozen=True, kw_only=True):
    """A queue. ``by_status`` counts its activities, exact below ``cap``, where it stops;
    ``oldest_pending`` is an age in seconds. ``workers`` serve it. ``declared``: this app has tasks
    or defaults for it."""

    name: str
    declared: bool
    paused: PauseView | None
    by_status: Mapping[str, int]
    oldest_pending: float | None
    workers: int
    unserved: list[UnservedView]
    rates: RateView
    cap: int

    @classmethod
    def of(
        cls,
        name: str,
        load: Load | None,
        *,
        declared: bool,
        unserved: list[UnservedView],
        rates: RateView,
        cap: int,
    ) -> QueueView:
        """``load`` None: nothing is stored in it."""
        return cls(
            name=name,
            declared=declared,
            paused=PauseView.of(load),
            by_status=_counts(load),
            oldest_pending=None if load is None else load.oldest_pending,
            workers=0 if load is None else load.workers,
            unserved=unserved,
            rates=rates,
            cap=cap,
        )


class ParameterView(Struct, frozen=True, kw_only=True):
    """A parameter of a task: ``annotation`` and ``default`` as they are written, null where there
    is none. ``kind``: ``args`` takes any number of values, ``kwargs`` any names."""

    name: str
    kind: Literal["one", "args", "kwargs"]
    annotation: str | None
    default: str | None
    required: bool
    secret: bool

    @classmethod
    def of(cls, parameter: inspect.Parameter, *, secret: bool) -> ParameterView:
        """As the signature has it; the default of a secret one is not told."""
        kind: Literal["one", "args", "kwargs"] = "one"
        if parameter.kind is parameter.VAR_POSITIONAL:
            kind = "args"
        elif parameter.kind is parameter.VAR_KEYWORD:
            kind = "kwargs"
        unset = parameter.default is parameter.empty
        bare = parameter.annotation is parameter.empty
        return cls(
            name=parameter.name,
            kind=kind,
            annotation=None if bare else _written(parameter.annotation),
            default=None if unset or secret else _cut(repr(parameter.default)),
            required=unset and kind == "one",
            secret=secret,
        )


class TaskView(Struct, frozen=True, kw_only=True):
    """A task of this app. ``timeout`` is seconds; null: no limit, as for ``max_retries``."""

    queue: str
    priority: str
    max_retries: int | None
    timeout: float | None
    run_in: str
    aliases: tuple[str, ...]
    parameters: list[ParameterView]

    @classmethod
    def of(cls, task: Task[..., object], effective: Effective, secret: frozenset[str]) -> TaskView:
        """With the options that its calls have by default."""
        definition = task.definition
        return cls(
            queue=effective.queue,
            priority=effective.priority.name,
            max_retries=effective.max_retries,
            timeout=effective.timeout,
            run_in=definition.run_in,
            aliases=definition.aliases,
            parameters=[
                ParameterView.of(parameter, secret=parameter.name in secret)
                for parameter in definition.codec.signature.parameters.values()
            ],
        )


class TypeView(Struct, frozen=True, kw_only=True):
    """An activity type. ``task`` is null where this app has none of it. ``by_status`` counts what
    has not ended, exact below ``cap``, where it stops; ``oldest_pending`` is an age in seconds.
    ``workers`` serve it: where some of it has not ended, or else in the queue of its task.
    ``unserved`` are the queues in which some wait that no live worker serves."""

    name: str
    task: TaskView | None
    paused: PauseView | None
    by_status: Mapping[str, int]
    oldest_pending: float | None
    workers: int
    unserved: list[UnservedView]
    rates: RateView
    cap: int

    @classmethod
    def of(
        cls,
        name: str,
        load: Load | None,
        *,
        task: TaskView | None,
        workers: int,
        unserved: list[UnservedView],
        rates: RateView,
        cap: int,
    ) -> TypeView:
        """``load`` None: nothing of it is stored that has not ended."""
        return cls(
            name=name,
            task=task,
            paused=PauseView.of(load),
            by_status=_counts(load),
            oldest_pending=None if load is None else load.oldest_pending,
            workers=workers,
            unserved=unserved,
            rates=rates,
            cap=cap,
        )


def _counts(load: Load | None) -> dict[str, int]:
    if load is None:
        return {}
    return {status.value: count for status, count in load.by_status.items()}


def _written(annotation: object) -> str:
    if isinstance(annotation, str):
        return _cut(annotation)
    return _cut(inspect.formatannotation(annotation))


def _cut(text: str) -> str:
    return text if len(text) <= 200 else text[:199] + "…"
