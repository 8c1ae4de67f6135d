"""The bridge: the one place where threads and event loops meet.

Stores live beside a loop of their own; callers come from plain threads, asyncio and trio. Nothing
else in the package starts a thread or touches a loop of another thread.
"""

from __future__ import annotations

from taskq.bridge.direct import DirectBridge
from taskq.bridge.doorbell import Doorbell
from taskq.bridge.loop_time import loop_time
from taskq.bridge.poster import loop_poster
from taskq.bridge.protocol import Bridge
from taskq.bridge.resident import ResidentBridge
from taskq.bridge.served import ServedThread, serve_in_thread
from taskq.bridge.task_end import on_task_end
from taskq.bridge.worker_thread import busy_threads, run_in_thread

__all__ = (
    "Bridge",
    "DirectBridge",
    "ResidentBridge",
    "Doorbell",
    "loop_poster",
    "loop_time",
    "on_task_end",
    "busy_threads",
    "run_in_thread",
    "ServedThread",
    "serve_in_thread",
)
