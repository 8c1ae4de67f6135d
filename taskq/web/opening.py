"""Opens what a console looks at when its server starts, as far as it is there."""

from __future__ import annotations

from taskq import logs
from taskq.errors import BackendUnavailable
from taskq.web.console import Console

PATIENCE = 5.0
"""Seconds after which a database that does not answer counts as out of reach."""


async def open_if_there(console: Console) -> None:
    """Open the store, of a console that can only look its reader alone. What cannot be reached at
    this moment is named in the log, and opened by whoever asks it first; raises what waiting would
    not help: SchemaError, say."""
    client = console.app.client
    try:
        if not console.options.read_only:
            await client.bridge.call(client.ready, deadline=PATIENCE)
        await console.ask(console.reader.get, ())
    except BackendUnavailable as error:
        logs.console_waits(str(error))
