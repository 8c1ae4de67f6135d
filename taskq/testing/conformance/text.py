"""Text goes in and comes out exactly, on every backend alike (design 7.6)."""

from __future__ import annotations

import pytest

from taskq.lifecycle import Failed, Snoozed, Succeeded
from taskq.model import ErrorInfo
from taskq.snapshot import Filter, Page
from taskq.testing.conformance.harness import Harness
from taskq.testing.conformance.samples import call

TEXTS = {
    "numbers": '{"a":1.0,"b":1e2,"c":123456789012345678901234567890,"d":0.1000,"e":-0}',
    "order and spaces": '{"b": 1,  "a": [ 1 , 2 ]}',
    "a key twice": '{"a":1,"a":2}',
    "escapes": r'{"a":"\u0000\ud83d\ude00\n\/"}',
    "unicode": '{"\u00e9\u0301":"\U0001f469\u200d\U0001f680 \u202etxt\u202c \u2028\ufeff\uffff"}',
    "quotes": """{"a":"'; drop table taskq_activities; -- \\" %s :a $1 ?"}""",
    "long": '{"a":"' + "\u20ac\U0001f4a5x" * 24_000 + '"}',
}
"""JSON texts; the long one is about 200 KB of UTF-8."""

every_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())


class TextTests:
    """No text is rewritten, cut or normalised."""

    @every_text
    async def test_a_payload_is_kept_exactly(self, harness: Harness, text: str) -> None:
        """fault:H1"""
        attempt = await harness.running(call(payload=text))

        assert attempt.payload == text
        assert (await harness.info(attempt.id)).payload == text

    @every_text
    async def test_a_result_is_kept_exactly(self, harness: Harness, text: str) -> None:
        attempt = await harness.running()
        await harness.end(attempt, Succeeded(text))

        ended = (await harness.call(harness.backend.outcomes, [attempt.id]))[attempt.id]

        assert ended is not None and ended.result == text
        assert (await harness.info(attempt.id)).result == text

    @every_text
    async def test_metadata_reach_the_handler_exactly(self, harness: Harness, text: str) -> None:
        assert (await harness.running(call(metadata=text))).metadata == text

    async def test_metadata_and_tags_are_decoded_for_readers(self, harness: Harness) -> None:
        activity = call(metadata='{"a":[1,2.5,null,{"b":true}]}', tags='{"team":"r\u00f6d"}')
        await harness.submit(activity)

        info = await harness.info(activity.id)

        assert info.metadata == {"a": [1, 2.5, None, {"b": True}]}
        assert info.tags == {"team": "r\u00f6d"}

    async def test_no_metadata_and_no_tags_are_empty(self, harness: Harness) -> None:
        activity = call()
        await harness.submit(activity)

        info = await harness.info(activity.id)

        assert (dict(info.metadata), dict(info.tags)) == ({}, {})

    @pytest.mark.parametrize("text", ["", " ", "\U0001f4a5\u00e9'\"\\%_", "0", "null"], ids=repr)
    async def test_plain_columns_are_kept_exactly(self, harness: Harness, text: str) -> None:
        """An empty text is not None."""
        attempt = await harness.running(call(source=text, correlation_id=text, user_id=text))

        info = await harness.info(attempt.id)

        assert (attempt.source, attempt.correlation_id, attempt.user_id) == (text,) * 3
        assert (info.source, info.correlation_id, info.user_id) == (text,) * 3

    @pytest.mark.parametrize("kind", ["retrying", "failed"])
    async def test_an_error_is_kept_exactly(self, harness: Harness, kind: str) -> None:
        text = TEXTS["unicode"] + TEXTS["quotes"] + "\n" * 3
        info = ErrorInfo(type="a.B", message=text, traceback=text, attempts=1)
        attempt = await harness.running()
        await harness.end(attempt, Failed(error=info, retryable=kind == "retrying"))

        assert (await harness.info(attempt.id)).error == info

    async def test_metadata_that_are_no_object_break_no_list(self, harness: Harness) -> None:
        """design 7.6: what a foreign client wrote is shown as far as it goes."""
        activity = call(metadata="[1", tags='{"a":1}')
        await harness.submit(activity, call())

        info = await harness.info(activity.id)

        assert (info.payload, dict(info.metadata), dict(info.tags)) == ("{}", {}, {})
        attempt = (await harness.claim(activity.id))[0]
        assert attempt.metadata == "[1"
        assert (await harness.end(attempt, Snoozed(1.0))).status is not None

    async def test_metadata_too_deep_to_read_break_no_list(self, harness: Harness) -> None:
        """fault:H7"""
        deep = '{"a":' + 100_000 * "[" + 100_000 * "]" + "}"
        activity, other = call(metadata=deep, tags=deep), call()
        await harness.submit(activity, other)

        page = await harness.call(harness.backend.list, Filter(), Page())

        assert {info.id for info in page.items} == {activity.id, other.id}
        assert dict((await harness.info(activity.id)).metadata) == {}
