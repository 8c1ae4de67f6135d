"""What of the stored texts somebody may see: secrets never, payloads not everybody."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from taskq.redaction import Redaction
from taskq.snapshot import ActivityInfo


class Places(Struct, frozen=True):
    """Where a type's arguments and result are secret whatever they hold, see ``Redaction``."""

    arguments: Collection[str] = ()
    result: Collection[str] = ()


class Veil:
    """Between the store and one who looks.

    ``places`` answers what is secret of a type. With ``shown`` False payloads are hidden:
    arguments, results, metadata, notes of progress, and the messages and tracebacks of errors;
    each is None then.
    """

    def __init__(
        self, redaction: Redaction, places: Callable[[str], Places], *, shown: bool
    ) -> None:
        self.shown = shown
        self._redaction = redaction
        self._places = places

    def arguments(self, type: str, payload: str) -> str | None:
        """The JSON text of an activity's arguments."""
        return self._redaction.text(payload, self._places(type).arguments) if self.shown else None

    def result(self, type: str, result: str | None) -> str | None:
        """The JSON text of a result; None where there is none, too."""
        if result is None or not self.shown:
            return None
        return self._redaction.text(result, self._places(type).result)

    def metadata(self, metadata: Mapping[str, object]) -> str | None:
        """The JSON text of metadata."""
        return self._text(self._redaction.value(metadata)) if self.shown else None

    def said(self, text: str | None) -> str | None:
        """A message, a traceback, a note: text that a handler may have put anything into."""
        return text if self.shown else None

    def seen(self, info: ActivityInfo) -> ActivityInfo:
        """The activity with its arguments as they are shown: what a search must not tell of."""
        shown = self._redaction.text(info.payload, self._places(info.type).arguments)
        return replace(info, payload=shown)

    def detail(self, type: str, detail: Mapping[str, object]) -> Mapping[str, object]:
        """What an event tells. Its error keeps its type and kind, whoever looks."""
        kept = dict(detail)
        payload, error = kept.pop("payload", None), kept.pop("error", None)
        kept = dict(self._redaction.value(kept))
        if isinstance(payload, str):
            kept["payload"] = self.arguments(type, payload)
        if isinstance(error, dict):
            kept["error"] = self._error(cast("Mapping[str, object]", error))
        return kept

    def record(self, detail: Mapping[str, object]) -> Mapping[str, object]:
        """What an entry of the audit tells."""
        return dict(self._redaction.value(detail))

    def _error(self, error: Mapping[str, object]) -> Mapping[str, object]:
        if self.shown:
            return error
        return {name: error[name] for name in ("type", "kind", "attempts") if name in error}

    @staticmethod
    def _text(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
