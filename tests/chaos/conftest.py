"""What fault tests share.

A test with an ``arena`` runs on SQLite and on PostgreSQL; one with a ``loop`` besides runs on one
event loop there and on the other one here, which one as its name has it: all four pairs would only
repeat themselves. Modules whose names end with a database's name are for that one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from zlib import crc32

import pytest

from tests.chaos.arena import Arena
from tests.chaos.audit import audit, report
from tests.chaos.database import Database, PostgresDatabase, SQLiteFile

LOOPS = ("asyncio", "trio")
KINDS = ("sqlite", "postgres")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose databases and event loops."""
    of_arena = "make_database" in metafunc.fixturenames
    of_loop = "loop" in metafunc.fixturenames
    kinds = _kinds(metafunc.module.__name__) if of_arena else ()
    if of_arena and of_loop:
        first = crc32(metafunc.function.__name__.encode()) % 2
        loops = (LOOPS[first], LOOPS[1 - first])
        pairs = zip(kinds, loops, strict=True) if len(kinds) > 1 else product(kinds, loops)
        metafunc.parametrize(("kind", "loop"), list(pairs))
    elif of_arena:
        metafunc.parametrize("kind", kinds)
    elif of_loop:
        metafunc.parametrize("loop", LOOPS)


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
def arena(arenas: Callable[..., Arena]) -> Arena:
    """An arena with short leases."""
    return arenas()
