"""Where secrets are in what is stored: known by the types alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from msgspec import inspect

from taskq.codec.foreign import custom_types, is_secret_type

MOST: Final = 1000
"""Places that are told apart in one value: types that hold each other can have any number."""


def secret_places(annotation: Any) -> frozenset[str]:
    """The places of ``Secret`` values inside a value of this type: the stored names of its fields,
    joined by dots. ``*`` is any key of a dict, a list adds no step, and the empty text is the value
    itself.

    What has no such place is hidden with all that is around it: a secret in a tuple, one beside a
    field whose name has a dot, one in a type that holds itself. Above ``MOST``
    places, all parts that hold secrets are hidden.
    """
    info = inspect.type_info(annotation)
    found = frozenset(islice(_places(info, "", ()), MOST + 1))
    if len(found) <= MOST:
        return found
    return frozenset(step for step, inner in _steps(info) if _holds_secret(inner))


def _holds_secret(info: inspect.Type) -> bool:
    return any(is_secret_type(kind) for kind in custom_types(info))


def _places(info: inspect.Type, path: str, outer: tuple[int, ...]) -> Iterator[str]:
    if not _holds_secret(info):
        return
    steps = _steps(info)
    if not steps or id(info) in outer or any("." in step for step, _ in steps):
        yield path
        return
    for step, inner in steps:
        yield from _places(inner, ".".join(filter(None, (path, step))), (*outer, id(info)))


def _steps(info: inspect.Type) -> list[tuple[str, inspect.Type]]:
    """The step to each part of a value of this type; none where parts have no place."""
    match info:
        case inspect.StructType() if info.array_like:
            return []
        case inspect.StructType() | inspect.DataclassType() | inspect.TypedDictType():
            return [(field.encode_name, field.type) for field in info.fields]
        case inspect.DictType():
            return [("*", info.value_type)]
        case inspect.UnionType():
            return [("", kind) for kind in info.types]
        case inspect.Metadata():
            return [("", info.type)]
        case inspect.CollectionType():
            return [("", info.item_type)]
        case _:
            return []
