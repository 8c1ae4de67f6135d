"""The ``queue`` block of Kodus' config.json is understood."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from taskq import RetryPolicy
from taskq.errors import ConfigurationError
from taskq.settings import Configuration, configuration
from taskq.settings.origin import FileKey

BLOCK: dict[str, object] = {
    "capacity": 10_000,
    "priority_enabled": True,
    "dead_letter_queue_enabled": True,
    "retry_policy": {
        "max_retries": 3,
        "initial_delay_ms": 1000,
        "max_delay_ms": 30000,
        "multiplier": 2.0,
    },
}
"""Its defaults, as the seed has them."""


def read(folder: Path, content: object) -> Configuration:
    path = folder / "config.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return configuration(environ={"TASKQ_CONFIG": str(path)})


def problem(folder: Path, content: object) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(folder, content)
    return str(caught.value).removeprefix(f"{folder / 'config.json'}: ")


def test_its_retry_policy_is_the_apps(tmp_path: Path) -> None:
    """seed:E24, R2: milliseconds become seconds; no jitter; retries after the first run."""
    found = read(tmp_path, {"queue": BLOCK})

    assert found.settings.max_retries == 3
    assert found.settings.retry == RetryPolicy.kodus()
    assert found.origins["retry_max_delay"] == FileKey(
        str(tmp_path / "config.json"), "queue.retry_policy.max_delay_ms"
    )


def test_a_part_of_it_leaves_the_rest_as_it_is(tmp_path: Path) -> None:
    found = read(tmp_path, {"queue": {"retry_policy": {"initial_delay_ms": 250}}})

    assert found.settings.retry == RetryPolicy(initial_delay=0.25, jitter=0.0)


def test_other_blocks_belong_to_others_and_settings_may_stand_beside_it(tmp_path: Path) -> None:
    content = {"queue": BLOCK, "runtime": {"lease": "x"}, "concurrency": 4, "retry_jitter": 0.5}

    found = read(tmp_path, content)

    assert (found.settings.concurrency, found.settings.retry_jitter) == (4, 0.5)


def test_toml_can_have_the_block_as_well(tmp_path: Path) -> None:
    path = tmp_path / "taskq.toml"
    path.write_text("lease = 20\n[queue.retry_policy]\nmax_delay_ms = 500\n", encoding="utf-8")

    settings = configuration(environ={"TASKQ_CONFIG": str(path)}).settings

    assert (settings.lease, settings.retry_max_delay) == (20, 0.5)


def test_its_capacity_and_its_priorities_are_the_apps(tmp_path: Path) -> None:
    """seed:E25, E26"""
    found = read(tmp_path, {"queue": {**BLOCK, "priority_enabled": False}})

    assert (found.settings.capacity, found.settings.priority_enabled) == (10_000, False)


def test_the_dead_letter_queue_can_be_switched_off(tmp_path: Path) -> None:
    """seed:E24, E27"""
    found = read(tmp_path, {"queue": {"dead_letter_queue_enabled": False}})

    assert not found.settings.dead_letter_queue_enabled


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        ({"capasity": 3}, "queue.capasity is no setting; did you mean 'capacity'?"),
        ({"retry_polcy": {}}, "queue.retry_polcy is no setting; did you mean 'retry_policy'?"),
        (
            {"retry_policy": {"max_delay": 3}},
            "queue.retry_policy.max_delay is no setting; did you mean 'max_delay_ms'?",
        ),
        ({"retry_policy": 3}, "queue.retry_policy must be a table of its own"),
        (
            {"retry_policy": {"max_delay_ms": "3"}},
            "queue.retry_policy.max_delay_ms must be a number of milliseconds, not '3'",
        ),
        (
            {"retry_policy": {"multiplier": 2, "backoff_multiplier": 2}},
            "queue.retry_policy.backoff_multiplier says again what"
            " queue.retry_policy.multiplier says",
        ),
    ],
)
def test_a_wrong_block_says_what_is_wrong(
    tmp_path: Path, block: dict[str, object], sentence: str
) -> None:
    assert problem(tmp_path, {"queue": block}) == sentence


def test_a_value_out_of_bounds_names_the_key_of_the_file(tmp_path: Path) -> None:
    said = problem(tmp_path, {"queue": {"retry_policy": {"max_retries": -1}}})

    assert said.endswith(f"(queue.retry_policy.max_retries in {tmp_path / 'config.json'})")


def test_a_value_of_another_type_names_the_key_of_the_file(tmp_path: Path) -> None:
    said = problem(tmp_path, {"queue": {"dead_letter_queue_enabled": 1}})

    assert said.startswith("dead_letter_queue_enabled must be bool, not 1")
    assert said.endswith(f"(queue.dead_letter_queue_enabled in {tmp_path / 'config.json'})")


def test_the_same_setting_by_both_names_is_refused(tmp_path: Path) -> None:
    said = problem(tmp_path, {"max_retries": 3, "queue": BLOCK})

    assert said.startswith("max_retries says again what queue.retry_policy.max_retries in ")


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        ({"capacity": True}, "capacity must be int | None, not True (queue.capacity in "),
        ({"priority_enabled": 1}, "priority_enabled must be bool, not 1 (queue.priority_enabled"),
        ({"capacity": 0}, "capacity must be a finite number above 0, not 0 (queue.capacity in "),
    ],
)
def test_a_value_that_its_setting_cannot_have_is_told_with_its_place(
    tmp_path: Path, block: dict[str, object], sentence: str
) -> None:
    assert problem(tmp_path, {"queue": block}).startswith(sentence)
