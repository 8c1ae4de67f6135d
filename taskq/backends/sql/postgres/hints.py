"""The hints of one PostgreSQL backend: told here at once, sent to others, heard from others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext

from taskq.backends import Hint, Topic
from taskq.backends.changes import Changes
from taskq.backends.sql.postgres.address import Address
from taskq.backends.sql.postgres.channels import Message, channels_of
from taskq.backends.sql.postgres.listening import Listener
from taskq.backends.sql.postgres.notifying import Notifier
from taskq.backends.sql.postgres.subscription import Subscription, tell


class Hints:
    """Watches, and the way of hints between processes. On the storage loop.

    ``token`` marks this backend's own messages, ``send`` sends some in a transaction of their own.
    """

    def __init__(
        self,
        address: Address,
        *,
        token: str,
        listen: bool,
        send: Callable[[Sequence[Message]], Awaitable[None]],
    ) -> None:
        self._address = address
        self._token = token
        self._listen = listen
        self._send = send
        self._watches: tuple[Subscription, ...] = ()
        self._notifier: Notifier | None = None
        self._listener: Listener | None = None

    def place(self, schema: str) -> None:
        """The tables are in this schema: the channels are its own."""
        channels = channels_of(schema)
        self._notifier = Notifier(channels, self._token, self._send)
        self._listener = Listener(
            self._address,
            channels=channels,
            token=self._token,
            wanted=lambda: {topic for watch in self._watches for topic in watch.topics},
            tell=lambda hint: tell(self._watches, [hint]),
        )

    def carried(self, changes: Changes) -> AbstractContextManager[Sequence[Message]]:
        """Around the statement that makes these changes; gives what it must send itself."""
        return nullcontext(()) if self._notifier is None else self._notifier.carried(changes)

    def post(self, changes: Changes) -> None:
        """Send to others what has changed."""
        if self._notifier:
            self._notifier.post(changes)

    def tell(self, changes: Changes) -> None:
        """Tell the watches here what has changed, after the commit."""
        tell(self._watches, changes.hints())

    async def watch(
        self, topics: Collection[Topic], listener: Callable[[Hint], None]
    ) -> Subscription:
        """Begin a watch."""
        watch = Subscription(topics, listener, self._remove)
        self._watches = (*self._watches, watch)
        if self._listen and self._listener is not None:
            await self._listener.update()
        return watch

    async def close(self) -> None:
        """End every watch; send what is to be sent."""
        self._watches = ()
        if self._listener is not None:
            await self._listener.close()
        if self._notifier is not None:
            await self._notifier.close()
        self._listener = self._notifier = None

    def forget(self) -> None:
        """After a fork: watches and waiting hints are the parent's."""
        self._watches = ()
        if self._listener is not None:
            self._listener.forget()
        self._listener = self._notifier = None

    def _remove(self, watch: Subscription) -> None:
        self._watches = tuple(each for each in self._watches if each is not watch)
