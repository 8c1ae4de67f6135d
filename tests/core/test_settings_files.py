"""Settings from a file: which file counts, what it beats, and how a bad one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskq import TaskQ
from taskq.errors import ConfigurationError
from taskq.settings import Configuration, configuration
from taskq.settings.origin import Argument, Default, FileKey, Variable


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder below another one."""
    folder = tmp_path / "above" / "here"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def pyproject(folder: Path, *lines: str) -> Path:
    path = folder / "pyproject.toml"
    path.write_text("\n".join(["[tool.taskq]", *lines]), encoding="utf-8")
    return path


def read(**environ: str) -> Configuration:
    return configuration(environ={f"TASKQ_{name}": text for name, text in environ.items()})


def problem(**environ: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(**environ)
    return str(caught.value)


def test_a_keyword_beats_the_environment_that_beats_the_file_that_beats_the_default(
    folder: Path,
) -> None:
    """seed:E24, D35: and each value knows where it came from."""
    path = pyproject(folder, "concurrency = 2", "lease = 20", "max_depth = 4")

    found = configuration(
        {"concurrency": 8}, environ={"TASKQ_LEASE": "6", "TASKQ_CONCURRENCY": "5"}
    )

    settings = found.settings
    assert (settings.concurrency, settings.lease, settings.max_depth, settings.queue) == (
        8,
        6.0,
        4,
        "default",
    )
    assert found.origins["concurrency"] == Argument("concurrency")
    assert found.origins["lease"] == Variable("TASKQ_LEASE")
    assert found.origins["max_depth"] == FileKey(str(path), "tool.taskq.max_depth")
    assert found.origins["queue"] == Default()


def test_the_nearest_pyproject_with_the_table_counts(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.other]\nlease = 1\n", encoding="utf-8")
    pyproject(folder.parents[1], "queue = 'top'")
    path = pyproject(folder.parent, "queue = 'above'")

    found = read()

    assert found.settings.queue == "above"
    assert found.origins["queue"] == FileKey(str(path), "tool.taskq.queue")


def test_a_folder_above_in_which_everybody_may_write_is_passed_by(folder: Path) -> None:
    pyproject(folder.parent, "queue = 'anybody'")
    folder.parent.chmod(0o777)

    assert read().settings.queue == "default"

    pyproject(folder, "queue = 'mine'")
    folder.chmod(0o777)

    assert read().settings.queue == "mine"


def test_the_file_that_is_named_counts_alone(folder: Path) -> None:
    pyproject(folder, "queue = 'found'", "lease = 20")
    (folder / "taskq.toml").write_text('queue = "named"\n', encoding="utf-8")

    found = read(CONFIG="taskq.toml")

    assert (found.settings.queue, found.settings.lease) == ("named", 30.0)
    assert found.origins["queue"] == FileKey(str(folder / "taskq.toml"), "queue")


def test_a_json_file_has_the_same_keys(folder: Path) -> None:
    (folder / "config.json").write_text('{"queue": "mail", "timeout": null}', encoding="utf-8")

    settings = read(CONFIG="config.json").settings

    assert (settings.queue, settings.timeout) == ("mail", None)


def test_a_pyproject_can_be_named_too(folder: Path) -> None:
    pyproject(folder.parent, "queue = 'above'")

    assert read(CONFIG="../pyproject.toml").settings.queue == "above"


def test_none_is_written_as_a_text_in_toml(folder: Path) -> None:
    pyproject(folder, 'timeout = "none"', 'max_retries = "None"')

    settings = read().settings

    assert (settings.timeout, settings.max_retries) == (None, None)


def test_a_byte_order_mark_is_no_part_of_the_file(folder: Path) -> None:
    (folder / "taskq.toml").write_bytes(b"\xef\xbb\xbflease = 20\n")

    assert read(CONFIG="taskq.toml").settings.lease == 20


def test_without_a_file_or_a_current_folder_there_are_defaults(folder: Path) -> None:
    assert set(read().origins.values()) == {Default()}

    folder.rmdir()

    assert set(read().origins.values()) == {Default()}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("leese = 3", "tool.taskq.leese is no setting; did you mean 'lease'?"),
        ("max-retries = 3", "tool.taskq.max-retries is no setting; did you mean 'max_retries'?"),
        ("xyz = 3", "tool.taskq.xyz is no setting; there are: database_url, "),
    ],
)
def test_an_unknown_key_is_an_error_with_the_nearest_one(
    folder: Path, line: str, sentence: str
) -> None:
    path = pyproject(folder, line)

    assert problem().startswith(f"{path}: {sentence}")


