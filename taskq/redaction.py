"""What is shown of arguments and metadata: a secret is never shown, everything else exactly.

A member of an object is hidden by its name (``password``, ``api_key``), or because the task says
so (``secret``: the places of its ``Secret`` parameters, see ``taskq.secret``). What stands there is
replaced whole by ``MASK``. The rest of a text stays as it was, byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast
from urllib.parse import quote, quote_plus

import msgspec
from msgspec import Struct

from taskq.codec.exactness import Place, refusal
from taskq.errors import ConfigurationError

MASK: Final = "[redacted]"
"""What is shown in a secret's place."""

NAMES: Final = frozenset(
    {
        "accesskey",
        "apikey",
        "authorization",
        "bearer",
        "cardnumber",
        "connectionstring",
        "cookie",
        "credential",
        "creditcard",
        "csrf",
        "cvc",
        "cvv",
        "databaseurl",
        "encryptionkey",
        "jwt",
        "onetimecode",
        "passcode",
        "passphrase",
        "passwd",
        "password",
        "privatekey",
        "pwd",
        "recoverycode",
        "secret",
        "seedphrase",
        "sessionid",
        "signingkey",
        "socialsecurity",
        "token",
        "xsrf",
    }
)
"""The names that hide a member, wherever its own name contains one of them."""

COUNTS: Final = frozenset(
    {
        "completiontokens",
        "inputtokens",
        "maxtokens",
        "mintokens",
        "numtokens",
        "outputtokens",
        "prompttokens",
        "tokenbudget",
        "tokencount",
        "tokenizer",
        "tokenlimit",
        "tokensused",
        "totaltokens",
    }
)
"""Whole names that tell of the tokens of a text, not of one that opens a door: ``token`` alone does
not hide them."""

SHORTEST: Final = 4
"""Characters: a shorter secret is not looked for in other texts, where it would be everywhere."""
_SHORTEST_LINE: Final = 8
"""The same for one line of a secret that has several."""

_MASKED: Final = f'"{MASK}"'
_LONGEST_KNOWN: Final = 100
"""Characters of a name about which is remembered whether it hides."""
_Tree: TypeAlias = "dict[str, _Tree]"
"""The places that are hidden, by their steps. A step without steps below is hidden whole."""

_ANY: Final = "*"
_NOTHING: Final = object()


def plain_name(name: str) -> str:
    """A name as names are compared: letters and digits only, in lower case."""
    return _BETWEEN.sub("", name).lower()


def names_of(given: object, where: str = "redact") -> tuple[str, ...]:
    """Names as they may be written: a sequence of them, or one text with commas. Raises
    ConfigurationError."""
    names = [part for part in given.split(",") if part.strip()] if isinstance(given, str) else given
    if not isinstance(names, (list, tuple, set, frozenset)):
        raise ConfigurationError(f"{where} must be names, as iban,birth_date, not {given!r}")
    for name in cast("Collection[object]", names):
        if not isinstance(name, str) or not plain_name(name):
            raise ConfigurationError(f"{where}: {name!r} is no name: it has no letter and no digit")
    return tuple(name.strip() for name in cast("Collection[str]", names))


