"""Filters for ``taskq list``, ``retry`` and ``cancel``."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from taskq.backends import ClaimRequest
from taskq.cli import bulk
from taskq.cli.filters import spelled
from taskq.errors import FilterError
from taskq.filtering.fields import FIELDS
from taskq.filtering.reading import parsed
from taskq.identifiers import new_id
from taskq.lifecycle import Failed, decide
from taskq.model import ErrorInfo, Status
from taskq.snapshot import Filter

PAGE = Path(__file__).parents[2] / "docs" / "filters.md"
NO = ErrorInfo(type="ValueError", message="timed out at last")


def listed(cli, *arguments: str) -> list[str]:
    result = cli("list", "--json", *arguments)
    assert result.exit_code == 0, result.stderr
    return [item["payload"]["name"] for item in json.loads(result.stdout)["items"]]


def fail(shelf, *names: str) -> list[str]:
    ids = [str(shelf.greet.options(tags={"team": "red"}).delay(name).id) for name in names]
    shelf.end(Failed(error=NO, retryable=False))
    return ids


def statuses(cli, *arguments: str) -> list[str]:
    items = json.loads(cli("list", "--json", *arguments).stdout)["items"]
    return [item["status"] for item in items]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["status:failed"], ["Grace", "Ada"]),
        (["status:failed", "args.name:Ada"], ["Ada"]),
        (["status:failed args.name:Ada"], ["Ada"]),
        (["error:timed out"], ["Grace", "Ada"]),
        (["timed out"], ["Grace", "Ada"]),
        (["out timed"], []),
        (['error:"timed out" -args.name:Ada'], ["Grace"]),
        (["-status:failed"], ["Joan"]),
        (["-status:failed", "-n", "1", "type:greet"], ["Joan"]),
        (["-tag.team:red"], ["Joan"]),
        (["--", "-timed"], ["Joan"]),
        (["-s", "failed", "args.name:Ada"], ["Ada"]),
        (["-s", "failed", "status:pending"], []),
        (["--status", "failed,pending", "status:pending"], ["Joan"]),
        (["age<1h"], ["Joan", "Grace", "Ada"]),
        ([""], ["Joan", "Grace", "Ada"]),
    ],
)
def test_list_takes_a_filter_besides_its_options(
    cli, shelf, arguments: Sequence[str], found: list[str]
) -> None:
    """seed:R18"""
    fail(shelf, "Ada", "Grace")
    shelf.greet.delay("Joan")

    assert listed(cli, *arguments) == found


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("status:failed", "status:failed"),
        ("error:timed out", 'error:"timed out"'),
        ("-error:see http://x now", '-error:"see http://x now"'),
        ("timed out", '"timed out"'),
        (r"error:C:\ is full", r'error:"C:\\ is full"'),
        ('error:"timed out" now', 'error:"timed out" now'),
        ("status:failed type:x", "status:failed type:x"),
        ("now -status:failed", "now -status:failed"),
        (" refund ", "refund"),
        (": x", ": x"),
    ],
)
def test_quotes_that_the_shell_has_taken_come_back(argument: str, text: str) -> None:
    assert spelled(argument) == text


@pytest.mark.parametrize("command", ["list", "retry", "cancel"])
def test_a_filter_that_means_nothing_is_shown_with_its_place(cli, shelf, command: str) -> None:
    shelf.greet.delay("Ada")

    result = cli(command, "type:\x1b\u5b57", "stats:failed")

    assert result.exit_code == 2
    said, text, place = result.stderr.splitlines()
    assert "no field 'stats'; did you mean status?" in said
    assert text == "  type:\\x1b\u5b57 stats:failed"
    assert place == "  " + 12 * " " + "^"
    assert statuses(cli) == ["pending"]


def test_retry_counts_and_does_nothing_until_it_is_told_yes(cli, shelf) -> None:
    fail(shelf, "Ada", "Grace")
    shelf.greet.delay("Joan")

    result = cli("retry", "type:greet")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "2 activities match: 2 failed" in result.stderr
    assert "nothing was done: add --yes to retry them" in result.stderr
    assert statuses(cli) == ["pending", "failed", "failed"]


def test_retry_sends_all_that_match_round_again_and_says_why(cli, shelf) -> None:
    """seed:R18"""
    [ada, _] = fail(shelf, "Ada", "Grace")

    result = cli("retry", "args.name:Ada", "--yes", "--reason", "it was the network")

    assert (result.exit_code, result.stdout) == (0, "1  pending (was failed)\n")
    assert statuses(cli) == ["failed", "pending"]
    entry = json.loads(cli("show", ada, "--json").stdout)["timeline"][-1]
    assert entry["detail"]["reason"] == "it was the network"


@pytest.mark.parametrize(("answer", "code", "status"), [("y", 0, "pending"), ("n", 1, "failed")])
def test_a_person_is_asked(
    cli, shelf, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, status: str
) -> None:
    fail(shelf, "Ada")
    monkeypatch.setattr(bulk, "_somebody_is_there", lambda: True)

    result = cli("retry", "type:greet", input=f"{answer}\n")

    assert result.exit_code == code
    assert "1 activity matches: 1 failed\nretry it? [y/N]" in result.stderr
    assert statuses(cli) == [status]


def test_retry_goes_in_chunks_oldest_first(cli, shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = fail(shelf, *map(str, range(5)))
    monkeypatch.setattr(bulk, "CHUNK", 2)
    monkeypatch.setattr(bulk, "_LOOKED_AT", 2)
    chunks: list[list[str]] = []

    def change(part: Sequence[object]) -> dict[object, Status]:
        chunks.append([str(id) for id in part])
        return dict.fromkeys(part, Status.FAILED)

    bulk.each_chunk(bulk.chosen(shelf.app, Filter()).ids, "retry", change, str)

    assert chunks == [ids[:2], ids[2:4], ids[4:]]


def test_what_was_done_before_a_failure_is_told(shelf, capsys, monkeypatch) -> None:
    monkeypatch.setattr(bulk, "CHUNK", 1)
    ids = [shelf.greet.delay(name).id for name in ("Ada", "Grace")]

    def change(part: Sequence[object]) -> dict[object, Status]:
        if part[0] == ids[1]:
            raise RuntimeError("the database is gone")
        return dict.fromkeys(part, Status.FAILED)

    with pytest.raises(RuntimeError):
        bulk.each_chunk(ids, "retry", change, str)

    assert capsys.readouterr().out == "1  failed\n"


class Terminal(io.StringIO):
    """What a person reads."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("chunk", "shown"), [(1, True), (2, False)])
