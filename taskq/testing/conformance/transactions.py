"""Storing calls in a caller's transaction, as far as can be told without one."""

from __future__ import annotations

import pytest

from taskq.backends import CallerTransaction, Transactional
from taskq.testing.conformance.harness import Harness
from taskq.testing.conformance.samples import call


class TransactionTests:
    """A backend that declares ``transactional`` brings tests of its own: only it knows of which
    library its callers' transactions are."""

    async def test_what_it_declares_about_transactions_is_so(self, harness: Harness) -> None:
        """promise:G2"""
        declared = harness.backend.capabilities.transactional

        assert isinstance(harness.backend, Transactional) is declared

    @pytest.mark.parametrize("given_as", ["session", "connection"])
    async def test_a_handle_that_is_no_transaction_is_a_type_error(
        self, harness: Harness, given_as: str
    ) -> None:
        """promise:G2: nothing is stored."""
        harness.require("transactional")
        backend, activity = harness.backend, call()
        assert isinstance(backend, Transactional)
        transaction = CallerTransaction(
            given_as="session" if given_as == "session" else "connection", handle=object()
        )

        with pytest.raises(TypeError):
            backend.enlist([activity], transaction)
        with pytest.raises(TypeError):
            await backend.aenlist([activity], transaction)

        assert await harness.call(backend.get, [activity.id]) == {}
