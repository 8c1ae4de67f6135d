"""Whether LISTEN works: behind a pooler between transactions it is accepted and then in vain.

Such a pooler gives the server's session to somebody else after each transaction, and with it what
that session listens to. ``pg_listening_channels()`` cannot tell: asked again, it is answered by
whichever session is lent for the question.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Final

from taskq.backends.sql.postgres.address import Address
from taskq.backends.sql.postgres.connections import connect, part
from taskq.backends.sql.postgres.driver import Raw

PATIENCE: Final = 2.0
"""Seconds in which a notification must arrive that was committed on another connection."""


async def pooled(raw: Raw) -> bool:
    """Whether a pooler stands before the server: the session's process is another one than was told
    when the connection began.

    Poolers make that number up, because it is what cancels a statement; a plain TCP proxy passes it
    on, and lends no session. Raises ``driver.BROKEN``.
    """
    async with raw.transaction(isolation="read_committed"):
        [row] = await raw.fetch("SELECT pg_backend_pid()")
    return bool(row[0] != raw.get_server_pid())


async def hears(raw: Raw, address: Address) -> bool:
    """Whether this connection hears what another one notifies. Raises ``driver.BROKEN``."""
    channel = f"taskq:probe:{os.urandom(8).hex()}"
    heard = asyncio.Event()

    def note(*_: object) -> None:
        heard.set()

    await raw.add_listener(channel, note)
    await _notify(channel, address)
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            await heard.wait()
    await raw.remove_listener(channel, note)
    return heard.is_set()


async def _notify(channel: str, address: Address) -> None:
    other = await connect(address)
    try:
        await other.execute(f'NOTIFY "{channel}"')
    finally:
        await part(other)
