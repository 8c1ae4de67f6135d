"""When something periodic occurs: cron text read in a time zone, or a fixed interval.

cronsim reads cron text and says which days match. The walk over the clock is ours, as its own goes
wrong where a zone moves by half an hour (Australia/Lord_Howe). The rule is that of Debian's cron:

- Minute and hour both fixed (neither begins with ``*``, and no seconds are given): a time of day.
  One that the clock leaves out occurs once, at the first instant after the gap; several in one gap
  occur there together, once. One that the clock shows twice occurs the first time only.
- Otherwise it follows elapsed time: it occurs whenever the clock shows a matching time, so twice
  where the clock shows it twice, and not where it is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import islice
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from msgspec import Struct

from taskq.errors import ConfigurationError

ALIASES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""Names for cron texts."""

HORIZON: Final = 50
"""Years: what does not occur within so many never does."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR = timedelta(hours=1)
_TICK = timedelta(microseconds=1)
_BACK = timedelta(hours=5)
"""More than any zone has put its clock back at once since 1970, and an hour."""


class Timing(Struct, frozen=True, kw_only=True):
    """When: ``cron`` text in ``timezone`` (an IANA name), or ``every`` so many milliseconds,
    counted from 1970-01-01T00:00Z. Exactly one of ``cron`` and ``every`` is set."""

    cron: str | None = None
    every: int | None = None
    timezone: str = "UTC"

    def after(self, instant: datetime) -> datetime | None:
        """The first occurrence later than ``instant`` (aware), in UTC; None: there is none within
        50 years. Raises ConfigurationError where text or zone cannot be read here."""
        if self.cron is not None:
            return next(_walk(cron(self.cron), zone(self.timezone), instant), None)
        if self.every is None:
            raise ConfigurationError("a schedule needs cron text or an interval, and has neither")
        step = timedelta(milliseconds=self.every)
        try:
            return _EPOCH + ((instant - _EPOCH) // step + 1) * step
        except OverflowError:
            return None

    def until(self, first: datetime, last: datetime, *, limit: int) -> list[datetime]:
        """``first``, which is an occurrence, and those that follow it, up to ``last`` (included);
        at most ``limit``, the earliest."""
        return list(islice(self._until(first, last), limit))

    def latest(self, first: datetime, last: datetime) -> datetime:
        """The latest occurrence up to ``last`` (included); ``first`` is one that is not after it.

        However many there are between, it looks at a few dozen: halving, not walking.
        """
        found, end = first, last
        while True:
            following = self.after(found)
            if following is None or following > last:
                return found
            found = following
            middle = found + (end - found) / 2
            ahead = self.after(middle)
            if ahead is not None and ahead <= last:
                found = ahead
            else:
                end = middle

    def before(self, last: datetime, since: datetime, *, limit: int) -> list[datetime]:
        """The occurrences up to ``last`` and not before ``since`` (both included), latest first;
        at most ``limit``. Raises ConfigurationError as ``after``."""
        if self.cron is not None:
            walk = _walk_back(cron(self.cron), zone(self.timezone), last, since)
            return list(islice(walk, limit))
        following = self.after(last)
        if self.every is None or following is None:
            return []
        step = timedelta(milliseconds=self.every)
        number = min(limit, max(0, (following - since) // step))
        return [following - (each + 1) * step for each in range(number)]

    def _until(self, first: datetime, last: datetime) -> Iterator[datetime]:
        at: datetime | None = first
        while at is not None and at <= last:
            yield at
            at = self.after(at)


class Cron(Struct, frozen=True, kw_only=True):
    """Cron text, read. ``fixed``: it names times of day, see above. ``days`` says which days match;
    the others are sorted."""

    days: CronSim
    months: frozenset[int]
    hours: tuple[int, ...]
    offsets: tuple[timedelta, ...]
    fixed: bool

    def on(self, day: date) -> bool:
        """Whether it occurs on this day of a matching month."""
        return self.days.match_day(day)


@lru_cache(maxsize=1024)
def cron(text: str) -> Cron:
    """Read cron text: five fields, or six with seconds first, or an alias; also ``L``, ``LW``,
    ``5L`` and ``1#2``. Raises ConfigurationError."""
    plain = ALIASES.get(text.strip().lower(), text)
    if plain.strip().startswith("@"):
        raise ConfigurationError(f"cron {text!r} is none of {', '.join(ALIASES)}")
    try:
        read = CronSim(plain, datetime(2000, 1, 1))
    except (CronSimError, ValueError, TypeError, AssertionError) as error:
        reason = f": {str(error).lower()}" if str(error) else ""
        raise ConfigurationError(
            f"cron {text!r} cannot be read{reason}; it is five fields (minute, hour, day of month,"
            " month, day of week), or six with seconds first"
        ) from None
    fields = plain.split()
    return Cron(
        days=read,
        months=frozenset(read.months),
        hours=tuple(sorted(read.hours)),
        offsets=tuple(
            timedelta(minutes=minute, seconds=second)
            for minute in sorted(read.minutes)
            for second in sorted(read.seconds)
        ),
        fixed=len(fields) == 5 and not any(field.startswith("*") for field in fields[:2]),
    )


