"""What one test has had made, for all that come after it in the same process.

Hundreds of tests open a new SQLite file, and thousands make an app in the folder of the repository:
for each of the former Alembic went through every revision, and each of the latter read
pyproject.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Connection

from taskq import migrations
from taskq.settings import config_file

upgrade: Callable[..., None] = migrations.upgrade
"""Alembic's way, for tests of it."""

SCHEMA = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"


def share() -> None:
    """From now on the tables of a new SQLite file are made by the statements that Alembic had used
    for the first one, and the same TOML is read once."""
    statements: list[str] = []

    def upgraded(connection: Connection, revision: str = "head") -> None:
        new = connection.dialect.name == "sqlite" and not _schema(connection)
        if revision != "head" or not new:
            upgrade(connection, revision)
        elif statements:
            for statement in statements:
                connection.exec_driver_sql(statement)
        else:
            upgrade(connection)
            version = f"INSERT INTO {migrations.VERSION_TABLE} VALUES ('{migrations.HEAD}')"
            statements[:] = [*_schema(connection), version]

    migrations.upgrade = upgraded
    loads = cache(tomllib.loads)

    def read(text: str) -> dict[str, Any]:
        return deepcopy(loads(text))

    config_file.tomllib = SimpleNamespace(loads=read)  # its name for the module


def _schema(connection: Connection) -> list[str]:
    """In the order in which it was made."""
    return list(connection.exec_driver_sql(f"{SCHEMA} ORDER BY rowid").scalars())
