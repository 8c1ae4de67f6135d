"""Filters as people write them: every store finds the same."""

from __future__ import annotations

from uuid import UUID

import pytest
from msgspec.structs import replace

from taskq.filtering.reading import narrowed, parsed
from taskq.identifiers import new_id
from taskq.lifecycle import Failed, Succeeded
from taskq.model import Activity, Priority
from taskq.snapshot import Filter, Page
from taskq.testing.conformance.harness import Harness
from taskq.testing.conformance.samples import DAY, call, error, keyed

PARENT, ROOT = new_id(), new_id()

TEXTS: dict[str, str] = {
    "": "abcdefg",
    "status:failed": "a",
    "status:failed,scheduled": "ab",
    "-status:pending": "ab",
    "status:failed status:failed,pending": "a",
    "status:failed status:pending": "",
    "type:work": "bdg",
    "type:send_*": "ac",
    "type:send_*,work": "abcdg",
    'type:"star*"': "e",
    "type:WORK": "",
    "-type:send_*": "bdefg",
    "type:send_* -type:send_mail": "c",
    "queue:mail": "c",
    "queue:ma*": "c",
    "-queue:default": "c",
    "priority:high": "a",
    "priority>=high": "af",
    "priority>HIGH": "f",
    "priority<=1": "d",
    "priority:low,4": "df",
    "-priority<high": "af",
    "priority>critical": "",
    "tag.region:eu": "ab",
    "tag.region:eu,us": "abc",
    "tag.region:e*": "ab",
    "tag.region:*": "abc",
    "-tag.region:*": "defg",
    "-tag.region:eu": "cdefg",
    'tag.a.b:"x y"': "c",
    "tag.weird:\"'1'\"": "d",
    'tag."é/\\"":*': "d",
    "tag.region:eu tag.region:us": "",
    "user:42": "ad",
    "user:4*": "ad",
    "user:*": "adg",
    'user:""': "g",
    "-user:42": "bcefg",
    "-user:*": "bcef",
    "user:42 -status:failed": "d",
    "user:42,43": "ad",
    "corr:abc": "bd",
    "source:api,cron": "ce",
    "key:order-4*": "f",
    "step:charge": "d",
    f"parent:{PARENT}": "d",
    f"parent:{PARENT.hex[:31]}": "d",
    "parent:*": "d",
    "-parent:*": "abcefg",
    f"root:{ROOT}": "d",
    f"root:{ROOT} root:{PARENT}": "",
    f"root:{ROOT},{PARENT} corr:abc": "d",
    f"-root:{ROOT}": "abcefg",
    "age>1h": "",
    "age<1h": "abcdefg",
    "age>=0s -age>1d12h": "abcdefg",
    'error:"timed out"': "a",
    "error:TIMED": "a",
    'error:"OUT \\"quietly\\""': "a",
    "error:valueerror": "a",
    "error:nothing,timed": "a",
    "error:*": "a",
    "-error:timed": "bcdefg",
    "error:É": "",
    "error:é": "a",
    "args.order.id:17": "ab",
    'args.order.id:"17"': "b",
    "args.order.id:17.0": "a",
    "args.order.id>16": "a",
    "args.order.id>=17 args.order.id<18": "a",
    "args.order.id:*": "ab",
    "-args.order.id:17": "cdefg",
    "args.order.id:17 -status:failed": "b",
    "args.to:ada*": "c",
    "args.to:ADA*": "",
    'args.to:"ada@example.com"': "c",
    "args.items:two": "d",
    "args.items.1:two": "d",
    "args.items.2:two": "",
    "args.amount:17.5": "d",
    "args.amount:17.50": "d",
    "args.amount<17.6": "d",
    "args.debt:-5": "g",
    "args.debt:-5.0": "g",
    "args.debt:5": "",
    "args.debt<-4": "g",
    "args.zero:0": "g",
    "args.zero:-0.0": "g",
    "args.big:123456789012345678901234567890": "e",
    "args.tiny:1e-7": "e",
    "args.tiny<0.1": "e",
    "args.paid:true": "e",
    "args.paid:false": "",
    "args.none:null": "e",
    'args.none:"null"': "",
    'args."a.b":1': "e",
    'args.text:"a \\"b\\"/é\\\\"': "f",
    'args.at>"2026-01"': "f",
    "args.at>2026-02": "",
    "args.order:*": "ab",
    "args.order:17": "",
    "timed": "a",
    "SEND": "ac",
    '"ada@example"': "c",
    "-send": "bdefg",
    "example work": "",
    "nowhere": "",
    "%": "",
    "_": "ac",
}
"""By its text: the activities that a filter finds."""

PAYLOADS = {
    "a": '{"order":{"id":17}}',
    "b": '{"order":{"id":"17"}}',
    "c": '{"to":"ada@example.com"}',
    "d": '{"amount":17.50,"items":["one","two"]}',
    "e": '{"a.b":1,"big":123456789012345678901234567890,"none":null,"paid":true,"tiny":1e-7}',
    "f": '{"at":"2026-01-31","text":"a \\"b\\"/é\\\\"}',
    "g": '{"debt":-5,"zero":-0.0}',
}

ODD = {
    "no JSON": '{"a":1 "args.a:1"',
    "nothing": "",
    "no object": '["a",1]',
    "too deep": '{"a":1,"b":' + "[" * 3000,
    "a fragment": '{"a":1',
    "another number": '{"a":11}',
}
"""By name: payloads that hold no argument ``a`` of 1."""

