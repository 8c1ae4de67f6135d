"""Four processes on one file: everything is stored, everything is claimed, by one each."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

from taskq.backends.sql import SQLiteBackend
from taskq.bridge import ResidentBridge
from taskq.model import Status

PROCESS = """
import sys
from taskq.backends import ClaimRequest
from taskq.backends.sql import SQLiteBackend
from taskq.bridge import ResidentBridge
from taskq.identifiers import new_id
from taskq.lifecycle import Succeeded, Verdict, decide
from taskq.testing.conformance.samples import call

bridge = ResidentBridge()
backend = SQLiteBackend(sys.argv[1], lock_timeout=30.0)
bridge.call_sync(backend.open)
worker = new_id()
request = ClaimRequest(worker=worker, queues=("default",), types=None, limit=7, lease=30.0)
left = 50
while True:
    if left:
        bridge.call_sync(backend.submit, [call(), call()])
        left -= 1
    attempts = bridge.call_sync(backend.claim, request)
    if not attempts and not left:
        break
    done = [decide(attempt, Succeeded("1")) for attempt in attempts]
    for settlement in bridge.call_sync(backend.settle, done):
        assert settlement.verdict is Verdict.APPLIED, settlement
        print(settlement.id)
bridge.call_sync(backend.close)
"""


def test_four_processes_enqueue_claim_and_settle(
    path: Path, backend: SQLiteBackend, bridge: ResidentBridge
) -> None:
    """fault:L12, promise:G5, promise:G6: none is locked out, none runs twice. seed:W5"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", PROCESS, str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    answers = [process.communicate(timeout=120) for process in processes]

    assert [err for _, err in answers] == 4 * [""]
    ran = Counter(id for out, _ in answers for id in out.split())
    assert len(ran) == 400
    assert set(ran.values()) == {1}
    stats = bridge.call_sync(backend.stats)
    assert stats.by_status[Status.COMPLETED] == 400
