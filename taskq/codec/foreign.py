"""Objects that msgspec does not know by itself: pydantic models.

pydantic is never imported here. A model can only reach us when somebody else has imported it, so
``sys.modules`` tells whether there is anything to look for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec

if TYPE_CHECKING:
    from pydantic import BaseModel


class ModelMisfit(ValueError):
    """Stored data that a pydantic model refuses. ``location`` is the place inside the model."""

    def __init__(self, problem: str, location: tuple[int | str, ...]) -> None:
        super().__init__(problem)
        self.location = location


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


def to_plain(value: object) -> object:
    """Turn an object that msgspec cannot encode into one that it can (its ``enc_hook``).

    Models are dumped by alias, as their own JSON mode says; computed fields are left out. A model
    that holds something else than its fields declare is an error, never a warning.
    Raises TypeError for everything that is no pydantic model.
    """
    if is_model(value):
        return value.model_dump(mode="json", by_alias=True, round_trip=True, warnings="error")
    raise TypeError(f"objects of type {type(value).__qualname__} cannot be stored")


def from_plain(kind: type, value: Any) -> Any:
    """Build a ``kind`` from decoded JSON (msgspec's ``dec_hook``). ``object`` means any JSON value.

    How strictly a model reads its fields is the model's own configuration. Raises ModelMisfit.
    """
    if not is_model_type(kind):
        return value

    from pydantic import ValidationError  # already imported by whoever defined the model

    try:
        return kind.model_validate_json(msgspec.json.encode(value))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise ModelMisfit(first["msg"], first["loc"]) from error
