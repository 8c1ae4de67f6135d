"""Processes that tests fork end as those that ``python`` begins."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.forked import Forked, Start, run, spawned

on_each_start = pytest.mark.parametrize("start", [Forked, spawned])

LOOKING = """
import atexit, json, os, sys, threading, time
from __main__ import __name__ as main
atexit.register(print, "at the end")
def later():
    time.sleep(0.2)
    print("a thread")
threading.Thread(target=later).start()
print([main, sys.argv, sys.orig_argv[1:2], os.getcwd(), os.getsid(0) == os.getpid()])
print([os.environ.get("PATIENCE"), os.environ.get("HOME"), sys.path[:2]])
print([sys.stdin.read(), os.open(os.devnull, os.O_RDONLY)])
sys.exit("no")
"""
SAID = """
['__main__', ['-c', 'a', 'b'], ['-c'], '{folder}', True]
['7', None, ['', '/lib/of/mine']]
['', 3]
a thread
at the end
"""


@on_each_start
def test_it_has_its_own_arguments_folder_environment_session_and_streams(
    tmp_path: Path, start: Start
) -> None:
    environment = {"PATIENCE": "7", "PYTHONPATH": "/lib/of/mine"}
    done = run(["-c", LOOKING, "a", "b"], cwd=tmp_path, env=environment, start=start)

    assert done.stdout == SAID.lstrip().format(folder=os.path.realpath(tmp_path))
    assert (done.returncode, done.stderr) == (1, "no\n")


@on_each_start
@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("raise SystemExit(7)", 7, ""),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
        ("raise KeyboardInterrupt", -signal.SIGINT, "KeyboardInterrupt\n"),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL, ""),
        ("import os; os.kill(os.getpid(), 15)", -signal.SIGTERM, ""),
    ],
)
def test_its_exit_code_says_how_it_ended(start: Start, program: str, code: int, said: str) -> None:
    done = run(["-c", program], start=start)

    assert done.returncode == code
    assert done.stderr.endswith(said)


@on_each_start
def test_a_script_finds_what_lies_beside_it(tmp_path: Path, start: Start) -> None:
    (tmp_path / "beside.py").write_text("name = __name__\n")
    (tmp_path / "script.py").write_text("import beside; print(beside.name, __name__, __file__)\n")
    done = run([str(tmp_path / "script.py")], start=start)

    assert done.stdout == f"beside __main__ {tmp_path / 'script.py'}\n"


@on_each_start
def test_warnings_may_be_errors(start: Start) -> None:
    done = run(["-W", "error", "-c", "import warnings; warnings.warn('mind')"], start=start)

    assert done.stderr.endswith("UserWarning: mind\n")
