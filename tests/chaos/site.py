"""Where a fault run takes place: a database, and on PostgreSQL the server and the way to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from taskq import migrations
from tests.chaos.database import Database, PostgresDatabase, SQLiteFile
from tests.chaos.proxy import Proxy
from tests.postgres_server import Server, private_server


class Cluster(Struct, frozen=True):
    """A private PostgreSQL server that may be harmed, a ``database`` of it, and a way to it."""

    server: Server
    database: PostgresDatabase
    proxy: Proxy


class Site(Struct, frozen=True):
    """The database of a fault run. ``url``: by which way its app is to use it."""

    database: Database
    url: str
    cluster: Cluster | None = None


@contextmanager
def sqlite_site(folder: Path) -> Iterator[Site]:
    """A file in a folder."""
    database = SQLiteFile(folder / "taskq.db")
    yield Site(database, database.url)


@contextmanager
def postgres_site(folder: Path) -> Iterator[Site]:
    """A durable server of its own, outside of the folder. NoServer where there can be none."""
    with private_server(durable=True) as server:
        migrations.migrate_url(server.url)
        database, proxy = PostgresDatabase(server.url), Proxy(server.url)
        try:
            yield Site(database, proxy.url, Cluster(server, database, proxy))
        finally:
            proxy.close()
            database.close()


SITES = {"sqlite": sqlite_site, "postgres": postgres_site}
"""By their names, as ``./scripts/chaos --database`` has them."""
