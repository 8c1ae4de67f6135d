"""Searching in slices, and counting: what a list would find, a bounded number of rows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from uuid import UUID

import pytest

from taskq.errors import ConfigurationError
from taskq.filtering.reading import narrowed, parsed
from taskq.lifecycle import Failed
from taskq.model import Status
from taskq.search import Count, Cursor, Order, SearchSlice
from taskq.snapshot import Filter
from taskq.testing.conformance.filtered import TEXTS, stored
from taskq.testing.conformance.harness import Harness, near
from taskq.testing.conformance.samples import DAY, call, error

MANY = 700
"""More than any store looks at in its first window."""
WAITING = (Status.SCHEDULED, Status.RETRYING)


class SearchTests:
    """``Inspector.search`` and ``Inspector.count``."""

    @pytest.mark.parametrize(("order", "limit"), [(Order.NEWEST, 2), (Order.OLDEST, 50)])
    async def test_a_search_finds_what_a_filter_says(
        self, harness: Harness, order: Order, limit: int
    ) -> None:
        names = await stored(harness)

        answers = {
            text: "".join(
                names[id] for id in await found(harness, filtered(text), order=order, limit=limit)
            )
            for text in TEXTS
        }

        newest = order is Order.NEWEST
        assert answers == {text: wanted[:: -1 if newest else 1] for text, wanted in TEXTS.items()}

    async def test_what_a_filter_says_is_counted(self, harness: Harness) -> None:
        await stored(harness)

        answers = {text: await counted(harness, filtered(text)) for text in TEXTS}

        assert answers == {text: Count(len(wanted), exact=True) for text, wanted in TEXTS.items()}

    @pytest.mark.parametrize("text", ["args.id:7", "user:7*", "status:pending tag.a:b"])
    async def test_a_search_without_time_looks_once_and_goes_on_from_there(
        self, harness: Harness, text: str
    ) -> None:
        """threat:T7: nobody waits for what is far down; in the end it is found."""
        wanted = call(payload='{"id":7}', user_id="7", tags='{"a":"b"}')
        await harness.submit(wanted, *(call(payload='{"id":8}') for _ in range(MANY)))

        slices = await searched(harness, filtered(text), limit=2)

        assert len(slices) > 2
        assert [[item.id for item in each.items] for each in slices if each.items] == [[wanted.id]]
        assert (slices[0].items, slices[-1].next, slices[-1].searched_to) == ((), None, None)
        assert near(slices[0].searched_to, await harness.now())

    async def test_a_full_slice_goes_on_behind_its_last_item(self, harness: Harness) -> None:
        calls = [call("even" if number % 2 else "odd") for number in range(20)]
        await harness.submit(*calls)
        wanted = [each.id for each in reversed(calls) if each.type == "odd"]

        slices = await searched(harness, filtered("type:odd"), limit=4)

        assert [item.id for each in slices for item in each.items] == wanted
        assert [len(each.items) for each in slices] == [4, 4, 2]
        assert [each.next.id for each in slices if each.next] == [wanted[3], wanted[7]]

    async def test_a_search_stays_whole_while_new_ones_come(self, harness: Harness) -> None:
        old = [call() for _ in range(4)]
        await harness.submit(*old)
        first = await search(harness, Filter(), limit=2)
        await harness.submit(call(), call())

        second = await search(harness, Filter(), limit=9, after=first.next)

        items = first.items + second.items
        assert [item.id for item in items] == [each.id for each in reversed(old)]

    @pytest.mark.parametrize("limit", [1, 9])
    async def test_what_waits_can_be_ordered_by_when_it_is_due(
        self, harness: Harness, limit: int
    ) -> None:
        await harness.end(await harness.running(), Failed(error=error(), delay=DAY / 2))
        [retrying] = await found(harness, Filter(statuses=(Status.RETRYING,)))
        late, soon, same = (call(delay=delay) for delay in (3 * DAY, DAY / 4, 3 * DAY))
        await harness.submit(late, soon, same, call())

        all_of_them = await found(harness, Filter(statuses=WAITING), order=Order.DUE, limit=limit)
        scheduled = await found(
            harness, filtered("status:scheduled type:work"), order=Order.DUE, limit=limit
        )

        assert all_of_them == [soon.id, retrying, late.id, same.id]
        assert scheduled == [soon.id, late.id, same.id]

    @pytest.mark.parametrize("limit", [1, 9])
    async def test_what_runs_can_be_ordered_by_when_it_was_started(
        self, harness: Harness, limit: int
    ) -> None:
        older, newer, other = call(delay=5.0), call(), call("other")
        await harness.submit(older)
        first = await harness.running(newer)
        await harness.advance(10)
        await harness.call(harness.backend.promote, 10)
        second = await harness.reclaim()
        await harness.advance(10)
        await harness.running(other)

        running = Filter(statuses=(Status.PROCESSING,))
        everything = await found(harness, running, order=Order.STARTED, limit=limit)
        work = filtered("status:processing type:work")

        assert everything == [first.id, second.id, other.id]
        assert await found(harness, work, order=Order.STARTED, limit=limit) == everything[:2]

    @pytest.mark.parametrize("order", [Order.DUE, Order.STARTED])
    @pytest.mark.parametrize("text", ["", "status:completed", "status:scheduled,processing"])
    async def test_an_order_that_nothing_serves_is_refused(
        self, harness: Harness, order: Order, text: str
    ) -> None:
        with pytest.raises(ConfigurationError, match=f"the order {order} is only for"):
            await search(harness, filtered(text), order=order)

    async def test_a_cursor_of_another_order_is_refused(self, harness: Harness) -> None:
        waiting = call(delay=DAY)
        await harness.submit(waiting, call(delay=DAY))
        scheduled = Filter(statuses=(Status.SCHEDULED,))
        by_id = await search(harness, scheduled, limit=1)
        by_due = await search(harness, scheduled, order=Order.DUE, limit=1)
        assert by_id.next is not None and by_due.next is not None

        with pytest.raises(ConfigurationError, match="not one of the order newest"):
            await search(harness, scheduled, after=by_due.next)
        with pytest.raises(ConfigurationError, match="not one of the order due"):
            await search(harness, scheduled, order=Order.DUE, after=by_id.next)

    @pytest.mark.parametrize("text", ["", "status:pending", "type:work", "args.id:8"])
    async def test_a_count_stops_at_its_cap(self, harness: Harness, text: str) -> None:
        await harness.submit(*(call(payload='{"id":8}') for _ in range(5)))

        counts = [await counted(harness, filtered(text), cap=cap) for cap in (4, 5, 6)]

        assert counts == [Count(4, exact=False), Count(5, exact=True), Count(5, exact=True)]

    @pytest.mark.parametrize("text", ["type:work", "args.id:8"])
    async def test_a_count_stops_when_its_time_is_up(self, harness: Harness, text: str) -> None:
        await harness.submit(*(call(payload='{"id":8}') for _ in range(MANY)))

        hasty = await counted(harness, filtered(text), seconds=0.0)

        assert (0 < hasty.number < MANY, hasty.exact) == (True, False)
        assert await counted(harness, filtered(text), seconds=30.0) == Count(MANY, exact=True)


def filtered(text: str) -> Filter:
    """The filter of a text."""
    return narrowed(Filter(), parsed(text))


async def search(
    harness: Harness,
    filter: Filter,
    *,
    order: Order = Order.NEWEST,
    limit: int = 50,
    after: Cursor | None = None,
) -> SearchSlice:
    """One slice of a search that has no time."""
    ask = partial(harness.backend.search, order=order, limit=limit, after=after, seconds=0.0)
    return await harness.call(ask, filter)


async def searched(
    harness: Harness, filter: Filter, *, order: Order = Order.NEWEST, limit: int = 50
) -> Sequence[SearchSlice]:
    """All slices, one after the other. Cursors go the way that clients have them go."""
    slices = [await search(harness, filter, order=order, limit=limit)]
    while (cursor := slices[-1].next) is not None:
        after = Cursor.read(cursor.text)
        slices.append(await search(harness, filter, order=order, limit=limit, after=after))
    return slices


async def found(
    harness: Harness, filter: Filter, *, order: Order = Order.NEWEST, limit: int = 50
) -> list[UUID]:
    """The ids that they find."""
    slices = await searched(harness, filter, order=order, limit=limit)
    return [item.id for each in slices for item in each.items]


async def counted(
    harness: Harness, filter: Filter, *, cap: int = 10_000, seconds: float = 30.0
) -> Count:
    """A count."""
    return await harness.call(partial(harness.backend.count, cap=cap, seconds=seconds), filter)
