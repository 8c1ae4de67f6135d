"""The OpenAPI document: complete, and without anything from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from taskq.web.permissions import PERMISSIONS

Json = dict[str, Any]


@pytest.fixture
async def document(viewer: httpx.AsyncClient) -> Json:
    answer = await viewer.get("/api/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    found: Json = answer.json()
    return found


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield method.upper(), path, operation


async def test_every_route_of_the_api_is_described(document: Json) -> None:
    described = {(method, path) for method, path, _ in operations(document)}
    declared = {route for route in PERMISSIONS if route[1].startswith("/api/")}
    streams = {route for route in declared if route[1].endswith("/stream")}
    assert described >= declared - streams


async def test_every_operation_says_what_it_is(document: Json) -> None:
    for method, path, operation in operations(document):
        if path.startswith("/api/"):
            assert operation["summary"], (method, path)
            assert operation["description"], (method, path)
            for parameter in operation.get("parameters", ()):
                assert parameter["schema"], (path, parameter["name"])


async def test_every_error_of_every_operation_is_described(document: Json) -> None:
    """threat:T1: what asks for a role says so."""
    for method, path, operation in operations(document):
        statuses = set(operation["responses"])
        least = PERMISSIONS[method, path]
        assert {"400", "503"} <= statuses, (method, path)
        assert least is None or {"401", "403"} <= statuses, (method, path)
        assert "{" not in path or "404" in statuses, (method, path)
        assert bool(operation["security"]) is (least is not None), (method, path)
        for status, response in operation["responses"].items():
            if status >= "400":
                content = response["content"]["application/problem+json"]
                assert content["schema"] == {"$ref": "#/components/schemas/ProblemView"}


async def test_every_parameter_is_bounded(document: Json) -> None:
    """threat:T7"""
    for _, path, operation in operations(document):
        for parameter in operation.get("parameters", ()):
            schema = parameter["schema"]
            kinds = schema.get("oneOf", [schema])
            for kind in kinds:
                if kind["type"] == "integer":
                    bounds = kind if "maximum" in kind else schema
                    assert {"minimum", "maximum"} <= set(bounds), (path, parameter["name"])


async def test_every_answer_has_a_shape_with_words(document: Json) -> None:
    schemas = document["components"]["schemas"]
    for method, path, operation in operations(document):
        if not path.startswith("/api/"):
            continue
        for status, response in operation["responses"].items():
            for content in response.get("content", {}).values():
                assert "schema" in content, (method, path, status)
    for name, schema in schemas.items():
        assert schema.get("description"), name


async def test_every_reference_leads_somewhere(document: Json) -> None:
    text = str(document)
    wanted = set(re.findall(r"#/components/schemas/(\w+)", text))
    assert wanted <= set(document["components"]["schemas"])


async def test_nothing_comes_from_elsewhere(viewer: httpx.AsyncClient) -> None:
    """threat:T28: no page of a content delivery network, nor a link to one."""
    answer = await viewer.get("/api/openapi.json")
    hosts = set(re.findall(r"https?://([\w.-]+)", answer.text))
    assert hosts <= {"127.0.0.1"}
    for path in ("/schema", "/schema/openapi.json", "/schema/redoc", "/api/schema"):
        assert (await viewer.get(path)).status_code == 404


async def test_it_holds_wherever_the_console_is_mounted(document: Json) -> None:
    assert document["servers"] == [{"url": ".."}]
