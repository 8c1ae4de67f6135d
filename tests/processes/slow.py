"""A module that takes long to import in a process of a worker's."""

from __future__ import annotations

import sys
import time

from tests.processes.work import app

if "taskq.processes.inside" in sys.modules:
    time.sleep(1.0)


@app.activity(run_in="process", timeout=0.8, max_retries=0)
def quick() -> str:
    return "quick"
