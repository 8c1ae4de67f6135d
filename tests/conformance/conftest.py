"""The conformance suite lives in the package; its assertions are to explain themselves here too."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("taskq.testing.conformance")
