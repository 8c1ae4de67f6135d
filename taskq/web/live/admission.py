"""Who may listen, and to what."""

from __future__ import annotations

from typing import Any

from litestar import Request

from taskq.web.console import Console
from taskq.web.live.event import Form


async def admitted(console: Console, request: Request[Any, Any, Any]) -> Form | None:
    """How the stream is written for whoever asks; None: they may not listen, or no longer.

    Asked again while the stream lasts: what has changed since ends it.
    """
    identity = await console.access.identify(request)
    if identity is None:
        return None
    return Form.FULL if console.shows_payloads(identity) else Form.VEILED
