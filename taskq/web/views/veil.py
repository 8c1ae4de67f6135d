"""What of the stored texts somebody may see: secrets never, payloads not everybody."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Final, cast

from msgspec.structs import replace

from taskq.audit import AuditEntry
from taskq.model import ErrorInfo
from taskq.showing import Showing
from taskq.snapshot import ActivityInfo, TimelineEntry


class Veil:
    """Between the store and one who looks.

    With ``shown`` False payloads are hidden: arguments, results, metadata, notes of progress, and
    the messages and tracebacks of errors; each is None then.
    """

    def __init__(self, showing: Showing, *, shown: bool) -> None:
        self.shown = shown
        self._showing = showing

    def arguments(self, type: str, payload: str) -> str | None:
        """The JSON text of a call's arguments."""
        return self._showing.arguments(type, payload) if self.shown else None

    def result(self, info: ActivityInfo) -> str | None:
        """The JSON text of a result; None where there is none, too."""
        return self._showing.result(info.type, info.result) if self.shown else None

    def metadata(self, info: ActivityInfo) -> str | None:
        """The JSON text of metadata."""
        if not self.shown:
            return None
        shown = self._showing.redaction.value(info.metadata)
        return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))

    def tags(self, info: ActivityInfo) -> Mapping[str, str]:
        """The tags."""
        return cast("Mapping[str, str]", self._showing.redaction.value(info.tags))

    def hides_tag(self, key: str) -> bool:
        """Whether the value of a tag is hidden, by its name."""
        return self._showing.redaction.hides(key)

    def error(self, info: ActivityInfo) -> ErrorInfo | None:
        """What it failed of, without the secrets that it was given."""
        return self._showing.error(info)

    def said(self, text: str | None) -> str | None:
        """A message, a traceback, a note: text that a handler may have put anything into."""
        return text if self.shown else None

    def seen(self, info: ActivityInfo) -> ActivityInfo:
        """The activity as it is shown: no search is to tell of more."""
        return self._showing.activity(info)

    def timeline(
        self, info: ActivityInfo, entries: Sequence[TimelineEntry]
    ) -> Sequence[TimelineEntry]:
        """What happened to an activity. An error keeps its type and kind, whoever looks."""
        entries = self._showing.timeline(info, entries)
        if self.shown:
            return entries
        return [replace(entry, detail=_bare(entry.detail)) for entry in entries]

    def record(self, entry: AuditEntry) -> Mapping[str, object]:
        """What an entry of the audit tells: without payloads, also without the filter of a bulk
        command, which may name what is in them, and without the digests of arguments."""
        detail = self._showing.audit(entry).detail
        return detail if self.shown else _without(_PAYLOADS, detail)


_PAYLOADS: Final = frozenset({"payload", "metadata", "filter", "edited"})


def _without(names: Collection[str], detail: Mapping[str, object]) -> Mapping[str, object]:
    """The same without members of these names, at any depth of objects."""
    return {
        name: _without(names, cast("Mapping[str, object]", value))
        if isinstance(value, Mapping)
        else value
        for name, value in detail.items()
        if name not in names
    }


def _bare(detail: Mapping[str, object]) -> Mapping[str, object]:
    kept = {name: value for name, value in detail.items() if name != "payload"}
    if isinstance(error := kept.get("error"), dict):
        told = cast("Mapping[str, object]", error)
        kept["error"] = {name: told[name] for name in ("type", "kind", "attempts") if name in told}
    return kept
