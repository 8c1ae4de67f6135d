"""Cursors: written for clients, read again, refused when they are none."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskq.backends.instants import FIRST, LAST
from taskq.errors import ConfigurationError
from taskq.search import Cursor

INSTANTS = st.datetimes(FIRST.replace(tzinfo=None), LAST.replace(tzinfo=None)).map(
    lambda at: at.replace(tzinfo=UTC)
)


@given(id=st.uuids(), at=st.none() | INSTANTS)
def test_a_cursor_is_read_as_it_was_written(id: UUID, at: datetime | None) -> None:
    cursor = Cursor(id, at)

    assert Cursor.read(cursor.text) == cursor
    assert cursor.text.replace(".", "").isalnum()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "0" * 31,
        "0" * 33,
        "g" * 32,
        f"{'0' * 32}.",
        f"{'0' * 32}.x",
        f"{'0' * 32}.-1",
        f"{'0' * 32}.1\n",
        f"{'0' * 32}.\uff11",
        "é" * 32,
    ],
)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    """threat:T12"""
    with pytest.raises(ConfigurationError, match="this is no cursor"):
        Cursor.read(text)
