"""promise:G18: whatever is stored, by whomever, is read and never executed."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest

from taskq import ActivityFailed, TaskQ
from taskq.identifiers import new_id
from taskq.model import Activity
from tests.house.sources import FILES, imports, nodes_of

HOSTILE = "this_module_must_not_be_imported"


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module on the path that shows when somebody imports it."""
    (tmp_path / f"{HOSTILE}.py").write_text("class Boom(Exception): ...\ndef run(): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return HOSTILE


async def test_a_stored_type_selects_a_registered_task_and_is_never_imported(trap: str) -> None:
    """promise:G18"""
    taskq = TaskQ("memory://")

    @taskq.activity
    async def known() -> None: ...

    id = new_id()
    activity = Activity[object](
        id=id, type=f"{trap}.run", queue="default", payload="{}", root_id=id, origin_id=id
    )
    await taskq.client.asubmit([activity])
    with anyio.fail_after(10):
        await taskq.run_worker(burst=True, types="*")

    assert (await taskq.future(id).ainfo()).status == "scheduled"
    assert trap not in sys.modules


@pytest.mark.parametrize(
    "payload",
    [
        '{"value":{"__reduce__":["os.system","false"]}}',
        '{"value":{"py/object":"this_module_must_not_be_imported.Boom"}}',
        '{"value":{"!!python/object/apply:os.system":["false"]}}',
    ],
)
async def test_stored_arguments_are_plain_values(trap: str, payload: str) -> None:
    """promise:G18"""
    taskq = TaskQ("memory://")
    seen: list[object] = []

    @taskq.activity
    async def look(value: object) -> None:
        seen.append(value)

    await taskq.client.asubmit([look.build_json(payload)])
    with anyio.fail_after(10):
        await taskq.run_worker(burst=True)

    [value] = seen
    assert isinstance(value, dict)
    assert trap not in sys.modules


async def test_a_recorded_error_is_raised_as_taskqs_own_and_its_type_stays_a_text(
    trap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """promise:G18: the class is gone when the error is read, and nobody looks for it."""
    taskq = TaskQ("memory://")
    boom = type("Boom", (Exception,), {"__module__": trap, "retryable": False})

    @taskq.activity
    async def fail() -> None:
        raise boom("no")

    future = await fail.adelay()
    with anyio.fail_after(10):
        await taskq.run_worker(burst=True)

    with pytest.raises(ActivityFailed) as caught:
        await future
    assert type(caught.value) is ActivityFailed
    assert caught.value.error.type == f"{trap}.Boom"
    assert trap not in sys.modules


def test_the_package_imports_nothing_that_executes_data() -> None:
    """promise:G18"""
    banned = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "yaml", "runpy", "code"}
    imported = {name.split(".")[0] for path in FILES for name in imports(nodes_of(path))}
    assert imported & banned == set()
