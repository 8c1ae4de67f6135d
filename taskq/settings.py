"""Every setting: its name, unit, default and bound. The only module that reads the environment."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from typing import Any, TypedDict, cast

import msgspec
from msgspec import Struct

from taskq.errors import ConfigurationError

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,99}\Z")
DEFAULT_URL = "sqlite:///taskq.db"


class Settings(Struct, frozen=True, kw_only=True):
    """One frozen object, one source of truth. Durations are seconds, as floats.

    Each field is a keyword of TaskQ and, upper-cased behind ``TASKQ_``, an environment variable.
    Raises ConfigurationError for a value out of bounds, naming the field.
    """

    database_url: str = DEFAULT_URL
    """Where activities are kept. A relative SQLite path is relative to the current folder."""
    schema: str | None = None
    """The PostgreSQL schema of the tables; None: where the role's search path finds them."""
    listen: bool = True
    """Whether a process listens for the hints of others on PostgreSQL; without it polls."""
    queue: str = "default"
    """The queue of tasks that name none (seed:E2)."""
    concurrency: int = 10
    """Attempts that one worker runs at once (seed:E3)."""
    threads: int | None = None
    """Sync handlers that one worker runs at once; None: as many as ``concurrency``."""
    lease: float = 30.0
    """How long a claimed activity stays with a worker that says nothing (D12)."""
    renew_interval: float | None = None
    """How often leases are renewed; at most a third of ``lease``. None: a third, at most 10 s."""
    reaper_interval: float = 5.0
    """How often a worker looks for leases that have ended (seed:E9)."""
    reaper_batch_size: int = 100
    """How many of them at a time (seed:E10)."""
    poll_interval: float = 1.0
    """How soon an idle worker looks again when no hint came; backs off to ``poll_max``."""
    poll_max: float = 5.0
    """The longest pause between two looks of an idle worker (seed:W3)."""
    max_retries: int | None = 3
    """Retries after the first run; None is unlimited (D1, D2)."""
    max_crashes: int = 3
    """Lost workers after which an activity is dead-lettered (D13)."""
    timeout: float | None = 300.0
    """Running time of one attempt (seed:Q4); None: no limit."""
    max_depth: int = 32
    """Generations of children below a root (seed:E11, D24)."""
    max_generations: int | None = None
    """How many roots may follow each other by ``as_root`` (D24); None: no limit."""
    suspend_on_await: bool = True
    """Whether a handler that awaits other activities gives its slot up meanwhile (seed:E12)."""
    max_suspended: int = 1000
    """With so many waiting, a worker begins children only (design 7.10)."""
    max_payload: int = 262_144
    """Bytes of stored arguments or result; at most 1 MiB."""
    shutdown_grace: float = 30.0
    """How long running handlers may go on after a stop was asked for (seed:E14)."""
    enqueue_timeout: float = 10.0
    """After how long ``delay`` gives up (EnqueueTimeout)."""
    lock_timeout: float = 3.0
    """How long one statement of an enqueue waits for locks."""
    worker_enqueue_timeout: float = 5.0
    """``enqueue_timeout`` for a blocking ``delay`` on a worker's own event loop."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            _typed(name, getattr(self, name))
        for name in _POSITIVE:
            _positive(name, getattr(self, name))
        if self.schema is not None and not 0 < len(self.schema.encode()) <= 63:
            raise ConfigurationError(f"schema must have 1 to 63 bytes, not {self.schema!r}")
        if not NAME.match(self.queue):
            raise ConfigurationError(bad_name("queue", self.queue))
        if self.max_retries is not None and self.max_retries < 0:
            raise ConfigurationError(
                f"max_retries must be at least 0 (or None for unlimited), not {self.max_retries}"
            )
        if self.shutdown_grace < 0:
            raise ConfigurationError(
                f"shutdown_grace must be at least 0 s, not {self.shutdown_grace}"
            )
        if self.max_payload > 1_048_576:
            raise ConfigurationError(
                f"max_payload must be at most 1048576 bytes (1 MiB), not {self.max_payload}"
            )
        if self.lock_timeout >= self.enqueue_timeout:
            raise ConfigurationError(
                f"lock_timeout ({self.lock_timeout} s) must be less than enqueue_timeout"
                f" ({self.enqueue_timeout} s), so that a lock can be named as the reason"
            )
        if self.renew_interval is not None and self.renew_interval > self.lease / 3:
            raise ConfigurationError(
                f"renew_interval ({self.renew_interval} s) must be at most a third of lease"
                f" ({self.lease} s), so that a lease outlives two failed renewals"
            )

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"Settings({fields})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Every field; of a database URL that may hold a password, the scheme."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        return [*(fields | {"database_url": _without_password(self.database_url)}).items()]

    @property
    def renewal(self) -> float:
        """Seconds between two renewals."""
        return self.renew_interval or min(10.0, self.lease / 3)


def _without_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if url == "memory://" or (scheme == "sqlite" and rest[:1] == "/" and not set(rest) & {*"@?"}):
        return url
    return f"{scheme}://…" if separator and scheme.replace("+", "").isalnum() else "…"


_POSITIVE = (
    "concurrency",
    "threads",
    "lease",
    "renew_interval",
    "reaper_interval",
    "reaper_batch_size",
    "poll_interval",
    "poll_max",
    "max_crashes",
    "timeout",
    "max_depth",
    "max_generations",
    "max_suspended",
    "max_payload",
    "enqueue_timeout",
    "lock_timeout",
    "worker_enqueue_timeout",
)


class SettingOverrides(TypedDict, total=False):
    """The keywords of TaskQ that are settings, for type checkers; see ``Settings``."""

    schema: str | None
    listen: bool
    concurrency: int
    threads: int | None
    lease: float
    renew_interval: float | None
    reaper_interval: float
    reaper_batch_size: int
    poll_interval: float
    poll_max: float
    max_retries: int | None
    max_crashes: int
    timeout: float | None
    max_depth: int
    max_generations: int | None
    suspend_on_await: bool
    max_suspended: int
    max_payload: int
    shutdown_grace: float
    enqueue_timeout: float
    lock_timeout: float
    worker_enqueue_timeout: float


def load(
    overrides: Mapping[str, object] | None = None, *, environ: Mapping[str, str] | None = None
) -> Settings:
    """Settings from keywords, then ``TASKQ_*`` of the environment, then defaults.

    Raises ConfigurationError for an unknown keyword, a text that is no number, or a bad value.
    """
    environ = os.environ if environ is None else environ
    values: dict[str, object] = {}
    for name in Settings.__struct_fields__:
        text = environ.get(f"TASKQ_{name.upper()}")
        if text:
            values[name] = _parsed(name, text)
    for name, value in (overrides or {}).items():
        if name not in Settings.__struct_fields__:
            raise ConfigurationError(
                f"TaskQ has no setting {name!r}; there are: {', '.join(Settings.__struct_fields__)}"
            )
        values[name] = value
    return Settings(**cast("Any", values))


def variable(name: str) -> str | None:
    """An environment variable that is no setting of an app, for example ``TASKQ_APP``."""
    return os.environ.get(name)


def bad_name(what: str, name: object) -> str:
    """The sentence for a queue or task name that does not fit the rule."""
    return (
        f"{what} name {name!r} is not valid: use a letter or underscore, then up to 99 letters,"
        " digits or any of _ . : -"
    )


def _parsed(name: str, text: str) -> object:
    """An environment text as the field's type; ``none`` stands for None where that is allowed."""
    kind = _TYPES[name]
    if "None" in kind and text.strip().lower() in ("none", ""):
        return None
    if kind.startswith("str"):
        return text
    if kind == "bool":
        return _switch(name, text)
    whole = kind.startswith("int")
    try:
        return int(text) if whole else float(text)
    except ValueError:
        what = "a whole number" if whole else "a number"
        raise ConfigurationError(f"TASKQ_{name.upper()}={text!r} is not {what}") from None


