"""The app under fault tests. It is copied into a test's folder as ``app.py``, so it stands alone.

The file ``url`` beside it says which database it uses.

Every handler writes what it does to ``effects.jsonl`` beside it: one line for each step, in one
write to a file opened for appending, so that no line is torn or lost when its process is killed.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import anyio

from taskq import (
    ActivityFailed,
    Context,
    DeadLetter,
    NonRetryError,
    RetryPolicy,
    Snooze,
    TaskQ,
    current,
    events,
)

FOLDER = Path(__file__).resolve().parent
FILE = os.open(FOLDER / "effects.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
STEP = 0.02

Token = dict[str, object]


def note(what: str, **fields: object) -> None:
    """Append one line: what happened, when (microseconds since the epoch), in which process."""
    line = {"what": what, "at": time.time_ns() // 1000, "pid": os.getpid(), **fields}
    os.write(FILE, json.dumps(line).encode() + b"\n")


class Effects:
    """Notes what a worker tells about itself."""

    def on_event(self, event: events.Event) -> None:
        """Note the events that faults bring about."""
        match event:
            case events.WorkerStarted() | events.WorkerStopping() | events.WorkerStopped():
                note(type(event).__name__, worker=event.worker.hex)
            case events.BackgroundError():
                note("BackgroundError", loop=event.loop, error=str(event.error))
            case events.OutcomeRefused() | events.HandedBack() | events.WorkerLost():
                attempt = event.attempt
                note(type(event).__name__, id=attempt.id.hex, claim=attempt.claim)


@contextmanager
def effect() -> Iterator[Token]:
    """Note the start and the end of a handler's run. Gives what the handler is to return: it names
    the claim under which it ran."""
    context: Context = current()
    about: Token = {
        "id": context.id.hex,
        "claim": context.claim,
        "worker": context.worker.hex,
        "type": context.type,
    }
    note("start", **about)
    try:
        yield {"claim": context.claim, "worker": context.worker.hex}
    except Exception as error:
        note("raised", **about, error=type(error).__name__)
        raise
    except BaseException:
        note("cancelled", **about)
        raise
    note("end", **about)


def freeze(seconds: float) -> None:
    """Let nothing else run on this thread."""
    time.sleep(seconds)


def opened(name: str) -> bool:
    """Whether the test has made the file of this name."""
    return (FOLDER / name).exists()


taskq = TaskQ(
    (FOLDER / "url").read_text(),
    listeners=[Effects()],
    retry=RetryPolicy(initial_delay=0.2, max_delay=1.0),
)


@taskq.activity(max_crashes=50)
async def quick() -> Token:
    """Returns at once."""
    with effect() as token:
        return token


@taskq.activity(max_crashes=50)
async def nap(seconds: float) -> Token:
    """Sleeps."""
    with effect() as token:
        await anyio.sleep(seconds)
        return token


@taskq.activity(max_retries=0)
async def gate(name: str) -> Token:
    """Waits until the test makes the file ``name``."""
    with effect() as token:
        while not opened(name):
            await anyio.sleep(STEP)
        return token


@taskq.activity
async def hold() -> Token:
    """Never ends, until its worker was lost once."""
    with effect() as token:
        if current().crash_count == 0:
            await anyio.sleep_forever()
        return token


@taskq.activity
async def stubborn() -> Token:
    """The same, but told to stop it returns a value all the same."""
    with effect() as token:
        if current().crash_count:
            return token
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            note("swallowed", id=current().id.hex, claim=current().claim)
        return token


@taskq.activity
async def block(name: str) -> Token:
    """Blocks the event loop until the test makes the file ``name``."""
    with effect() as token:
        while not opened(name):
            freeze(STEP)
        return token


@taskq.activity(max_crashes=50)
def thread_nap(seconds: float) -> Token:
    """Sleeps in a thread."""
    with effect() as token:
        time.sleep(seconds)
        return token


@taskq.activity
def thread_gate(name: str) -> Token:
    """The thread's ``gate``; it does not look whether it was told to stop."""
    with effect() as token:
        while not opened(name):
            time.sleep(STEP)
        return token


@taskq.activity
def thread_heeding(name: str) -> Token:
    """The thread's ``gate``; it ends when it was told to stop."""
    with effect() as token:
        while not opened(name):
            if current().cancelled:
                note("heeded", id=current().id.hex)
                raise RuntimeError("told to stop")
            time.sleep(STEP)
        return token


def bury(dead: DeadLetter) -> None:
    """The hook of what is given up."""
    with effect():
        note("buried", of=dead.id.hex)


@taskq.activity(on_dead_letter=bury)
async def kill() -> None:
    """Takes its worker with it."""
    with effect():
        await anyio.sleep(0.1)
        os.kill(os.getpid(), signal.SIGKILL)


@taskq.activity(max_crashes=50)
async def flaky(failures: int) -> Token:
    """Fails so many times."""
    with effect() as token:
        if current().retry_count < failures:
            raise RuntimeError("not yet")
        return token


@taskq.activity(on_failure=bury, max_crashes=50)
async def refuse() -> None:
    """Fails for good."""
    with effect():
        raise NonRetryError("no")


@taskq.activity(max_retries=1, on_dead_letter=bury, max_crashes=50)
async def hopeless() -> None:
    """Fails until it is given up."""
    with effect():
        raise RuntimeError("never")


@taskq.activity(max_crashes=50)
async def snoozing() -> Token:
    """Asks to be run later, the first time."""
    with effect() as token:
        if not opened(f"snoozed-{current().id.hex}"):
            (FOLDER / f"snoozed-{current().id.hex}").touch()
            raise Snooze(timedelta(seconds=0.3))
        return token


@taskq.activity(max_crashes=50)
async def family(children: int) -> Token:
    """Enqueues children."""
    with effect() as token:
        for _ in range(children):
            await quick.adelay()
        return token


@taskq.activity(max_crashes=50)
async def mend() -> Token:
    """Fails for good until the test makes the file ``mended``."""
    with effect() as token:
        if not opened("mended"):
            raise NonRetryError("broken")
        return token


@taskq.activity
async def patient() -> Token:
    """Waits for one step."""
    with effect() as token:
        await (await nap.options(step="nap").adelay(0.0))
        return token


@taskq.activity(max_crashes=50, on_child_failure="retry")
async def tree() -> Token:
    """Makes steps, one that completes and one that fails at first, and a child that is none.

    Then it waits for the file ``go``, and is retried while its second step has failed.
    """
    with effect() as token:
        await (await nap.options(step="nap").adelay(0.0))
        second = await mend.options(step="mend").adelay()
        await gate.adelay("never")
        try:
            await second
        except ActivityFailed:
            note("broken", of=second.id.hex, claim=current().claim)
            while not opened("go"):
                await anyio.sleep(STEP)
            raise
        return token


@taskq.activity
async def bulky(size: int) -> str:
    """Returns a long text."""
    with effect():
        return "x" * size
