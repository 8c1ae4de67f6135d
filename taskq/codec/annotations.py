"""A function's annotations, resolved: the decoders of its arguments and of its result.

Resolved once, at first use, because annotations may name what is defined further down the module.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from taskq.codec.exactness import SUPPORTED, Place, is_dict, refusal
from taskq.codec.foreign import (
    ModelMisfit,
    custom_types,
    from_plain,
    is_model_type,
    is_secret_type,
)
from taskq.codec.secrets import secret_places
from taskq.errors import ConfigurationError, SerializationError

Decode = Callable[[str], Any]


class Decoders(msgspec.Struct, frozen=True):
    """Typed decoders of one function. ``arguments`` gives a Struct with a field per parameter.

    ``secrets`` and ``result_secrets`` are the places of secrets in them, see ``secret_places``.
    """

    arguments: Decode
    result: Decode
    secrets: frozenset[str]
    result_secrets: frozenset[str]


def resolve(function: Callable[..., object], signature: inspect.Signature, name: str) -> Decoders:
    """Build the decoders of a function from its annotations; an absent one means any JSON value.

    Raises ConfigurationError that names the function, the parameter, and the name that cannot be
    resolved or the type that cannot be stored.
    """
    hints = _hints(function, signature, name)
    fields: list[tuple[str, Any, Any]] = []
    for index, parameter in enumerate(signature.parameters.values()):
        annotation = _annotation(parameter, hints.get(parameter.name, Any))
        _refuse_unsupported(annotation, f"{name}: parameter {parameter.name!r}")
        fields.append((f"field{index}", annotation, _field(parameter)))
    struct = msgspec.defstruct(
        name,
        fields,
        rename=dict(zip((field for field, _, _ in fields), signature.parameters, strict=True)),
        kw_only=True,
        forbid_unknown_fields=True,
    )

    returned = hints.get("return", Any)
    if returned in (typing.NoReturn, typing.Never):
        returned = Any
    _refuse_unsupported(returned, f"{name}: the return annotation")
    return Decoders(
        arguments=_decoder(struct).decode,
        result=_decoder(returned).decode,
        secrets=secret_places(struct),
        result_secrets=secret_places(returned),
    )


def _decoder(annotation: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(annotation, dec_hook=from_plain)


def _field(parameter: inspect.Parameter) -> Any:
    match parameter.kind:
        case parameter.VAR_POSITIONAL:
            return msgspec.field(default=())
        case parameter.VAR_KEYWORD:
            return msgspec.field(default_factory=lambda: dict[str, Any]())
        case _ if parameter.default is parameter.empty:
            return msgspec.field()
        case _:
            return msgspec.field(default_factory=lambda: parameter.default)


def _annotation(parameter: inspect.Parameter, annotation: Any) -> Any:
    """The type of what is stored under a parameter's name."""
    if isinstance(annotation, typing.ParamSpecArgs | typing.ParamSpecKwargs):
        annotation = Any
    unpacked = typing.get_origin(annotation) is typing.Unpack
    if unpacked:
        (annotation,) = typing.get_args(annotation)
    match parameter.kind:
        case parameter.VAR_POSITIONAL if not unpacked:
            return tuple[annotation, ...]
        case parameter.VAR_KEYWORD if not unpacked:
            return dict[str, annotation]
        case _ if parameter.default is None:
            return annotation | None
        case _:
            return annotation


# -- what cannot be resolved or stored -------------------------------------------------------------


class _Alone:
    """One annotation, so that ``typing.get_type_hints`` can be asked about it alone."""

    def __init__(self, function: Callable[..., object], name: str, annotation: object) -> None:
        self.__annotations__ = {name: annotation}
        self.__globals__: dict[str, Any] = getattr(inspect.unwrap(function), "__globals__", {})


