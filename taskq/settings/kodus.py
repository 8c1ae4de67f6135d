"""The ``queue`` block of Kodus' config.json (seed:E24), as settings. Durations there are ms.

Its retries are counted as here, after the first run, and wait without jitter (seed:R2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from msgspec import Struct

from taskq.settings.config_file import ConfigFile, as_table

RETRY_POLICY: Final = "retry_policy"
_LONGEST: Final = 1e15
"""Milliseconds; more is no time that anybody waits."""


class Known(Struct, frozen=True):
    """A key that is a setting here."""

    setting: str


class Milliseconds(Struct, frozen=True):
    """A key that is a setting in seconds here."""

    setting: str


Key = Known | Milliseconds

KEYS: Final[Mapping[str, Key]] = {
    "capacity": Known("capacity"),
    "priority_enabled": Known("priority_enabled"),
    "dead_letter_queue_enabled": Known("dead_letter_queue_enabled"),
}
RETRY_KEYS: Final[Mapping[str, Key]] = {
    "max_retries": Known("max_retries"),
    "initial_delay_ms": Milliseconds("retry_initial_delay"),
    "max_delay_ms": Milliseconds("retry_max_delay"),
    "multiplier": Known("retry_multiplier"),
    "backoff_multiplier": Known("retry_multiplier"),
}


Found = dict[str, tuple[object, str]]
"""By setting, the value and its key in the file."""


def queue_block(file: ConfigFile, block: Mapping[str, object]) -> Found:
    """Read the block. Raises ConfigurationError for an unknown key or a wrong type."""
    found: Found = {}
    for name, value in block.items():
        if name != RETRY_POLICY:
            _take(file, found, f"queue.{name}", KEYS.get(name), value)
            continue
        policy = as_table(value)
        if policy is None:
            raise file.refused(f"queue.{name}", "must be a table of its own")
        for inner, each in policy.items():
            _take(file, found, f"queue.{name}.{inner}", RETRY_KEYS.get(inner), each)
        found["retry_jitter"] = (0.0, f"queue.{name}")
    return found


def _take(file: ConfigFile, found: Found, path: str, key: Key | None, value: object) -> None:
    match key:
        case None:
            known = RETRY_KEYS if path.startswith(f"queue.{RETRY_POLICY}.") else KEYS
            raise file.unknown(path, known if known is RETRY_KEYS else [*known, RETRY_POLICY])
        case Known():
            _keep(file, found, path, key.setting, value)
        case Milliseconds():
            _keep(file, found, path, key.setting, _seconds(file, path, value))
        case _:
            assert_never(key)


def _seconds(file: ConfigFile, path: str, value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _LONGEST:
        return value / 1000
    raise file.refused(path, f"must be a number of milliseconds, not {value!r}")


def _keep(file: ConfigFile, found: Found, path: str, setting: str, value: object) -> None:
    if setting in found:
        raise file.refused(path, f"says again what {file.key(found[setting][1])} says")
    found[setting] = (value, path)
