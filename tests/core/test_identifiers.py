"""Ids (RFC 9562)."""

from __future__ import annotations

import threading
from uuid import RFC_4122, UUID

from taskq.identifiers import new_id


def test_ids_are_uuid_version_7_and_grow() -> None:
    ids = [new_id() for _ in range(20_000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)
    assert {(id.version, id.variant) for id in ids} == {(7, RFC_4122)}


def test_threads_never_share_an_id() -> None:
    made: list[list[UUID]] = [[] for _ in range(8)]

    def make(into: list[UUID]) -> None:
        into.extend(new_id() for _ in range(2_000))

    threads = [threading.Thread(target=make, args=(into,)) for into in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id for ids in made for id in ids}) == 16_000
