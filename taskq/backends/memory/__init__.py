"""The memory backend: the reference model of the contract, for tests and for trying things out."""

from __future__ import annotations

from taskq.backends.memory.backend import MemoryBackend

__all__ = ("MemoryBackend",)
