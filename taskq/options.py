"""The options of a task and of one call, checked where they are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType

from taskq.backends import CallerTransaction
from taskq.errors import ConfigurationError
from taskq.model import COUNTED_TO, LONGEST_TEXT, DeadLetter, OnDuplicate, Priority
from taskq.reserved import RESERVED, reserved_name
from taskq.retry import RetryPolicy
from taskq.settings import NAME, bad_name
from taskq.transaction import caller_transaction

if TYPE_CHECKING:
    from taskq.transaction import AnyConnection, AnySession

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9998, 12, 31, 23, 59, 59, tzinfo=UTC)
LONGEST = (LATEST - datetime(2100, 1, 1, tzinfo=UTC)).total_seconds()
"""The longest delay in seconds: counted from any day before 2100 it ends by the year 9998."""

MOST = COUNTED_TO
"""The largest count that every store keeps."""

HookFunction = Callable[[DeadLetter], Any]


class TaskOptions(Struct, frozen=True, kw_only=True):
    """What a call, a decorator, a queue or the app may say about how activities run.

    UNSET fields are said elsewhere: a call beats the decorator, the decorator ``taskq.queue(...)``,
    that the app. ``timeout`` is seconds; ``expires`` and ``deadline`` are seconds from the call or
    an aware UTC datetime, None for no limit.
    """

    queue: str | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET
    max_retries: int | UnsetType | None = UNSET
    max_crashes: int | UnsetType = UNSET
    dead_letter: bool | UnsetType = UNSET
    timeout: float | UnsetType | None = UNSET
    retry: RetryPolicy | UnsetType = UNSET
    max_retry_delay: float | UnsetType = UNSET
    retry_on_timeout: bool | UnsetType = UNSET
    on_child_failure: Literal["fail", "retry"] | UnsetType = UNSET
    timeout_includes_waits: bool | UnsetType = UNSET
    orphans: Literal["cancel", "keep"] | UnsetType = UNSET
    expires: float | datetime | UnsetType | None = UNSET
    deadline: float | datetime | UnsetType | None = UNSET

    def over(self, other: TaskOptions) -> TaskOptions:
        """These options, and where they say nothing, the other's."""
        return TaskOptions(
            **{
                name: value if value is not UNSET else getattr(other, name)
                for name in TaskOptions.__struct_fields__
                for value in (getattr(self, name),)
            }
        )


class TaskOptionArguments(TypedDict, total=False):
    """The keywords of ``TaskOptions`` as a user writes them, for type checkers.

    ``timeout`` and ``max_retry_delay`` also take a timedelta; ``max_attempts=N`` is
    ``max_retries=N-1`` and excludes it. ``dead_letter=False`` lets what has no retry left end
    ``failed``, kind ``retries_exhausted``. ``orphans="keep"`` lets a run after the first leave the
    children that earlier ones made. ``expires`` and ``deadline`` are seconds or a timedelta
    from the call, or an aware datetime: an activity that has not started by ``expires`` ends
    ``cancelled``, kind ``expired``; one that has not ended by ``deadline`` with its whole tree ends
    ``failed``, kind ``deadline``.
    """

    priority: Priority | int
    max_retries: int | None
    max_attempts: int
    max_crashes: int
    dead_letter: bool
    timeout: float | timedelta | None
    retry: RetryPolicy
    max_retry_delay: float | timedelta
    retry_on_timeout: bool
    on_child_failure: Literal["fail", "retry"]
    timeout_includes_waits: bool
    orphans: Literal["cancel", "keep"]
    expires: float | timedelta | datetime | None
    deadline: float | timedelta | datetime | None


class CallArguments(TaskOptionArguments, total=False):
    """The keywords of ``Task.options``, for type checkers.

    ``step`` is for calls in a handler: its name among the parent's children, so that a parent that
    runs again finds what it has made already. ``unique_for``: seconds or a timedelta after which
    the ``idempotency_key`` is free again, even if its activity still runs. ``session`` or
    ``connection`` is a transaction of the caller's: see ``Task.delay``.
    """

    queue: str
    run_at: datetime
    delay: float | timedelta
    idempotency_key: str
    on_duplicate: OnDuplicate
    on_mismatch: Literal["error", "ignore"]
    unique_for: float | timedelta | None
    metadata: Mapping[str, object]
    source: str
    correlation_id: str
    user_id: str
    tags: Mapping[str, str]
    as_root: bool
    step: str
    session: AnySession | None
    connection: AnyConnection | None
    notify: bool


