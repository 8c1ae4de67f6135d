"""What of stored activities is shown to people, with the secrets of each type hidden."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from taskq.audit import AuditEntry
from taskq.model import Attempt, ErrorInfo
from taskq.redaction import Redaction, scrub
from taskq.schedule import Schedule, ScheduleInfo
from taskq.snapshot import ActivityInfo, TimelineEntry


class Secrets(Struct, frozen=True):
    """The places of ``Secret`` values in the arguments and in the result of a type, as
    ``Redaction`` takes them."""

    arguments: frozenset[str] = frozenset()
    result: frozenset[str] = frozenset()


NO_SECRETS = Secrets()


def no_secrets(_: str) -> Secrets:
    """Nothing is known of any type."""
    return NO_SECRETS


class Showing:
    """Shows what is stored as ``redaction`` allows, and ``secrets`` of its type hidden.

    Of a type that is not known here, only names hide values. Pure; from any thread.
    """

    def __init__(
        self,
        redaction: Redaction | None = None,
        secrets: Callable[[str], Secrets] = no_secrets,
    ) -> None:
        self.redaction = redaction or Redaction()
        self.secrets = secrets

    def arguments(self, type: str, payload: str) -> str:
        """Arguments of an activity of this type, JSON text."""
        return self.redaction.text(payload, self.secrets(type).arguments)

    def result(self, type: str, result: str | None) -> str | None:
        """A result of this type, JSON text; None where there is none."""
        return None if result is None else self.redaction.text(result, self.secrets(type).result)

    def restored(
        self, type: str, new: Mapping[str, object], old: Mapping[str, object]
    ) -> dict[str, Any]:
        """Arguments that came back from somebody to whom ``old`` was shown, see
        ``Redaction.restored``."""
        return self.redaction.restored(new, old, self.secrets(type).arguments)

    def activity(self, info: ActivityInfo) -> ActivityInfo:
        """The same with arguments, result, metadata, tags and error as they may be shown."""
        return replace(
            info,
            payload=self.arguments(info.type, info.payload),
            result=self.result(info.type, info.result),
            metadata=self.redaction.value(info.metadata),
            tags=self.redaction.value(info.tags),
            error=self.error(info),
        )

    def error(self, info: ActivityInfo) -> ErrorInfo | None:
        """Its error alone, without the secrets among its arguments."""
        error = info.error
        if error is None:
            return None
        held = self._held(info.type, info.payload)
        message, traceback = scrub(error.message, held), scrub(error.traceback, held)
        return replace(error, message=message, traceback=traceback)

    def schedule(self, info: ScheduleInfo) -> ScheduleInfo:
        """A schedule with the arguments and metadata of its call as they may be shown."""
        return replace(info, schedule=self.definition(info.schedule))

    def definition(self, schedule: Schedule) -> Schedule:
        """The same of what defines one."""
        template = schedule.template
        metadata = template.metadata
        shown = replace(
            template,
            payload=self.arguments(template.type, template.payload),
            metadata=metadata and self.redaction.text(metadata),
        )
        return replace(schedule, template=shown)

    def audit(self, entry: AuditEntry) -> AuditEntry:
        """An entry of the record, with the arguments in it as they may be shown."""
        places = frozenset[str]()
        match entry.detail.get("template"):
            case {"type": str(type)}:
                inside = self.secrets(type).arguments
                places = frozenset({"template.payload"}) if inside else places
            case _:
                pass
        return replace(entry, detail=self.redaction.value(entry.detail, places))

    def timeline(self, info: ActivityInfo, entries: Sequence[TimelineEntry]) -> list[TimelineEntry]:
        """What happened to this activity, as it may be shown; ``info`` as it is stored."""
        held = self._held(info.type, info.payload)
        return [
            replace(entry, detail=self._detail(info.type, entry.detail, held)) for entry in entries
        ]

    def hide(self, attempt: Attempt, text: str) -> str:
        """A text that is to be recorded about an attempt, without the secrets it was given."""
        held = self._held(attempt.type, attempt.payload)
        if attempt.metadata is not None:
            held |= self.redaction.held(attempt.metadata)
        return scrub(text, held)

    def _held(self, type: str, payload: str) -> frozenset[str]:
        return self.redaction.held(payload, self.secrets(type).arguments)

    def _detail(
        self, type: str, detail: Mapping[str, object], held: frozenset[str]
    ) -> Mapping[str, object]:
        shown = dict(detail)
        payload = detail.get("payload")
        if isinstance(payload, str):
            shown["payload"] = self.arguments(type, payload)
        error = detail.get("error")
        if isinstance(error, dict):
            shown["error"] = {
                name: scrub(text, held) if isinstance(text, str) else text
                for name, text in cast("dict[str, object]", error).items()
            }
        return shown
