"""The protocol of operators: what a person may do to what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import UUID

from taskq.model import Status


class Operator(Protocol):
    """What a person may do to stored activities."""

    async def retry(
        self, ids: Sequence[UUID], *, actor: str, reason: str = ""
    ) -> Mapping[UUID, Status]:
        """Send ended activities round again: pending now, retry_count and crash_count 0, result and
        error cleared and progress too, the claim number kept, ``isolate`` as at submit, limits that
        have passed (``expires_at``, ``deadline_at``) lifted. Only from
        ``lifecycle.RETRYABLE_BY_OPERATOR``.

        Answers each found activity's status before; others than those retryable are left as they
        are. Each one retried gets an event row without attempt and worker, whose detail has
        ``actor``, ``reason``, and the ``status`` and ``error`` that it had.
        """
        ...
