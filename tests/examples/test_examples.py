"""Every example runs alone, in an empty folder, and prints what it says it does."""

from __future__ import annotations

import os
import re
import signal
from collections import defaultdict
from pathlib import Path

import pytest

from tests import forked
from tests.postgres_databases import Databases

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
LONGEST = 80
LONGER = {"lineage_tree": 100}
AN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

PRINTED = {
    "quickstart": """\
'Welcome' sent to ada@example.com
'Welcome' sent to 0@example.com
'Welcome' sent to 1@example.com
'Welcome' sent to 2@example.com
failed: 'nobody' is no address
""",
    "priorities_and_delays": """\
<id> is scheduled
critical
high
normal, stored first
normal, stored second
low
a little later
critical, but at its own time
""",
    "retries_and_dead_letters": """\
'hello' went by pigeon, at attempt 7
failed: taskq.errors.NonRetryError after 1 attempt
failed: KeyError after 1 attempt
dead_letter: the printer is on fire, 3 attempts
dead: print_label{'parcel': 7} after 2 retries
""",
    "idempotency": """\
50 calls, 1 activity
charged 500 cents
conflict with the same activity: True
no reuse
failed: nothing to charge
charged 300 cents, a new activity: True
""",
    "trio_app": """\
about cdc92ce5a5c8
home edee8ae2f777
news 394efc4358ce
cancelled
""",
    "sync_script": """\
['pending', 'pending', 'pending']
[1, 20, 300]
not yet
rested
""",
    "metrics_sink": """\
activity_completed          resize    2
activity_completed          upload    3
activity_enqueued           publish   2
activity_enqueued           resize    2
activity_enqueued           upload    4
activity_failed_non_retry   publish   2
activity_panic              upload    3
activity_retry              upload    3
activity_started            publish   2
activity_started            resize    2
activity_started            upload    6
activity_execution_seconds  publish   0 s in all
activity_execution_seconds  resize    1 s in all
activity_execution_seconds  upload    0 s in all
""",
    "custom_backend": """\
5
{"stored": "add", "arguments": {"left": 2, "right": 3}}
{"settled": "completed"}
""",
    "order": """\
payment-7, left in stock: [6, 1]
order 7 is on its way: told ada@example.com
child: the card is refused
""",
    "periodic": """\
cron heartbeat
cron heartbeat
cron heartbeat
report of asia
asia: report, paused
heartbeat: heartbeat, active
report: report, active
report of the world: report, active
""",
    "transactional_enqueue": """\
201 order 1 is confirmed to ada@example.com
402 the card is refused
1 activity
""",
}


def run(name: str, folder: Path, url: str | None = None, **knobs: str) -> str:
    """What an example prints, run as its reader would, with warnings as errors."""
    database = url or f"sqlite:///{folder}/example.db"
    answer = forked.run(
        ["-W", "error", str(EXAMPLES / f"{name}.py")],
        cwd=folder,
        env=os.environ | {"TASKQ_DATABASE_URL": database} | knobs,
    )
    assert answer.returncode == 0, answer.stderr
    assert "Traceback" not in answer.stderr, answer.stderr
    return AN_ID.sub("<id>", answer.stdout)


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_what_it_says(name: str, tmp_path: Path) -> None:
    """quickstart: seed:Q12. priorities_and_delays: seed:P6, seed:P7 (all four levels, in order),
    seed:P8, seed:Q7. retries_and_dead_letters: seed:R13, seed:R16, seed:R17, seed:R20.
    idempotency: seed:I3, seed:I4, seed:I5. trio_app: seed:S3. sync_script: seed:Q14, seed:E18.
    custom_backend: seed:B15. transactional_enqueue: promise:G2. metrics_sink: seed:M8,
    seed:E7. periodic: seed:Q10."""
    assert run(name, tmp_path) == PRINTED[name]


def test_the_transactional_example_runs_on_postgresql(tmp_path: Path, databases: Databases) -> None:
    """promise:G2"""
    printed = run("transactional_enqueue", tmp_path, databases.fresh())

    assert printed == PRINTED["transactional_enqueue"]


def test_isolated_workers_run_their_own_types_and_nothing_else(tmp_path: Path) -> None:
    """seed:E4: three workers of two slots, twelve activities, one queue."""
    *rows, last = run("workload_isolation", tmp_path).splitlines()

    ran: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        worker, type, count = row.split()
        ran[worker][type] = int(count)
    assert last == "12 activities"
    assert sum(sum(counts.values()) for counts in ran.values()) == 12
    assert set(ran["email"]) <= {"send_email", "send_sms"}
    assert set(ran["trade"]) <= {"execute_trade"}
    assert ran["catch-all"]["write_report"] == 3


def test_an_app_on_postgres_makes_its_tables_and_runs_here_and_in_a_process(
    databases: Databases, tmp_path: Path
) -> None:
    """seed:E31, seed:B17: a database without tables is all that it needs."""
    url = databases.create()

    assert run("postgres_app", tmp_path, url) == (
        "tables made\npending\n1000 cents, at attempt 1\n400 cents, at attempt 1\n"
    )


TREE = (
    "['fetch_documents', \"analysis of ['extract_facts', 'verify_sources']\","
    " \"draft of ['outline', 'write_intro']\"] audit_log\n"
)


def test_trees_of_eight_and_one_detached_run_in_one_process(tmp_path: Path) -> None:
    """Every third first attempt of verify_sources fails, and is retried."""
    printed = run("lineage_tree", tmp_path, SPEED="40", ROOTS="3", MAX_WORKERS="30")

    assert printed == 3 * TREE + "27 completed, 0 dead\n"


def test_trees_may_have_their_parents_in_one_process_and_their_leaves_in_another(
    tmp_path: Path,
) -> None:
    knobs = {"SPEED": "40", "ROOTS": "1", "TASKQ_DATABASE_URL": f"sqlite:///{tmp_path}/example.db"}
    leaves = forked.Forked(
        ["-W", "error", str(EXAMPLES / "lineage_tree.py")],
        env=os.environ | knobs | {"WORKER_MODE": "leaves"},
        cwd=tmp_path,
    )
    try:
        printed = run("lineage_tree", tmp_path, WORKER_MODE="spawner", **knobs)
    finally:
        leaves.send_signal(signal.SIGTERM)

    assert leaves.wait(60) == 0
    assert printed == TREE + "9 completed, 0 dead\n"


def test_every_example_is_run() -> None:
    """Those of the console are by tests/web/test_mounting_examples.py."""
    served = {"console_django", "console_fastapi", "console_litestar"}
    others = {"workload_isolation", "postgres_app", "lineage_tree"}
    assert set(NAMES) == {*PRINTED, *others, *served}


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_short_and_says_what_it_shows(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")

    assert text.startswith('"""')
    assert len(text.splitlines()) <= LONGER.get(name, LONGEST)