class CallOptions(Struct, frozen=True, kw_only=True):
    """What only a call can say. ``run_at`` is aware UTC, ``delay`` seconds; at most one is set.

    ``metadata`` and ``tags`` are read once, when the call is made. At most one of ``session`` and
    ``connection`` is set; ``notify`` is True where neither is.
    """

    run_at: datetime | None = None
    delay: float | None = None
    idempotency_key: str | None = None
    on_duplicate: OnDuplicate = OnDuplicate.RETURN_EXISTING
    on_mismatch: Literal["error", "ignore"] = "error"
    unique_for: float | None = None
    metadata: Mapping[str, object] | None = None
    source: str | None = None
    correlation_id: str | None = None
    user_id: str | None = None
    tags: Mapping[str, str] | None = None
    as_root: bool = False
    step: str | None = None
    session: object = None
    connection: object = None
    notify: bool = True

    def transaction(self, where: str) -> CallerTransaction | None:
        """The caller's transaction, if there is one. Raises TypeError, see there."""
        return caller_transaction(
            where, session=self.session, connection=self.connection, notify=self.notify
        )


def task_options(where: str, given: Mapping[str, object]) -> TaskOptions:
    """Checked options. ``where`` begins the sentence of a ConfigurationError (for ``ValueError``
    at call-sites see ``call_options``). Unknown names are a TypeError, like any wrong keyword."""
    values = dict(given)
    _known(where, values, TaskOptionArguments.__annotations__, {"queue"})
    if "max_attempts" in values:
        if "max_retries" in values:
            raise ConfigurationError(
                f"{where}: max_retries and max_attempts say the same thing; give one"
                " (max_attempts=N is max_retries=N-1)"
            )
        attempts = _whole(where, "max_attempts", values.pop("max_attempts"), at_least=1)
        values["max_retries"] = attempts - 1
    for name, check in _CHECKS.items():
        if name in values:
            values[name] = check(where, name, values[name])
    return TaskOptions(**cast("Any", values))


def call_options(
    where: str, given: Mapping[str, object], base: CallOptions
) -> tuple[TaskOptions, CallOptions]:
    """Split and check the keywords of ``Task.options``; ``base`` are those of an earlier call.

    Raises ValueError for a bad value (ConfigurationError for a bad task option), TypeError for an
    unknown name, and for a session beside a connection.
    """
    _known(where, given, CallArguments.__annotations__, set())
    call = {name: value for name, value in given.items() if name in CallOptions.__struct_fields__}
    task = {name: value for name, value in given.items() if name not in call}
    if "run_at" in call and "delay" in call:
        raise ValueError(f"{where}: run_at and delay exclude each other; give one")
    if "run_at" in call:
        call["run_at"], call["delay"] = instant(where, call["run_at"]), None
    elif "delay" in call:
        call["delay"], call["run_at"] = seconds(where, "delay", call["delay"]), None
    _check_call(where, call)
    options = msgspec.structs.replace(base, **call)
    _check_step(where, options)
    if options.unique_for is not None and options.idempotency_key is None:
        raise ValueError(f"{where}: unique_for says how long an idempotency_key counts; give one")
    options.transaction(where)
    return task_options(where, task), options


def _check_call(where: str, call: dict[str, object]) -> None:
    """Check what is not a time, and make ``on_duplicate`` a member."""
    for name in ("source", "correlation_id", "user_id"):
        if name in call:
            _text(where, name, call[name], longest=LONGEST_TEXT)
    if "step" in call:
        _text(where, "step", call["step"], longest=LONGEST_TEXT)
    _check_key(where, call)
    for name in ("as_root", "notify"):
        if name in call:
            _flag(where, name, call[name])
    if "tags" in call:
        _tags(where, call["tags"])
    if "metadata" in call and not isinstance(call["metadata"], Mapping):
        raise ValueError(f"{where}: metadata must be a mapping, not {call['metadata']!r}")


