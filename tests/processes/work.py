"""Tasks for processes of a worker's own, found here by name."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from contextvars import copy_context
from pathlib import Path

from taskq import InvalidState, NonRetryError, RetryError, Secret, Snooze, TaskQ, current
from taskq.processes.line import Line
from taskq.processes.wire import Returned, framed

app = TaskQ("memory://")


@app.activity(run_in="process")
def pid() -> int:
    return os.getpid()


@app.activity(run_in="process")
def add(one: int, other: int) -> int:
    return one + other


@app.activity(run_in="process", max_retries=0)
def tell(pin: Secret[str]) -> None:
    current().progress(1, note=f"with {pin.reveal()}")
    raise ValueError("x" * 4090 + pin.reveal() + f" {pin}")


@app.activity(run_in="process", timeout=0.7, max_retries=0)
def spin() -> None:
    while True:
        pass


@app.activity(run_in="process")
def die(number: int = 9) -> None:
    os.kill(os.getpid(), number)
    time.sleep(60)


@app.activity(run_in="process")
def leave(code: int) -> None:
    os._exit(code)


@app.activity(run_in="process")
def wait_for(file: str, note: str) -> str:
    """Writes its process id, then waits for a file."""
    Path(note).write_text(str(os.getpid()))
    while not Path(file).exists():
        time.sleep(0.01)
    return "found"


@app.activity(run_in="process")
def hold_gil(note: str) -> None:
    """Computes in C and never lets another thread of its process run."""
    Path(note).write_text(str(os.getpid()))
    sum(range(10**13))


@app.activity(run_in="process")
def clean_up(note: str, cleaned: str) -> None:
    Path(note).write_text(str(os.getpid()))
    try:
        time.sleep(60)
    finally:
        Path(cleaned).write_text(str(current().cancelled))


@app.activity(run_in="process")
def swallow(note: str) -> None:
    Path(note).write_text(str(os.getpid()))
    while True:
        try:
            time.sleep(60)
        except BaseException:
            Path(note).write_text(f"{os.getpid()} swallowed")


@app.activity(run_in="process")
def fork(note: str) -> None:
    """Leaves a process behind that holds everything this one has open, then dies."""
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    Path(note).write_text(str(child))
    os._exit(5)


@app.activity(run_in="process")
def half_a_result() -> None:
    """Dies in the middle of saying something large."""
    [line] = [thing for thing in gc.get_objects() if isinstance(thing, Line)]
    said = framed(Returned('"' + "x" * 200_000 + '"'))
    line._end.sendall(said[:100_000])
    os._exit(1)


@app.activity(run_in="process")
def large() -> str:
    return "x" * 200_000


@app.activity(run_in="process")
def who() -> dict[str, object]:
    context = current()
    return {
        "id": str(context.id),
        "attempt": context.attempt,
        "metadata": dict(context.metadata),
        "tags": dict(context.tags),
        "correlation_id": context.correlation_id,
        "cancelled": context.cancelled,
    }


@app.activity(run_in="process")
def report() -> None:
    for done in range(1000):
        current().progress(done, 1000)
    current().progress(1000, 1000, "all")


@app.activity
async def double(value: int) -> int:
    return value * 2


@app.activity(run_in="process")
def parent(value: int) -> int:
    future = double.options(tags={"from": "process"}).delay(value)
    return future.result(timeout=20) + 1


@app.activity(run_in="process")
def ask_everything() -> list[object]:
    first = double.delay(1)
    value = first.result(timeout=20)
    info = first.info()

    async def awaited() -> int:
        return await (await double.adelay(4))

    later = double.schedule(3600, 9)
    return [value, info.status, asyncio.run(awaited()), later.cancel(), later.info().status]


@app.activity(run_in="process")
def await_too_long() -> str:
    try:
        double.schedule(3600, 1).result(timeout=0.1)
    except TimeoutError as error:
        return str(error)
    return "?"


@app.activity(run_in="process")
def await_itself() -> str:
    try:
        double.future(current().id).result(timeout=20)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "?"


LEFT: list[str] = []


def wait_for_long(begun: threading.Event) -> None:
    future = double.schedule(3600, 1)
    begun.set()
    try:
        future.result()
    except InvalidState as error:
        LEFT.append(str(error))


@app.activity(run_in="process")
def leave_a_thread() -> str:
    begun = threading.Event()
    here = copy_context()
    threading.Thread(target=here.run, args=(wait_for_long, begun), daemon=True).start()
    begun.wait()
    time.sleep(0.1)
    return "returned"


STILL = threading.Event()


def report_and_enqueue_later() -> None:
    STILL.wait(20)
    current().progress(1, 2)
    enqueue_here()


def enqueue_here() -> None:
    try:
        double.delay(1)
    except InvalidState as error:
        LEFT.append(str(error))


@app.activity(run_in="process")
def leave_an_enqueuer() -> int:
    """Its thread goes on when another handler runs."""
    late = report_and_enqueue_later
    threading.Thread(target=copy_context().run, args=(late,), daemon=True).start()
    return os.getpid()


@app.activity(run_in="process", timeout=10)
def wake_the_enqueuer() -> list[str]:
    """What its thread was told, and what a thread of no handler's context is told."""
    STILL.set()
    thread = threading.Thread(target=enqueue_here)
    thread.start()
    thread.join()
    while len(LEFT) < 2:
        time.sleep(0.01)
    return sorted(LEFT)


