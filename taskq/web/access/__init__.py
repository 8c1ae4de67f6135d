"""Who may come in: by a token, a password, a link that works once, or by what the host says."""

from __future__ import annotations

from taskq.web.access.access import Access, Known, Proof
from taskq.web.access.exposure import check_exposure, check_mounted
from taskq.web.access.guard import guard_of, identity_of
from taskq.web.access.once import OneTimeLogin

__all__ = (
    "Access",
    "Known",
    "OneTimeLogin",
    "Proof",
    "check_exposure",
    "check_mounted",
    "guard_of",
    "identity_of",
)
