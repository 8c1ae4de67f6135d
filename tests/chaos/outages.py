"""Harm to a PostgreSQL server, and to the way there."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping

import psycopg

from tests.chaos.proxy import DEEDS
from tests.chaos.site import Cluster


class Outages:
    """Restarts the server, ends sessions, cuts connections, loses replies.

    ``lease`` in seconds: the longest outage lasts twice as long. ``deeds`` counts what is done.
    """

    def __init__(
        self, cluster: Cluster, dice: random.Random, *, lease: float, deeds: Counter[str]
    ) -> None:
        self._cluster = cluster
        self._random = dice
        self._lease = lease
        self._deeds = deeds

    @property
    def harms(self) -> Mapping[Callable[[], None], float]:
        """What it can do, and how often it should."""
        return {self._restart: 2, self._end_sessions: 2, self._cut: 2, self._lose_replies: 6}

    def _restart(self) -> None:
        """As after a crash, at once or after a while."""
        self._deeds["database restarted"] += 1
        self._cluster.server.stop("immediate")
        time.sleep(self._random.choice([0.0, self._random.uniform(0.0, 2 * self._lease)]))
        self._cluster.server.start()

    def _end_sessions(self) -> None:
        try:
            self._deeds["sessions ended"] += self._cluster.database.cut_sessions()
        except psycopg.OperationalError:
            self._deeds["sessions not ended"] += 1

    def _cut(self) -> None:
        self._deeds["connections cut"] += self._cluster.proxy.cut_all()

    def _lose_replies(self) -> None:
        """The next ones of half of all kinds, sooner or later."""
        for deed in self._random.sample(list(DEEDS), k=len(DEEDS) // 2):
            before = self._random.random() < 0.25
            self._cluster.proxy.lose(deed, times=self._random.randint(1, 3), before=before)