@app.activity(run_in="process")
def spoil(how: str) -> int:
    """Leaves a process behind that is not good for another handler."""
    [line] = [thing for thing in gc.get_objects() if isinstance(thing, Line)]
    match how:
        case "garbage":
            threading.Timer(0.1, line._end.send, [b"\0\0\0\5hello"]).start()
        case "length":
            threading.Timer(0.1, line._end.send, [b"\xff" * 9]).start()
        case _:
            sys.path.clear()
            sys.modules.clear()
    return os.getpid()


@app.activity
def fork_in_worker(note: str) -> None:
    """In a thread of the worker: a process that holds whatever it inherits."""
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    Path(note).write_text(str(child))


@app.activity(run_in="process", timeout=10)
def look_what_was_left() -> str:
    """In the process of ``leave_a_thread``: what its thread was told."""
    while not LEFT:
        time.sleep(0.01)
    return LEFT.pop()


class Refused(Exception):
    retryable = False


@app.activity(run_in="process", no_retry=[KeyError])
def fail(how: str) -> None:
    match how:
        case "retry":
            raise RetryError("again", delay=3600)
        case "no_retry":
            raise NonRetryError("never")
        case "key":
            raise KeyError("k")
        case "refused":
            raise Refused("no")
        case "snooze":
            raise Snooze(3600)
        case "exit":
            raise SystemExit(3)
        case _:
            raise ValueError(how)


@app.activity(run_in="process")
def unstorable() -> object:
    return object()


@app.activity(run_in="process")
def wait_a_while() -> str:
    time.sleep(0.5)
    return "waited"


class NeedsTwo(Exception):
    """An exception that cannot be made from its message alone."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one} and {other}")
        self.both = (one, other)


@app.activity(run_in="process")
def raise_odd() -> None:
    raise NeedsTwo(1, 2)


def enqueue_in_a_fork(value: int) -> str:
    try:
        double.delay(value)
    except InvalidState as error:
        return str(error)
    return "?"


@app.activity(run_in="process")
def fork_two() -> tuple[list[str], int | None]:
    """What a fork is told that enqueues, and the exit code of one that is terminated."""
    forks = multiprocessing.get_context("fork")
    with forks.Pool(1) as pool:
        said = pool.map(enqueue_in_a_fork, [1])
    sleeping = forks.Process(target=time.sleep, args=(60,))
    sleeping.start()
    time.sleep(0.1)
    sleeping.terminate()
    sleeping.join(5)
    code = sleeping.exitcode
    sleeping.kill()
    return said, code


@app.activity(run_in="process")
def start_another(note: str) -> None:
    """Starts a program and waits for it."""
    with subprocess.Popen(["sleep", "60"]) as other:
        Path(note).write_text(str(other.pid))
