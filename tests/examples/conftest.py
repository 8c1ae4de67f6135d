"""The conformance suite is used here too; its assertions are to explain themselves."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("taskq.testing.conformance")
