"""The pipe to the worker, as its process holds it."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from itertools import count
from queue import SimpleQueue
from typing import TypeVar, assert_never

from taskq.bridge.daemon import start_daemon
from taskq.context import Context
from taskq.errors import InvalidState
from taskq.processes import wire
from taskq.processes.refusal import raised

A = TypeVar("A", bound=wire.Answer)


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
        self._asked: dict[int, SimpleQueue[wire.Answer | None]] = {}
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

    def ask(self, request: Callable[[int], wire.Request], kind: type[A]) -> A:
        """Ask the worker something and wait for its answer.

        Raises what it was refused with, InvalidState when no attempt runs.
        """
        number = next(self._numbers)
        answers = self._asked[number] = SimpleQueue()
        if self.context is None:
            raise self._over(number)
        self.say(request(number))
        answer = answers.get()
        if answer is None:
            raise self._over(number)
        if isinstance(answer, wire.Refused):
            raise raised(answer)
        if not isinstance(answer, kind):
            raise AssertionError(f"the worker answered {answer!r}")
        return answer

    def over(self) -> None:
        """The attempt is over: nobody answers threads that its handler has left behind."""
        self.context = None
        for answers in list(self._asked.values()):
            answers.put(None)

    def _over(self, number: int) -> InvalidState:
        del self._asked[number]
        return InvalidState(
            "the handler that this thread belongs to is over; in a process of a worker's own only a"
            " running handler can enqueue and wait"
        )

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
                    | wire.Looked()
                    | wire.Met()
                    | wire.Named()
                    | wire.Refused()
                ):
                    answers = self._asked.pop(message.request, None)
                    if answers is not None:
                        answers.put(message)
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
