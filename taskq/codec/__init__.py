"""Values to canonical JSON text and back, exactly (design sections 2 and 7.6).

The arguments of a call are one JSON object of named arguments, keys sorted, defaults filled, so
that any client able to write a row can enqueue, and so that equal calls have equal text. What could
not be read back as it was given is refused when it is encoded: the handler receives what was sent.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from taskq.codec.annotations import Decode, Decoders, misfit, plain_tree, resolve
from taskq.codec.exactness import (
    DEFAULT_LIMITS,
    MAX_BYTES,
    MAX_DEPTH,
    Limits,
    Part,
    Place,
    check_nesting,
    compare,
    examine,
    is_array,
    is_dict,
    is_set,
    members,
    refusal,
    render,
    unwrapped,
)
from taskq.codec.foreign import to_plain
from taskq.errors import ConfigurationError, SerializationError

__all__ = ["Codec", "Limits", "canonical", "digest", "from_json", "to_json"]

_SORTED = msgspec.json.Encoder(enc_hook=to_plain, order="sorted")
_UNSORTED = msgspec.json.Encoder(enc_hook=to_plain)
_read_plain: Decode = msgspec.json.Decoder(Any).decode
_CAPS = Limits(max_bytes=MAX_BYTES, max_depth=MAX_DEPTH)

_NO_DECODERS = Decoders(_read_plain, _read_plain, frozenset(), frozenset())
_FLAT = frozenset({str, int, float, bool, type(None)})
_MISSING = inspect.Parameter.empty
_BY_POSITION = inspect.Parameter.POSITIONAL_ONLY
_BY_ANY = inspect.Parameter.POSITIONAL_OR_KEYWORD
_BY_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_ALL_ARGS = inspect.Parameter.VAR_POSITIONAL
_ALL_KWARGS = inspect.Parameter.VAR_KEYWORD


class Codec:
    """The codec of one function, by its signature and annotations.

    Building one is cheap: annotations are resolved at the first encoding or decoding. A name in
    them that cannot be resolved then, or a type that cannot be stored, is a ConfigurationError.
    One codec may be used from several threads.
    """

    def __init__(self, function: Callable[..., object], limits: Limits = DEFAULT_LIMITS) -> None:
        self.function = function
        self.limits = limits
        self.name: str = getattr(function, "__name__", type(function).__name__)
        self.signature = _signature(function, self.name)
        self._decoders: Decoders | None = None

        parameters = self.signature.parameters
        kinds = {parameter.kind for parameter in parameters.values()}
        self._names = tuple(parameters)
        self._by_name = kinds <= {_BY_ANY, _BY_KEYWORD}
        self._in_order = kinds <= {_BY_ANY, _BY_POSITION}
        self._positional = [name for name in parameters if parameters[name].kind is _BY_ANY]
        self._defaults = {name: parameter.default for name, parameter in parameters.items()}
        self._required = frozenset(
            name
            for name, parameter in parameters.items()
            if parameter.default is _MISSING and parameter.kind not in (_ALL_ARGS, _ALL_KWARGS)
        )

    @property
    def secrets(self) -> frozenset[str]:
        """The places of ``Secret`` values in the arguments, as ``Redaction`` takes them: names of
        parameters, or paths where they are nested. None where an annotation is at fault, as then
        nothing can be encoded or decoded."""
        return self._secret_places().secrets

    @property
    def result_secrets(self) -> frozenset[str]:
        """The same in the result; the empty path is all of it."""
        return self._secret_places().result_secrets

    def _secret_places(self) -> Decoders:
        try:
            return self._resolved()
        except ConfigurationError:
            return _NO_DECODERS

    # -- arguments ---------------------------------------------------------------------------------

    def encode(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """Return the canonical JSON object of a call's named arguments.

        ``*args`` is a list and ``**kwargs`` an object under their own names. Raises TypeError with
        the signature when the call does not fit it, before anything else is looked at;
        SerializationError with the path of a value that cannot be stored exactly or does not fit
        its annotation; ConfigurationError when an annotation is at fault.
        """
        arguments = self._bind(args, kwargs)
        decode = self._resolved().arguments
        if (flat := self._encode_flat(arguments, decode)) is not None:
            return flat

        unordered = examine(arguments, label=self.name, limits=self.limits)
        text = _write(arguments, unordered, self.name, self.limits)
        try:
            fields = msgspec.structs.astuple(decode(text))
        except Exception as error:
            raise misfit(error, label=self.name, text=text, decode=decode) from error

        read = dict(zip(self._names, fields, strict=True))
        if compare(arguments, read, label=self.name):
            return _write(read, unordered, self.name, self.limits)
        return text

    def _encode_flat(self, arguments: dict[str, Any], decode: Decode) -> str | None:
        """The text of arguments that are all plain scalars; None when a closer look is needed."""
        values = tuple(arguments.values())
        if not _FLAT.issuperset(map(type, values)):
            return None
        try:
            text = _SORTED.encode(arguments).decode()
            fields = msgspec.structs.astuple(decode(text))
        except Exception:  # the closer look says precisely what is wrong
            return None
        small = len(text) * 4 <= self.limits.max_bytes
        exact = values == fields and [*map(type, values)] == [*map(type, fields)]
        return text if small and exact and "\\u0000" not in text else None

    def decode(self, text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return positional and keyword arguments for the call, typed by the annotations.

        Arguments that the text does not have take the function's defaults. Raises
        SerializationError that says what does not fit: an argument that is unknown or missing, a
        value of another type, text that is not a JSON object.
        """
        decode = self._resolved().arguments
        check_nesting(text, label=self.name, limits=self.limits)
        try:
            fields = msgspec.structs.astuple(decode(text))
        except Exception as error:
            raise self._misfit(error, text, decode) from error
        if self._in_order:
            return fields, {}
        return self._spread(fields)

    def check_names(self, names: Collection[str]) -> None:
        """Whether an object with these keys can be the arguments.

        Raises TypeError that shows the signature, as a wrong call does.
        """
        wrong = [name for name in names if name not in self._names]
        lacking = [name for name in self._names if name in self._required and name not in names]
        if wrong or lacking:
            what = f"no argument is named {wrong[0]!r}" if wrong else f"{lacking[0]!r} is missing"
            raise TypeError(f"{self.name}{_readable(self.signature)}: {what}")

    def _bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name, in the signature's order, defaults filled."""
        if self._by_name and len(args) <= len(self._positional):
            named = {**dict(zip(self._positional, args, strict=False)), **kwargs}
            arguments = {**self._defaults, **named}
            unique = len(named) == len(args) + len(kwargs)
            if unique and len(arguments) == len(self._names) and self._required <= named.keys():
                return arguments
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}{_readable(self.signature)}: {error}") from None
        bound.apply_defaults()
        return bound.arguments

    def _spread(self, fields: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for parameter, value in zip(self.signature.parameters.values(), fields, strict=True):
            match parameter.kind:
                case parameter.VAR_POSITIONAL:
                    args.extend(value)
                case parameter.VAR_KEYWORD:
                    kwargs.update(value)
                case parameter.KEYWORD_ONLY:
                    kwargs[parameter.name] = value
                case _:
                    args.append(value)
        return tuple(args), kwargs

    def _misfit(self, error: Exception, text: str, decode: Decode) -> SerializationError:
        """Say which argument is unknown or missing; else where the value is that does not fit."""
        stored = plain_tree(text)
        if is_dict(stored):
            names = stored.keys()
            for key in sorted(names - self._defaults.keys()):
                path = render(Place(None, key))
                return SerializationError(f"{self.name} no longer accepts {key!r}", path=path)
            for name in sorted(self._required - names):
                problem = f"{self.name} requires {name!r}, which the stored arguments do not have"
                return SerializationError(problem, path=name)
        return misfit(error, label=self.name, text=text, decode=decode)

    # -- results -----------------------------------------------------------------------------------

    def encode_result(self, value: object) -> str:
        """Return what a handler returned as canonical JSON text; None is ``null`` (bug:B142).

        The return annotation is not asked: a handler that has run must not fail for it. Raises
        SerializationError for what JSON text cannot hold (see ``encode``).
        """
        label = f"the result of {self.name}"
        unordered = examine(value, label=label, limits=self.limits)
        return _write(value, unordered, label, self.limits)

    def decode_result(self, text: str) -> Any:
        """Return a stored result, typed by the return annotation; without one, plain JSON values.

        Raises SerializationError when the text does not fit the annotation.
        """
        label = f"the result of {self.name}"
        decode = self._resolved().result
        check_nesting(text, label=label, limits=self.limits)
        try:
            return decode(text)
        except Exception as error:
            raise misfit(error, label=label, text=text, decode=decode) from error

    def _resolved(self) -> Decoders:
        if self._decoders is None:
            self._decoders = resolve(self.function, self.signature, self.name)
        return self._decoders


# -- plain values ----------------------------------------------------------------------------------


def to_json(value: object, limits: Limits = DEFAULT_LIMITS, *, label: str = "the value") -> str:
    """Return the canonical text of a plain JSON value: what ``from_json`` gives back, exactly.

    Plain: None, bool, int, float, str, list, and dict with ``str`` keys. Raises SerializationError
    with the path of anything else, and for what is not exact, too deep or too big.
    """
    unordered = examine(value, label=label, limits=limits)
    text = _write(value, unordered, label, limits)
    compare(value, _read(text, label), label=label)
    return text


def from_json(text: str, *, label: str = "the text") -> object:
    """Return the plain value of any JSON text. Raises SerializationError when it is not JSON."""
    check_nesting(text, label=label, limits=_CAPS)
    return _read(text, label)


def canonical(text: str) -> str:
    """Return the canonical text of a JSON object written by any client: keys sorted, no spaces.

    Numbers keep their kind (``1`` and ``1.0`` differ) and are written as this codec writes them.
    Raises SerializationError when the text is not a JSON object or holds what cannot be stored.
    """
    value = from_json(text)
    if not is_dict(value):
        raise SerializationError("the text is not a JSON object")
    return to_json(value, _CAPS, label="the text")


def digest(text: str) -> bytes:
    """Return the SHA-256 of a canonical text: equal calls have equal digests (section 2.2)."""
    return hashlib.sha256(text.encode()).digest()


def _read(text: str, label: str) -> object:
    try:
        return _read_plain(text)
    except Exception as error:
        raise misfit(error, label=label, text=text, decode=_read_plain) from error


def _write(value: object, unordered: bool, label: str, limits: Limits) -> str:
    """Canonical text of an examined value."""
    try:
        if unordered:
            plain = _read_plain(_UNSORTED.encode(value).decode())
            _order(value, plain, None, label)
            value = plain
        data = _SORTED.encode(value)
    except SerializationError:
        raise
    except Exception as error:  # pydantic serializers are the user's own code
        raise refusal(label, None, f"{type(error).__name__}: {error}") from error
    if len(data) > limits.max_bytes:
        raise refusal(
            label, None, f"{len(data)} bytes are more than the {limits.max_bytes} allowed"
        )
    text = data.decode()
    if unordered:
        check_nesting(text, label=label, limits=limits)
    return text


def _order(value: object, plain: Any, place: Place | None, label: str) -> None:
    """Sort, in place, the lists in ``plain`` that were sets: by the text of their members."""
    value = unwrapped(value)
    parts = members(value)
    if parts is None:
        return
    if is_dict(value) and len(plain) != len(value):
        raise refusal(label, place, "two keys of this dict have the same text")

    for (token, member), branch in _branches(value, parts, plain):
        _order(member, branch, Place(place, token), label)
    if is_set(value):
        plain.sort(key=_SORTED.encode)


def _branches(value: object, parts: Iterable[Part], plain: Any) -> Iterator[tuple[Part, Any]]:
    """Pair the members of a container with what each has become in its plain form."""
    if is_array(plain):
        tagged = isinstance(value, msgspec.Struct) and value.__struct_config__.tag is not None
        yield from zip(parts, plain[1:] if tagged else plain, strict=False)
    elif is_dict(value):
        yield from zip(parts, plain.values(), strict=True)
    elif is_dict(plain):
        for part in parts:
            yield part, plain.get(part[0])


# -- signatures ------------------------------------------------------------------------------------


def _signature(function: Callable[..., object], name: str) -> inspect.Signature:
    """The signature, without evaluating annotations."""
    try:
        if sys.version_info >= (3, 14):
            import annotationlib

            return inspect.signature(function, annotation_format=annotationlib.Format.STRING)
        return inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{name}: its signature cannot be read: {error}") from error


class _Source(str):
    """The source of an annotation, shown without quotes."""

    __slots__ = ()

    __repr__ = str.__str__


def _readable(signature: inspect.Signature) -> inspect.Signature:
    """The signature with annotations as they were written."""

    def written(annotation: object) -> object:
        return _Source(annotation) if isinstance(annotation, str) else annotation

    parameters = [
        p.replace(annotation=written(p.annotation)) for p in signature.parameters.values()
    ]
    return signature.replace(
        parameters=parameters, return_annotation=written(signature.return_annotation)
    )
