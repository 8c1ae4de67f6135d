"""What tests of programs that use taskq, and of backends, can build on.

``taskq.testing.conformance`` needs pytest and is imported by itself.
"""

from __future__ import annotations

from taskq.testing.clock import LoopClock, ManualClock
from taskq.testing.drain import drain

__all__ = ("LoopClock", "ManualClock", "drain")
