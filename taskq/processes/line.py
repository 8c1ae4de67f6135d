"""The pipe to the worker, as its process holds it."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import count
from queue import SimpleQueue
from typing import TypeVar, assert_never

from taskq.bridge import run_in_thread
from taskq.bridge.daemon import start_daemon
from taskq.context import Context
from taskq.errors import InvalidState
from taskq.model import Attempt
from taskq.processes import wire
from taskq.processes.refusal import raised

A = TypeVar("A", bound=wire.Answer)

_belongs_to: ContextVar[Attempt | None] = ContextVar("taskq_process_attempt", default=None)
"""The attempt whose handler runs in this context."""


class Question:
    """One request, known before it is made, so that another thread may abandon it at any time."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.attempt = _belongs_to.get()
        self.answers: SimpleQueue[wire.Answer | None] = SimpleQueue()
        self.asking = threading.Lock()
        self.asked = False
        self.abandoned = False


class Line:
    """Speaks to the worker: the main thread about attempts, any thread about what it asks.

    When the worker is gone the process ends at once: nobody takes a result any more, and another
    worker is about to run the attempt.
    """

    def __init__(self, end: socket.socket) -> None:
        self.stopped = False
        """Whether the worker has said that what runs is not wanted any more."""
        self._context: Context | None = None
        self._attempt: Attempt | None = None
        self._end = end
        self._pid = os.getpid()
        self._speaking = threading.Lock()
        self._work: SimpleQueue[wire.Run | wire.Greet] = SimpleQueue()
        self._numbers = count(1)
        self._asked: dict[int, Question] = {}
        self._main = threading.main_thread().ident or 0

    def listen(self) -> None:
        """Have a thread read what the worker says from here on."""
        start_daemon(self._listen, name="taskq-line")

    def hear(self) -> wire.ToProcess:
        """The next message; only before ``listen``. Ends the process when the worker is gone."""
        body = self._read(wire.length_of(self._read(wire.HEADER)))
        return wire.to_process(body)

    def say(self, message: wire.FromProcess) -> None:
        """Tell the worker something. Raises TooLong, and InvalidState in a fork of this process."""
        self._check_process()
        data = wire.framed(message)
        with self._speaking:
            self._send(data)

    def say_during(self, attempt: Attempt | None, message: wire.FromProcess) -> bool:
        """The same, unless that attempt is over: then it says nothing, and False. What is said so
        comes before the attempt's last word, never into the next one."""
        self._check_process()
        data = wire.framed(message)
        with self._speaking:
            if attempt is None or self._attempt is not attempt:
                return False
            self._send(data)
            return True

    def next(self) -> wire.Run | wire.Greet:
        """Wait for what is to be done."""
        return self._work.get()

    @property
    def attempt(self) -> Attempt | None:
        """The attempt that this thread or task belongs to, also when it is over."""
        return _belongs_to.get()

    @contextmanager
    def during(self, attempt: Attempt, context: Context) -> Generator[None]:
        """Around the attempt. Only what runs in a copy of this context can ask something."""
        token = _belongs_to.set(attempt)
        self._attempt, self._context = attempt, context
        try:
            yield
        finally:
            self._over()
            _belongs_to.reset(token)

    def number(self) -> int:
        """One that nothing else has here."""
        return next(self._numbers)

    def question(self) -> Question:
        """One to ask, once."""
        return Question(self.number())

    def ask(
        self,
        request: Callable[[int], wire.Request],
        kind: type[A],
        *,
        question: Question | None = None,
    ) -> A:
        """Ask the worker something and wait for its answer.

        Raises what it was refused with, InvalidState when the attempt of this context does not run
        any more, when this thread is in no context of one, or when ``question`` was abandoned.
        """
        if question is None:
            question = self.question()
        self._ask(question, request(question.number))
        try:
            answer = question.answers.get()
        except BaseException:  # raised by a signal handler
            self.abandon(question)
            raise
        if answer is None:
            raise _over()
        if isinstance(answer, wire.Abandoned):
            raise _abandoned()
        if isinstance(answer, wire.Refused):
            raise raised(answer)
        if not isinstance(answer, kind):
            raise AssertionError(f"the worker answered {answer!r}")
        return answer

    def abandon(self, question: Question) -> None:
        """Nobody waits for its answer any more: the thread that asks comes back, and the worker
        learns of it. Safe to repeat."""
        with question.asking:
            again, question.abandoned = question.abandoned, True
            if question.asked and not again:
                self.say_during(question.attempt, wire.Abandon(question.number))

    async def wait(self, request: Callable[[int], wire.Request], kind: type[A]) -> A:
        """The same for async code. Being cancelled abandons the request."""
        question = self.question()
        try:
            return await run_in_thread(
                partial(self.ask, request, kind, question=question), on_end=_nothing
            )
        except BaseException:
            self.abandon(question)
            raise

    def _over(self) -> None:
        """The attempt is over: nobody answers threads that its handler has left behind."""
        with self._speaking:
            self._attempt = self._context = None
        for number in list(self._asked):
            question = self._asked.pop(number, None)
            if question is not None:
                question.answers.put(None)

    def _ask(self, question: Question, request: wire.Request) -> None:
        self._asked[question.number] = question
        try:
            with question.asking:
                if question.attempt is None:
                    raise _outside()
                if question.abandoned:
                    raise _abandoned()
                question.asked = True
                if not self.say_during(question.attempt, request):
                    raise _over()
        except BaseException:
            self._asked.pop(question.number, None)
            raise

    def _listen(self) -> None:
        while True:
            message = self.hear()
            match message:
                case wire.Run() | wire.Greet():
                    self._work.put(message)
                case wire.Stop():
                    self._stop()
                case wire.Prepare():
                    raise AssertionError("a process is prepared once")
                case (
                    wire.Stored()
                    | wire.Waited()
                    | wire.Followed()
                    | wire.Looked()
                    | wire.Met()
                    | wire.Named()
                    | wire.Refused()
                    | wire.Abandoned()
                ):
                    question = self._asked.pop(message.request, None)
                    if question is not None:
                        question.answers.put(message)
                case _:
                    assert_never(message)

    def _stop(self) -> None:
        self.stopped = True
        context = self._context
        if context is not None:
            context.mark_cancelled()
        signal.pthread_kill(self._main, signal.SIGTERM)

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise InvalidState(
                "this process was forked by a handler: only the handler's own can enqueue, wait and"
                " report progress"
            )

    def _send(self, data: bytes) -> None:
        try:
            self._end.sendall(data)
        except OSError:
            os._exit(1)

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            try:
                part = self._end.recv(min(size - len(parts), 1 << 20))
            except OSError:
                part = b""
            if not part:
                os._exit(1)
            parts += part
        return bytes(parts)


def _over() -> InvalidState:
    return InvalidState(
        "the handler that this thread belongs to is over; in a process of a worker's own only a"
        " running handler can enqueue and wait"
    )


def _outside() -> InvalidState:
    return InvalidState(
        "this thread was not started in the context of a handler, which it needs to enqueue and"
        " wait in a process of a worker's own: start it by asyncio.to_thread, or have it run"
        " contextvars.copy_context().run(function)"
    )


def _abandoned() -> InvalidState:
    return InvalidState("nobody waits for this answer any more")


def _nothing() -> None:
    return
