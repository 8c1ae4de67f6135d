"""``/api/audit``: who did what, and why."""

from __future__ import annotations

from functools import partial

from litestar import get
from litestar.di import NamedDependency

from taskq.web.api.asking import veil_of
from taskq.web.api.parameters import Before, Limit
from taskq.web.console import Console
from taskq.web.role import Identity
from taskq.web.views.record import AuditPage, AuditView


@get("/api/audit")
async def audit(
    console: NamedDependency[Console],
    identity: NamedDependency[Identity],
    limit: Limit = 50,
    before: Before = None,
) -> AuditPage:
    """What operators did, newest first."""
    found = await console.ask(partial(console.reader.audit, limit=limit, before=before))
    veil = veil_of(console, identity)
    return AuditPage(
        items=[AuditView.of(entry, veil) for entry in found],
        next=found[-1].number if len(found) == limit else None,
    )


AUDIT = (audit,)
