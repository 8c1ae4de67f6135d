"""What every part of the memory store has that changes something: hints, and the record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from taskq.audit import AuditEntry, Command, named, unchanged
from taskq.backends.changes import Changes
from taskq.backends.memory.reader import MemoryReader


class MemoryRecorder(MemoryReader, ABC):
    """Writes operators' commands down; the caller holds the lock."""

    @abstractmethod
    def _tell(self, changes: Changes) -> None:
        """Send hints; called without the lock."""

    def _recorded(
        self,
        now: datetime,
        command: Command,
        action: str,
        *,
        target: str = "",
        detail: Mapping[str, object] | None = None,
    ) -> bool:
        """Whether the command is new; it is in the record then."""
        return self._tables.record(now, command, action, target=target, detail=detail)

    def _recorded_of(
        self, now: datetime, command: Command, action: str, ids: Sequence[UUID], **more: object
    ) -> bool:
        """The same for a command about these activities; None of them is no command."""
        if not ids:
            return False
        different = list(dict.fromkeys(ids))
        detail = {"ids": [str(id) for id in different], **more}
        return self._recorded(now, command, action, target=named(different), detail=detail)

    def _leave(self, those: Iterable[object]) -> None:
        """What was just recorded has left these as they were: the record says so, if any."""
        names = [str(each) for each in those]
        if names:
            entry = self._tables.audit[-1]
            self._tables.audit[-1] = replace(entry, detail=unchanged(entry.detail, names))

    def _is_known(self, command: Command) -> bool:
        """Whether it is in the record already."""
        return self._entry(command) is not None

    def _entry(self, command: Command) -> AuditEntry | None:
        """What is in the record under its id."""
        if command.id is None:
            return None
        return next((each for each in self._tables.audit if each.command_id == command.id), None)
