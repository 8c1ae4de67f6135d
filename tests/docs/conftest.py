"""What the tests of the pages share."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def draw() -> ModuleType:
    """The script docs/draw.py, as a module."""
    spec = importlib.util.spec_from_file_location("draw", ROOT / "docs" / "draw.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
