"""``taskq show --tree`` and ``taskq cancel --tree``."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from taskq.identifiers import new_id
from taskq.lifecycle import Succeeded
from taskq.model import Activity
from taskq.testing.conformance.samples import call


@pytest.fixture
def family(shelf) -> dict[str, Activity[Any]]:
    """A root that has ended, a running child with one of its own, and another one waiting."""
    root = call("order")
    child = call("pay", parent_id=root.id, root_id=root.id, depth=1)
    leaf = call("receipt", parent_id=child.id, root_id=root.id, depth=2)
    other = call("ship", parent_id=root.id, root_id=root.id, depth=1)
    submit = shelf.app.client.store.submit
    shelf.app.client.call_sync(submit, [root])
    shelf.end(Succeeded("1"))
    shelf.app.client.call_sync(submit, [child])
    shelf.claimed()
    shelf.app.client.call_sync(submit, [leaf, other])
    return {"order": root, "pay": child, "receipt": leaf, "ship": other}


def test_show_tree_indents_the_whole_tree_and_marks_the_one_asked_for(cli, family) -> None:
    result = cli("show", str(family["receipt"].id), "--tree")

    assert result.exit_code == 0
    head, *lines = result.stdout.splitlines()
    assert head.split() == ["type", "status", "attempts", "ran", "step", "progress", "id"]
    assert [line[:14].rstrip() for line in lines] == [
        "  order",
        "    pay",
        ">     receipt",
        "    ship",
    ]
    assert [line.split()[-1] for line in lines] == [
        str(family[name].id) for name in ("order", "pay", "receipt", "ship")
    ]
    assert lines[0].split()[1:3] == ["completed", "1"] and "ms" in lines[0]
    assert lines[2].split()[2:5] == ["pending", "0", "-"]


def test_show_tree_as_json_has_the_fields_of_each(cli, family) -> None:
    tree = json.loads(cli("show", str(family["ship"].id), "--tree", "--json").stdout)

    assert (tree["root_id"], tree["cut"]) == (str(family["order"].id), False)
    shown = [(node["type"], node["level"], node["orphan"]) for node in tree["nodes"]]
    assert shown == [
        ("order", 0, False),
        ("pay", 1, False),
        ("receipt", 2, False),
        ("ship", 1, False),
    ]
    assert tree["nodes"][0]["result"] == 1
    assert tree["nodes"][2]["parent_id"] == str(family["pay"].id)


def test_show_tree_marks_what_lost_its_parent_and_shows_a_root_that_is_gone(cli, shelf) -> None:
    gone = new_id()
    lost = call("lost", parent_id=gone, root_id=gone, depth=1)
    below = call("below", parent_id=lost.id, root_id=gone, depth=2)
    shelf.app.client.call_sync(shelf.app.client.store.submit, [lost, below])

    _, *lines = cli("show", str(below.id), "--tree").stdout.splitlines()

    assert [line[:11].rstrip() for line in lines] == ["  (deleted)", "?   lost", ">     below"]
    assert lines[0].split()[-1] == str(gone)


def test_show_tree_of_an_unknown_id_says_so(cli, shelf) -> None:
    shelf.greet.delay("Ada")
    result = cli("show", str(UUID(int=7)), "--tree")
    assert result.exit_code == 1 and "there is no activity" in result.stderr


def test_a_type_on_its_way_to_the_terminal_stays_on_its_line(cli, shelf) -> None:
    """threat:T15"""
    odd = replace(call(), type="a\nb\x1b[2J")
    shelf.app.client.call_sync(shelf.app.client.store.submit, [odd])
    assert "a\\nb\\x1b[2J" in cli("show", str(odd.id), "--tree").stdout


def test_cancel_tree_says_what_went_with_it(cli, family) -> None:
    result = cli("cancel", "--tree", str(family["order"].id), str(family["pay"].id))

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"{family['order'].id}  had ended completed; cancelled 3 below it",
        f"{family['pay'].id}  cancel requested (it is running), and 1 below it",
    ]
    states = {
        node["type"]: node["status"]
        for node in json.loads(cli("show", str(family["order"].id), "--tree", "--json").stdout)[
            "nodes"
        ]
    }
    assert states == {
        "order": "completed",
        "pay": "processing",
        "receipt": "cancelled",
        "ship": "cancelled",
    }


def test_cancel_without_it_leaves_the_children(cli, family) -> None:
    id = str(family["pay"].id)
    said = "cancel requested (it is running); 1 child of it goes on, --tree cancels below it too"
    result = cli("cancel", id)
    assert (result.exit_code, result.stdout) == (0, f"{id}  {said}\n")
    shown = json.loads(cli("show", str(family["receipt"].id), "--json").stdout)
    assert shown["status"] == "pending"


def test_cancel_without_it_counts_only_children_that_are_not_cancelled_themselves(
    cli, family
) -> None:
    order, pay = str(family["order"].id), str(family["pay"].id)
    ended = f"{order}  cannot be cancelled: it has ended completed"
    first = cli("cancel", order)
    assert first.exit_code == 1
    assert first.stdout == f"{ended}; 2 children of it go on, --tree cancels below it too\n"
    line = cli("cancel", order, pay).stdout.splitlines()[0]
    assert line == f"{ended}; 1 child of it goes on, --tree cancels below it too"
    assert cli("cancel", order, str(family["ship"].id)).stdout.splitlines()[0] == ended


def test_help_of_cancel_has_its_exit_codes(cli) -> None:
    said = " ".join(cli("cancel", "--help").stdout.split())
    assert "Exit code 0 when each ID is cancelled" in said and "; 1 when one has ended" in said


def test_cancel_again_is_as_it_was_asked(cli, family) -> None:
    id = str(family["ship"].id)
    assert cli("cancel", id).stdout == f"{id}  cancelled (was pending)\n"
    again = cli("cancel", id)
    assert (again.exit_code, again.stdout) == (0, f"{id}  cancelled already\n")


def test_cancel_of_what_is_not_there_did_not_succeed(cli, family) -> None:
    unknown = UUID(int=7)
    result = cli("cancel", str(unknown), "--tree")
    assert (result.exit_code, result.stdout) == (1, f"{unknown}  there is no such activity\n")