def test_what_takes_several_chunks_shows_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, chunk: int, shown: bool
) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(bulk, "CHUNK", chunk)
    ids = [new_id(), new_id()]

    bulk.each_chunk(ids, "retry", lambda part: dict.fromkeys(part, Status.FAILED), str)

    assert ("100%" in terminal.getvalue()) is shown


def test_cancel_ends_all_that_match_and_have_not_ended(cli, shelf) -> None:
    fail(shelf, "Ada")
    shelf.greet.delay("Grace")
    shelf.claimed()
    shelf.greet.delay("Joan")

    result = cli("cancel", "type:greet", "--yes")

    assert result.exit_code == 0
    assert "2 activities match: 1 pending, 1 processing" in result.stderr
    assert sorted(result.stdout.splitlines()) == [
        "1  cancel requested (it is running)",
        "1  cancelled (was pending)",
    ]


def test_nothing_that_matches_is_said(cli, shelf) -> None:
    shelf.greet.delay("Ada")

    result = cli("cancel", "type:other", "--yes")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "no activity matches\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("1234567",), "is no id"),
        (("",), "this filter asks for nothing"),
        (("status:failed", "01985e3c"), "'status:failed' is no activity id"),
    ],
)
def test_what_may_be_a_mistake_cancels_nothing(cli, shelf, words: Sequence[str], said: str) -> None:
    shelf.greet.delay("Ada")

    result = cli("cancel", *words, "--yes")

    assert result.exit_code == 2 and said in result.stderr
    assert statuses(cli) == ["pending"]


EXAMPLES = re.findall(
    r"^\| `([^`]+)` \| .+? \| (.*?) ?\| ?(.*?) ?\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
)
LINES = re.findall(r"^\$ taskq list (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_page_has_an_example_of_each_field() -> None:
    named = [re.split(r"[.:<>=]", example)[0] for example, _, _ in EXAMPLES]

    assert named == [*FIELDS, "refund"]


@pytest.mark.parametrize(("example", "operators", "walks"), EXAMPLES[:-1])
def test_a_field_takes_the_operators_that_the_page_says(
    example: str, operators: str, walks: str
) -> None:
    name, *_, value = re.split(r"[:<>]=?", example)
    known = [":", "<", "<=", ">", ">="]

    taken = [each for each in known if is_read(f"{name}{each}{value}")]

    assert taken == {"all": known, "all but `:`": known[1:], "`:`": [":"]}[operators]


def is_read(text: str) -> bool:
    try:
        parsed(text)
    except FilterError:
        return False
    return True


@pytest.mark.parametrize("line", LINES)
def test_a_list_of_the_page_finds_what_is_meant(cli, shelf, line: str) -> None:
    """The page's activity: it failed, timed out, and is about order 17."""

    @shelf.app.activity(name="send_text")
    async def send_text(order: dict[str, int]) -> None: ...

    shelf.greet.delay("Ada")
    id = send_text.delay({"id": 17}).id
    request = ClaimRequest(
        worker=new_id(), queues=("default",), types=("send_text",), limit=1, lease=30.0
    )
    [attempt] = shelf.app.client.call_sync(shelf.app.client.store.claim, request)
    failed = decide(attempt, Failed(error=NO, retryable=False))
    shelf.app.client.call_sync(shelf.app.client.store.settle, [failed])

    result = cli("list", "--json", *shlex.split(line))

    assert [item["id"] for item in json.loads(result.stdout)["items"]] == [str(id)]
