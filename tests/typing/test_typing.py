"""The types that users see, held by both type checkers."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WRONG = HERE / "wrong_calls.py"

needs_mypy = pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
needs_pyright = pytest.mark.skipif(
    find_spec("basedpyright") is None, reason="basedpyright is not installed"
)


def lines_marked_wrong() -> set[int]:
    lines = WRONG.read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


@needs_mypy
def test_mypy_rejects_every_wrong_call_and_nothing_else() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--output", "json", str(WRONG)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = {
        problem["line"]
        for problem in map(json.loads, answer.stdout.splitlines())
        if problem["severity"] == "error"
    }
    assert found == lines_marked_wrong(), answer.stdout + answer.stderr


@needs_pyright
def test_pyright_rejects_every_wrong_call_and_nothing_else(tmp_path: Path) -> None:
    config = {
        "include": [str(WRONG)],
        "exclude": [],
        "typeCheckingMode": "strict",
        "venvPath": str(Path(sys.prefix).parent),
        "venv": Path(sys.prefix).name,
        "extraPaths": [str(ROOT)],
    }
    project = tmp_path / "pyrightconfig.json"
    project.write_text(json.dumps(config))
    answer = subprocess.run(
        [sys.executable, "-m", "basedpyright", "-p", str(project), "--outputjson"],
        capture_output=True,
        text=True,
        check=False,
    )
    problems = json.loads(answer.stdout)["generalDiagnostics"]
    found = {
        problem["range"]["start"]["line"] + 1
        for problem in problems
        if problem["severity"] == "error" and "Unused" not in problem.get("rule", "")
    }
    assert found == lines_marked_wrong(), answer.stdout
