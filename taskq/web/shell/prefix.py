"""Where the console lies: at the top of a server, or under a path of another application. Pure."""

from __future__ import annotations

from urllib.parse import quote

_PLAIN = "/-_.~!$&'()*+,=:@"


def inside(path: str, root: str) -> str:
    """The path in the console. ``root`` is ASGI's root_path; servers differ in whether ``path``
    begins with it. ``""`` is the console itself, without the slash that its links need."""
    root = root.rstrip("/")
    if root and (path == root or path.startswith(f"{root}/")):
        return path[len(root) :]
    return path or "/"


def base_of(root: str) -> str:
    """The path under which browsers find it, as URLs and cookies write it; ``""`` at the top."""
    return quote(root.rstrip("/"), safe=_PLAIN)


def with_slash(root: str) -> str:
    """The console's page, relative to its path without a slash."""
    return f"{base_of(root).rpartition('/')[2]}/"
