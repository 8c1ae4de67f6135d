"""The resident bridge: for stores that need an event loop and a thread of their own."""

from __future__ import annotations

import inspect
import os
import sys
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeAlias, TypeVar, TypeVarTuple

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from taskq.bridge.call import Call
from taskq.bridge.protocol import DEADLINE, GRACE, Bridge
from taskq.bridge.storage import END_PATIENCE, StorageThread, storage_loop_factory
from taskq.errors import BackendUnavailable

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Callback: TypeAlias = Callable[[], object]

STOP_PATIENCE: Final = 1.0
"""Seconds that a call gets to end after its deadline; it may have done its work after all."""


class ResidentBridge(Bridge):
    """One daemon thread with an asyncio loop (uvloop where installed), started on first use.

    Calls keep the contract of ``Bridge``. A thread that died by accident fails the calls that were
    running with BackendUnavailable; the next call starts a new one. After a fork the child starts
    a thread of its own. What a spawned function raises goes to the loop's exception handler, and
    so does the error of a call whose caller was cancelled.
    """

    def __init__(self) -> None:
        self._owner = object()
        self._new_loop = storage_loop_factory()
        self._lock = threading.RLock()
        self._thread: StorageThread | None = None
        self._fork_callbacks: list[Callable[[], Callback | None]] = []
        _residents.add(self)

    async def call(
        self,
        function: Callable[[*Ts], Coroutine[Any, Any, T]],
        *args: *Ts,
        deadline: float | None = DEADLINE,
    ) -> T:
        """See ``Bridge.call``. The deadline also holds when the storage thread itself is stuck."""
        if self._here() is not None:
            return await function(*args)
        await checkpoint_if_cancelled()
        call = Call(lambda: function(*args), heard=True)
        thread = self._enter(call)
        try:
            with anyio.move_on_after(deadline):
                await call.done.wait()
            expired = call.outcome is None
            if expired:
                thread.stop(call)
                with anyio.move_on_after(STOP_PATIENCE):
                    await call.done.wait()
        except anyio.get_cancelled_exc_class():
            thread.abandon(call)
            await _real_end(call)
            raise
        except BaseException:  # also Ctrl-C: nobody waits for the answer
            thread.abandon(call)
            raise
        return _late_answer(thread, call, deadline) if expired else call.result()

    def call_sync(
        self,
        function: Callable[[*Ts], Coroutine[Any, Any, T]],
        *args: *Ts,
        deadline: float | None = DEADLINE,
    ) -> T:
        """See ``Bridge.call_sync``. Interrupted (Ctrl-C), it cancels the call and lets it end."""
        if self._here() is not None:
            raise RuntimeError("call_sync on the storage thread would wait for itself: use call")
        call = Call(lambda: function(*args), heard=True)
        thread = self._enter(call)
        try:
            expired = not call.done.wait_sync(deadline)
            if expired:
                thread.stop(call)
                call.done.wait_sync(STOP_PATIENCE)
        except BaseException:  # also Ctrl-C: nobody waits for the answer
            thread.abandon(call)
            call.done.wait_sync(STOP_PATIENCE)
            raise
        return _late_answer(thread, call, deadline) if expired else call.result()

    def spawn(self, function: Callable[[*Ts], Coroutine[Any, Any, object]], *args: *Ts) -> None:
        """See ``Bridge.spawn``. Errors go to the storage loop's exception handler."""
        self._enter(Call(lambda: function(*args), heard=False))

    def close(self, grace: float = GRACE) -> None:
        """See ``Bridge.close``. On the storage thread itself it only asks for the end."""
        thread = self._detach(grace)
        if thread is None or thread is StorageThread.current():
            return
        if thread.ended.wait_sync(grace + END_PATIENCE):
            thread.join()
        else:
            thread.give_up()

    async def aclose(self, grace: float = GRACE) -> None:
        """See ``Bridge.aclose``."""
        thread = self._detach(grace)
        if thread is None or thread is StorageThread.current():
            return
        with anyio.move_on_after(grace + END_PATIENCE):
            await thread.ended.wait()
        if thread.ended.rung:
            thread.join()
        else:
            thread.give_up()

    def on_fork(self, callback: Callback) -> None:
        """Have ``callback`` called in a forked child, after this bridge was reset.

        A bound method is held weakly, anything else for as long as the bridge lives.
        """
        if inspect.ismethod(callback):
            self._fork_callbacks.append(weakref.WeakMethod(callback))
        else:
            self._fork_callbacks.append(lambda: callback)

    def _here(self) -> StorageThread | None:
        here = StorageThread.current()
        return here if here is not None and here.owner is self._owner else None

    def _enter(self, call: Call[Any]) -> StorageThread:
        here = self._here()
        if here is not None and here.enter(call):
            return here
        while not (thread := self._running_thread()).enter(call):
            pass
        return thread

    def _running_thread(self) -> StorageThread:
        thread = self._thread
        if thread is not None and thread.accepting:
            return thread
        with self._lock:
            if self._thread is None or not self._thread.accepting:
                self._thread = self._start_thread()
            return self._thread

    def _start_thread(self) -> StorageThread:
        try:
            thread = StorageThread(self._owner, self._new_loop)
            thread.start()
        except (OSError, RuntimeError) as error:
            raise BackendUnavailable(f"the storage thread could not start: {error}") from error
        return thread

    def _detach(self, grace: float) -> StorageThread | None:
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.request_close(grace)
        return thread

    def reset_after_fork(self) -> None:
        """Forget the parent's thread, then run the fork callbacks; what they raise is printed."""
        # The old thread does not exist here, and its loop shares its selector with the parent:
        # closing it would deafen the parent, so it is left alone.
        self._lock = threading.RLock()
        self._thread = None
        for find in self._fork_callbacks:
            callback = find()
            if callback is None:
                continue
            try:
                callback()
            except Exception as error:
                sys.excepthook(type(error), error, error.__traceback__)


def _late_answer(thread: StorageThread, call: Call[T], deadline: float | None) -> T:
    if call.outcome is None:
        thread.abandon(call)
    return call.result_after(deadline)


async def _real_end(call: Call[Any]) -> None:
    """Wait for the end of a call that was told to stop, at most ``DEADLINE`` seconds.

    Shielded, so that a claim or a settle is never left half done by its caller's cancellation.
    """
    with anyio.move_on_after(DEADLINE, shield=True) as patience:
        while call.outcome is None:
            try:
                await call.done.wait()
            except anyio.get_cancelled_exc_class():
                # asyncio's own Task.cancel goes through anyio's shield. The first cancellation is
                # already on its way to the caller; a second one adds nothing.
                if patience.cancel_called:
                    raise


_residents: weakref.WeakSet[ResidentBridge] = weakref.WeakSet()


def _reset_residents() -> None:
    for bridge in tuple(_residents):
        bridge.reset_after_fork()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_reset_residents)
