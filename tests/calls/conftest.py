"""Apps for tests of call-sites: on memory, and on each store that a worker can share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from taskq import TaskQ

NewApp = Callable[..., TaskQ]


@pytest.fixture
def taskq() -> Iterator[TaskQ]:
    """An app on memory."""
    app = TaskQ("memory://")
    yield app
    app.close()


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


@pytest.fixture
def app(new_app: NewApp) -> TaskQ:
    """An app on each kind of store, with little patience."""
    return new_app(poll_interval=0.05, lease=3.0, shutdown_grace=2.0)
