"""Apps for tests of queues: on memory, and in a file that processes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from taskq import TaskQ

NewApp = Callable[..., TaskQ]


@pytest.fixture(params=["memory", "sqlite"])
def new_app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewApp]:
    """Makes apps, each on a store of its own."""
    made: list[TaskQ] = []

    def make(**options: Any) -> TaskQ:
        file = f"sqlite:///{tmp_path}/{len(made)}.db"
        url = "memory://" if request.param == "memory" else file
        made.append(TaskQ(url, **options))
        return made[-1]

    yield make
    for app in made:
        app.close()
