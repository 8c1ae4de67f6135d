"""The pipe to the worker, as its process holds it."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from functools import partial
from itertools import count
from queue import SimpleQueue
from typing import TypeVar, assert_never

from taskq.bridge import run_in_thread
from taskq.bridge.daemon import start_daemon
from taskq.context import Context
from taskq.errors import InvalidState
from taskq.processes import wire
from taskq.processes.refusal import raised

A = TypeVar("A", bound=wire.Answer)


class Question:
    """One request, known before it is made, so that another thread may abandon it at any time."""

    def __init__(self, number: int) -> None:
        self.number = number
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
        self.context: Context | None = None
        """The attempt that runs."""
        self._end = end
        self._pid = os.getpid()
        self._speaking = threading.Lock()
        self._work: SimpleQueue[wire.Run] = SimpleQueue()
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
        if os.getpid() != self._pid:
            raise InvalidState(
                "this process was forked by a handler: only the handler's own can enqueue, wait and"
                " report progress"
            )
        data = wire.framed(message)
        with self._speaking:
            try:
                self._end.sendall(data)
            except OSError:
                os._exit(1)

    def next(self) -> wire.Run:
        """Wait for an attempt to run."""
        return self._work.get()

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

        Raises what it was refused with, InvalidState when no attempt runs or when ``question`` was
        abandoned.
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
            if question.asked and not again and self.context is not None:
                self.say(wire.Abandon(question.number))

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

    def over(self) -> None:
        """The attempt is over: nobody answers threads that its handler has left behind."""
        self.context = None
        for number in list(self._asked):
            question = self._asked.pop(number, None)
            if question is not None:
                question.answers.put(None)

    def _ask(self, question: Question, request: wire.Request) -> None:
        self._asked[question.number] = question
        try:
            with question.asking:
                if self.context is None:
                    raise _over()
                if question.abandoned:
                    raise _abandoned()
                question.asked = True
                self.say(request)
        except BaseException:
            self._asked.pop(question.number, None)
            raise

    def _listen(self) -> None:
        while True:
            message = self.hear()
            match message:
                case wire.Run():
                    self._work.put(message)
                case wire.Greet():
                    self.say(wire.Ready())
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
        context = self.context
        if context is not None:
            context.mark_cancelled()
        signal.pthread_kill(self._main, signal.SIGTERM)

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


def _abandoned() -> InvalidState:
    return InvalidState("nobody waits for this answer any more")


def _nothing() -> None:
    return
