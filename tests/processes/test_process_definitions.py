"""What may run in a process, said where it is defined or before a worker starts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from taskq import ConfigurationError, TaskQ
from tests.processes import work


def refused(function: Any, **options: Any) -> str:
    with pytest.raises(ConfigurationError) as error:
        TaskQ("memory://").activity(**options)(function)
    return str(error.value)


def test_what_cannot_be_found_again_by_name_is_refused_where_it_is_defined() -> None:
    def nested() -> None: ...

    assert "made inside a function: define it with def" in refused(nested, run_in="process")
    assert "a lambda" in refused(lambda: None, run_in="process", name="none")


def test_an_async_function_runs_on_the_event_loop() -> None:
    async def answer() -> int:
        return 42

    assert "event loop" in refused(answer, run_in="process")
    assert "event loop" in refused(answer, run_in="thread")


def test_run_in_is_thread_or_process() -> None:
    function = work.add.definition.function

    assert '"thread" or "process", not \'fork\'' in refused(function, run_in="fork")


def renamed() -> None: ...


def test_a_task_that_is_not_at_its_functions_name_keeps_the_worker_from_starting() -> None:
    app = TaskQ("memory://")
    app.activity(run_in="process")(renamed)

    with pytest.raises(ConfigurationError, match=r"test_process_definitions\.renamed, where no"):
        app.worker()


SCRIPT = """
import os
import sys
import anyio
from taskq import TaskQ

taskq = TaskQ("memory://")

@taskq.activity(run_in="process", max_retries=0)
def pid() -> int:
    return os.getpid()

async def main() -> None:
    async with taskq.worker(concurrency=1):
        assert await pid.delay() != os.getpid()

if {guard}:
    anyio.run(main)
    print("done")
"""


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_scripts_own_functions_are_found_behind_its_guard(tmp_path: Path) -> None:
    ended = []
    for guard in ("__name__ == '__main__'", "True"):
        script = anyio.Path(tmp_path / "script.py")
        await script.write_text(SCRIPT.format(guard=guard))
        ended.append(await anyio.run_process([sys.executable, str(script)], check=False))

    assert ended[0].stdout == b"done\n", ended[0].stderr.decode()
    assert b"put what starts it behind" in ended[1].stderr