class Redaction(Struct, frozen=True):
    """Hides what has one of these ``names`` as a part of its own, at any depth.

    Names are compared without regard to case and to what is no letter or digit, so that ``apikey``
    hides ``API-Key`` and ``stripe_api_key``. ``secret``, in every method, are further places: names
    of arguments, or paths such as ``login.password`` where the value is nested; ``*`` stands for
    any key, a list adds no step, and the empty path is the whole value. A string that is itself
    JSON text of an object or array is shown likewise, by names alone.
    """

    names: frozenset[str] = NAMES

    @classmethod
    def also(cls, names: Iterable[str]) -> Redaction:
        """The usual names and these."""
        return cls(NAMES | {plain_name(name) for name in names})

    def hides(self, name: str) -> bool:
        """Whether a member of this name is hidden."""
        return _hides(self.names, name) if len(name) <= _LONGEST_KNOWN else _told(self.names, name)

    def text(self, json_text: str, secret: Collection[str] = ()) -> str:
        """The JSON text with ``"[redacted]"`` in place of each hidden value, otherwise unchanged.

        What is not JSON, or nested too deeply to tell, is hidden whole.
        """
        if "" in secret or not _is_json(json_text):
            return _MASKED
        parts: list[str] = []
        at = 0
        for start, end, shown in self._hidden(json_text, secret):
            parts += json_text[at:start], shown
            at = end
        return "".join([*parts, json_text[at:]])

    def value(self, value: object, secret: Collection[str] = ()) -> Any:
        """The same for a plain JSON value: a new one, where something is hidden in it."""
        return MASK if "" in secret else self._value(value, [_tree(secret)])

    def held(self, json_text: str, secret: Collection[str] = ()) -> frozenset[str]:
        """The strings and numbers that ``text`` hides, as texts, for ``scrub``."""
        if not _is_json(json_text):
            return frozenset()
        if "" in secret:
            return frozenset(_leaves(json_text))
        leaves: set[str] = set()
        for start, end, shown in self._hidden(json_text, secret):
            part = json_text[start:end]
            leaves.update(_leaves(part) if shown == _MASKED else self.held(_string(part)))
        return frozenset(leaves)

    def restored(
        self, new: Mapping[str, object], old: Mapping[str, object], secret: Collection[str] = ()
    ) -> dict[str, Any]:
        """Arguments that came back from somebody who saw ``old`` redacted.

        Where ``MASK`` comes back in a hidden place, the old value is kept. Raises
        SerializationError, which names the place, where it came back elsewhere or where there is no
        old value; in a list, that is so as soon as its length has changed.
        """
        restored: dict[str, Any] = self._restored(new, old, [_tree(secret)], None)
        return restored

    def _hidden(self, text: str, secret: Collection[str]) -> Iterator[tuple[int, int, str]]:
        """Where values begin and end in a JSON text that are shown otherwise, and how."""
        if not secret and self._is_plain(text):
            return
        here = [_tree(secret)]
        inside: list[list[_Tree]] = []
        at = 0
        while (part := _PARTS.search(text, at)) is not None:
            at = part.end()
            match text[part.start()]:
                case "{" | "[":
                    inside.append(here)
                case "}" | "]":
                    inside.pop()
                    here = inside[-1] if inside else here
                case _ if part[1]:
                    hidden, here = self._step(_string(part[0][: -len(part[1])]), inside[-1])
                    if hidden:
                        yield at, (at := _end(text, at)), _MASKED
                case _:
                    if (shown := self._inside(string := _string(part[0]))) != string:
                        yield part.start(), at, json.dumps(shown, ensure_ascii=False)

    def _is_plain(self, text: str) -> bool:
        """Whether nothing in this JSON text is hidden by its name, told at a twentieth of what it
        takes to find the places; False: perhaps something is."""
        if _MAY_HOLD_JSON.search(text):
            return False
        names: set[str] = set()
        try:
            json.loads(
                text,
                object_pairs_hook=lambda members: names.update(name for name, _ in members),
                parse_int=str,
                parse_float=str,
            )
        except RecursionError:
            return False
        return not any(map(self.hides, names))

    def _inside(self, string: str) -> str:
        """What is shown of a string: less, where it is JSON text with hidden values in it."""
        return self.text(string) if _is_json_inside(string) else string

    def _value(self, value: object, here: list[_Tree]) -> object:
        if isinstance(value, Mapping):
            shown: dict[object, object] = {}
            for key, member in cast("Mapping[object, object]", value).items():
                hidden, below = self._step(str(key), here)
                shown[key] = MASK if hidden else self._value(member, below)
            return shown
        if isinstance(value, (list, tuple)):
            return [self._value(member, here) for member in cast("Sequence[object]", value)]
        return self._inside(value) if isinstance(value, str) else value

    def _restored(self, new: object, old: object, here: list[_Tree], place: Place | None) -> Any:
        if isinstance(new, Mapping):
            members: dict[str, object] = {}
            for key, member in cast("Mapping[str, object]", new).items():
                hidden, below = self._step(key, here)
                before = _member(old, key)
                if hidden and member == MASK and before is not _NOTHING:
                    members[key] = before
                else:
                    before = _NOTHING if hidden else before
                    members[key] = self._restored(member, before, below, Place(place, key))
            return members
        if isinstance(new, (list, tuple)):
            items = cast("Sequence[object]", new)
            return [
                self._restored(item, before, here, Place(place, at))
                for at, (item, before) in enumerate(zip(items, _items(old, items), strict=True))
            ]
        if isinstance(new, str) and isinstance(old, str) and new == self._inside(old):
            return old
        if new == MASK or (isinstance(new, str) and MASK in new and _is_json_inside(new)):
            raise refusal("the arguments", place, f"{MASK} stands for no value here; give one")
        return new

    def _step(self, key: str, here: list[_Tree]) -> tuple[bool, list[_Tree]]:
        """Whether the member is hidden, and what is below it."""
        below = [tree[step] for tree in here if tree for step in (key, _ANY) if step in tree]
        return not all(below) or self.hides(key), below


