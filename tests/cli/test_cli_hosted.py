"""``litestar taskq …``: the commands inside of an application's own command line. seed:O6"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from taskq import TaskQ
from taskq.cli import fleet
from taskq.cli.hosted import HostedCommands
from taskq.cli.loading import hosted

SITE = """
from litestar import Litestar

from app import taskq
from taskq.web import Role, TaskQPlugin

app = Litestar(plugins=[TaskQPlugin(taskq, allow_anonymous=Role.VIEWER)])
"""


@pytest.fixture
def site(app_folder: Path) -> Path:
    (app_folder / "site_of_it.py").write_text(SITE)
    return app_folder


def litestar(*arguments: str) -> Result:
    from litestar.cli.main import litestar_group

    return CliRunner().invoke(litestar_group, ["--app", "site_of_it:app", *arguments])


def test_the_commands_are_for_the_applications_own_app(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKQ_APP", "another:app")
    assert litestar("taskq", "enqueue", "greet", '{"name": "Ada"}').exit_code == 0
    assert litestar("taskq", "worker", "--burst").exit_code == 0
    assert (site / "effects.txt").read_text() == "greet Ada\n"
    listed = litestar("taskq", "list", "--json")
    assert '"completed"' in listed.stdout


def test_an_error_is_one_sentence_there_too(site: Path) -> None:
    refused = litestar("taskq", "enqueue", "nothing", "{}")
    assert refused.exit_code == 2
    assert "'nothing'" in refused.stderr and "Traceback" not in refused.output


def test_elsewhere_no_app_is_given() -> None:
    assert hosted() is None
    commands = HostedCommands(TaskQ("memory://"))
    assert {"worker", "web"} <= set(commands.commands)


def test_worker_processes_of_a_hosted_command_are_that_command_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["litestar", "--app", "site:app", "taskq", "worker", "-w", "2"]
    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.setattr(sys, "orig_argv", ["python", *words])
    spawned: list[list[str]] = []

    def refuse(command: list[str], **_: object) -> None:
        spawned.append(command)
        raise OSError

    monkeypatch.setattr(fleet.subprocess, "Popen", refuse)
    with pytest.raises(OSError):
        fleet.Spawning(None)(1)
    [command] = spawned
    assert command[:6] == [sys.executable, "litestar", "--app", "site:app", "taskq", "worker"]
    assert command[6] == "--member" and command[7].endswith(":1")
    assert command[8:] == ["-w", "2"]
