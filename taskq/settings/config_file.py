"""The file that settings are in: which one, and what it holds. Nothing else reads it.

``TASKQ_CONFIG`` names a .toml or .json file. Without it, the file is the nearest pyproject.toml
with a ``[tool.taskq]`` table, in the current folder or above. A folder above in which everybody may
write, such as /tmp, is passed by: a file there could be anybody's.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final, cast

from msgspec import Struct

from taskq.errors import ConfigurationError

PYPROJECT: Final = "pyproject.toml"
_TABLE: Final = "tool.taskq"


class ConfigFile(Struct, frozen=True):
    """A file, read. ``prefix`` stands before the table's keys where the file has more than it."""

    path: Path
    table: Mapping[str, object]
    prefix: str = ""

    def key(self, key: str) -> str:
        """A key of the table as it is written from the top of the file."""
        return f"{self.prefix}{key}"

    def refused(self, key: str, problem: str) -> ConfigurationError:
        """The error for a key; ``problem`` goes on after its name."""
        return ConfigurationError(f"{self.path}: {self.key(key)} {problem}")

    def unknown(self, key: str, known: Iterable[str]) -> ConfigurationError:
        """The error for a key that means nothing here."""
        return self.refused(key, f"is no setting; {suggestion(key.rpartition('.')[2], known)}")


def suggestion(name: str, known: Iterable[str]) -> str:
    """``did you mean 'lease'?``, or all that there are."""
    names = list(known)
    near = get_close_matches(name.lower().replace("-", "_"), names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names)}"


def as_table(value: object) -> Mapping[str, object] | None:
    """A table of TOML or an object of JSON; None for anything else."""
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else None


def find(named: str | None) -> ConfigFile | None:
    """The file that ``TASKQ_CONFIG`` names, else what the search finds; None where there is none.

    Raises ConfigurationError for a file that is not there or cannot be read as what it is.
    """
    if named:
        return _named(named)
    for path in _candidates():
        table = _tool_table(path)
        if table is not None:
            return ConfigFile(path, table, f"{_TABLE}.")
    return None


def _named(name: str) -> ConfigFile:
    path = Path(os.path.abspath(name))
    if not path.is_file():
        raise ConfigurationError(
            f"there is no file {path}: TASKQ_CONFIG={name!r} names one that is not there; correct"
            " the name or unset it"
        )
    if path.name == PYPROJECT:
        table = _tool_table(path)
        if table is None:
            raise ConfigurationError(f"{path}, named by TASKQ_CONFIG, has no [{_TABLE}] table")
        return ConfigFile(path, table, f"{_TABLE}.")
    match path.suffix.lower():
        case ".toml":
            return ConfigFile(path, _toml(path))
        case ".json":
            return ConfigFile(path, _json(path))
        case _:
            raise ConfigurationError(
                f"TASKQ_CONFIG={name!r} is neither a .toml nor a .json file: rename it"
            )


def _candidates() -> Iterator[Path]:
    try:
        folder = Path.cwd()
    except FileNotFoundError:  # the current folder was deleted: it has no file
        return
    for place in (folder, *folder.parents):
        path = place / PYPROJECT
        if os.path.isfile(path) and (place == folder or not _open_to_all(place)):
            yield path


def _open_to_all(folder: Path) -> bool:
    return os.name == "posix" and bool(folder.stat().st_mode & stat.S_IWOTH)


def _tool_table(path: Path) -> Mapping[str, object] | None:
    tool = as_table(_toml(path).get("tool"))
    if tool is None or "taskq" not in tool:
        return None
    table = as_table(tool["taskq"])
    if table is None:
        raise ConfigurationError(f"{path}: {_TABLE} must be a table, [{_TABLE}]")
    return table


def _toml(path: Path) -> Mapping[str, object]:
    text = _text(path)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from error


def _json(path: Path) -> Mapping[str, object]:
    text = _text(path)
    try:
        table = as_table(json.loads(text, object_pairs_hook=_once))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not valid JSON: {error}") from error
    if table is None:
        raise ConfigurationError(f"{path} must hold one JSON object, {{…}}")
    return table


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object's keys; JSON readers differ on which of two equal ones counts."""
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} is twice")
    return table


def _text(path: Path) -> str:
    """A file's text, in UTF-8 with or without a byte order mark."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path} is not in UTF-8: {error}") from error
