"""The settings of an app, put together from keywords, environment, a file and defaults.

The only place that reads the environment. A keyword beats an environment variable, that beats the
file, and that beats the default; beside each value stands where it came from (D35).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, cast

from msgspec import Struct

from taskq.errors import ConfigurationError
from taskq.retry import RetryPolicy
from taskq.settings.config_file import ConfigFile, as_table, find, suggestion
from taskq.settings.kodus import queue_block
from taskq.settings.origin import Argument, Default, FileKey, Origin, Variable, told
from taskq.settings.values import NAMES, TYPES, SettingError, Settings

_PREFIX: Final = "TASKQ_"
_NO_SETTINGS: Final = ("APP", "CONFIG")
"""What else taskq reads: the command line's app, and the file."""
_OTHERS: Final = re.compile(r"TEST_\w+|(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_\w+)?)")
"""What is nobody's mistake: names of taskq's own tests, and those that Kubernetes gives every
container for a service whose name begins with taskq."""


class Ignored(Struct, frozen=True):
    """A variable ``TASKQ_…`` of the environment that nothing reads. ``meant`` is one that is read
    and is written nearly so, if there is one."""

    name: str
    meant: str | None

    def __str__(self) -> str:
        return f"the environment variable {self.name} is ignored: it is no setting"


class Configuration(Struct, frozen=True):
    """The settings of an app, and where each of them came from."""

    settings: Settings
    origins: Mapping[str, Origin]

    def refused(self, problem: str, *names: str) -> SettingError:
        """The error about these settings, with the variable or the file that each is from."""
        return _refused(problem, names, self.origins)


def configuration(
    arguments: Mapping[str, object] | None = None,
    *,
    base: Settings | None = None,
    own_store: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Configuration:
    """Settings from keywords, then ``TASKQ_*`` of the environment, then a file, then defaults.

    ``arguments`` are settings by name, and ``retry``, a RetryPolicy. ``base`` takes the place of
    environment and file; with ``own_store`` no database URL counts.

    Raises ConfigurationError for an unknown keyword; SettingError for an unknown key, a file that
    cannot be read, a text that is no number, or a value out of bounds: with the place that it is
    from.
    """
    environ = os.environ if environ is None else environ
    given: dict[str, tuple[object, Origin]] = {}
    if base is not None:
        given.update({name: (getattr(base, name), Argument("settings")) for name in NAMES})
    else:
        given.update(_from_outside(environ))
    given.update(_of_arguments(arguments or {}))
    values = {name: value for name, (value, _) in given.items()}
    origins = {name: given[name][1] if name in given else Default() for name in NAMES}
    if own_store:
        origins["database_url"] = Argument("backend")
    try:
        settings = Settings(**cast("Any", values))
    except SettingError as error:
        raise _refused(str(error), error.names, origins) from None
    return Configuration(settings=settings, origins=origins)


def load(
    arguments: Mapping[str, object] | None = None, *, environ: Mapping[str, str] | None = None
) -> Settings:
    """The settings of ``configuration`` alone."""
    return configuration(arguments, environ=environ).settings


def _refused(problem: str, names: Sequence[str], origins: Mapping[str, Origin]) -> SettingError:
    said = _placed(problem, names, origins)
    return SettingError(said, *names, outside=said != problem)


def _placed(problem: str, names: Sequence[str], origins: Mapping[str, Origin]) -> str:
    """The sentence, with origins where one of them is out of the caller's sight."""
    if not any(isinstance(origins[name], (Variable, FileKey)) for name in names):
        return problem
    if len(names) == 1:
        return f"{problem} ({told(origins[names[0]])})"
    return f"{problem} ({', '.join(f'{name}: {told(origins[name])}' for name in names)})"


def _from_outside(environ: Mapping[str, str]) -> dict[str, tuple[object, Origin]]:
    """The settings that environment and file give. Raises SettingError."""
    given: dict[str, tuple[object, Origin]] = {}
    try:
        file = find(environ.get("TASKQ_CONFIG"))
        if file is not None:
            given.update(_of_file(file))
        given.update(_of_environment(environ))
    except ConfigurationError as error:
        raise SettingError(str(error), outside=True) from error.__cause__
    return given


def _of_file(file: ConfigFile) -> dict[str, tuple[object, Origin]]:
    """The settings that a file gives."""
    found: dict[str, tuple[object, Origin]] = {}
    table = dict(file.table)
    block = as_table(table.get("queue"))
    if block is not None:
        del table["queue"]
        for name, (value, key) in queue_block(file, block).items():
            found[name] = (value, FileKey(str(file.path), file.key(key)))
        if file.path.suffix.lower() == ".json":  # a program's other blocks, which are its own
            table = {name: value for name, value in table.items() if as_table(value) is None}
    for name, value in table.items():
        if name not in NAMES:
            raise file.unknown(name, NAMES)
        if name in found and name != "retry_jitter":  # which a retry_policy only implies
            raise file.refused(name, f"says again what {told(found[name][1])} says")
        found[name] = (_none_of(name, value), FileKey(str(file.path), file.key(name)))
    return found


def _of_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, tuple[object, Origin]]]:
    for name in NAMES:
        text = environ.get(f"TASKQ_{name.upper()}")
        if text:
            yield name, (_parsed(name, text), Variable(f"TASKQ_{name.upper()}"))