@pytest.mark.parametrize(
    ("line", "key", "sentence"),
    [
        ("lease = 'soon'", "lease", "lease must be float, not 'soon'"),
        ("lease = -1", "lease", "lease must be a finite number above 0, not -1"),
        ("lease = nan", "lease", "lease must be a finite number above 0, not nan"),
        ("concurrency = 2.0", "concurrency", "concurrency must be int, not 2.0"),
        ("concurrency = [2]", "concurrency", "concurrency must be int, not [2]"),
        ("listen = 1", "listen", "listen must be bool, not 1"),
        ("queue = 'a b'", "queue", "queue name 'a b' is not valid"),
        ("schema = 3", "schema", "schema must be str | None, not 3"),
        ("schema = ''", "schema", "schema must have 1 to 63 bytes"),
        ("retry_jitter = 2", "retry_jitter", "retry_jitter must be 0 to 1, not 2"),
        ("retry_multiplier = 0.5", "retry_multiplier", "retry_multiplier must be at least 1"),
        (f"lease = 1{'0' * 400}", "lease", "lease must be a finite number above 0"),
        ("database_url = 3", "database_url", "database_url must be str, not a int"),
    ],
)
def test_a_wrong_value_names_file_and_key(folder: Path, line: str, key: str, sentence: str) -> None:
    path = pyproject(folder, line)

    said = problem()

    assert said.startswith(sentence)
    assert said.endswith(f"(tool.taskq.{key} in {path})")


def test_two_values_that_do_not_go_together_name_both_places(folder: Path) -> None:
    path = pyproject(folder, "lock_timeout = 4")

    assert problem(ENQUEUE_TIMEOUT="4").endswith(
        f"(lock_timeout: tool.taskq.lock_timeout in {path}, enqueue_timeout: TASKQ_ENQUEUE_TIMEOUT)"
    )


def test_what_is_beaten_must_not_be_right(folder: Path) -> None:
    pyproject(folder, "lease = -1")

    assert read(LEASE="6").settings.lease == 6.0


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("taskq.toml", b"lease = \n", "is not valid TOML: Invalid value (at line 1, column 9)"),
        ("taskq.toml", b"lease = 1\nlease = 2\n", "is not valid TOML: Cannot overwrite a value"),
        ("taskq.toml", b"a = " + b"[" * 9999, "is not valid TOML: "),
        ("taskq.toml", b"queue = '\xff'\n", "is not in UTF-8: "),
        ("config.json", b"{", "is not valid JSON: Expecting property name"),
        ("config.json", b"[" * 99999, "is not valid JSON: "),
        ("config.json", b'{"lease": 1, "lease": 2}', "is not valid JSON: the key 'lease' is twice"),
        ("config.json", b"[1]", "must hold one JSON object, {…}"),
        ("pyproject.toml", b"[tool.other]\n", "named by TASKQ_CONFIG, has no [tool.taskq] table"),
        ("pyproject.toml", b"tool.taskq = 3\n", "tool.taskq must be a table"),
    ],
)
def test_a_file_that_cannot_be_read_as_what_it_is_says_why(
    folder: Path, name: str, content: bytes, sentence: str
) -> None:
    path = folder / name
    path.write_bytes(content)

    said = problem(CONFIG=name)

    assert said.startswith(str(path)) and sentence in said


def test_a_broken_pyproject_that_nobody_named_is_told_too(folder: Path) -> None:
    path = folder.parent / "pyproject.toml"
    path.write_text("[tool.taskq\n", encoding="utf-8")

    assert problem().startswith(f"{path} is not valid TOML: ")


@pytest.mark.parametrize("name", ["nowhere.toml", "nowhere/taskq.toml", "."])
def test_a_file_that_is_not_there_is_named(folder: Path, name: str) -> None:
    said = problem(CONFIG=name)

    assert said.startswith(f"there is no file {folder / name}: TASKQ_CONFIG={name!r}")


def test_a_file_of_another_kind_is_refused(folder: Path) -> None:
    (folder / "taskq.yaml").write_text("lease: 3\n", encoding="utf-8")

    assert "is neither a .toml nor a .json file" in problem(CONFIG="taskq.yaml")


def test_names_to_redact_come_as_a_text_or_a_list(folder: Path) -> None:
    pyproject(folder, 'redact = ["iban", " birth-date "]')
    assert read().settings.redact == ("iban", "birth-date")
    assert read(REDACT="iban,birth-date,").settings.redact == ("iban", "birth-date")
    app = TaskQ("memory://", redact="iban")
    assert app.settings.redact == ("iban",)
    assert app.redaction.hides("IBAN no.") and app.redaction.hides("password")
    assert "redact: '-'" in problem(REDACT="iban,-") and "TASKQ_REDACT" in problem(REDACT="-")
