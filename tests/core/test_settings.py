"""Settings: keywords, environment, defaults, bounds."""

from __future__ import annotations

from typing import get_type_hints

import pytest

from taskq.errors import ConfigurationError
from taskq.settings import SettingOverrides, Settings, ignored, load


def test_the_defaults_are_those_of_the_docs() -> None:
    """seed:E2, E3, E9, E10, E11, E14, Q4"""
    settings = load(environ={})
    assert settings.database_url == "sqlite:///taskq.db"
    assert (settings.queue, settings.concurrency, settings.max_depth) == ("default", 10, 32)
    assert (settings.lease, settings.renewal) == (30.0, 10.0)
    assert (settings.reaper_interval, settings.reaper_batch_size) == (5.0, 100)
    assert (settings.shutdown_grace, settings.timeout) == (30.0, 300.0)


def test_keywords_beat_the_environment_and_that_beats_defaults() -> None:
    environ = {"TASKQ_LEASE": "6.5", "TASKQ_CONCURRENCY": "3", "TASKQ_TIMEOUT": "none"}
    settings = load({"concurrency": 4}, environ=environ)
    assert (settings.lease, settings.concurrency, settings.timeout) == (6.5, 4, None)


@pytest.mark.parametrize(
    ("name", "text"),
    [("CONCURRENCY", "many"), ("CONCURRENCY", "1.5"), ("LEASE", "soon"), ("MAX_RETRIES", "x")],
)
def test_an_environment_text_that_is_no_number_is_named(name: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"TASKQ_{name}"):
        load(environ={f"TASKQ_{name}": text})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("concurrency", 0),
        ("lease", 0),
        ("lease", float("nan")),
        ("lease", "30"),
        ("poll_interval", -1),
        ("max_crashes", 0),
        ("max_retries", -1),
        ("concurrency", True),
        ("timeout", 0),
        ("queue", "no spaces"),
        ("queue", ""),
        ("queue", "x" * 101),
        ("max_payload", 2**21),
        ("shutdown_grace", -1),
    ],
)
def test_a_value_out_of_bounds_is_named(name: str, value: object) -> None:
    """seed:W23, seed:E3"""
    with pytest.raises(ConfigurationError, match=name):
        load({name: value}, environ={})


def test_a_value_out_of_bounds_names_its_variable() -> None:
    with pytest.raises(ConfigurationError, match=r"above 0, not -1\.0 \(TASKQ_LEASE\)"):
        load(environ={"TASKQ_LEASE": "-1"})


def test_a_lease_must_outlive_two_failed_renewals() -> None:
    """seed:W16, seed:E8, D12"""
    with pytest.raises(ConfigurationError, match="third of lease"):
        load({"lease": 3.0, "renew_interval": 2.0}, environ={})


def test_an_unknown_setting_is_named() -> None:
    with pytest.raises(ConfigurationError, match="'leese'"):
        load({"leese": 3}, environ={})


def test_every_setting_is_a_typed_keyword() -> None:
    """bug:B24, seed:E15"""
    positional = {"database_url", "queue"}
    hints = get_type_hints(SettingOverrides)
    assert hints.keys() == set(Settings.__struct_fields__) - positional
    written = {name: kind for name, kind in get_type_hints(Settings).items() if name in hints}
    assert {name for name in hints if hints[name] != written[name]} == {
        "retention",
        "web_tokens",
        "web_users",
        "redact",
    }  # as a text too


@pytest.mark.parametrize(
    ("text", "listens"), [("on", True), ("OFF", False), ("true", True), ("0", False)]
)
def test_a_switch_is_on_or_off(text: str, listens: bool) -> None:
    assert load(environ={"TASKQ_LISTEN": text}).listen is listens


def test_a_switch_is_nothing_else() -> None:
    with pytest.raises(ConfigurationError, match="TASKQ_LISTEN='perhaps' is neither on nor off"):
        load(environ={"TASKQ_LISTEN": "perhaps"})
    with pytest.raises(ConfigurationError, match="listen must be bool"):
        load({"listen": 1})


def test_a_schema_has_a_name_that_postgresql_takes() -> None:
    assert load(environ={"TASKQ_SCHEMA": "shop"}).schema == "shop"
    with pytest.raises(ConfigurationError, match="63 bytes"):
        load({"schema": "x" * 64})


def test_a_variable_that_is_no_setting_is_known_with_the_one_that_was_meant() -> None:
    given = {
        "TASKQ_LEESE": "3",
        "TASKQ_CONFG": "x",
        "TASKQ_ODD": "1",
        "TASKQ_LEASE": "",
        "LEESE": "",
    }

    assert [(each.name, each.meant) for each in ignored(given)] == [
        ("TASKQ_CONFG", "TASKQ_CONFIG"),
        ("TASKQ_LEESE", "TASKQ_LEASE"),
        ("TASKQ_ODD", None),
    ]


@pytest.mark.parametrize(
    "name",
    [
        *(name.upper() for name in Settings.__struct_fields__),
        "APP",
        "CONFIG",
        "TEST_DATABASE_URL",
        "SERVICE_HOST",
        "SERVICE_PORT_HTTP",
        "PORT",
        "PORT_8080_TCP_ADDR",
        "CONSOLE_SERVICE_HOST",
        "CONSOLE_PORT_8080_TCP",
    ],
)
def test_what_is_read_or_set_by_kubernetes_is_nobodys_mistake(name: str) -> None:
    assert ignored({f"TASKQ_{name}": "x"}) == []
