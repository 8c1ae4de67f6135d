"""Cron text and intervals against a clock that is walked minute by minute (bug:B105, B106)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest

from taskq.errors import ConfigurationError
from taskq.occurrences import Timing, cron, explained

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
FIRST, LAST = datetime(2009, 1, 1, tzinfo=UTC), datetime(2019, 1, 1, tzinfo=UTC)
ZONES = (
    "America/New_York",
    "Europe/Lisbon",
    "Australia/Lord_Howe",  # half an hour
    "America/Sao_Paulo",  # no midnight on some days
    "America/St_Johns",  # back over midnight, until 2011
    "Asia/Kathmandu",  # never
    "Pacific/Apia",  # a day left out in 2011
    "Africa/Casablanca",  # four times a year
)
TEXTS = (
    "30 2 * * *",
    "0 0 * * *",
    "30 1 * * *",
    "0,30 0,2-3 * * SUN",
    "*/15 * * * *",
    "*/20 5 * * *",
    "15 */2 * * *",
    "1-59/29 23 * * *",
)


def fixed(text: str) -> bool:
    return not text.split()[0].startswith("*") and not text.split()[1].startswith("*")


def shown(at: datetime, zone: ZoneInfo) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None)


def changes(zone: ZoneInfo) -> Iterator[datetime]:
    """The hours of ten years in which the zone's offset changes: between them nothing is odd."""
    at, offset = FIRST, FIRST.astimezone(zone).utcoffset()
    while at < LAST:
        at += HOUR
        if (now := at.astimezone(zone).utcoffset()) != offset:
            offset = now
            yield at - HOUR


Minute = tuple[datetime, datetime, bool, tuple[datetime, ...]]


@cache
def minutes(name: str) -> list[list[Minute]]:
    """The minutes around each change: the instant, what the clock shows, whether for the second
    time, and what it has just left out."""
    zone = ZoneInfo(name)
    windows = [(at - DAY / 2, at + DAY / 2) for at in changes(zone)] or [(FIRST, FIRST + 3 * DAY)]
    return [list(walked(zone, *window)) for window in windows]


