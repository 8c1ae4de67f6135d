"""outcomes: how an activity ended, for those who await it (promise:G16)."""

from __future__ import annotations

import pytest

from taskq.identifiers import new_id
from taskq.lifecycle import Failed, Succeeded
from taskq.model import Ended, ErrorInfo, ErrorKind, Status
from taskq.testing.conformance.harness import Harness
from taskq.testing.conformance.samples import call, error


class OutcomeTests:
    """Ended, on its way, unknown: three different answers."""

    @pytest.mark.parametrize("result", ["null", "0", '""', "[]", "false", "{}", "0.0"])
    async def test_empty_results_are_results(self, harness: Harness, result: str) -> None:
        """bug:B142"""
        attempt = await harness.running()
        await harness.end(attempt, Succeeded(result))

        outcomes = await harness.call(harness.backend.outcomes, [attempt.id])

        assert outcomes == {attempt.id: Ended(status=Status.COMPLETED, result=result)}
        assert (await harness.info(attempt.id)).result == result

    @pytest.mark.parametrize("status", [each for each in Status if not each.terminal], ids=str)
    async def test_what_is_on_its_way_is_absent(self, harness: Harness, status: Status) -> None:
        id = await harness.bring(call(), status)

        assert await harness.call(harness.backend.outcomes, [id]) == {}

    async def test_an_unknown_id_is_none(self, harness: Harness) -> None:
        """promise:G16: not found is never told as pending."""
        unknown = new_id()

        assert await harness.call(harness.backend.outcomes, [unknown]) == {unknown: None}

    @pytest.mark.parametrize(
        ("changes", "retryable", "status"),
        [({}, False, Status.FAILED), ({"max_retries": 0}, True, Status.DEAD_LETTER)],
        ids=["failed", "dead_letter"],
    )
    async def test_an_error_comes_back_whole(
        self, harness: Harness, changes: dict[str, object], retryable: bool, status: Status
    ) -> None:
        """seed:R19"""

        info = ErrorInfo(
            type="shop.errors.Refused",
            message='card "4711" refused: \u00fc\u2028\U0001f4a5',
            kind=ErrorKind.RESULT,
            traceback="Traceback:\n  line 1\n\tline 2\n",
            attempts=1,
        )
        attempt = await harness.running(call(**changes))
        await harness.end(attempt, Failed(error=info, retryable=retryable))

        outcomes = await harness.call(harness.backend.outcomes, [attempt.id])

        assert outcomes == {attempt.id: Ended(status=status, error=info)}

    async def test_a_cancel_is_an_outcome(self, harness: Harness) -> None:
        id = await harness.bring(call(), Status.CANCELLED)

        ended = (await harness.call(harness.backend.outcomes, [id]))[id]

        assert ended is not None and ended.status is Status.CANCELLED
        assert ended.error is not None and ended.error.kind is ErrorKind.CANCELLED
        assert ended.result is None

    async def test_many_are_answered_at_once(self, harness: Harness) -> None:
        """seed:B2"""

        await harness.submit(*(call() for _ in range(300)))
        attempts = await harness.claim(new_id(), limit=200)
        transitions = [await harness.transition(each, Succeeded("1")) for each in attempts[:150]]
        await harness.settle(*transitions)
        unknown = new_id()

        outcomes = await harness.call(
            harness.backend.outcomes, [*(each.id for each in attempts), unknown]
        )

        assert set(outcomes) == {each.id for each in attempts[:150]} | {unknown}

    async def test_nothing_asked_is_nothing_answered(self, harness: Harness) -> None:
        assert await harness.call(harness.backend.outcomes, ()) == {}

    async def test_what_an_operator_retries_is_on_its_way_again(self, harness: Harness) -> None:
        id = await harness.bring(call(), Status.FAILED)
        await harness.retry(id)

        assert await harness.call(harness.backend.outcomes, [id]) == {}

    async def test_an_earlier_failure_is_no_outcome(self, harness: Harness) -> None:
        attempt = await harness.running()
        await harness.end(attempt, Failed(error=error()))

        assert await harness.call(harness.backend.outcomes, [attempt.id]) == {}
