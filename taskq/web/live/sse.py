"""The response that a client of the stream reads: server-sent events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import anyio
from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

from taskq.web.live.event import Form, Kind
from taskq.web.live.hub import Hub
from taskq.web.live.subscription import Message, Subscription

RETRY: Final = 2000
"""Milliseconds after which a client whose stream has ended comes again."""
KEEP_ALIVE: Final = b": keep-alive\n\n"
HEADERS: Final = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
}

Recheck = Callable[[], Awaitable[bool]]
"""Whether the client may still listen."""


class EventStream(ASGIResponse):
    """A stream of events in one ``form``, from after the event with the id ``after``; of more than
    ``most`` that have come together it tells none, but that they are missing.

    Its slot in the hub is taken when it is called and given back whichever way it ends: the client
    leaves, before the first byte too, or does not read, or may not listen any more, or the hub
    closes. Raises Problem 503 before it has answered anything where there is no slot.
    """

    _should_set_content_length = False

    def __init__(
        self,
        hub: Hub,
        *,
        after: str | None = None,
        most: int | None = None,
        form: Form = Form.FULL,
        recheck: Recheck | None = None,
    ) -> None:
        super().__init__(headers=HEADERS, media_type="text/event-stream")
        self._hub = hub
        self._after = after
        self._most = most
        self._form = form
        self._recheck = recheck
        self._pace = hub.pace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        subscription = self._hub.subscribe(self._after, self._most)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_until_gone, receive, tasks.cancel_scope)
                tasks.start_soon(self._until_ended, subscription, tasks.cancel_scope)
                await self._tell(send, subscription)
                tasks.cancel_scope.cancel()
        finally:
            subscription.close()
        await self._farewell(send)

    async def _until_ended(self, subscription: Subscription, scope: anyio.CancelScope) -> None:
        """Then what is being sent has a moment to arrive."""
        await subscription.ended.wait()
        await anyio.sleep(self._pace.farewell)
        scope.cancel()

    async def _tell(self, send: Send, subscription: Subscription) -> None:
        """Until there is a reason to end."""
        began = said = checked = anyio.current_time()
        pace = self._pace
        if not await self._started(send):
            return
        while not subscription.ended.rung:
            subscription.bell.clear()
            text = b"".join(map(self._frame, subscription.take()))
            now = anyio.current_time()
            if now - began >= pace.life:
                return
            if now - checked >= pace.recheck:
                checked = now
                if self._recheck is not None and not await self._recheck():
                    return
            if not text and now - said >= pace.silence:
                text = KEEP_ALIVE
            if text:
                said = now
                if not await self._sent(send, text):
                    return
                continue
            nearest = min(began + pace.life, said + pace.silence, checked + pace.recheck)
            with anyio.move_on_after(max(0.0, nearest - now)):
                await subscription.bell.wait()

    async def _started(self, send: Send) -> bool:
        with anyio.move_on_after(self._pace.patience) as patience:
            await self.start_response(send)
        return not patience.cancelled_caught and await self._sent(send, _welcome(self._form))

    async def _sent(self, send: Send, text: bytes) -> bool:
        """Whether the client has taken it in time. A server may say by OSError that it has left."""
        with anyio.move_on_after(self._pace.patience) as patience:
            try:
                await send({"type": "http.response.body", "body": text, "more_body": True})
            except OSError:
                return False
        return not patience.cancelled_caught

    async def _farewell(self, send: Send) -> None:
        with anyio.move_on_after(self._pace.farewell), suppress(OSError):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _frame(self, message: Message) -> bytes:
        """One event as it is sent; nothing where this form does not have it."""
        written = message.event.written(self._form)
        if self._form.of_seeds:
            return _as_seeds(message, written)
        id = b"" if message.id is None else b"id: %s\n" % message.id.encode()
        return b"%sevent: %s\ndata: %s\n\n" % (id, message.event.kind.encode(), written)


def _as_seeds(message: Message, written: bytes | None) -> bytes:
    """``data:`` lines alone; what that stream has no event for is a comment, but for numbers."""
    if written is not None:
        return b"data: %s\n\n" % written
    kind = message.event.kind
    return b"" if kind is Kind.STATS else b": %s\n\n" % kind.encode()


def _welcome(form: Form) -> bytes:
    """The first bytes, so that a client knows at once that it is heard."""
    return b": taskq\n\n" if form.of_seeds else b"retry: %d\n\n" % RETRY


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while True:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            scope.cancel()
            return