def _check_key(where: str, call: dict[str, object]) -> None:
    """Check what belongs to an idempotency key."""
    if "idempotency_key" in call:
        _text(where, "idempotency_key", call["idempotency_key"])
    if call.get("unique_for") is not None:
        call["unique_for"] = lasting = seconds(where, "unique_for", call["unique_for"])
        if lasting <= 0:
            raise ValueError(f"{where}: unique_for must be above 0, not {lasting}")
    if "on_duplicate" in call:
        call["on_duplicate"] = _member(where, "on_duplicate", call["on_duplicate"], OnDuplicate)
    if call.get("on_mismatch", "error") not in ("error", "ignore"):
        raise ValueError(
            f'{where}: on_mismatch must be "error" or "ignore", not {call["on_mismatch"]!r}'
        )


def _check_step(where: str, options: CallOptions) -> None:
    """A step is a key of the parent's: what would make it none excludes it."""
    if options.step is None:
        return
    if options.as_root:
        raise ValueError(f"{where}: step and as_root exclude each other: a root has no parent")
    if options.idempotency_key is not None:
        raise ValueError(
            f"{where}: step and idempotency_key exclude each other: a step is the key of its parent"
        )
    if options.on_duplicate is not OnDuplicate.RETURN_EXISTING:
        raise ValueError(
            f"{where}: step and on_duplicate exclude each other: what a parent that runs again gets"
            " depends on how its step ended"
        )


def due(where: str, when: object) -> dict[str, object]:
    """When something is due, as the option that says so: a timedelta or seconds, or a datetime.
    Raises ValueError for anything else."""
    if isinstance(when, datetime):
        return {"run_at": when}
    if isinstance(when, (timedelta, int, float)) and not isinstance(when, bool):
        return {"delay": when}
    raise ValueError(
        f"{where}: it is due after a timedelta or seconds, or at an aware datetime, not {when!r}"
    )


def instant(where: str, when: object, *, name: str = "run_at") -> datetime:
    """An aware datetime as UTC, in the years 1970–9998. Raises ValueError."""
    if not isinstance(when, datetime):
        raise ValueError(f"{where}: {name} must be an aware datetime, not {when!r}")
    if when.tzinfo is None or when.utcoffset() is None:
        raise ValueError(
            f"{where}: {when!r} has no time zone; use for example"
            " datetime(..., tzinfo=UTC) or .astimezone()"
        )
    try:
        moment = when.astimezone(UTC)
    except OverflowError:
        moment = None
    if moment is None or not EARLIEST <= moment <= LATEST:
        raise ValueError(f"{where}: {when.isoformat()} is outside the years 1970 to 9998")
    return moment


def seconds(where: str, name: str, value: object) -> float:
    """A timedelta or number of seconds as a float, at least 0 and within the years up to 9998.

    Raises ValueError.
    """
    number = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise ValueError(f"{where}: {name} must be a timedelta or seconds, not {value!r}")
    try:
        number = float(number)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{where}: {name} must be finite and at least 0, not {value!r}")
    if number > LONGEST:
        raise ValueError(f"{where}: {name} {value!r} ends after the year 9998")
    return number


def _known(
    where: str, given: Mapping[str, object], names: Mapping[str, object], more: set[str]
) -> None:
    for name in given:
        if name not in names and name not in more:
            meant = _CELERY.get(name)
            hint = f"Celery's {name} is {meant} here" if meant else _listed(names)
            raise TypeError(f"{where} got an unexpected option {name!r}; {hint}")


def _listed(names: Mapping[str, object]) -> str:
    return f"there are: {', '.join(sorted(names))}"


_CELERY: Mapping[str, str] = {
    "countdown": "options(delay=...)",
    "eta": "options(run_at=...)",
    "task_id": "options(idempotency_key=...)",
    "bind": "current(), imported from taskq,",
    "time_limit": "timeout=",
    "soft_time_limit": "timeout=",
    "retry_backoff": "retry=RetryPolicy(...)",
    "retry_jitter": "retry=RetryPolicy(...)",
    "link_error": "on_failure= or on_dead_letter= of @taskq.activity",
}
"""What is called otherwise here, see docs/from-celery.md."""


