"""A module whose import kills a process of a worker's."""

from __future__ import annotations

import os
import sys

from tests.processes.work import app

if "taskq.processes.inside" in sys.modules:
    os._exit(9)


@app.activity(run_in="process", max_crashes=1)
def never() -> None: ...
