"""``/api/queues/{name}/…``, ``/api/types/{name}/…``: what is begun, and what is not."""

from __future__ import annotations

from litestar import post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from msgspec import Struct

from taskq.web.commanding import Asked, refusals, who
from taskq.web.console import Console
from taskq.web.role import Identity


class Steered(Struct, frozen=True, kw_only=True):
    """A queue or type, whether it is ``paused`` now, and whether that has ``changed`` by this."""

    name: str
    paused: bool
    changed: bool


@post("/api/queues/{name:str}/pause", status_code=200)
async def pause_queue(
    name: FromPath[str],
    data: JSONBody[Asked],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Steered:
    """Begin nothing more of a queue, on any worker, within a second. Running handlers go on."""
    with refusals():
        changed = await console.app.queues.apause(queue=name, **who(data, identity))
    return Steered(name=name, paused=True, changed=changed)


@post("/api/queues/{name:str}/resume", status_code=200)
async def resume_queue(
    name: FromPath[str],
    data: JSONBody[Asked],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Steered:
    """Let a queue go on."""
    with refusals():
        changed = await console.app.queues.aresume(queue=name, **who(data, identity))
    return Steered(name=name, paused=False, changed=changed)


@post("/api/types/{name:str}/pause", status_code=200)
async def pause_type(
    name: FromPath[str],
    data: JSONBody[Asked],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Steered:
    """Begin nothing more of a type, wherever it is."""
    with refusals():
        changed = await console.app.queues.apause(type=name, **who(data, identity))
    return Steered(name=name, paused=True, changed=changed)


@post("/api/types/{name:str}/resume", status_code=200)
async def resume_type(
    name: FromPath[str],
    data: JSONBody[Asked],
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
) -> Steered:
    """Let a type go on."""
    with refusals():
        changed = await console.app.queues.aresume(type=name, **who(data, identity))
    return Steered(name=name, paused=False, changed=changed)


STEERING = (pause_queue, resume_queue, pause_type, resume_type)
