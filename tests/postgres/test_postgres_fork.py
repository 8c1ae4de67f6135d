"""A fork leaves the parent its connections and gives the child its own."""

from __future__ import annotations

import os
import sys

import pytest

from taskq import TaskQ
from taskq.model import Status

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")


def test_parent_and_child_both_go_on(postgres_url: str) -> None:
    """Sessions are never shared between processes."""
    app = TaskQ(postgres_url)

    @app.activity
    def work() -> None: ...

    work.delay()
    app.stats()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work.delay()
            app.stats()
            app.close()
            code = 0
        finally:
            os._exit(code)
    work.delay()
    _, status = os.waitpid(child, 0)
    work.delay()

    assert os.waitstatus_to_exitcode(status) == 0
    assert app.stats().by_status[Status.PENDING] == 4
    app.close()
