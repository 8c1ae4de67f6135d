"""The rules of the house (CONTRIBUTING.md), as tests over the package's syntax trees."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from tests.house.sources import (
    FILES,
    PACKAGE,
    code_of,
    imports,
    name_of,
    nodes_of,
    text_of,
    tree_of,
)

CORE = {
    "model",
    "lifecycle",
    "retry",
    "codec",
    "errors",
    "events",
    "snapshot",
    "audit",
    "hooks",
    "idempotency",
    "tree",
    "progress",
    "pausing",
    "aging",
    "filtering",
    "durations",
    "retention",
    "fingerprint",
    "occurrences",
    "schedule",
    "defining",
    "printing",
    "phrases",
    "news",
    "reserved",
    "redaction",
    "secret",
    "showing",
}
LONGEST_FILE = 500
LONGEST_FUNCTION = 60

HOMES: dict[str, tuple[str, ...]] = {
    "sqlalchemy": ("backends/sql", "migrations"),
    "alembic": ("migrations",),
    "sqlite3": ("backends/sql", "cli"),
    "asyncio": ("bridge", "backends/sql"),
    "concurrent": ("bridge",),
    "trio": ("bridge",),
    "litestar": ("web",),
    "uvicorn": ("web",),
    "click": ("cli",),
    "rich": ("cli",),
    "signal": ("cli", "processes"),
    "subprocess": ("cli", "processes"),
    "multiprocessing": (),
    "fcntl": ("processes",),
    "logging": ("logs.py",),
    "time": ("clock.py", "identifiers.py", "cli"),
    "random": ("assembly.py", "retry.py"),
    "tomllib": ("settings",),
    "configparser": ("migrations",),
    "pickle": (),
    "marshal": (),
    "shelve": (),
}
"""Modules that only these rooms may import: each effect has one home."""

TYPES_ONLY: dict[str, tuple[str, ...]] = {
    "sqlalchemy": ("app.py", "transaction.py"),
    "click": ("web/plugin.py",),
}
"""Modules that these files besides may name to a type checker: under ``if TYPE_CHECKING``."""

NAMES: dict[str, tuple[str, ...]] = {
    "os.environ": ("settings",),
    "os.getenv": ("settings",),
    "datetime.now": ("clock.py",),
    "threading.Thread": ("bridge",),
    "os.kill": ("cli",),
    "os.killpg": ("processes",),
    "os.fork": (),
    "eval": (),
    "exec": (),
}
"""Names that only these rooms may use."""


def found(findings: Callable[[Path], Collection[object]]) -> dict[str, Collection[object]]:
    """By file, where there are any. One test for a rule, not for a rule and a file: the suite has
    hundreds of files."""
    return {name_of(path): told for path in FILES if (told := findings(path))}


def within(name: str, rooms: tuple[str, ...]) -> bool:
    return any(name == room or name.startswith(f"{room}/") for room in rooms)


def for_types_only(tree: ast.Module) -> Iterator[str]:
    """Imports that never run: directly under ``if TYPE_CHECKING``."""
    for node in tree.body:
        if isinstance(node, ast.If) and dotted(node.test) == "TYPE_CHECKING":
            yield from imports(inner for each in node.body for inner in ast.walk(each))


def dotted(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else None
    return None


def at_module_level(tree: ast.Module) -> Iterator[str]:
    """Imports that run when the module is imported: not in functions, not under TYPE_CHECKING."""
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from imports([node])


def test_no_file_is_longer_than_a_reader_holds() -> None:
    sizes = {name_of(path): len(text_of(path).splitlines()) for path in FILES}
    assert {name: size for name, size in sizes.items() if size > LONGEST_FILE} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    def long(path: Path) -> list[str]:
        return [
            f"{node.name}: {length}"
            for node in nodes_of(path)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            and (length := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
        ]

    assert found(long) == {}


def test_every_effect_stays_in_its_home() -> None:
    def strays(path: Path) -> list[str]:
        name = name_of(path)
        typed = [
            module
            for module in for_types_only(tree_of(path))
            if within(name, TYPES_ONLY.get(module.split(".")[0], ()))
        ]
        away = [
            module
            for module in imports(nodes_of(path))
            for effect, homes in HOMES.items()
            if module.split(".")[0] == effect and not within(name, homes)
        ]
        return [*(Counter(away) - Counter(typed))]

    assert found(strays) == {}


def test_every_guarded_name_stays_in_its_home() -> None:
    def strays(path: Path) -> set[str]:
        used = {
            name
            for node in nodes_of(path)
            if isinstance(node, (ast.Name, ast.Attribute)) and (name := dotted(node)) in NAMES
        }
        return {name for name in used if not within(name_of(path), NAMES[name])}

    assert found(strays) == {}


def test_every_public_name_has_a_docstring() -> None:
    def bare(path: Path) -> list[str]:
        tree = tree_of(path)
        module = [] if ast.get_docstring(tree) else ["the module"]
        return module + [
            f"{scope}{node.name}"
            for scope, node in definitions(tree)
            if not ast.get_docstring(node)
        ]

    assert found(bare) == {}


def definitions(
    tree: ast.Module | ast.ClassDef, scope: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if node.name.startswith(("_", "test_")) or is_overload(node):
            continue
        yield scope, node
        if isinstance(node, ast.ClassDef):
            yield from definitions(node, f"{scope}{node.name}.")


def is_overload(node: ast.AST) -> bool:
    decorators = getattr(node, "decorator_list", [])
    return any(dotted(decorator) in ("overload", "property.setter") for decorator in decorators)


def test_nothing_silences_a_checker() -> None:
    def silenced(path: Path) -> list[str]:
        text = text_of(path)
        words = ("type: ignore", "pyright: ignore", "noqa", "TODO")
        return [word for word in words if word in text]

    assert found(silenced) == {}


def test_core_imports_only_core() -> None:
    strays = {
        (name, module)
        for name in CORE
        for path in [*PACKAGE.glob(f"{name}.py"), *PACKAGE.glob(f"{name}/*.py")]
        for module in at_module_level(tree_of(path))
        if module.startswith("taskq.") and module.split(".")[1] not in CORE
    }
    assert strays == set()


@pytest.mark.parametrize("word", ["await ", "anyio", "logging", "datetime.now"])
def test_core_does_nothing_but_compute(word: str) -> None:
    for name in CORE:
        for path in [*PACKAGE.glob(f"{name}.py"), *PACKAGE.glob(f"{name}/*.py")]:
            assert word not in code_of(path), f"{path} holds {word!r}"


def test_the_engine_knows_neither_the_app_nor_any_store_nor_settings() -> None:
    """seed:E28"""

    forbidden = ("app", "task", "future", "settings", "client", "cli", "web", "assembly", "logs")
    stores = tuple(f"taskq.backends.{path.stem}" for path in (PACKAGE / "backends").iterdir())
    strays = {
        (name_of(path), module)
        for path in (PACKAGE / "engine").rglob("*.py")
        for module in imports(nodes_of(path))
        if module == "json"
        or module.startswith(stores)
        or (module.startswith("taskq.") and module.split(".")[1] in forbidden)
    }
    assert strays == set()


def test_backends_know_neither_the_engine_nor_the_call_sites() -> None:
    """seed:E29"""

    forbidden = ("engine", "app", "task", "future", "client", "settings", "cli", "web", "retry")
    strays = {
        (name_of(path), module)
        for path in (PACKAGE / "backends").rglob("*.py")
        for module in imports(nodes_of(path))
        if module.startswith("taskq.") and module.split(".")[1] in forbidden
    }
    assert strays == set()


def test_no_module_imports_itself_in_a_circle() -> None:
    modules = {module_name(path): path for path in FILES}
    graph = {
        name: {
            target
            for imported in at_module_level(tree_of(path))
            for target in (imported, imported.rpartition(".")[0])
            if target in modules and target != name and not is_own_package(name, target)
        }
        for name, path in modules.items()
    }
    assert cycle(graph) is None


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_own_package(name: str, target: str) -> bool:
    return name.startswith(f"{target}.")


def cycle(graph: dict[str, set[str]]) -> list[str] | None:
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str] | None:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return None
        for target in sorted(graph[name]):
            found = walk(target, [*path, name])
            if found:
                return found
        done.add(name)
        return None

    for name in sorted(graph):
        found = walk(name, [])
        if found:
            return found
    return None