class Quiet(Struct, frozen=True):
    """What holds stored values: its ``repr`` tells which there are and shows none of them, so that
    a program may print what it meets."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({fields})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Every field; of those that hold values, the mask."""
        fields = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return [
            (name, _STAND_IN if value and name in _HOLDING else value) for name, value in fields
        ]


class _Mask:
    def __repr__(self) -> str:
        return MASK


_STAND_IN: Final = _Mask()
_HOLDING: Final = frozenset({"payload", "result", "arguments", "metadata"})


def scrub(text: str, values: Collection[str]) -> str:
    """The text with ``MASK`` for each of these values, the longest first.

    A value is found as it is and as ``repr``, JSON and a URL write it, also in one another; of one
    with several lines, each line too. Values below ``SHORTEST`` characters are left.
    """
    forms = {form for value in values if len(value) >= SHORTEST for form in _forms(value)}
    found = sorted((form for form in forms if form in text), key=len, reverse=True)
    return re.sub("|".join(map(re.escape, found)), MASK, text) if found else text


def _forms(value: str) -> set[str]:
    if value.isascii() and value.isalnum():
        return {value}
    lines = [line.strip() for line in value.splitlines()]
    parts = [line for line in lines if len(line) >= _SHORTEST_LINE] if len(lines) > 1 else []
    forms = {value, *parts}
    for _ in range(2):  # a text in a text, as a KeyError's message has it
        forms |= {written for form in forms for written in _written(form)}
    return forms


def _written(text: str) -> Iterator[str]:
    """The text as it stands in other texts."""
    yield repr(text)[1:-1]
    yield repr(text.encode(errors="surrogatepass"))[2:-1]
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield quote(text, safe="", errors="replace")
    yield quote_plus(text, errors="replace")


def _tree(paths: Collection[str]) -> _Tree:
    tree: _Tree = {}
    for path in sorted(paths, key=len, reverse=True):
        node = tree
        *before, last = path.split(".")
        for step in before:
            node = node.setdefault(step, {})
        node[last] = {}
    return tree


@lru_cache(4096)
def _hides(names: frozenset[str], name: str) -> bool:
    return _told(names, name)


def _told(names: frozenset[str], name: str) -> bool:
    plain = plain_name(name)
    if plain in COUNTS:
        names -= {"token"}
    return bool(names) and _any_of(names).search(plain) is not None


@lru_cache(32)
def _any_of(names: frozenset[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(names))))


def _member(value: object, key: str) -> object:
    if not isinstance(value, Mapping):
        return _NOTHING
    return cast("Mapping[str, object]", value).get(key, _NOTHING)


def _items(value: object, like: Sequence[object]) -> Sequence[object]:
    """The items of a list as long as ``like``; of anything else, nothing for each."""
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[object]", value)
        if len(items) == len(like):
            return items
    return [_NOTHING] * len(like)


# -- text ------------------------------------------------------------------------------------------

_BETWEEN = re.compile(r"[\W_]+")
_QUOTED = r'"(?:[^"\\]++|\\.)*+"'
_PARTS = re.compile(_QUOTED + r"(\s*:\s*)?|[{}\[\]]", re.DOTALL)
_LEAVES = re.compile(_QUOTED + r"(\s*:)?|-?\d[\d.eE+-]*", re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}]*")
_MAY_HOLD_JSON = re.compile(r'"[\s\\{\[]')
"""Where a string may begin that is JSON text itself, escaped or not."""


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True


def _is_json_inside(string: str) -> bool:
    """Whether a string holds the JSON text of an object or array."""
    return string.lstrip()[:1] in ("{", "[") and _is_json(string)


def _end(text: str, start: int) -> int:
    """Where the value that starts here ends."""
    depth, at = 0, start
    if text[start] not in '"{[':
        return cast("re.Match[str]", _SCALAR.match(text, start)).end()
    while (part := _PARTS.search(text, at)) is not None:
        at = part.end()
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(part[0], 0)
        if depth == 0:
            break
    return at


def _leaves(text: str) -> Iterator[str]:
    """The strings, without keys, and the numbers of a JSON text."""
    for leaf in _LEAVES.finditer(text):
        if leaf[1]:
            continue
        value = _string(leaf[0]) if leaf[0].startswith('"') else leaf[0]
        yield value
        if _is_json_inside(value):
            yield from _leaves(value)


def _string(quoted: str) -> str:
    return quoted[1:-1] if "\\" not in quoted else str(json.loads(quoted))
