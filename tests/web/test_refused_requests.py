"""What a client is told whose request cannot be read."""

from __future__ import annotations

from typing import Annotated, Literal

import httpx
import pytest

from taskq.model import Priority
from taskq.web.refusal import choices


async def told(answer: httpx.Response, status: int = 400) -> str:
    assert answer.status_code == status
    return str(answer.json()["detail"])


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("activities?order=up", "order: Invalid enum value 'up'; there are: newest, oldest, due"),
        ("series?window=2h", "there are: 5m, 1h, 24h"),
        ("bulk/preview?action=run-now&q=type:*", "there are: retry, cancel, run_now"),
    ],
)
async def test_a_wrong_choice_names_all_there_are(
    browser: httpx.AsyncClient, path: str, sentence: str
) -> None:
    assert sentence in await told(await browser.get(f"/api/{path}"))


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("enqueue", {"type": "send", "priority": "high"}, "there are: LOW, NORMAL, HIGH, CRITICAL"),
        ("enqueue", {"type": "send", "on_duplicate": "raise"}, "; there are: "),
        ("bulk", {"action": "run-now", "filter": "type:*"}, "there are: retry, cancel, run_now"),
        ("schedules", {"name": "n", "type": "t", "overlap": "never"}, "; there are: "),
    ],
)
async def test_a_wrong_choice_in_a_body_names_all_there_are(
    browser: httpx.AsyncClient, path: str, body: dict[str, object], sentence: str
) -> None:
    assert sentence in await told(await browser.post(f"/api/{path}", json=body))


async def test_a_body_that_lacks_a_field_is_told_which(browser: httpx.AsyncClient) -> None:
    answer = await browser.post("/api/enqueue", json={})
    assert await told(answer) == "Object missing required field `type`"


async def test_a_field_that_a_body_does_not_have_is_told_with_those_it_has(
    browser: httpx.AsyncClient,
) -> None:
    answer = await browser.post("/api/enqueue", json={"type": "send", "prio": "HIGH"})
    said = await told(answer)
    assert said.startswith(
        "Object contains unknown field `prio`; there are: arguments, command_id,"
    )
    assert ", priority, queue, " in said


async def test_a_missing_body_is_said_to_be_missing(browser: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/json"}
    answer = await browser.post("/api/enqueue", content=b"", headers=headers)
    assert await told(answer) == "the body is missing: send a JSON object, {} at least"


async def test_a_missing_parameter_is_named_without_the_address(
    browser: httpx.AsyncClient,
) -> None:
    answer = await browser.get("/api/bulk/preview?action=retry")
    assert await told(answer) == "Missing required query parameter 'q'"


async def test_an_address_that_is_none_leads_to_those_that_are(
    browser: httpx.AsyncClient,
) -> None:
    assert "api/openapi.json" in await told(await browser.get("/api/activities/01a22a52"), 404)
    assert "commands are POST" in await told(await browser.get("/api/enqueue"), 405)


def test_choices_are_found_inside_of_other_annotations() -> None:
    assert choices(Annotated[Literal["a", "b"] | None, "x"]) == ("a", "b")
    assert choices(list[Priority]) == tuple(str(each.value) for each in Priority)
    assert choices(int) == choices(None) == ()
