"""Opens what a console looks at when its server starts, as far as it is there."""

from __future__ import annotations

from taskq import logs
from taskq.app import TaskQ
from taskq.errors import BackendUnavailable

PATIENCE = 5.0
"""Seconds after which a database that does not answer counts as out of reach."""


async def open_if_there(taskq: TaskQ) -> None:
    """Open the app's store. One that cannot be reached at this moment is named in the log, and
    opened by whoever asks it first; raises what waiting would not help: SchemaError, say."""
    client = taskq.client
    try:
        await client.bridge.call(client.ready, deadline=PATIENCE)
    except BackendUnavailable as error:
        logs.console_waits(str(error))