def _of_arguments(arguments: Mapping[str, object]) -> Iterator[tuple[str, tuple[object, Origin]]]:
    for name, value in arguments.items():
        if name == "retry":
            if not isinstance(value, RetryPolicy):
                raise ConfigurationError(f"retry must be a RetryPolicy, not {value!r}")
            for part in value.__struct_fields__:
                if f"retry_{part}" in arguments:
                    raise ConfigurationError(f"TaskQ takes retry or retry_{part}, not both")
                yield f"retry_{part}", (getattr(value, part), Argument("retry"))
        elif name in NAMES:
            yield name, (value, Argument("url" if name == "database_url" else name))
        else:
            raise ConfigurationError(f"TaskQ has no setting {name!r}; {suggestion(name, NAMES)}")


def variable(name: str) -> str | None:
    """An environment variable that is no setting of an app, for example ``TASKQ_APP``."""
    return os.environ.get(name)


def ignored(environ: Mapping[str, str] | None = None) -> list[Ignored]:
    """The variables that look like settings and are none, by name."""
    environ = os.environ if environ is None else environ
    given = {name.removeprefix(_PREFIX) for name in environ if name.startswith(_PREFIX)}
    known = [*(name.upper() for name in NAMES), *_NO_SETTINGS]
    strange = sorted(name for name in given.difference(known) if not _OTHERS.fullmatch(name))
    return [Ignored(f"{_PREFIX}{name}", _meant(name, known)) for name in strange]


def _meant(name: str, known: Sequence[str]) -> str | None:
    near = get_close_matches(name.upper(), known, n=1)
    return f"{_PREFIX}{near[0]}" if near else None


def _parsed(name: str, text: str) -> object:
    """An environment text as the field's type; ``none`` stands for None where that is allowed."""
    kind = TYPES[name]
    if _none_of(name, text.strip() or "none") is None:
        return None
    if kind.startswith(("str", "Mapping", "Sequence")):
        return text
    if kind == "bool":
        return _switch(name, text)
    whole = kind.startswith("int")
    try:
        return int(text) if whole else float(text)
    except ValueError:
        what = "a whole number" if whole else "a number"
        raise ConfigurationError(f"TASKQ_{name.upper()}={text!r} is not {what}") from None


def _none_of(name: str, value: object) -> object:
    """None for the text ``none`` where that is allowed: TOML and environments have no other."""
    if "None" in TYPES[name] and isinstance(value, str) and value.strip().lower() == "none":
        return None
    return value


def _switch(name: str, text: str) -> bool:
    match text.strip().lower():
        case "on" | "true" | "yes" | "1":
            return True
        case "off" | "false" | "no" | "0":
            return False
        case _:
            raise ConfigurationError(f"TASKQ_{name.upper()}={text!r} is neither on nor off")
