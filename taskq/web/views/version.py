"""The version of an activity: a short text by which a command can tell that it has moved on."""

from __future__ import annotations

import hashlib

import msgspec

from taskq.snapshot import ActivityInfo


def version_of(info: ActivityInfo) -> str:
    """12 hexadecimal digits, another one after each change of state and each command.

    Renewals of the lease and progress do not count: what runs would never be of the version that
    somebody has seen.
    """
    state = (
        info.id,
        info.status.value,
        info.claim,
        info.worker,
        info.retry_count,
        info.crash_count,
        info.max_retries,
        info.priority.value,
        info.queue,
        info.ready_at,
        info.started_at,
        info.finished_at,
        info.cancel_requested_at,
        info.expires_at,
        info.deadline_at,
        info.isolate,
        info.payload,
        info.result,
        info.error,
    )
    return hashlib.sha256(msgspec.json.encode(state)).hexdigest()[:12]
