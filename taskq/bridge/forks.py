"""Resources that must not be open while the process forks.

SQLite keeps its locks per process and remembers them in memory. A child that inherits that memory
believes that it holds locks which it does not: when the parent then closes its connection, SQLite
removes the write-ahead log under the child's feet, and what the child committed is lost (shown in
tests/sql/test_sqlite_fork.py). So whoever keeps a connection lets go of it before a fork and opens
it again when it is next needed, in the parent and in the child.

Other descriptors are nobody's but this process's: what tells others of its end by being closed. A
child gives those up at once.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, Protocol

PATIENCE: Final = 5.0
"""Seconds that a fork waits for what uses such a resource to be done with it."""


class Guarded(Protocol):
    """Something that keeps a resource open."""

    def hold(self) -> threading.Event:
        """Begin to let go of it, and open none before ``resume``; the event: it is gone."""
        ...

    def resume(self) -> None:
        """In the parent, after the fork."""
        ...

    def forget(self) -> None:
        """In the child: the threads and loops of the parent are gone; what is open stays open."""
        ...


_guarded: weakref.WeakSet[Guarded] = weakref.WeakSet()
_inherited: list[object] = []
_private: set[int] = set()
_forking = threading.Lock()


def guard(thing: Guarded) -> None:
    """Have ``thing`` let go before every fork. It is held weakly."""
    _guarded.add(thing)


def keep_open(resource: object) -> None:
    """Never close what a child has inherited after all: that would harm the parent's."""
    _inherited.append(resource)


@contextmanager
def no_fork() -> Generator[None]:
    """Forks wait meanwhile: for opening what is to be made private. Be quick, and do not fork."""
    with _forking:
        yield


def make_private(*descriptors: int) -> None:
    """A child is to have nothing of these. Call ``no_longer_private`` before they are closed."""
    _private.update(descriptors)


def no_longer_private(*descriptors: int) -> None:
    """They are about to be closed, and their numbers may soon be others'."""
    _private.difference_update(descriptors)


def _give_up_private() -> None:
    """Put nothing in their place rather than close them: what holds such a number in the child
    closes it when it is collected, and that must not hit what is open under it by then."""
    if not _private:
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in _private:
        os.dup2(nothing, descriptor, inheritable=False)
    os.close(nothing)
    _private.clear()


def _before() -> None:
    _forking.acquire()
    for gone in [thing.hold() for thing in tuple(_guarded)]:
        gone.wait(PATIENCE)


def _in_parent() -> None:
    for thing in tuple(_guarded):
        thing.resume()
    _forking.release()


def _in_child() -> None:
    for thing in tuple(_guarded):
        thing.forget()
    _forking.release()
    _give_up_private()


if sys.platform != "win32":
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
