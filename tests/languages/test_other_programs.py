"""Programs that are not Python enqueue, and a worker runs it: psql and Node (seed:Q18)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from taskq import TaskQ
from tests.postgres_databases import Databases

EXAMPLE = Path(__file__).parents[2] / "examples" / "node"

Enqueue = Callable[[str], str]
"""Enqueues in a transaction that ends by ``commit`` or ``rollback``; what it says."""


def run(*command: str, url: str, folder: Path) -> str:
    """What a program prints."""
    environment = {**os.environ, "DATABASE_URL": url}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def psql(postgres_url: str, tmp_path: Path) -> Enqueue:
    """By psql."""
    program = shutil.which("psql")
    if program is None:
        pytest.skip("psql is not on the PATH")

    def enqueue(end: str) -> str:
        call = """taskq_enqueue('send_email', '{"to": "ada@example.com", "subject": "Hello"}')"""
        script = f"BEGIN; SELECT {call}; {end};"
        return run(program, "-qAtX", postgres_url, "-c", script, url=postgres_url, folder=tmp_path)

    return enqueue


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with its package installed. Skips where Node or the package cannot be had."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("Node is not on the PATH")
    folder = tmp_path_factory.mktemp("node")
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_m*"))
    install = [npm, "install", "--no-audit", "--no-fund", "--silent", "--ignore-scripts"]
    try:
        done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.skip("npm could not install the package pg within 60 s")
    if done.returncode:
        pytest.skip(f"npm could not install the package pg: {done.stderr.strip()[-200:]}")
    return folder


@pytest.fixture
def node(postgres_url: str, modules: Path, databases: Databases) -> Iterator[Enqueue]:
    """By examples/node/enqueue.mjs."""

    def enqueue(end: str) -> str:
        words = ("node", "enqueue.mjs", "ada@example.com", end)
        return run(*words, url=postgres_url, folder=modules)

    yield enqueue
    databases.run(postgres_url, "DROP TABLE IF EXISTS orders")


@pytest.mark.parametrize("program", ["psql", "node"])
async def test_a_transaction_that_rolls_back_leaves_nothing_and_one_that_commits_runs(
    program: str, request: pytest.FixtureRequest, postgres_url: str
) -> None:
    """promise:G2, seed:Q18"""
    enqueue: Enqueue = request.getfixturevalue(program)
    sent: list[str] = []
    taskq = TaskQ(postgres_url)

    @taskq.activity
    async def send_email(to: str, subject: str) -> str:
        sent.append(to)
        return "sent"

    async with taskq:
        enqueue("rollback")
        await taskq.run_worker(burst=True)
        assert (sent, sum((await taskq.astats()).by_status.values())) == ([], 0)
        said = enqueue("commit")
        await taskq.run_worker(burst=True)
        found = re.search(r"[0-9a-f-]{36}", said)
        assert found is not None
        assert await taskq.future(found[0]) == "sent"

    assert sent == ["ada@example.com"]


async def test_the_same_key_from_node_again_is_the_same_activity(
    node: Enqueue, postgres_url: str
) -> None:
    """seed:I2"""
    assert node("commit") == node("commit")
    async with TaskQ(postgres_url) as taskq:
        assert sum((await taskq.astats()).by_status.values()) == 1
