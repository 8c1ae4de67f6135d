"""The ring of the latest events: who reads it misses nothing without being told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskq.web.live.ring import Ring

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 7)),
        st.tuples(st.just("read"), st.integers(1, 4)),
    ),
    max_size=60,
)


@given(size=st.integers(1, 5), steps=STEPS)
def test_a_reader_gets_everything_in_order_or_the_number_of_what_it_missed(
    size: int, steps: list[tuple[str, int]]
) -> None:
    """threat:T8"""
    ring = Ring[int]("e", size)
    place = had = 0
    for step, count in steps:
        if step == "append":
            for _ in range(count):
                assert ring.append(ring.last + 1) == ring.last
            continue
        read = ring.after(place, count)
        had += read.missed
        for item in read.items:
            had += 1
            assert item == had
        assert read.place >= place
        place = read.place
    assert len(ring) == min(size, ring.last)
    read = ring.after(place, 1000)
    assert had + read.missed + len(read.items) == ring.last


@given(size=st.integers(1, 5), appended=st.integers(0, 12), number=st.integers(0, 15))
def test_an_id_is_a_place_where_nothing_behind_it_is_lost(
    size: int, appended: int, number: int
) -> None:
    ring = Ring[int]("e", size)
    for item in range(appended):
        ring.append(item)
    place = ring.place(ring.id(number))
    possible = number <= appended and appended - number <= size
    assert place == (number if possible else None)
    if place is not None:
        assert ring.after(place, 100).missed == 0


@pytest.mark.parametrize(
    "id",
    [
        *("", "-", "e", "e-", "-1", "f-1", "e-1-1", "e-x", "e--1", "e-+1", "e- 1", "e-1 ", "E-1"),
        *("e-\u0661", "e-" + "9" * 5000, "\x00", "e-1\n"),
    ],
)
def test_what_is_no_id_is_no_place(id: str) -> None:
    ring = Ring[int]("e", 3)
    ring.append(1)
    assert ring.place(id) is None


def test_nothing_new_is_nothing() -> None:
    ring = Ring[int]("e", 3)
    ring.append(1)
    read = ring.after(1, 10)
    assert (read.items, read.missed, read.place) == ((), 0, 1)
