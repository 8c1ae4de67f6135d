"""Whether an event loop runs on this thread."""

from __future__ import annotations

from anyio.lowlevel import current_token


def on_event_loop() -> bool:
    """True inside an asyncio or trio task, or anything that it calls; False in plain threads."""
    try:
        current_token()
    except RuntimeError:  # NoEventLoopError; or a context brought "asyncio" into a plain thread
        return False
    return True
