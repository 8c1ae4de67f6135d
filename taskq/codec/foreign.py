"""Objects that msgspec does not know by itself: secrets and pydantic models.

pydantic is never imported here. A model can only reach us when somebody else has imported it, so
``sys.modules`` tells whether there is anything to look for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeGuard, cast, get_args, get_origin

import msgspec

from taskq.secret import Secret

if TYPE_CHECKING:
    from pydantic import BaseModel


class ModelMisfit(ValueError):
    """Stored data that a pydantic model, or a secret's type, refuses. ``location`` is the place
    inside the model."""

    def __init__(self, problem: str, location: tuple[int | str, ...]) -> None:
        super().__init__(problem)
        self.location = location


def is_secret(value: object) -> TypeGuard[Secret[object]]:
    """Tell whether ``value`` is a secret."""
    return isinstance(value, Secret)


def is_secret_type(kind: object) -> bool:
    """Tell whether ``kind`` is ``Secret`` or ``Secret[...]``."""
    return kind is Secret or get_origin(kind) is Secret


def is_model(value: object) -> TypeGuard[BaseModel]:
    """Tell whether ``value`` is an instance of a pydantic model."""
    return is_model_type(type(value))


def is_model_type(kind: object) -> TypeGuard[type[BaseModel]]:
    """Tell whether ``kind`` is a pydantic model class."""
    base = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    return base is not None and isinstance(kind, type) and issubclass(kind, base)


def model_members(model: BaseModel) -> Iterator[tuple[str, object]]:
    """Yield the fields of a model under the names they are stored by, then its extra fields."""
    for name, field in type(model).model_fields.items():
        stored = field.serialization_alias or field.alias or name
        yield stored, getattr(model, name)
    yield from (model.model_extra or {}).items()


def root_of(model: BaseModel) -> object:
    """The one value of a pydantic root model, which is stored in its place; else the model."""
    return model.__dict__["root"] if type(model).__pydantic_root_model__ else model


def custom_types(info: msgspec.inspect.Type) -> Iterator[type]:
    """Every type below ``info`` that msgspec does not know itself; recursive types end."""
    seen: set[int] = set()
    pending: list[object] = [info]
    while pending:
        node = pending.pop()
        if isinstance(node, tuple):
            pending.extend(cast("tuple[object, ...]", node))
        elif isinstance(node, msgspec.inspect.CustomType):
            yield node.cls
        elif isinstance(node, msgspec.inspect.Field):
            pending.append(node.type)
        elif isinstance(node, msgspec.inspect.Type) and id(node) not in seen:
            seen.add(id(node))
            pending.extend(getattr(node, field) for field in node.__struct_fields__)


def to_plain(value: object) -> object:
    """Turn an object that msgspec cannot encode into one that it can (its ``enc_hook``).

    Models are dumped by alias, as their own JSON mode says; computed fields are left out. A model
    that holds something else than its fields declare is an error, never a warning.
    Raises TypeError for everything that is no secret and no pydantic model.
    """
    if is_secret(value):
        return value.reveal()
    if is_model(value):
        return value.model_dump(mode="json", by_alias=True, round_trip=True, warnings="error")
    raise TypeError(f"objects of type {type(value).__qualname__} cannot be stored")


def from_plain(kind: type, value: Any) -> Any:
    """Build a ``kind`` from decoded JSON (msgspec's ``dec_hook``). ``object`` means any JSON value.

    A secret that does not fit its type is not told of further, as that could tell of the value. How
    strictly a model reads its fields is the model's own configuration. Raises ModelMisfit.
    """
    if is_secret_type(kind):
        return _secret(kind, value)
    if not is_model_type(kind):
        return value

    from pydantic import ValidationError  # already imported by whoever defined the model

    try:
        return kind.model_validate_json(msgspec.json.encode(value))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise ModelMisfit(first["msg"], first["loc"]) from error


def _secret(kind: type, value: Any) -> Secret[Any]:
    (inside,) = get_args(kind) or (Any,)
    try:
        return Secret(_inside(inside).decode(msgspec.json.encode(value)))
    except msgspec.ValidationError:
        raise ModelMisfit(f"the secret does not fit its type, {_spelled(inside)}", ()) from None


@lru_cache(256)
def _inside(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, dec_hook=from_plain)


def _spelled(kind: Any) -> str:
    return kind.__qualname__ if isinstance(kind, type) else str(kind)