def walked(zone: ZoneInfo, at: datetime, end: datetime) -> Iterator[Minute]:
    before = shown(at - MINUTE, zone)
    while at < end:
        local = at.astimezone(zone)
        wall = local.replace(tzinfo=None, fold=0)
        step = wall - before
        left = tuple(before + MINUTE * n for n in range(1, step // MINUTE)) if step > MINUTE else ()
        yield at, wall, local.fold == 1, left
        before = wall
        at += MINUTE


def expected(text: str, window: list[Minute]) -> list[datetime]:
    """What the rule says, minute by minute."""
    read = cron(text)
    times = {(hour, offset // MINUTE) for hour in read.hours for offset in read.offsets}
    days: dict[date, bool] = {}

    def matches(wall: datetime) -> bool:
        if (wall.hour, wall.minute) not in times:
            return False
        day = wall.date()
        if day not in days:
            days[day] = day.month in read.months and read.on(day)
        return days[day]

    if not fixed(text):
        return [at for at, wall, _, _ in window if matches(wall)]
    return [
        at
        for at, wall, again, left in window
        if (matches(wall) and not again) or any(matches(each) for each in left)
    ]


@pytest.mark.parametrize("name", ZONES)
def test_ten_years_of_clock_changes_are_as_a_clock_on_the_wall_shows_them(name: str) -> None:
    """bug:B105, B106: a time that is left out occurs once after it, one shown twice once; wildcards
    go through both."""
    for window in minutes(name):
        start, end = window[0][0], window[-1][0]
        for text in TEXTS:
            timing = Timing(cron=text, timezone=name)
            first = timing.after(start - MINUTE)
            assert first is not None
            found = timing.until(first, end, limit=10_000)
            assert found == expected(text, window), (text, start)
            back = timing.before(end, start, limit=10_000)
            assert back[::-1] == found, (text, end)


@pytest.mark.parametrize("name", ZONES)
def test_a_time_of_day_occurs_once_on_each_day_of_ten_years(name: str) -> None:
    timing = Timing(cron="30 2 * * *", timezone=name)
    zone = ZoneInfo(name)

    found = timing.until(timing.after(FIRST) or LAST, LAST, limit=5000)

    days = [shown(at, zone).date() for at in found]
    span = (days[-1] - days[0]).days + 1
    left_out = (
        1 if name == "Pacific/Apia" else 0
    )  # 30 December 2011 comes on the 31st, with its own
    assert (len(days), len(set(days))) == (span, span - left_out)


def test_what_follows_does_not_depend_on_where_one_stands_between_two() -> None:
    """bug:B112: a scheduler that starts anew in the repeated hour does not do it again."""
    timing = Timing(cron="30 1 * * *", timezone="America/New_York")
    first = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)  # 01:30 for the first time
    following = datetime(2026, 11, 2, 6, 30, tzinfo=UTC)

    assert timing.after(first - timedelta(microseconds=1)) == first
    for minute in range(0, 24 * 60, 7):
        assert timing.after(first + minute * MINUTE) == following


def test_an_interval_is_counted_from_the_epoch() -> None:
    timing = Timing(every=7_000)
    at = datetime(2026, 1, 1, tzinfo=UTC)

    following = timing.after(at)

    assert following is not None and at < following <= at + timedelta(seconds=7)
    assert following.timestamp() % 7 == 0
    assert timing.after(following) == following + timedelta(seconds=7)


@pytest.mark.parametrize(
    "timing", [Timing(cron="*/7 * * * * *"), Timing(cron="0 4 * * 1"), Timing(every=90_000)]
)
def test_the_last_ones_are_those_of_the_way_forward(timing: Timing) -> None:
    """Both ends count."""
    first = timing.after(datetime(2026, 1, 1, tzinfo=UTC))
    assert first is not None
    forward = timing.until(first, first + 30 * DAY, limit=20)

    assert timing.before(forward[-1], first, limit=50) == forward[::-1]
    assert timing.before(forward[-1], first, limit=3) == forward[:-4:-1]
    assert timing.before(first, first, limit=3) == [first]
    assert timing.before(first - timedelta(microseconds=1), first, limit=3) == []


@pytest.mark.parametrize("text", ["* * * * *", "0 0 29 2 *", "30 2 1 * *", "*/5 9-17 * * 1-5"])
def test_the_latest_of_many_years_is_found_without_walking_them(text: str) -> None:
    timing = Timing(cron=text, timezone="Europe/Lisbon")
    first = timing.after(FIRST)
    assert first is not None

    latest = timing.latest(first, LAST)

    assert latest <= LAST
    following = timing.after(latest)
    assert following is not None and following > LAST


def test_seconds_come_first_where_there_are_six_fields() -> None:
    timing = Timing(cron="*/20 * * * * *")

    at = timing.after(datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC))

    assert at == datetime(2026, 1, 1, 0, 0, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("@hourly", datetime(2026, 1, 15, 13, tzinfo=UTC)),
        ("@daily", datetime(2026, 1, 16, tzinfo=UTC)),
        ("@midnight", datetime(2026, 1, 16, tzinfo=UTC)),
        ("@weekly", datetime(2026, 1, 18, tzinfo=UTC)),
        ("@monthly", datetime(2026, 2, 1, tzinfo=UTC)),
        ("@yearly", datetime(2027, 1, 1, tzinfo=UTC)),
        ("@Annually", datetime(2027, 1, 1, tzinfo=UTC)),
        ("0 0 L * *", datetime(2026, 1, 31, tzinfo=UTC)),
    ],
)
def test_aliases_and_days_from_the_end(text: str, at: datetime) -> None:
    assert Timing(cron=text).after(datetime(2026, 1, 15, 12, 30, tzinfo=UTC)) == at


@pytest.mark.parametrize(
    "text", ["", "* * * *", "61 * * * *", "* * * * MOO", "@never", "L/2 * * * *"]
)
def test_text_that_cannot_be_read_says_so(text: str) -> None:
    with pytest.raises(ConfigurationError, match="cron"):
        cron(text)


def test_cron_text_is_told_in_words() -> None:
    assert explained("*/5 * * * *") == "Every fifth minute of every hour"
