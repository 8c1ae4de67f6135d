"""The files of the page: a fixed list, read once, so that no path of a request reaches a disk."""

from __future__ import annotations

import gzip
import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath
from typing import Final

from msgspec import Struct

TYPES: Final[Mapping[str, str]] = {".css": "text/css", ".js": "text/javascript"}
"""What is served, by the end of its name; in UTF-8."""
PAGES: Final = ("index.html", "login.html")
"""Pages; in them ``{static}`` stands for the folder of this version's files, ``{preloaded}`` for
links to what the frame imports, so that no browser reads one module to learn of the next."""
FRAME: Final = "app.js"
_IMPORTED: Final = re.compile(r'(?:from|import) "(\.[^"]+)"')


class Asset(Struct, frozen=True):
    """A file, as it is and by gzip."""

    content: bytes
    packed: bytes
    media_type: str


class Assets(Struct, frozen=True):
    """All files of one version; it is part of their path, so that they can be kept for ever."""

    version: str
    files: Mapping[str, Asset]
    pages: Mapping[str, str]


def load() -> Assets:
    """Read the files of this package, by their paths below its folder."""
    folder = files("taskq.web") / "static"
    found = dict(_below(folder, ""))
    content = b"".join(found[name].content for name in sorted(found))
    version = hashlib.sha256(content).hexdigest()[:12]
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in PAGES}
    links = "\n".join(
        f'<link rel="modulepreload" href="{{static}}/{name}">'
        for name in sorted(_imported(found, FRAME))
    )
    pages = {
        name: text.replace("{preloaded}", links).replace("{static}", f"static/{version}")
        for name, text in texts.items()
    }
    return Assets(version, found, pages)


def _imported(files: Mapping[str, Asset], name: str) -> set[str]:
    """What a module imports, and what that imports."""
    seen: set[str] = set()
    todo = [name]
    while todo:
        at = todo.pop()
        for target in _IMPORTED.findall(files[at].content.decode()):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(at), target))
            if path not in seen:
                seen.add(path)
                todo.append(path)
    return seen


def _below(folder: Traversable, prefix: str) -> Iterator[tuple[str, Asset]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry, f"{prefix}{entry.name}/")
        elif (kind := TYPES.get(PurePath(entry.name).suffix)) is not None:
            content = entry.read_bytes()
            yield prefix + entry.name, Asset(content, gzip.compress(content, mtime=0), kind)