@lru_cache(maxsize=1024)
def explained(text: str) -> str:
    """Cron text in words, for people. Raises ConfigurationError."""
    return cron(text).days.explain()


def zone(name: str) -> ZoneInfo:
    """A time zone by its IANA name. Raises ConfigurationError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigurationError(
            f"{name!r} is no time zone known here; it is an IANA name such as Europe/Lisbon"
        ) from None


def _walk(text: Cron, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """The next occurrence, or nothing. Hours are walked as the clock shows them.

    What an hour gives first is not always what comes first (the clock may show two hours twice), so
    the walk ends at the hour that cannot begin any earlier than what was found.
    """
    found: datetime | None = None
    for hour in _hours(text, after.astimezone(zone).replace(tzinfo=None) - _BACK):
        opening = _instant(hour, zone)
        if found is not None and opening >= found:
            break
        end = hour + _HOUR - _TICK
        closing, again = _instant(end, zone), _instant(end.replace(fold=1), zone)
        if max(closing, again) < after:
            continue
        if closing == again == opening + _HOUR - _TICK:
            times = (opening + offset for offset in text.offsets)
            first = next((at for at in times if at > after), None)
        else:
            first = min((at for at in _odd(text, hour, zone) if at > after), default=None)
        if first is not None and (found is None or first < found):
            found = first
    if found is not None:
        yield found


def _walk_back(text: Cron, zone: ZoneInfo, last: datetime, since: datetime) -> Iterator[datetime]:
    """The occurrences from ``last`` back to ``since``. Those of an hour are given only once no
    earlier hour can have any after them."""
    held: set[datetime] = set()
    first = since.astimezone(zone).replace(tzinfo=None) - _BACK
    for hour in _hours_back(text, last.astimezone(zone).replace(tzinfo=None) + _BACK, first):
        end = hour + _HOUR - _TICK
        opening, closing = _instant(hour, zone), _instant(end, zone)
        again = _instant(end.replace(fold=1), zone)
        ready = sorted((at for at in held if at > max(closing, again)), reverse=True)
        held.difference_update(ready)
        yield from ready
        if closing == again == opening + _HOUR - _TICK:
            times: Iterable[datetime] = (opening + offset for offset in text.offsets)
        else:
            times = _odd(text, hour, zone)
        held.update(at for at in times if since <= at <= last)
    yield from sorted(held, reverse=True)


def _hours_back(text: Cron, last: datetime, first: datetime) -> Iterator[datetime]:
    """The matching hours from ``last`` back to ``first``, as a clock on the wall shows them."""
    day = last.date()
    while day >= first.date():
        if day.month not in text.months:
            day = day.replace(day=1) - timedelta(days=1)
            continue
        if text.on(day):
            opening = [datetime.combine(day, time(hour)) for hour in reversed(text.hours)]
            yield from (hour for hour in opening if first <= hour <= last)
        day -= timedelta(days=1)


def _hours(text: Cron, since: datetime) -> Iterator[datetime]:
    """The matching hours from ``since`` on, as a clock on the wall shows them."""
    try:
        day = since.date()
        last = day.replace(year=day.year + HORIZON, day=1)
        while day < last:
            if day.month not in text.months:
                day = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
                continue
            if text.on(day):
                opening = [datetime.combine(day, time(hour)) for hour in text.hours]
                yield from (hour for hour in opening if hour > since)
            day += timedelta(days=1)
    except (OverflowError, ValueError):
        return  # the years end


def _odd(text: Cron, hour: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """The occurrences in an hour in which the clock is put forward or back."""
    for offset in text.offsets:
        shown = hour + offset
        first, second = _instant(shown, zone), _instant(shown.replace(fold=1), zone)
        if first > second:  # the clock never shows it
            if text.fixed:
                yield _end_of_gap(second, first, zone)
            continue
        yield first
        if second > first and not text.fixed:
            yield second


def _end_of_gap(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The instant between these at which the clock is put forward."""
    offset = before.astimezone(zone).utcoffset()
    while after - before > _TICK:
        middle = before + (after - before) / 2
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after


def _instant(shown: datetime, zone: ZoneInfo) -> datetime:
    return shown.replace(tzinfo=zone).astimezone(UTC)
