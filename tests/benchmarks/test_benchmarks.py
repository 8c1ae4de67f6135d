"""``python -m benchmarks`` works; its figures are nobody's business here."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import pytest
from click.testing import CliRunner
from pytest import MonkeyPatch

from benchmarks import __main__ as command
from benchmarks import report
from benchmarks.ground import Ground
from benchmarks.rounds import alternating
from benchmarks.row import TINY, AtLeast, AtMost, Row, Within


def test_a_run_prints_a_table_and_writes_all_of_it_as_json(
    postgres_server: str, tmp_path: Path
) -> None:
    file = tmp_path / "run.json"

    done = CliRunner().invoke(
        command.main, ["--tiny", "--url", postgres_server, "--json", str(file), "drain"]
    )

    assert done.exit_code == 0, done.output
    assert "drain of 20 no-op activities" in done.output
    written = json.loads(file.read_bytes())
    assert written["machine"]["server"].startswith("PostgreSQL")
    assert [row["what"] for row in written["rows"]] == [
        "drain of 20 no-op activities",
        "drain of 20 no-op activities, trio",
        "transactions per activity",
    ]
    drain = written["rows"][0]
    assert drain["value"] == median(drain["values"]) > 0
    assert len(drain["floors"]) == TINY.rounds


def test_every_other_scenario_runs(postgres_server: str) -> None:
    names = [name for name in command.SCENARIOS if name not in ("drain", "plans")]

    done = CliRunner().invoke(
        command.main, ["--tiny", "--markdown", "--url", postgres_server, *names]
    )

    assert done.exit_code == 0, done.output
    assert all(f"\n| {name} | " in done.output for name in names)


def test_a_plan_that_reads_too_much_fails_the_run(
    postgres_server: str, monkeypatch: MonkeyPatch
) -> None:
    def rows(_: Ground) -> list[Row]:
        bad = AtMost(0.0)
        return [Row(scenario="plans", what="bad", unit="faults", values=(1.0,), target=bad)]

    monkeypatch.setitem(command.SCENARIOS, "plans", rows)

    done = CliRunner().invoke(command.main, ["--tiny", "--url", postgres_server, "plans"])

    assert done.exit_code == 1


def row(*, values: tuple[float, ...], floors: tuple[float, ...] = (), target: object) -> Row:
    return Row(scenario="s", what="w", unit="ms", values=values, floors=floors, target=target)


@pytest.mark.parametrize(
    ("measured", "met"),
    [
        (row(values=(5.0,), floors=(10.0,), target=AtLeast(0.5)), True),
        (row(values=(4.9,), floors=(10.0,), target=AtLeast(0.5)), False),
        (row(values=(20.0,), floors=(10.0,), target=Within(2.0)), True),
        (row(values=(20.1,), floors=(10.0,), target=Within(2.0)), False),
        (row(values=(3.0,), target=AtMost(3.0)), True),
        (row(values=(3.1,), target=AtMost(3.0)), False),
        (row(values=(3.1,), target=None), None),
    ],
)
def test_a_target_is_met_or_missed(measured: Row, met: bool | None) -> None:
    assert measured.met is met


def test_the_ratio_compares_value_and_floor_of_the_same_round() -> None:
    """A machine that was busy for one round was so for both."""
    measured = row(values=(5.0, 50.0, 7.0), floors=(10.0, 100.0, 10.0), target=None)

    assert measured.ratio == 0.5
    assert (measured.value, measured.floor) == (7.0, 10.0)


def test_a_row_reads_well() -> None:
    measured = row(values=(1234.5,), floors=(1000.0,), target=Within(2.0))

    assert report.markdown([measured]).splitlines()[-1] == (
        "| s | w | 1,234 ms | 1,000 ms | 1.23 | ≤ 2 × floor | ok |"
    )


def test_rounds_alternate() -> None:
    order: list[str] = []

    def measure(name: str) -> str:
        order.append(name)
        return name

    assert alternating(3, lambda: measure("a"), lambda: measure("b")) == [
        ("a", "a", "a"),
        ("b", "b", "b"),
    ]
    assert order == ["a", "b", "b", "a", "a", "b"]
