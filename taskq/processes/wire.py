"""What a worker and a process of its say to each other: messages, each after its length.

Both ends are the same version of taskq on one host. A message is msgpack, four bytes of length
before it, and at most ``MOST_BYTES`` long.
"""

from __future__ import annotations

from typing import TypeAlias
from uuid import UUID

import msgspec
from msgspec import Struct

from taskq.errors import TaskQError
from taskq.model import Activity, Attempt, Ended, ErrorInfo, Receipt
from taskq.snapshot import ActivityInfo

MOST_BYTES = 64 * 1024 * 1024
"""Bytes of one message at the most: some sixty calls of the largest size, or many small ones."""

HEADER = 4
"""Bytes of the length before each message."""


class Main(Struct, frozen=True, kw_only=True):
    """The program that was started: the path of its file, and the package that is in, if any."""

    path: str
    package: str | None


class Prepare(Struct, frozen=True, kw_only=True, tag=True):
    """To a new process: import what this attempt needs, ``main`` first where there is one. ``logs``
    is the level and style of log lines, if they are configured by taskq."""

    attempt: Attempt
    main: Main | None
    module: str
    name: str
    arguments: list[str]
    logs: tuple[str, str] | None


class Greet(Struct, frozen=True, tag=True):
    """To an idle process: say whether you are ready to run the task at ``module`` and ``name``."""

    module: str
    name: str


class Run(Struct, frozen=True, kw_only=True, tag=True):
    """To a process that is ready: run this attempt with the task at ``module`` and ``name``."""

    attempt: Attempt
    module: str
    name: str


class Stop(Struct, frozen=True, tag=True):
    """To a process: end, and clean up quickly; what it runs is not wanted any more."""


class Stored(Struct, frozen=True, tag=True):
    """The answer to Submit."""

    request: int
    receipts: list[Receipt]


class Waited(Struct, frozen=True, tag=True):
    """The answer to Wait: how it ended, None if there is no such activity."""

    request: int
    ended: Ended | None


class Looked(Struct, frozen=True, tag=True):
    """The answer to Look."""

    request: int
    info: ActivityInfo


class Met(Struct, frozen=True, tag=True):
    """The answer to Cancel: whether it was accepted."""

    request: int
    accepted: bool


class Named(Struct, frozen=True, tag=True):
    """The answer to Callers."""

    request: int
    callers: str


class Full(Struct, frozen=True, kw_only=True):
    """The fields of QueueFull."""

    queue: str
    bound: int
    waiting: int


class Refused(Struct, frozen=True, tag=True):
    """The answer to a request that failed: the name of one of taskq's errors, its message, and the
    fields of those that have some."""

    request: int
    error: str
    message: str
    id: UUID | None = None
    full: Full | None = None


class Followed(Struct, frozen=True, tag=True):
    """The answer to Follow: how some of them ended, in that order; None if there is no such one."""

    request: int
    endings: list[tuple[UUID, Ended | None]]


class Abandoned(Struct, frozen=True, tag=True):
    """The answer to a request that was abandoned before it had another one."""

    request: int


Answer: TypeAlias = Stored | Waited | Followed | Looked | Met | Named | Refused | Abandoned
ToProcess: TypeAlias = Prepare | Greet | Run | Stop | Answer


class Ready(Struct, frozen=True, tag=True):
    """From a process: everything is imported."""


class Unfit(Struct, frozen=True, tag=True):
    """From a process that was greeted: it cannot import the task. Another one may."""


class Broken(Struct, frozen=True, tag=True):
    """From a process: it cannot import what it was told to; it ends."""

    error: ErrorInfo


class Progressed(Struct, frozen=True, tag=True):
    """From a handler: how far it has come."""

    done: int | float
    total: int | float | None
    note: str | None


class Submit(Struct, frozen=True, tag=True):
    """From a handler: store these calls."""

    request: int
    activities: list[Activity[object]]


class Wait(Struct, frozen=True, tag=True):
    """From a handler: wait for an activity's end, so many seconds at the most."""

    request: int
    id: UUID
    timeout: float | None


class Follow(Struct, frozen=True, tag=True):
    """From a handler: wait until one more of many activities has ended.

    ``series`` is the number that the handler gives to all requests about these ``ids``, which may
    be left out once one was answered. ``had`` is how many ends it has been told in answers that
    reached it: an answer begins behind them, so that none is lost with an abandoned one.
    """

    request: int
    series: int
    ids: list[UUID]
    had: int


class Unfollow(Struct, frozen=True, tag=True):
    """From a handler: it asks no more about this series. Has no answer."""

    series: int


class Abandon(Struct, frozen=True, tag=True):
    """From a handler: nobody waits for this request's answer any more. Nothing happens when it is
    answered already."""

    request: int


class Look(Struct, frozen=True, tag=True):
    """From a handler: look at an activity."""

    request: int
    id: UUID


class Cancel(Struct, frozen=True, tag=True):
    """From a handler: cancel an activity, with all that it made if ``tree``."""

    request: int
    id: UUID
    tree: bool


class Callers(Struct, frozen=True, tag=True):
    """From a handler: the types from an activity's root down to it."""

    request: int
    id: UUID


class Returned(Struct, frozen=True, tag=True):
    """From a process: the attempt's result as JSON text. It is ready for another one."""

    result: str


class Raised(Struct, frozen=True, tag=True):
    """From a process: the attempt failed, see ``lifecycle.Failed``. It is ready for another one."""

    error: ErrorInfo
    retryable: bool
    delay: float | None


class Snoozed(Struct, frozen=True, tag=True):
    """From a process: the handler asked to be run again in ``delay`` seconds. It is ready."""

    delay: float


Done: TypeAlias = Returned | Raised | Snoozed
Request: TypeAlias = Submit | Wait | Follow | Look | Cancel | Callers
FromProcess: TypeAlias = Ready | Unfit | Broken | Progressed | Request | Abandon | Unfollow | Done

_encoder = msgspec.msgpack.Encoder()
_to_process: msgspec.msgpack.Decoder[ToProcess] = msgspec.msgpack.Decoder(ToProcess)
_from_process: msgspec.msgpack.Decoder[FromProcess] = msgspec.msgpack.Decoder(FromProcess)


class TooLong(TaskQError, ValueError):
    """A message would be longer than ``MOST_BYTES``."""


def framed(message: ToProcess | FromProcess) -> bytes:
    """A message as bytes, its length before it. Raises TooLong."""
    body = _encoder.encode(message)
    if len(body) > MOST_BYTES:
        raise TooLong(
            f"{len(body)} bytes are too many for the pipe between a worker and its process (at most"
            f" {MOST_BYTES}): enqueue fewer calls at once"
        )
    return len(body).to_bytes(HEADER) + body


def length_of(header: bytes) -> int:
    """The length that a header gives. Raises TooLong for one that no message has."""
    length = int.from_bytes(header)
    if length > MOST_BYTES:
        raise TooLong(f"the pipe holds no message of taskq: a length of {length} bytes")
    return length


def to_process(body: bytes) -> ToProcess:
    """Read what a process was sent. Raises msgspec.DecodeError."""
    return _to_process.decode(body)


def from_process(body: bytes) -> FromProcess:
    """Read what a process has sent. Raises msgspec.DecodeError."""
    return _from_process.decode(body)
