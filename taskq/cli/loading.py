"""Finds the app that ``module:attribute`` names; each thing that can be wrong has its sentence.

The current folder comes first on the import path, so the console script finds what ``python -m``
finds (bug:B183). Accepted are ``app:taskq``, ``package.module:object.attribute``, a factory with or
without ``()``, and ``path/to/app.py:taskq`` below the current folder (bug:B184, fault:D11).
"""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType

import click
from msgspec import Struct

from taskq.app import TaskQ
from taskq.cli.failure import Refused, sentence
from taskq.settings import SettingError, variable
from taskq.task import Task

_FORM = "an app is written module:attribute, for example app:taskq"


class Spec(Struct, frozen=True):
    """What was asked for: a module, a dotted attribute in it, and whether to call that."""

    module: str
    attribute: str
    call: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.attribute}"


def chosen(argument: str | None, option: str | None) -> str | None:
    """The app that the command line or ``TASKQ_APP`` names. Refused when it names two."""
    if argument and option and argument != option:
        raise Refused(f"two apps are named, {argument!r} and {option!r} (-A/--app): name one")
    return argument or option or (None if hosted() else variable("TASKQ_APP")) or None


def needed(option: str | None) -> str | None:
    """The app that ``-A/--app`` or ``TASKQ_APP`` names, None for the host's own. Refused when there
    is neither."""
    named = chosen(None, option)
    if named is None and hosted() is None:
        raise Refused(f"no app is named: {_FORM}, by -A/--app or by TASKQ_APP")
    return named


def hosted() -> TaskQ | None:
    """The app whose own commands these are, where another program's command line has them."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.find_object(TaskQ)


def load_app(text: str | None) -> TaskQ:
    """Import the app. Refused, with the part that failed and what was found instead."""
    own = hosted()
    if text is None and own is not None:
        return own
    if text is None:
        raise Refused(f"no app is named: {_FORM}, as an argument, by -A/--app or by TASKQ_APP")
    folder = Path.cwd()
    spec = parsed(text, folder)
    if str(folder) != sys.path[0]:
        sys.path.insert(0, str(folder))
    module = _imported(spec, folder)
    return _app(spec, module, _found(spec, module))


def parsed(text: str, folder: Path) -> Spec:
    """The parts of ``module:attribute``. Refused when they are not there or not well formed."""
    place, colon, attribute = text.strip().rpartition(":")
    call = attribute.endswith("()")
    attribute = attribute.removesuffix("()")
    if not colon and _is_path(attribute):
        raise Refused(f"{text!r} names no attribute: write {text}:taskq, say")
    if not colon or not place or not attribute:
        raise Refused(f"{text!r} does not name an app: {_FORM}")
    module = _module_of(place, folder) if _is_path(place) else place
    if not _dotted(module):
        raise Refused(f"{module!r} in {text!r} is not a module name: {_FORM}")
    if not _dotted(attribute):
        raise Refused(f"{attribute!r} in {text!r} is not an attribute name: {_FORM}")
    if module == "__main__":
        raise Refused(f"{text!r} names the taskq command itself: name the module's file or name")
    return Spec(module, attribute, call)


def _is_path(text: str) -> bool:
    return text.endswith(".py") or "/" in text or "\\" in text


def _dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _module_of(place: str, folder: Path) -> str:
    """The module name of a file below the current folder."""
    path = (folder / place).resolve()
    if not path.is_file():
        raise Refused(f"there is no file {path}")
    if not path.is_relative_to(folder.resolve()):
        raise Refused(
            f"{path} is outside the current folder {folder}: run taskq in the folder that the app"
            " is imported from, or name its module"
        )
    parts = list(path.relative_to(folder.resolve()).with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    if not all(part.isidentifier() for part in parts):
        raise Refused(f"{place!r} cannot be imported: {'.'.join(parts)!r} is not a module name")
    return ".".join(parts)


def _imported(spec: Spec, folder: Path) -> ModuleType:
    try:
        return importlib.import_module(spec.module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{spec.module}.".startswith(f"{error.name}."):
            raise _broken(f"importing {spec.module!r}", folder, error) from error
        raise Refused(_missing_module(spec, folder, error.name)) from error
    except SystemExit as error:
        raise Refused(
            f"importing {spec.module!r} ended the program (exit code {error.code}):"
            ' put what it runs behind `if __name__ == "__main__":`'
        ) from error
    except Exception as error:
        raise _broken(f"importing {spec.module!r}", folder, error) from error


def _missing_module(spec: Spec, folder: Path, name: str) -> str:
    parent = name.rpartition(".")[0]
    if parent:
        kind = "package" if hasattr(sys.modules.get(parent), "__path__") else "module"
        return f"there is no module {name!r} in the {kind} {parent!r}, named by {spec}"
    names = sorted(path.stem for path in folder.glob("*.py") if path.stem.isidentifier())
    there = f"has {_listed(names)}" if names else "has no Python files"
    return f"there is no module {name!r}, named by {spec}: the current folder {folder} {there}"


def _broken(what: str, folder: Path, error: Exception) -> Refused:
    """The app's own code has failed; or a setting is wrong, which may be from elsewhere."""
    match error:
        case SettingError(outside=True):
            return Refused(str(error))
        case SettingError():
            said = str(error)
        case SyntaxError():
            said = f"{what} failed: {type(error).__name__}: {error.msg}"
        case _:
            said = f"{what} failed: {sentence(error)}"
    return Refused(f"{said}{_line(folder, error)}")