FOREIGN: dict[str, tuple[str, str]] = {
    "escaped letters": ('{"\\u006eame":"\\u0041da"}', "args.name:Ada"),
    "escaped slashes": ('{"url":"http:\\/\\/example.com"}', 'args.url:"http://example.com"'),
    "blanks": ('{ "n" : { "id" : 17.0 } }', "args.n.id:17"),
    "an escaped NUL": ('{"a":"x\\u0000"}', "args.a:x*"),
    "a repeated name": ('{"a":1,"a":2}', "args.a:2"),
}
"""By name: payloads as other programs write them, and a filter that finds it."""


MESSAGE = 'it timed out "quietly" at é\n\x1b[0m'
"""What the first one fails of."""


def sample() -> dict[str, Activity[object]]:
    """Activities that differ, by name, oldest first. The first one is to fail."""
    made: dict[str, Activity[object]] = {
        "a": call("send_mail", priority=Priority.HIGH, user_id="42", tags='{"region":"eu"}'),
        "b": call(delay=DAY, correlation_id="abc", tags='{"region":"eu"}'),
        "c": call("send_text", queue="mail", source="api", tags='{"a.b":"x y","region":"us"}'),
        "d": call(
            priority=Priority.LOW,
            parent_id=PARENT,
            root_id=ROOT,
            depth=1,
            user_id="42",
            correlation_id="abc",
            step="charge",
            tags='{"weird":"\'1\'","é/\\"":"1"}',
        ),
        "e": call("star*", source="cron"),
        "f": keyed(type="other", priority=Priority.CRITICAL),
        "g": call(user_id=""),
    }
    return {name: replace(each, payload=PAYLOADS[name]) for name, each in made.items()}


async def found(harness: Harness, text: str, *, limit: int = 50) -> list[UUID]:
    """The ids that a filter's text finds, page by page."""
    filter = narrowed(Filter(), parsed(text))
    page = await harness.call(harness.backend.list, filter, Page(limit=limit))
    ids = [item.id for item in page.items]
    while page.next is not None:
        following = Page(limit=limit, before=page.next)
        page = await harness.call(harness.backend.list, filter, following)
        ids += [item.id for item in page.items]
    return ids


async def stored(harness: Harness) -> dict[UUID, str]:
    """Store the sample; the names of the ids."""
    activities = sample()
    first, *others = activities.values()
    attempt = await harness.running(first)
    await harness.end(attempt, Failed(error=error(MESSAGE), retryable=False))
    await harness.submit(*others)
    return {activity.id: name for name, activity in activities.items()}


class FilterTests:
    """The filter language (``docs/filters.md``)."""

    @pytest.mark.parametrize("limit", [50, 1])
    async def test_a_filter_finds_what_it_says(self, harness: Harness, limit: int) -> None:
        """seed:R18: newest first, however it is cut into pages"""
        names = await stored(harness)

        answers = {
            text: "".join(names[id] for id in await found(harness, text, limit=limit))
            for text in TEXTS
        }

        assert answers == {text: wanted[::-1] for text, wanted in TEXTS.items()}

    async def test_an_age_counts_from_when_it_was_created(self, harness: Harness) -> None:
        old, new = call(delay=DAY), call(delay=DAY)
        await harness.submit(old)
        await harness.advance(2 * 3600.0)
        await harness.submit(new)

        assert await found(harness, "age>1h") == [old.id]
        assert await found(harness, "age<=1h59m") == [new.id]
        assert await found(harness, "-age>1h") == [new.id]
        assert await found(harness, "age<99999999999d") == [new.id, old.id]

    async def test_a_worker_is_found_by_what_it_holds_or_had_last(self, harness: Harness) -> None:
        ended, held = await harness.running(), await harness.running()
        await harness.end(ended, Succeeded("1"))
        await harness.submit(call())

        assert await found(harness, f"worker:{ended.worker}") == [ended.id]
        assert await found(harness, f"status:processing worker:{held.worker.hex[:31]}") == [held.id]
        assert await found(harness, f"status:processing worker:{ended.worker}") == []
        assert await found(harness, "worker:*") == [held.id, ended.id]

    async def test_odd_payloads_have_no_arguments_and_hide_nobody(self, harness: Harness) -> None:
        """fault:H7"""
        good = call(payload='{"a":1}')
        await harness.submit(good, *(call(payload=payload) for payload in ODD.values()))

        assert await found(harness, "args.a:1") == [good.id]
        assert len(await found(harness, "-args.a:1")) == len(ODD)

    async def test_what_other_programs_write_is_found_as_it_is_meant(
        self, harness: Harness
    ) -> None:
        calls = {name: call(payload=payload) for name, (payload, _) in FOREIGN.items()}
        await harness.submit(*calls.values())

        answers = {name: await found(harness, text) for name, (_, text) in FOREIGN.items()}

        assert answers == {name: [each.id] for name, each in calls.items()}

    async def test_a_match_far_down_is_found(self, harness: Harness) -> None:
        """What has to be looked into is walked, not cut at the first page."""
        wanted = call(payload='{"id":7}')
        others = [call(payload='{"id":17}') for _ in range(600)]
        await harness.submit(wanted, *others)

        assert await found(harness, "args.id:7", limit=2) == [wanted.id]