def _switch(name: str, text: str) -> bool:
    match text.strip().lower():
        case "on" | "true" | "yes" | "1":
            return True
        case "off" | "false" | "no" | "0":
            return False
        case _:
            raise ConfigurationError(f"TASKQ_{name.upper()}={text!r} is neither on nor off")


_TYPES: Mapping[str, str] = {
    name: str(annotation) for name, annotation in Settings.__annotations__.items()
}


_ALLOWED: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "flo": (int, float),
    "boo": (bool,),
}


def _typed(name: str, value: object) -> None:
    """Refuse a value of another type than the field's, before it is used as one."""
    kind = _TYPES[name]
    allowed = _ALLOWED[kind[:3]]
    if value is None and "None" in kind:
        return
    if isinstance(value, bool) is not (kind == "bool") or not isinstance(value, allowed):
        shown = f"a {type(value).__name__}" if name == "database_url" else repr(value)
        raise ConfigurationError(f"{name} must be {kind}, not {shown}")


def _positive(name: str, value: float | None) -> None:
    if value is None:
        return
    if not math.isfinite(value) or value <= 0:
        raise ConfigurationError(f"{name} must be a finite number above 0, not {value!r}")


def replaced(settings: Settings, **changes: object) -> Settings:
    """The same settings with some fields changed and checked again."""
    return msgspec.structs.replace(settings, **changes)
