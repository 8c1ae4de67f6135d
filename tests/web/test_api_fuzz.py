"""Hostile values for every parameter and body of every route, as the document describes them.

threat:T5, threat:T6, threat:T7, threat:T9
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from taskq.web.api import ROUTES
from taskq.web.api.document import document
from tests.web.ground import Ground

Json = dict[str, Any]

DOCUMENT: Json = document(ROUTES)
EXAMPLES = 15
"""Requests to each route."""
LARGEST = 4 * 1024 * 1024
"""Bytes of an answer about so few activities, at the most."""

HOSTILE = [
    "",
    "\0",
    "a\0b",
    "'",
    '"',
    "' or 1=1 --",
    "%",
    "_%_",
    "\\",
    "\N{RIGHT-TO-LEFT OVERRIDE}abc",
    "\N{ZERO WIDTH SPACE}",
    "\x1b[31m",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "{{7*7}}",
    "NaN",
    "Infinity",
    "1e400",
    "-1",
    "0",
    "9" * 400,
    str(2**63),
    "1.5",
    "true",
    "null",
    "[]",
    "a" * 3000,
    "status:failed",
    "args.a.b.c>1",
    "type:* -status:failed age>1h",
    'tag."a b":"c,d"',
    "id:00000000*",
    "\r\nset-cookie: a=b",
]
"""What goes wrong somewhere."""

texts = st.one_of(
    st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
)
junk: st.SearchStrategy[object] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**30), 10**30),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)


class Operation(Struct, frozen=True, kw_only=True):
    method: str
    path: str
    parameters: list[Json]
    body: Json | None

    def __repr__(self) -> str:
        return f"{self.method} {self.path}"


def operations() -> Iterator[Operation]:
    for path, item in DOCUMENT["paths"].items():
        for method, described in item.items():
            content = described.get("requestBody", {}).get("content", {})
            yield Operation(
                method=method.upper(),
                path=path,
                parameters=described.get("parameters", []),
                body=next((each["schema"] for each in content.values()), None),
            )


def resolved(schema: Json) -> Json:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    found: Json = DOCUMENT["components"]["schemas"][reference.rsplit("/", 1)[1]]
    return found


def valid(schema: Json, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that a schema allows, or nearly."""
    schema = resolved(schema)
    if depth > 4:
        return st.none()
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "oneOf" in schema:
        return st.one_of([valid(each, depth + 1) for each in schema["oneOf"]])
    match schema.get("type"):
        case "integer":
            low, high = schema.get("minimum", 0), schema.get("maximum", 1000)
            return st.integers(int(low), int(high))
        case "number":
            return st.floats(0, 1e6)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "array":
            return st.lists(valid(schema.get("items", {}), depth + 1), max_size=3)
        case "object":
            return valid_object(schema, depth)
        case "string":
            return valid_text(schema.get("format"))
        case _:
            return junk


def valid_object(schema: Json, depth: int) -> st.SearchStrategy[Any]:
    if "properties" not in schema:
        return st.dictionaries(texts, junk, max_size=3)
    required = set(schema.get("required", ()))
    members = {name: valid(each, depth + 1) for name, each in schema["properties"].items()}
    return st.fixed_dictionaries(
        {name: each for name, each in members.items() if name in required},
        optional={name: each for name, each in members.items() if name not in required},
    )


def valid_text(form: str | None) -> st.SearchStrategy[str]:
    if form == "uuid":
        return st.sampled_from(IDS)
    if form == "date-time":
        return st.sampled_from(["2030-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "2030-01-01"])
    return st.one_of(texts, st.sampled_from(["a", "send", "default", "nightly"]))


IDS = ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"]


def any_value(schema: Json) -> st.SearchStrategy[Any]:
    return st.one_of(valid(schema), texts, junk)


def written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@st.composite
def requests(draw: st.DrawFn, operation: Operation) -> tuple[str, Mapping[str, str], bytes | None]:
    """A path, a query and a body."""
    path, query = operation.path, dict[str, str]()
    for parameter in operation.parameters:
        name = parameter["name"]
        value = written(draw(any_value(parameter["schema"])))
        if parameter["in"] == "path":
            segment = value if value.strip("./") else "x"
            path = path.replace(f"{{{name}}}", quote(segment, safe=""))
        elif draw(st.booleans()):
            query[name] = value
    if operation.body is None:
        return path, query, None
    body = draw(st.one_of(valid(operation.body), any_value(operation.body)))
    text = json.dumps(body).encode()
    return path, query, draw(st.sampled_from([text, text, text, text[:-1], b"[" * 5000, b"\xff"]))


def check(answer: httpx.Response) -> None:
    """Never a 500; an error is JSON with a code and one sentence; an answer has bounds."""
    assert answer.status_code < 500, answer.text
    assert len(answer.content) <= LARGEST
    assert answer.headers["x-content-type-options"] == "nosniff"
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["code"] and problem["detail"]
        assert "Traceback" not in problem["detail"]
        assert len(problem["detail"]) < 5000


async def ask(
    ground: Ground, method: str, path: str, query: Mapping[str, str], body: bytes | None
) -> httpx.Response:
    async with ground.client("admin") as client:
        headers = {} if body is None else {"content-type": "application/json"}
        return await client.request(method, path, params=query, content=body, headers=headers)


def is_stream(operation: Operation) -> bool:
    return operation.path.endswith("/stream")


@pytest.mark.parametrize(
    "operation", [each for each in operations() if not is_stream(each)], ids=repr
)
def test_no_route_fails_whatever_it_is_given(ground: Ground, operation: Operation) -> None:
    """Bad input gets one sentence, never a traceback."""

    @settings(max_examples=EXAMPLES)
    @given(requests(operation))
    def run(request: tuple[str, Mapping[str, str], bytes | None]) -> None:
        check(anyio.run(ask, ground, operation.method, *request))

    run()


@pytest.mark.parametrize("raw", ["q=%ff", "q=%ed%a0%80", "q=%00", "limit=%00", "q=%2", "%=1", "q"])
async def test_no_spelling_of_a_query_fails(ground: Ground, raw: str) -> None:
    for path in ("/api/activities", "/api/suggestions", "/api/dead-letters"):
        async with ground.client("admin") as client:
            check(await client.get(f"{path}?{raw}"))
