"""The suite itself, and the clocks that it runs on."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone

import anyio
import pytest
import trio.testing

from taskq.testing import LoopClock, ManualClock
from taskq.testing.clock import EPOCH
from taskq.testing.conformance import BackendConformance


def test_no_test_hides_another_of_the_same_name() -> None:
    """Its parts are joined by inheritance: a name used twice would be run once."""
    names = Counter(
        name for part in BackendConformance.__mro__ for name in vars(part) if name[:5] == "test_"
    )

    assert [name for name, times in names.items() if times > 1] == []
    assert len(names) > 200


def test_a_manual_clock_moves_only_when_told() -> None:
    clock = ManualClock()
    assert (clock.now(), clock.monotonic()) == (EPOCH, 0.0)

    clock.advance(1.5)
    clock.advance(0.000001)

    assert clock.now() == EPOCH + timedelta(seconds=1, microseconds=500_001)
    assert clock.monotonic() == 1.500001


def test_a_manual_clock_starts_where_told_in_utc() -> None:
    start = datetime(2031, 5, 6, 12, tzinfo=timezone(timedelta(hours=2)))

    clock = ManualClock(start)

    assert clock.now() == start
    assert clock.now().utcoffset() == timedelta(0)


def test_a_manual_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="-1"):
        ManualClock().advance(-1)


@pytest.mark.parametrize("clock", [ManualClock, LoopClock])
def test_a_clock_that_starts_naive_is_refused(clock: type[ManualClock] | type[LoopClock]) -> None:
    with pytest.raises(ValueError, match="aware"):
        clock(datetime(2031, 5, 6))


async def test_a_loop_clock_follows_the_running_loop() -> None:
    clock = LoopClock()
    before = clock.now()
    assert before == EPOCH
    assert clock.monotonic() == pytest.approx(anyio.current_time(), abs=5)

    await anyio.sleep(0.01)

    assert clock.now() - before >= timedelta(seconds=0.009)


def test_a_loop_clock_follows_virtual_time() -> None:
    """design 7.1: an hour passes at once under trio's mock clock."""
    clock = LoopClock()

    async def main() -> timedelta:
        before, monotonic = clock.now(), clock.monotonic()
        await trio.sleep(3600)
        assert clock.monotonic() - monotonic == pytest.approx(3600)
        return clock.now() - before

    elapsed = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))

    assert elapsed == timedelta(hours=1)
