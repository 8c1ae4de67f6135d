"""Every setting: its name, unit, default and bound."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypedDict

import msgspec
from msgspec import Struct

from taskq.errors import ConfigurationError
from taskq.model import Status
from taskq.redaction import names_of
from taskq.reserved import RESERVED, reserved_name
from taskq.retention import rules_of
from taskq.retry import RetryPolicy
from taskq.settings.accounts import SHORTEST_SECRET, hosts_of, shown, tokens_of, users_of

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,99}\Z")
DEFAULT_URL = "sqlite:///taskq.db"


class SettingError(ConfigurationError):
    """A value that a setting cannot have. ``names`` are the settings that it is about, none where
    it is about a file. ``outside``: it is from the environment or a file, as the sentence says."""

    def __init__(self, message: str, *names: str, outside: bool = False) -> None:
        super().__init__(message)
        self.names = names
        self.outside = outside


class Settings(Struct, frozen=True, kw_only=True):
    """One frozen object, one source of truth. Durations are seconds, as floats.

    Each field is a keyword of TaskQ, a key of a file and, upper-cased behind ``TASKQ_``, an
    environment variable. Raises SettingError for a value out of bounds, naming the field.
    """

    database_url: str = DEFAULT_URL
    """Where activities are kept. A relative SQLite path is relative to the current folder."""
    schema: str | None = None
    """The PostgreSQL schema of the tables; None: where the role's search path finds them."""
    listen: bool = True
    """Whether a process listens for the hints of others on PostgreSQL; without it polls."""
    queue: str = "default"
    """The queue of tasks that name none (seed:E2)."""
    capacity: int | None = None
    """How many may wait in that queue before calls wait for room (seed:E25); None: no bound."""
    priority_enabled: bool = True
    """Without it every call is stored as NORMAL: they are claimed in order of time (seed:E26)."""
    priority_aging: float | None = None
    """After each such time of waiting an activity counts as one priority higher (D6)."""
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
    retry_initial_delay: float = 1.0
    """The wait before the first retry (D36)."""
    retry_multiplier: float = 2.0
    """By how much each wait is longer than the one before; at least 1."""
    retry_max_delay: float = 3600.0
    """The longest wait before a retry."""
    retry_jitter: float = 0.1
    """How far a wait is spread, as a part of it: 0 to 1."""
    dead_letter_queue_enabled: bool = True
    """Whether what has no retry left ends ``dead_letter``, else ``failed`` (seed:E27)."""
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
    retention: Mapping[Status, float] = {}
    """How long what ended so is kept, as ``completed=7d,failed=90d``; else for ever (seed:B8)."""
    prune_interval: float = 60.0
    """How often a worker looks for what ``retention`` lets go, if it says anything."""
    web_tokens: Mapping[str, str] = {}
    """Who may use the console by a token, as ``ada=admin:TOKEN``; a token has 20 characters."""
    web_users: Mapping[str, str] = {}
    """Who may by a password, as ``ada=admin:scrypt$…``; ``taskq web-password`` makes the latter."""
    web_secret: str | None = None
    """The key that signs the console's sessions, 32 characters; None: made anew by each process."""
    web_allowed_hosts: Sequence[str] = ()
    """By which names, besides this machine's own, browsers may reach the console."""
    web_viewer_payloads: bool = True
    """Whether viewers see arguments, results and error texts in the console."""
    redact: Sequence[str] = ()
    """Names that hide a value besides the usual ones, as ``iban,birth_date`` (docs/console.md)."""

    def __post_init__(self) -> None:
        for name, read in _READ.items():
            try:
                msgspec.structs.force_setattr(self, name, read(getattr(self, name)))
            except ConfigurationError as error:
                raise SettingError(str(error), name) from None
        for name in self.__struct_fields__:
            _typed(name, getattr(self, name))
        for name in _POSITIVE:
            _positive(name, getattr(self, name))
        for name, (least, most) in _RANGES.items():
            _ranged(name, getattr(self, name), least, most)
        if self.schema is not None and not _is_name_of_postgresql(self.schema):
            raise SettingError(
                f"schema must have 1 to 63 bytes, all printable, not {self.schema!r}", "schema"
            )
        _check_queue(self.queue)
        if self.max_retries is not None and self.max_retries < 0:
            raise SettingError(
                f"max_retries must be at least 0 (or None for unlimited), not {self.max_retries}",
                "max_retries",
            )
        if self.max_payload > 1_048_576:
            raise SettingError(
                f"max_payload must be at most 1048576 bytes (1 MiB), not {self.max_payload}",
                "max_payload",
            )
        _check_web(self)
        if self.lock_timeout >= self.enqueue_timeout:
            raise SettingError(
                f"lock_timeout ({self.lock_timeout} s) must be less than enqueue_timeout"
                f" ({self.enqueue_timeout} s), so that a lock can be named as the reason",
                "lock_timeout",
                "enqueue_timeout",
            )
        if self.renew_interval is not None and self.renew_interval > self.lease / 3:
            raise SettingError(
                f"renew_interval ({self.renew_interval} s) must be at most a third of lease"
                f" ({self.lease} s), so that a lease outlives two failed renewals",
                "renew_interval",
                "lease",
            )

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"Settings({fields})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Every field, without what is secret: of a database URL that may hold a password, the
        scheme; of accounts, names and roles."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        safe = {
            "database_url": _without_password(self.database_url),
            "web_tokens": shown(self.web_tokens),
            "web_users": shown(self.web_users),
            "web_secret": None if self.web_secret is None else "…",
        }
        return [*(fields | safe).items()]

    @property
    def renewal(self) -> float:
        """Seconds between two renewals."""
        return self.renew_interval or min(10.0, self.lease / 3)

    @property
    def retry(self) -> RetryPolicy:
        """How long to wait before a retry, unless a task or a call says otherwise."""
        return RetryPolicy(
            initial_delay=self.retry_initial_delay,
            multiplier=self.retry_multiplier,
            max_delay=self.retry_max_delay,
            jitter=self.retry_jitter,
        )


