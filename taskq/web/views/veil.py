"""What of the stored texts somebody may see: secrets never, payloads not everybody."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Protocol, cast


class Masks(Protocol):
    """What hides secrets, see ``taskq.redaction.Redaction``."""

    def text(self, json_text: str, secret: Collection[str] = ()) -> str:
        """JSON text with what is secret in it masked; the rest byte for byte the same."""
        ...

    def value(self, value: object, secret: Collection[str] = ()) -> object:
        """The same for a value."""
        ...


class Veil:
    """Between the store and one who looks.

    ``secrets`` answers the names of a type's arguments that are secret whatever they hold. With
    ``shown`` False payloads are hidden: arguments, results, metadata, notes of progress, and the
    messages and tracebacks of errors; each is None then.
    """

    def __init__(
        self, masks: Masks, secrets: Callable[[str], Collection[str]], *, shown: bool
    ) -> None:
        self.shown = shown
        self._masks = masks
        self._secrets = secrets

    def arguments(self, type: str, payload: str) -> str | None:
        """The JSON text of an activity's arguments."""
        return self._masks.text(payload, self._secrets(type)) if self.shown else None

    def result(self, result: str | None) -> str | None:
        """The JSON text of a result; None where there is none, too."""
        return self._masks.text(result) if self.shown and result is not None else None

    def metadata(self, metadata: Mapping[str, object]) -> str | None:
        """The JSON text of metadata."""
        return self._text(self._masks.value(metadata)) if self.shown else None

    def said(self, text: str | None) -> str | None:
        """A message, a traceback, a note: text that a handler may have put anything into."""
        return text if self.shown else None

    def detail(self, type: str, detail: Mapping[str, object]) -> Mapping[str, object]:
        """What an event tells. Its error keeps its type and kind, whoever looks."""
        kept = dict(detail)
        payload, error = kept.pop("payload", None), kept.pop("error", None)
        kept = dict(cast("Mapping[str, object]", self._masks.value(kept)))
        if isinstance(payload, str):
            kept["payload"] = self.arguments(type, payload)
        if isinstance(error, dict):
            kept["error"] = self._error(cast("Mapping[str, object]", error))
        return kept

    def record(self, detail: Mapping[str, object]) -> Mapping[str, object]:
        """What an entry of the audit tells."""
        return cast("Mapping[str, object]", self._masks.value(detail))

    def _error(self, error: Mapping[str, object]) -> Mapping[str, object]:
        if self.shown:
            return error
        return {name: error[name] for name in ("type", "kind", "attempts") if name in error}

    @staticmethod
    def _text(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
