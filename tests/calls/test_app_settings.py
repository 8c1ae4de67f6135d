"""An app may be given all of its settings as one object."""

from __future__ import annotations

import pytest

from taskq import ConfigurationError, RetryPolicy, Settings, TaskQ


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


def test_the_retry_policy_is_a_setting_too() -> None:
    """D35: one source of truth."""
    policy = RetryPolicy(initial_delay=0.5, multiplier=3, max_delay=9, jitter=0)

    assert TaskQ("memory://", retry=policy).settings.retry == policy
    assert TaskQ("memory://", retry_max_delay=9).settings.retry == RetryPolicy(max_delay=9)


def test_the_retry_settings_are_the_activities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKQ_RETRY_MAX_DELAY", "7")
    taskq = TaskQ("memory://")

    @taskq.activity
    async def send() -> None: ...

    assert send.build().policy.retry == RetryPolicy(max_delay=7)


def test_a_retry_policy_and_a_part_of_one_exclude_each_other() -> None:
    with pytest.raises(ConfigurationError, match="retry or retry_jitter, not both"):
        TaskQ("memory://", retry=RetryPolicy(), retry_jitter=0.5)
