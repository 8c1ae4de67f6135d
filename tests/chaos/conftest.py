"""What fault tests share.

A test with an ``arena`` runs on SQLite or on PostgreSQL, one with a ``loop`` besides on asyncio or
on trio: the tests of a file turn about, and over all files each pair has its share. All the pairs
of each test, which in the main repeat themselves, are run by ``./scripts/chaos --tests``. Modules
whose names end with a database's name are for that one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FunctionType
from zlib import crc32

import pytest

from tests.chaos.arena import Arena
from tests.chaos.audit import audit, report
from tests.chaos.database import Database, PostgresDatabase, SQLiteFile
from tests.loops import LOOPS, every_loop, leave_out

KINDS = ("sqlite", "postgres")
PAIRS = (
    ("sqlite", "asyncio"),
    ("postgres", "trio"),
    ("sqlite", "trio"),
    ("postgres", "asyncio"),
)
"""In turn: one test differs from the one before it in both."""
LONG = 60.0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose databases and event loops."""
    test: FunctionType = metafunc.function
    kinds = _kinds(test.__module__)
    choices: dict[tuple[str, ...], Sequence[tuple[str, ...]]] = {
        ("kind", "loop"): [pair for pair in PAIRS if pair[0] in kinds],
        ("kind",): [(kind,) for kind in kinds],
        ("loop",): [(loop,) for loop in LOOPS],
    }
    asked = {"kind": "make_database", "loop": "loop"}
    names = tuple(name for name in asked if asked[name] in metafunc.fixturenames)
    if names:
        chosen = choices[names]
        if not every_loop():
            chosen = [chosen[_turn(test) % len(chosen)]]
        metafunc.parametrize(names, chosen)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the tests that run their workers here, leave out one event loop: on PostgreSQL the one
    that is kept on SQLite."""
    leave_out(config, items, _turn_in_process)


def _turn_in_process(item: pytest.Function) -> int | None:
    if item.path.parent != Path(__file__).parent:
        return None
    test: FunctionType = item.function
    return _turn(test) + ("postgres" in item.name)


def _turn(test: FunctionType) -> int:
    """A number for a test: the name of its file gives the first one of a file, and each test has
    the next one."""
    tests = [name for name in test.__globals__ if name.startswith("test_")]
    return crc32(Path(test.__code__.co_filename).name.encode()) + tests.index(test.__name__)


def _kinds(module: str) -> tuple[str, ...]:
    return tuple(kind for kind in KINDS if module.endswith(f"_{kind}")) or KINDS


@pytest.fixture
def make_database(
    kind: str, request: pytest.FixtureRequest
) -> Iterator[Callable[[Path], Database]]:
    """Make the database for an arena in a folder: a file there, or one on the shared server."""
    made: list[Database] = []

    def make(folder: Path) -> Database:
        if kind == "postgres":
            made.append(PostgresDatabase(request.getfixturevalue("databases").fresh()))
        else:
            made.append(SQLiteFile(folder / "taskq.db"))
        return made[-1]

    yield make
    for database in made:
        database.close()


@pytest.fixture
def arenas(
    tmp_path: Path, make_database: Callable[[Path], Database]
) -> Iterator[Callable[..., Arena]]:
    """Make an arena with other settings than the usual ones. At the end its processes are killed
    and what is left is audited, save that not all need have ended."""
    made: list[Arena] = []

    def make(**settings: float) -> Arena:
        folder = tmp_path / f"arena-{len(made)}"
        folder.mkdir()
        made.append(Arena(folder, make_database(folder), **settings))
        return made[-1]

    yield make
    for arena in made:
        arena.close()
    for arena in made:
        findings = audit(arena.folder, arena.database, drained=False)
        assert not any(finding.violations for finding in findings), report(findings)


@pytest.fixture
def arena(arenas: Callable[..., Arena], request: pytest.FixtureRequest) -> Arena:
    """An arena with leases of its module's ``LEASE``, where that is about leases that end; they are
    longer than any stall of a busy machine where it is not."""
    return arenas(LEASE=request.function.__globals__.get("LEASE", LONG))
