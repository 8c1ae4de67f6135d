"""What the command line prints of stored texts: no secret, and nothing that moves a cursor."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import Result

from taskq import ActivityInfo, Secret, TaskQ
from taskq.editing import Edit
from taskq.lifecycle import Failed
from taskq.model import ErrorInfo
from taskq.redaction import MASK
from tests.cli.conftest import Cli, Shelf

APP = """
from taskq import Secret, TaskQ

taskq = TaskQ()


@taskq.activity
async def login(
    name: str, pin: Secret[str] | None = None, api_key: str = "", more: object = None
) -> None: ...
"""
PIN, KEY = "canary-pin", "canary-key"
EVIL = '"><img src=x onerror=alert(1)>\x1b[31m\x1b]0;t\x07\u202e\u200b\x9b2J\r\n\x08{{7*7}}'

COMMANDS = (
    ("list",),
    ("list", "--json"),
    ("show", "ID"),
    ("show", "ID", "--json"),
    ("show", "ID", "--tree"),
    ("show", "ID", "--tree", "--json"),
    ("dead", "list", "--flat"),
    ("dead", "list", "--flat", "--json"),
    ("dead", "show", "CAUSE"),
    ("dead", "show", "CAUSE", "--json"),
    ("tail", "ID"),
    ("tail", "ID", "--json"),
    ("audit",),
    ("audit", "--json"),
)


@pytest.fixture
def shop(folder: Path, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> Iterator[TaskQ]:
    """The app of ``app.py``, as a program has it that calls its task."""
    (folder / "app.py").write_text(APP)
    monkeypatch.syspath_prepend(folder)
    found: TaskQ = importlib.import_module("app").taskq
    yield found
    found.close()


def failed(shop: TaskQ, shelf: Shelf, said: str, /, **arguments: object) -> ActivityInfo:
    """A call with these arguments that has failed saying this, was edited, and has failed again."""
    text = str(arguments["api_key"])
    call = (
        shop.tasks["login"]
        .options(
            metadata={"token": text, said: 1},
            tags={"token": text, said: "1"},
            source=said,
            correlation_id=said,
            user_id=said,
            idempotency_key=said,
        )
        .build(**arguments)
    )
    shop.enqueue([call])
    outcome = Failed(error=ErrorInfo(type="shop.Wrong", message=said), retryable=False)
    shelf.end(outcome)
    edit = Edit(changes={"name": "eve"})
    shop.operator.retry(call.id, edit=edit, actor=said, reason=said)
    shelf.end(outcome)
    return stored(shop, call.id)


def stored(shop: TaskQ, id: UUID) -> ActivityInfo:
    return shop.client.call_sync(shop.client.store.get, [id])[id]


def run(cli: Cli, command: Sequence[str], info: ActivityInfo, *more: str) -> Result:
    """The command about this activity, which has failed."""
    ids = {"ID": str(info.id), "CAUSE": str(info.fingerprint)}
    result = cli(*[ids.get(word, word) for word in command], *more)
    assert result.exit_code == (1 if command[0] == "tail" else 0), result.output
    assert result.stdout
    return result


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_secret_is_printed(
    cli: Cli, shop: TaskQ, shelf: Shelf, command: tuple[str, ...]
) -> None:
    """threat:T14"""
    info = failed(shop, shelf, "wrong", name="ada", pin=Secret(PIN), api_key=KEY)
    result = run(cli, command, info, "-A", "app:taskq")
    assert "canary" not in result.stdout + result.stderr


def test_an_error_that_was_recorded_with_a_secret_is_shown_without(
    cli: Cli, shop: TaskQ, shelf: Shelf
) -> None:
    """threat:T14: as a worker of an older release has it"""
    info = failed(shop, shelf, f"{PIN} is wrong", name="ada", pin=Secret(PIN), api_key=KEY)
    for command in (["show", "ID"], ["show", "ID", "--json"], ["list"]):
        printed = run(cli, command, info, "-A", "app:taskq").stdout
        assert f"{MASK} is wrong" in printed
        assert f"shop.Wrong: {PIN}" not in printed


def test_secrets_are_shown_to_who_asks_for_them(cli: Cli, shop: TaskQ, shelf: Shelf) -> None:
    info = failed(shop, shelf, "no", name="ada", pin=Secret(PIN), api_key=KEY)
    for form in ((), ("--json",)):
        result = run(cli, ["show", "ID", "--reveal", *form], info, "-A", "app:taskq")
        assert PIN in result.stdout and KEY in result.stdout


def test_without_the_app_names_alone_hide(cli: Cli, shop: TaskQ, shelf: Shelf) -> None:
    info = failed(shop, shelf, "no", name="ada", pin=Secret(PIN), api_key=KEY)
    shown = json.loads(run(cli, ["show", "ID", "--json"], info).stdout)["payload"]
    assert (shown["pin"], shown["api_key"]) == (PIN, MASK)


def test_an_edit_on_the_command_line_keeps_what_it_says_redacted(
    cli: Cli, shop: TaskQ, shelf: Shelf
) -> None:
    info = failed(shop, shelf, "no", name="ada", pin=Secret(PIN), api_key=KEY)
    output = run(cli, ["show", "ID", "--json"], info, "-A", "app:taskq").stdout
    shown = {**json.loads(output)["payload"], "name": "grace"}
    result = cli("retry", str(info.id), "--arguments", json.dumps(shown), "-A", "app:taskq")
    assert result.exit_code == 0, result.output
    payload = json.loads(stored(shop, info.id).payload)
    assert payload == {"name": "grace", "pin": PIN, "api_key": KEY, "more": None}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_nothing_stored_moves_the_cursor_or_forges_a_line(
    cli: Cli, shop: TaskQ, shelf: Shelf, command: tuple[str, ...]
) -> None:
    """threat:T15, threat:T5: one canary in every text that can hold it"""
    info = failed(shop, shelf, EVIL, name=EVIL, api_key=EVIL, more={EVIL: [EVIL]})
    printed = run(cli, command, info).stdout
    assert [char for char in printed if not char.isprintable() and char != "\n"] == []
    if "--json" in command:
        for text in printed.splitlines() if command[0] == "tail" else [printed]:
            json.loads(text)
