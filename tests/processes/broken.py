"""A module that can be imported anywhere but in a process of a worker's."""

from __future__ import annotations

import sys

from tests.processes.work import app

if "taskq.processes.inside" in sys.modules:
    raise RuntimeError("only for you")


@app.activity(run_in="process")
def nothing() -> None: ...
