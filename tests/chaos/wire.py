"""As much of PostgreSQL's wire protocol as it takes to know which statement a reply is for.

See the manual, "Frontend/Backend Protocol": messages are a letter, a length of four bytes that
counts itself, and the rest; the first ones of a client have no letter.
"""

from __future__ import annotations

from asyncio import StreamReader
from collections.abc import Callable

from msgspec import Struct

ENCRYPT = frozenset({80877103, 80877104})
"""The codes by which a client asks for TLS or GSS; the answer is one byte."""

IDLE = b"I"
"""ReadyForQuery's word for: outside of any transaction."""

Named = Callable[[str], str | None]
"""What a statement does, by its SQL; None where nobody asks."""


class Message(Struct, frozen=True):
    """One message: its letter (empty for a client's first ones) and all of its bytes."""

    letter: bytes
    whole: bytes

    @property
    def body(self) -> bytes:
        """What comes after the length."""
        return self.whole[len(self.letter) + 4 :]


async def first_message(reader: StreamReader) -> Message:
    """A client's first message, or its next one after it was told that there is no encryption."""
    head = await reader.readexactly(4)
    return Message(b"", head + await reader.readexactly(int.from_bytes(head, "big") - 4))


async def next_message(reader: StreamReader) -> Message:
    """The next message of either side. IncompleteReadError at the end."""
    head = await reader.readexactly(5)
    length = int.from_bytes(head[1:], "big")
    return Message(head[:1], head + await reader.readexactly(length - 4))


def asks_for_encryption(message: Message) -> bool:
    """Whether a first message asks for TLS or GSS."""
    return int.from_bytes(message.body[:4], "big") in ENCRYPT


class Conversation:
    """What one client has its server do. ``doing`` is what the running transaction is about: the
    first of its statements that ``named`` knows."""

    def __init__(self, named: Named) -> None:
        self.doing: str | None = None
        self._named = named
        self._prepared: dict[bytes, str | None] = {}

    def sent(self, message: Message) -> bool:
        """The client sends this. Whether it is the statement that ``doing`` is now about."""
        match message.letter:
            case b"P":
                name, sql, *_ = message.body.split(b"\0")
                self._prepared[name] = self._named(sql.decode())
                return False
            case b"B":
                _, name, *_ = message.body.split(b"\0")
                return self._does(self._prepared.get(name))
            case b"Q":
                return self._does(self._named(message.body.rstrip(b"\0").decode()))
            case _:
                return False

    def ended(self, message: Message) -> str | None:
        """The server sends this. What it has done, where this says that it has committed it."""
        if message.letter == b"E":
            self.doing = None
        if message.letter != b"Z" or message.body != IDLE:
            return None
        done, self.doing = self.doing, None
        return done

    def _does(self, what: str | None) -> bool:
        if self.doing is not None or what is None:
            return False
        self.doing = what
        return True
