"""Backends on SQL databases: SQLite here; statements and tables are ready for a second dialect."""

from __future__ import annotations

from taskq.backends.sql.sqlite import SQLiteBackend

__all__ = ("SQLiteBackend",)
