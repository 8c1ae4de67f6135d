"""Hints on their way between processes: which channel, and what a message says.

A message is the sender's token, then the ids meant as 32 hexadecimal digits each; without ids any
may be meant. The token tells a process its own messages, of which it has told itself already.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from msgspec import Struct

from taskq.backends import Hint, Topic

LONGEST: Final = 7999
"""Bytes that PostgreSQL takes in one message."""
TOKEN: Final = 8
MOST: Final = (LONGEST - TOKEN) // 32
"""Ids in one message."""
MESSAGES: Final = 8
"""Messages at once; more ids than fit into these are not named."""
_CHANNEL: Final = 63


class Message(Struct, frozen=True):
    """What is sent to a channel."""

    channel: str
    payload: str


def channels_of(schema: str) -> Mapping[Topic, str]:
    """The channel of each topic: taskq in another schema of the database is another taskq."""
    names = {topic: f"taskq:{schema}:{topic.value}" for topic in Topic}
    if max(len(name.encode()) for name in names.values()) <= _CHANNEL:
        return names
    digest = hashlib.sha256(schema.encode()).hexdigest()[:32]
    return {topic: f"taskq:{digest}:{topic.value}" for topic in Topic}


def messages(channel: str, token: str, ids: Collection[UUID]) -> list[Message]:
    """The messages that name these ids, or the one that names none."""
    if not ids or len(ids) > MOST * MESSAGES:
        return [Message(channel, token)]
    return [Message(channel, token + part) for part in _parts([id.hex for id in ids])]


def hint(topic: Topic, payload: str, own: str) -> Hint | None:
    """What a message says; None for one's own. What cannot be read means any."""
    token, digits = payload[:TOKEN], payload[TOKEN:]
    if token == own:
        return None
    try:
        ids = frozenset(UUID(digits[at : at + 32]) for at in range(0, len(digits), 32))
    except ValueError:
        return Hint(topic)
    return Hint(topic, ids or None) if topic is not Topic.READY else Hint(topic)


def _parts(ids: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(ids), MOST):
        yield "".join(ids[start : start + MOST])