def _line(folder: Path, error: Exception) -> str:
    """Where it happened: the deepest line of the user's own folder, else the deepest line."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return _at(folder, error.filename, error.lineno)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen ") and frame.filename != __file__
    ]
    own = [frame for frame in frames if _own(folder, frame.filename)]
    for frame in reversed(own or frames):
        if frame.filename != importlib.__file__:
            return _at(folder, frame.filename, frame.lineno)
    return ""


def _own(folder: Path, filename: str) -> bool:
    path = Path(filename)
    return path.is_relative_to(folder) and "site-packages" not in path.parts


def _at(folder: Path, filename: str, line: int | None) -> str:
    path = Path(filename)
    shown = path.relative_to(folder) if path.is_relative_to(folder) else path
    return f" ({shown}, line {line})"


def _found(spec: Spec, module: ModuleType) -> object:
    value: object = module
    for part in spec.attribute.split("."):
        if not hasattr(value, part):
            where = getattr(module, "__file__", None) or "built in"
            owner = "" if value is module else f" (no {part!r} in {type(value).__name__})"
            raise Refused(
                f"module {spec.module!r} ({where}) has no {spec.attribute!r}{owner};"
                f" {_apps(module)}"
            )
        value = getattr(value, part)
    return value


def _apps(module: ModuleType) -> str:
    names = sorted(name for name, value in vars(module).items() if isinstance(value, TaskQ))
    return f"its TaskQ objects: {_listed(names)}" if names else "it has no TaskQ object"


def _app(spec: Spec, module: ModuleType, value: object) -> TaskQ:
    """The value itself, or what the factory gives."""
    if isinstance(value, TaskQ) and not spec.call:
        return value
    if isinstance(value, TaskQ) or _is_task(value) or not callable(value):
        article = "is called, but it is" if spec.call else "is"
        raise Refused(f"{spec} {article} {_kind(value)}{_instead(module, value)}")
    _check_factory(spec, value)
    try:
        made = value()
    except Exception as error:
        raise _broken(f"the factory {spec}", Path.cwd(), error) from error
    if not isinstance(made, TaskQ):
        raise Refused(f"the factory {spec} gave {_kind(made)}{_instead(module, made)}")
    return made


def _is_task(value: object) -> bool:
    """A task can be called too, and must not be."""
    return isinstance(value, Task)


def _check_factory(spec: Spec, factory: object) -> None:
    assert callable(factory)
    if inspect.iscoroutinefunction(factory):
        raise Refused(f"{spec} is an async function: a factory is a plain one that gives a TaskQ")
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return
    needed = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if needed:
        raise Refused(f"{spec} needs arguments ({', '.join(needed)}): a factory takes none")


def _kind(value: object) -> str:
    if isinstance(value, TaskQ):
        return "a TaskQ object: leave the () out"
    if value is None:
        return "None, not a TaskQ"
    return f"of type {type(value).__name__}, not a TaskQ"


def _instead(module: ModuleType, value: object) -> str:
    return "" if isinstance(value, TaskQ) else f"; of module {module.__name__!r}, {_apps(module)}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more