def _hints(
    function: Callable[..., object], signature: inspect.Signature, name: str
) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        where = _culprit(function, signature)
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, NameError):
            reason = (
                f"the name {error.name!r} cannot be resolved; taskq reads annotations at run time, "
                "so import it in the function's module, not only under TYPE_CHECKING"
            )
        raise ConfigurationError(f"{name}: {where}: {reason}") from error


def _culprit(function: Callable[..., object], signature: inspect.Signature) -> str:
    for parameter in signature.parameters.values():
        try:
            typing.get_type_hints(_Alone(function, parameter.name, parameter.annotation))
        except Exception:  # an annotation is code: it may raise anything
            return f"parameter {parameter.name!r}"
    return "the return annotation"


def _refuse_unsupported(annotation: Any, where: str) -> None:
    try:
        _decoder(annotation)
        kinds = list(custom_types(msgspec.inspect.type_info(annotation)))
    except Exception as error:
        raise ConfigurationError(f"{where}: {annotation!r} cannot be stored: {error}") from error
    for kind in kinds:
        if kind is not object and not is_model_type(kind) and not is_secret_type(kind):
            raise ConfigurationError(
                f"{where}: objects of type {kind.__qualname__} cannot be stored; {SUPPORTED}"
            )


# -- what does not fit -----------------------------------------------------------------------------

_PLACED = re.compile(r"(?P<problem>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>.*)`)?", re.DOTALL)
_TOKENS = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_NESTED_FIELD = re.compile(r"Object (?:missing required|contains unknown) field `(.*)`")


def plain_tree(text: str) -> Any:
    """The text as plain JSON values; None when it is not JSON (or ``null``)."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def misfit(error: Exception, *, label: str, text: str, decode: Decode) -> SerializationError:
    """Turn what ``decode(text)`` raised into a SerializationError that names the exact place."""
    tree = plain_tree(text)
    if not isinstance(error, msgspec.ValidationError) or tree is None:
        kind = "is not JSON" if isinstance(error, msgspec.DecodeError) else "cannot be read back"
        return refusal(label, None, f"the text {kind}: {type(error).__name__}: {error}")

    placed = _PLACED.fullmatch(str(error))
    assert placed is not None  # both groups are optional
    place = _locate(placed["path"] or "", bool(placed["key"]), str(error), text, decode)
    if field := _NESTED_FIELD.fullmatch(placed["problem"]):
        place = Place(place, field[1])
    if isinstance(error.__cause__, ModelMisfit):
        for token in error.__cause__.location:
            place = Place(place, token)
    problem = placed["problem"]
    return refusal(label, place, problem[:1].lower() + problem[1:])


def _locate(path: str, at_key: bool, message: str, text: str, decode: Decode) -> Place | None:
    """Find the place that msgspec calls ``$.prices[...]``: it does not say which key it means."""
    tree: Any = msgspec.json.decode(text)
    node = tree
    place: Place | None = None
    for name, index in _TOKENS.findall(path) + ([("", "...")] if at_key else []):
        token: int | str | None = name or (None if index == "..." else int(index))
        if token is None and is_dict(node):
            token = _failing_key(node, lambda: _fails_alike(tree, message, decode))
        place = Place(place, token)
        if token is None:
            break
        node = _descend(node, token)
    return place


def _descend(node: Any, token: int | str) -> Any:
    try:
        return node[token]
    except (KeyError, IndexError, TypeError):
        return None  # a place inside what a hook has built; the path goes on without the tree


def _failing_key(node: dict[str, Any], fails: Callable[[], bool]) -> str | None:
    """The key that makes the whole tree fail, by halving; ``node`` is left with that key alone."""
    while len(node) > 1:
        entries = list(node.items())
        half = len(entries) // 2
        for part in (entries[:half], entries[half:]):
            node.clear()
            node.update(part)
            if fails():
                break
        else:
            return None
    return next(iter(node), None)


def _fails_alike(tree: object, message: str, decode: Decode) -> bool:
    try:
        decode(msgspec.json.encode(tree).decode())
    except msgspec.ValidationError as error:
        return str(error) == message
    return False