def _without_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if url == "memory://" or (scheme == "sqlite" and rest[:1] == "/" and not set(rest) & {*"@?"}):
        return url
    return f"{scheme}://…" if separator and scheme.replace("+", "").isalnum() else "…"


_READ: Mapping[str, Callable[[object], object]] = {
    "retention": rules_of,
    "web_tokens": tokens_of,
    "web_users": users_of,
    "web_allowed_hosts": hosts_of,
    "redact": names_of,
}
"""Those that may be written in more than one way, and what reads and checks them."""
_SECRET = ("database_url", "web_secret")
_POSITIVE = (
    "concurrency",
    "threads",
    "capacity",
    "priority_aging",
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
    "prune_interval",
)
_RANGES: Mapping[str, tuple[float, float]] = {
    "retry_initial_delay": (0, math.inf),
    "retry_multiplier": (1, math.inf),
    "retry_max_delay": (0, math.inf),
    "retry_jitter": (0, 1),
    "shutdown_grace": (0, math.inf),
}
"""The least and the most of those that may be 0, or have a bound of their own."""


class SettingOverrides(TypedDict, total=False):
    """The keywords of TaskQ that are settings, for type checkers; see ``Settings``."""

    schema: str | None
    listen: bool
    capacity: int | None
    priority_enabled: bool
    priority_aging: float | None
    concurrency: int
    threads: int | None
    lease: float
    renew_interval: float | None
    reaper_interval: float
    reaper_batch_size: int
    poll_interval: float
    poll_max: float
    max_retries: int | None
    retry_initial_delay: float
    retry_multiplier: float
    retry_max_delay: float
    retry_jitter: float
    dead_letter_queue_enabled: bool
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
    retention: Mapping[str, float | timedelta | str] | str
    prune_interval: float
    web_tokens: Mapping[str, str] | str
    web_users: Mapping[str, str] | str
    web_secret: str | None
    web_allowed_hosts: Sequence[str]
    web_viewer_payloads: bool
    redact: Sequence[str] | str


def _check_queue(name: str) -> None:
    if not NAME.match(name):
        raise SettingError(bad_name("queue", name), "queue")
    if name in RESERVED:
        raise SettingError(reserved_name("queue", name), "queue")


def bad_name(what: str, name: object) -> str:
    """The sentence for a queue or task name that does not fit the rule."""
    return (
        f"{what} name {name!r} is not valid: use a letter or underscore, then up to 99 letters,"
        " digits or any of _ . : -"
    )


TYPES: Mapping[str, str] = {
    name: str(annotation) for name, annotation in Settings.__annotations__.items()
}
"""Each setting's type, as it is written."""
NAMES = Settings.__struct_fields__


_ALLOWED: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "flo": (int, float),
    "boo": (bool,),
}


def _typed(name: str, value: object) -> None:
    """Refuse a value of another type than the field's, before it is used as one."""
    kind = TYPES[name]
    if name in _READ:  # which checked it
        return
    allowed = _ALLOWED[kind[:3]]
    if value is None and "None" in kind:
        return
    if isinstance(value, bool) is not (kind == "bool") or not isinstance(value, allowed):
        shown = f"a {type(value).__name__}" if name in _SECRET else repr(value)
        raise SettingError(f"{name} must be {kind}, not {shown}", name)


def _check_web(settings: Settings) -> None:
    if settings.web_secret is not None and len(settings.web_secret) < SHORTEST_SECRET:
        raise SettingError(
            f"web_secret must have at least {SHORTEST_SECRET} characters", "web_secret"
        )
    both = settings.web_tokens.keys() & settings.web_users.keys()
    if both:
        raise SettingError(
            f"{min(both)} is in web_tokens and in web_users: a name stands for one account",
            "web_tokens",
            "web_users",
        )


def _positive(name: str, value: float | None) -> None:
    if value is not None and not (_finite(value) and value > 0):
        raise SettingError(f"{name} must be a finite number above 0, not {value!r}", name)


def _ranged(name: str, value: float, least: float, most: float) -> None:
    if not (_finite(value) and least <= value <= most):
        allowed = f"{least} to {most}" if math.isfinite(most) else f"at least {least}, and finite"
        raise SettingError(f"{name} must be {allowed}, not {value!r}", name)


def _is_name_of_postgresql(text: str) -> bool:
    return text.isprintable() and 0 < len(text.encode()) <= 63


def _finite(value: float) -> bool:
    """Whether it is a number that a float can hold."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def replaced(settings: Settings, **changes: object) -> Settings:
    """The same settings with some fields changed and checked again."""
    return msgspec.structs.replace(settings, **changes)
