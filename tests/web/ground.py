"""A console that tests share which only look at it."""

from __future__ import annotations

import httpx
from msgspec import Struct

from taskq import TaskQ
from taskq.web.shell import Shell
from tests.web.asking import TOKENS
from tests.web.stage import Stage


class Ground(Struct, frozen=True):
    """A console on a store in which something of everything is, for tests that only look."""

    app: TaskQ
    stage: Stage
    asgi: Shell

    def client(self, role: str) -> httpx.AsyncClient:
        """Speaks as this role."""
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.asgi),
            base_url="http://127.0.0.1",
            headers={"authorization": f"Bearer {TOKENS[role]}"},
        )
