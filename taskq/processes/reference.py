"""How a process finds a task again: by the name of its module and its own name in there.

Nothing is pickled. A script's own functions live in ``__main__``, which is another program in a
process of its own; there the script is imported once more, under the name ``__mp_main__`` as
multiprocessing does it, so that what stands behind ``if __name__ == "__main__":`` is not run.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType
from typing import Any, Final, Literal, cast

from msgspec import Struct

from taskq.errors import ConfigurationError
from taskq.processes.wire import Main
from taskq.registry import is_async
from taskq.task import Definition, Task

RunIn = Literal["thread", "process"]

IMPORTED_MAIN: Final = "__mp_main__"
"""The name under which a process imports the script that its worker was started by."""


class Reference(Struct, frozen=True, kw_only=True):
    """Where a task is found: ``main`` is the started program, if it lives in that."""

    module: str
    name: str
    main: Main | None


def checked_run_in(where: str, given: object, function: object) -> RunIn:
    """Where a function's attempts run: ``thread`` or ``process``, if it can be found there again.

    Raises ConfigurationError.
    """
    if given not in (None, "thread", "process"):
        raise ConfigurationError(f'{where}: run_in must be "thread" or "process", not {given!r}')
    if given is not None and is_async(function):
        raise ConfigurationError(
            f"{where}: run_in is for plain functions; an async one runs on the worker's event loop"
        )
    if given != "process":
        return "thread"
    if sys.platform == "win32":
        raise ConfigurationError(f'{where}: run_in="process" needs a system with POSIX processes')
    _check_name(where, function)
    return "process"


def _check_name(where: str, function: object) -> None:
    name = getattr(function, "__qualname__", None)
    module = getattr(function, "__module__", None)
    if not isinstance(name, str) or not isinstance(module, str):
        found = f"{function!r}, which has no name"
    elif "<lambda>" in name:
        found = "a lambda"
    elif "<locals>" in name:
        found = f"{name}, which is made inside a function"
    elif module == "__main__" and _main() is None:
        found = f"{name} of an interactive session, which cannot be imported"
    else:
        return
    raise ConfigurationError(
        f'{where}: run_in="process" imports the function by its name in a process of its own, and'
        f" this is {found}: define it with def at the top level of a module"
    )


def reference(definition: Definition) -> Reference:
    """Where a process finds this task. Raises ConfigurationError if it would find another thing."""
    module, name = definition.function.__module__, definition.function.__qualname__
    if module == IMPORTED_MAIN:
        raise ConfigurationError(
            "a worker is being started by a script that one of its own processes imports: put what"
            ' starts it behind `if __name__ == "__main__":`'
        )
    there = _task(_attribute(sys.modules.get(module), name))
    if there is None or there.definition.function is not definition.function:
        raise ConfigurationError(
            f'the task {definition.name!r} has run_in="process", and a process looks for it at'
            f" {module}.{name}, where no task of that function is: decorate"
            " the function where it is defined, and keep its name"
        )
    return Reference(module=module, name=name, main=_main() if module == "__main__" else None)


def found(module: str, name: str) -> Task[..., Any]:
    """In a process: the task of a reference. Raises what importing its module raises, and
    ConfigurationError when it is not there."""
    imported = sys.modules.get(module) or importlib.import_module(module)
    task = _task(_attribute(imported, name))
    if task is None:
        raise ConfigurationError(f"there is no task at {module}.{name}")
    return task


def import_main(main: Main) -> None:
    """In a process: import the program that its worker was started by."""
    loader = SourceFileLoader(IMPORTED_MAIN, main.path)
    spec = spec_from_loader(IMPORTED_MAIN, loader)
    if spec is None:
        raise ConfigurationError(f"{main.path} cannot be imported")
    module = module_from_spec(spec)
    module.__package__ = main.package
    sys.modules["__main__"] = sys.modules[IMPORTED_MAIN] = module
    loader.exec_module(module)


def _main() -> Main | None:
    """The program that was started here; None where there is no file to import."""
    main = sys.modules["__main__"]
    path = getattr(main, "__file__", None)
    return None if path is None else Main(path=path, package=main.__package__)


def _attribute(module: ModuleType | None, name: str) -> object:
    value: object = module
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def _task(value: object) -> Task[..., Any] | None:
    return cast("Task[..., Any]", value) if isinstance(value, Task) else None
