"""An app may be given all of its settings as one object."""

from __future__ import annotations

import pytest

from taskq import Settings, TaskQ


def test_an_app_made_of_settings_asks_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """seed:E16"""
    monkeypatch.setenv("TASKQ_QUEUE", "elsewhere")
    monkeypatch.setenv("TASKQ_DATABASE_URL", "nonsense://")
    taskq = TaskQ(settings=Settings(database_url="memory://", queue="mail", max_retries=7))

    @taskq.activity
    async def send() -> None: ...

    info = send.delay().info()
    assert (info.queue, info.max_retries) == ("mail", 7)


def test_keywords_beat_the_settings_that_were_given() -> None:
    """seed:E16"""
    given = Settings(database_url="memory://", queue="mail", timeout=5)

    settings = TaskQ(settings=given, queue="post").settings

    assert (settings.queue, settings.timeout, given.queue) == ("post", 5, "mail")