def _whole(where: str, name: str, value: object, *, at_least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not at_least <= value <= MOST:
        raise ConfigurationError(
            f"{where}: {name} must be a whole number of at least {at_least} and at most {MOST},"
            f" not {value!r}"
        )
    return value


def _max_retries(where: str, name: str, value: object) -> object:
    return None if value is None else _whole(where, name, value, at_least=0)


def _max_crashes(where: str, name: str, value: object) -> object:
    return _whole(where, name, value, at_least=1)


def _duration(where: str, name: str, value: object) -> float:
    try:
        number = seconds(where, name, value)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    if number <= 0:
        raise ConfigurationError(f"{where}: {name} must be above 0, not {value!r}")
    return number


def _timeout(where: str, name: str, value: object) -> float | None:
    return None if value is None else _duration(where, name, value)


def _limit(where: str, name: str, value: object) -> float | datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        return _duration(where, name, value)
    try:
        return instant(where, value, name=name)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def _priority(where: str, name: str, value: object) -> Priority:
    try:
        return Priority(cast("int", value))
    except ValueError:
        raise ConfigurationError(
            f"{where}: {name} must be one of"
            f" {', '.join(f'Priority.{level.name} ({level})' for level in Priority)}, not {value!r}"
        ) from None


def _queue(where: str, name: str, value: object) -> str:
    if not isinstance(value, str) or not NAME.match(value):
        raise ConfigurationError(f"{where}: {bad_name(name, value)}")
    if value in RESERVED:
        raise ConfigurationError(f"{where}: {reserved_name(name, value)}")
    return value


def _retry(where: str, name: str, value: object) -> RetryPolicy:
    if not isinstance(value, RetryPolicy):
        raise ConfigurationError(f"{where}: {name} must be a RetryPolicy, not {value!r}")
    return value


def _flag(where: str, name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigurationError(f"{where}: {name} must be True or False, not {value!r}")
    return value


def _child_failure(where: str, name: str, value: object) -> object:
    if value not in ("fail", "retry"):
        raise ConfigurationError(f'{where}: {name} must be "fail" or "retry", not {value!r}')
    return value


def _orphans(where: str, name: str, value: object) -> object:
    if value not in ("cancel", "keep"):
        raise ConfigurationError(f'{where}: {name} must be "cancel" or "keep", not {value!r}')
    return value


_CHECKS: Mapping[str, Callable[[str, str, object], object]] = {
    "queue": _queue,
    "priority": _priority,
    "max_retries": _max_retries,
    "max_crashes": _max_crashes,
    "dead_letter": _flag,
    "timeout": _timeout,
    "retry": _retry,
    "max_retry_delay": _duration,
    "retry_on_timeout": _flag,
    "on_child_failure": _child_failure,
    "timeout_includes_waits": _flag,
    "orphans": _orphans,
    "expires": _limit,
    "deadline": _limit,
}

E = TypeVar("E", bound=OnDuplicate)


def _member(where: str, name: str, value: object, kind: type[E]) -> E:
    try:
        return kind(cast("str", value))
    except ValueError:
        raise ValueError(
            f"{where}: {name} must be one of {', '.join(kind.__members__)}, not {value!r}"
        ) from None


def _text(where: str, name: str, value: object, *, longest: int | None = None) -> None:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{where}: {name} must be a text that is not empty, not {value!r}")
    if longest is not None and len(value) > longest:
        raise ValueError(f"{where}: {name} has {len(value)} characters; at most {longest} fit")
    if "\0" in value or not _encodable(value):
        raise ValueError(f"{where}: {name} holds a NUL or a lone surrogate: {value!r}")


def _tags(where: str, tags: object) -> None:
    if not isinstance(tags, Mapping):
        raise ValueError(f"{where}: tags must map text to text, not {tags!r}")
    for key, value in cast("Mapping[object, object]", tags).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ValueError(f"{where}: tags must map text to text, not {key!r} to {value!r}")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
