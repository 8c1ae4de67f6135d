"""What ``module:attribute`` may be, and what is said when it cannot be loaded (fault:D11)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

ENQUEUE = ("greet", '{"name": "Ada"}')

APP = """
from taskq import TaskQ

taskq = TaskQ()
other = 3


@taskq.activity
async def greet(name: str) -> str:
    return name


def make():
    return taskq


async def make_later():
    return taskq


def make_for(customer):
    return taskq


def make_nothing():
    pass


def make_trouble():
    raise KeyError("trouble")


class config:
    queue_app = taskq
"""


@pytest.fixture
def app(folder: Path) -> Path:
    (folder / "app.py").write_text(APP)
    return folder


def refusal(result: Result) -> str:
    """The one sentence of a refused command."""
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr.removeprefix("Error: ").strip()


@pytest.mark.parametrize(
    "spec",
    [
        "app:taskq",
        "app:make",
        "app:make()",
        "app:config.queue_app",
        "app.py:taskq",
        "./app.py:taskq",
    ],
)
def test_an_app_is_found_by_name_by_file_and_by_factory(cli, app: Path, spec: str) -> None:
    """bug:B184"""
    result = cli("enqueue", spec, *ENQUEUE)
    assert (result.stderr, result.exit_code) == ("", 0)


def test_a_file_in_a_folder_is_imported_as_its_module(cli, folder: Path) -> None:
    """bug:B184"""
    (folder / "shop" / "jobs").mkdir(parents=True)
    (folder / "shop" / "jobs" / "mail.py").write_text(APP + "\nassert __name__ == 'shop.jobs.mail'")
    assert cli("enqueue", "shop/jobs/mail.py:taskq", *ENQUEUE).exit_code == 0


@pytest.mark.parametrize("spec", ["app", "app:", ":taskq", ":", "app:taskq:", "a b:c", "app:1x"])
def test_a_malformed_name_is_refused_with_the_right_form(cli, app: Path, spec: str) -> None:
    assert "module:attribute" in refusal(cli("worker", spec))


def test_no_name_at_all_says_the_three_ways_to_give_one(cli, folder: Path) -> None:
    said = refusal(cli("worker"))
    assert "argument" in said and "--app" in said and "TASKQ_APP" in said


def test_a_file_without_an_attribute_says_what_to_add(cli, app: Path) -> None:
    assert (
        refusal(cli("worker", "app.py")) == "'app.py' names no attribute: write app.py:taskq, say"
    )


def test_a_missing_module_names_the_folder_and_what_it_has(cli, app: Path) -> None:
    """bug:B184"""
    said = refusal(cli("worker", "nosuch:thing"))
    assert "no module 'nosuch'" in said and str(app) in said and said.endswith("has app")


def test_a_missing_submodule_names_its_parent(cli, app: Path) -> None:
    assert "no module 'app.jobs' in the module 'app'" in refusal(cli("worker", "app.jobs:taskq"))


def test_a_missing_file_is_named(cli, folder: Path) -> None:
    assert refusal(cli("worker", "no/such.py:taskq")) == f"there is no file {folder}/no/such.py"


def test_a_file_outside_the_current_folder_is_refused(
    cli, app: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (app / "inner").mkdir()
    monkeypatch.chdir(app / "inner")
    assert "outside the current folder" in refusal(cli("worker", "../app.py:taskq"))


def test_an_import_error_inside_the_module_is_not_a_missing_module(cli, folder: Path) -> None:
    """bug:B184"""
    (folder / "app.py").write_text("import os\nimport nosuchlibrary\n")
    assert refusal(cli("worker", "app:taskq")) == (
        "importing 'app' failed: ModuleNotFoundError: No module named 'nosuchlibrary'"
        " (app.py, line 2)"
    )


@pytest.mark.parametrize(
    ("lease", "said"),
    [
        ("-1", "lease must be a finite number above 0, not -1.0 (TASKQ_LEASE)"),
        ("soon", "TASKQ_LEASE='soon' is not a number"),
    ],
)
@pytest.mark.parametrize("app", ["app:taskq", "app:make"])
def test_a_setting_from_elsewhere_is_not_the_modules_fault(
    cli, folder: Path, monkeypatch: pytest.MonkeyPatch, app: str, lease: str, said: str
) -> None:
    made = "taskq = TaskQ()" if app == "app:taskq" else "def make(): return TaskQ()"
    (folder / "app.py").write_text(f"from taskq import TaskQ\n{made}\n")
    monkeypatch.setenv("TASKQ_LEASE", lease)
    assert refusal(cli("worker", app)) == said


def test_a_file_of_settings_is_not_the_modules_fault(cli, folder: Path) -> None:
    (folder / "app.py").write_text("from taskq import TaskQ\ntaskq = TaskQ()\n")
    (folder / "pyproject.toml").write_text("[tool.taskq]\nleese = 3\n")
    assert refusal(cli("worker", "app:taskq")) == (
        f"{folder / 'pyproject.toml'}: tool.taskq.leese is no setting; did you mean 'lease'?"
    )


@pytest.mark.parametrize("wrong", ["lease=-1", "'nowhere://x'"])
def test_a_setting_of_the_module_is_placed_there(cli, folder: Path, wrong: str) -> None:
    (folder / "app.py").write_text(f"from taskq import TaskQ\ntaskq = TaskQ({wrong})\n")
    said = refusal(cli("worker", "app:taskq"))
    assert said.startswith(("lease must be", "no backend serves"))
    assert said.endswith(" (app.py, line 2)")


def test_an_error_in_a_library_is_placed_at_the_line_that_called_it(cli, folder: Path) -> None:
    (folder / "app.py").write_text("import json\n\njson.loads('{')\n")
    said = refusal(cli("worker", "app:taskq"))
    assert "JSONDecodeError" in said and said.endswith("(app.py, line 3)")


def test_a_syntax_error_names_file_and_line(cli, folder: Path) -> None:
    (folder / "app.py").write_text("x = 1\ndef broken(:\n")
    said = refusal(cli("worker", "app:taskq"))
    assert "SyntaxError" in said and said.endswith("(app.py, line 2)")
    assert said.count("line 2") == 1


def test_a_module_that_exits_says_how_to_guard_its_script(cli, folder: Path) -> None:
    (folder / "app.py").write_text("import sys\nsys.exit(3)\n")
    said = refusal(cli("worker", "app:taskq"))
    assert "exit code 3" in said and '__name__ == "__main__"' in said


def test_a_circular_import_names_the_inner_error(cli, folder: Path) -> None:
    (folder / "app.py").write_text("from jobs import job\ntaskq = 1\n")
    (folder / "jobs.py").write_text("from app import taskq\njob = 1\n")
    said = refusal(cli("worker", "app:taskq"))
    assert "circular import" in said and said.endswith("(jobs.py, line 1)")


def test_a_missing_attribute_lists_the_apps_of_the_module(cli, app: Path) -> None:
    """bug:B184"""
    said = refusal(cli("worker", "app:missing"))
    assert "has no 'missing'" in said and str(app / "app.py") in said
    assert said.endswith("its TaskQ objects: taskq")


def test_a_missing_attribute_of_a_module_without_apps_says_so(cli, folder: Path) -> None:
    (folder / "empty.py").write_text("")
    assert refusal(cli("worker", "empty:taskq")).endswith("it has no TaskQ object")


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("app:other", "of type int"),
        ("app:greet", "of type AsyncTask"),
        ("app:greet()", "of type AsyncTask"),
        ("app:make_nothing", "None"),
    ],
)
def test_what_is_no_taskq_is_named_by_its_type(cli, app: Path, spec: str, kind: str) -> None:
    """A task is never called by mistake."""
    said = refusal(cli("worker", spec))
    assert f"{kind}, not a TaskQ" in said and "its TaskQ objects: taskq" in said


def test_a_called_app_says_to_leave_the_call_out(cli, app: Path) -> None:
    assert refusal(cli("worker", "app:taskq()")).endswith("leave the () out")


def test_a_factory_with_arguments_is_refused_by_their_names(cli, app: Path) -> None:
    assert "needs arguments (customer)" in refusal(cli("worker", "app:make_for"))


def test_an_async_factory_is_refused(cli, app: Path) -> None:
    assert "async function" in refusal(cli("worker", "app:make_later"))


def test_a_factory_that_raises_is_placed(cli, app: Path) -> None:
    assert refusal(cli("worker", "app:make_trouble")) == (
        "the factory app:make_trouble failed: KeyError: 'trouble' (app.py, line 30)"
    )


def test_an_app_without_activities_is_refused_by_the_worker(cli, folder: Path) -> None:
    (folder / "app.py").write_text("from taskq import TaskQ\ntaskq = TaskQ()\n")
    assert "no activities" in refusal(cli("worker", "app:taskq"))


def test_a_duplicate_task_name_in_the_module_is_said_in_one_sentence(cli, app: Path) -> None:
    with (app / "app.py").open("a") as file:
        file.write("\n@taskq.activity(name='greet')\nasync def again() -> None: ...\n")
    assert "the task name 'greet' is taken" in refusal(cli("worker", "app:taskq"))


def test_the_script_itself_is_not_an_app(cli, folder: Path) -> None:
    """fault:D11"""
    assert "names the taskq command itself" in refusal(cli("worker", "__main__:taskq"))


def test_the_environment_names_the_app(cli, app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKQ_APP", "app:taskq")
    assert cli("enqueue", *ENQUEUE).exit_code == 0


def test_an_option_names_the_app(cli, app: Path) -> None:
    assert cli("enqueue", "-A", "app:taskq", *ENQUEUE).exit_code == 0


def test_two_different_names_are_refused(cli, app: Path) -> None:
    assert "two apps are named" in refusal(cli("worker", "app:taskq", "--app", "other:taskq"))


def test_a_traceback_comes_only_when_asked_for(cli, folder: Path) -> None:
    (folder / "app.py").write_text("1 / 0\n")
    result = cli("worker", "app:taskq", "--traceback")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr and "ZeroDivisionError" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["-m", "taskq"], [str(Path(sys.executable).parent / "taskq")]]
)
def test_script_and_module_find_the_app_of_the_current_folder(
    app: Path, arguments: list[str]
) -> None:
    """bug:B183"""
    done = subprocess.run(
        [sys.executable, "-P", *arguments, "enqueue", "app:taskq", *ENQUEUE],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
