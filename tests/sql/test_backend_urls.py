"""Which backend a URL names, and what a wrong one is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

from taskq.backends import from_url, urls
from taskq.backends.memory import MemoryBackend
from taskq.backends.sql import PostgresBackend, SQLiteBackend
from taskq.backends.sql.postgres.address import address_of
from taskq.errors import ConfigurationError
from taskq.testing import ManualClock

CLOCK = ManualClock()


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///shop.db", "shop.db"),
        ("sqlite:///data/shop.db", "data/shop.db"),
        ("sqlite:////var/lib/shop.db", "/var/lib/shop.db"),
        ("sqlite+pysqlite:///shop.db", "shop.db"),
        ("sqlite+aiosqlite:////var/lib/shop.db", "/var/lib/shop.db"),
        ("SQLite:///shop.db", "shop.db"),
        ("sqlite:///my%20shop%3F.db", "my shop?.db"),
        ("sqlite:///100%25.db", "100%.db"),
        ("sqlite:///caf\u00e9.db", "caf\u00e9.db"),
    ],
)
def test_an_sqlite_url_names_a_file(
    url: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    backend = from_url(url, clock=CLOCK)

    assert isinstance(backend, SQLiteBackend)
    assert backend.location == str(tmp_path / path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://", "memory://"),
        ("sqlite:///", "memory://"),
        ("sqlite:///:memory:", "memory://"),
        ("sqlite+aiosqlite://", "memory://"),
        ("sqlite:///file:x?mode=memory&uri=true", "takes no options"),
        ("sqlite:///file:x", "takes no options"),
        ("sqlite:///x.db?timeout=3", "takes no options"),
        ("sqlite://shop.db", "has no host"),
        ("sqlite://ada:hunter2@host/shop.db", "has no host"),
        ("sqlite:///a%00b", "NUL"),
        ("memory://shared", "takes nothing"),
        ("", "no scheme"),
        ("shop.db", "no scheme"),
        ("://x", "no scheme"),
        ("ada:hunter2@host", "no scheme"),
        ("redis://:hunter2@host/0", "no backend serves redis://"),
        ("mysql://ada:hunter2@host/shop", "no backend serves mysql://"),
        ("postgresql+psycopg://ada:hunter2@host/shop", "by asyncpg"),
        ("postgresql://ada:hunter2@host/shop?timeout=soon", "timeout .* must be a number"),
        ("postgresql://ada:hunter2@host/a%00b", "NUL"),
    ],
)
def test_a_wrong_url_is_told_what_is_wrong_without_its_password(url: str, message: str) -> None:
    """seed:E1"""

    with pytest.raises(ConfigurationError, match=message) as caught:
        from_url(url, clock=CLOCK)

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("postgresql://ada:hunter2@host:5433/shop", "postgresql://ada@host:5433/shop"),
        ("postgres://host/shop?sslmode=require", "postgresql://host/shop"),
        ("PostgreSQL+asyncpg://ada:hunter2@host/shop?ssl=require", "postgresql://ada@host/shop"),
        ("postgresql://host/shop?user=ada&password=hunter2", "postgresql://host/shop"),
        ("postgresql:///shop?host=/run/pg", "postgresql:///shop?host=/run/pg"),
        ("postgresql://ada:hunter2@one:1,two:2/shop", "postgresql://ada@one:1,two:2/shop"),
        ("postgresql://ada:hun%40ter2@host/shop", "postgresql://ada@host/shop"),
        ("postgresql://", "postgresql://"),
    ],
)
def test_a_postgresql_url_is_shown_without_its_password(url: str, location: str) -> None:
    backend = from_url(url, clock=CLOCK)

    assert isinstance(backend, PostgresBackend)
    assert backend.location == location
    assert "hunter2" not in repr(vars(backend))


@pytest.mark.parametrize(
    ("options", "sent", "prepared"),
    [
        ("", "application_name=taskq", True),
        ("?application_name=shop", "application_name=shop", True),
        ("?ssl=require", "sslmode=require&application_name=taskq", True),
        ("?sslmode=verify-full&channel_binding=require", "sslmode=verify-full&", True),
        ("?prepared_statement_cache_size=0", "?application_name=taskq", False),
        ("?statement_cache_size=0", "?application_name=taskq", False),
        ("?prepared_statement_cache_size=50", "?application_name=taskq", True),
        ("?search_path=a%2Cb&connect_timeout=3", "search_path=a%2Cb", True),
    ],
)
def test_options_are_handed_to_the_driver_as_it_knows_them(
    options: str, sent: str, prepared: bool
) -> None:
    """bug:B159: behind a pooler nothing is prepared by name."""
    address = address_of(f"postgresql+asyncpg://host/shop{options}")

    assert sent in address.dsn
    assert address.prepared is prepared


def test_memory_needs_nothing_else() -> None:
    """seed:B19"""

    assert isinstance(from_url("memory://", clock=CLOCK), MemoryBackend)


def installed(
    monkeypatch: pytest.MonkeyPatch, **backends: Callable[[], Callable[[str], object]]
) -> None:
    """Pretend that a package serves these schemes."""

    def found(*, group: str, name: str) -> Iterable[object]:
        assert group == "taskq.backends"
        for scheme, load in backends.items():
            if scheme == name:
                yield SimpleNamespace(name=name, value=f"package:{name}", load=load)

    monkeypatch.setattr(urls, "entry_points", found)


def test_an_installed_package_may_serve_another_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    """seed:B17"""

    store = MemoryBackend()
    seen: list[str] = []

    def make(url: str) -> object:
        seen.append(url)
        return store

    installed(monkeypatch, cloud=lambda: make)

    assert from_url("cloud://ada:hunter2@host/x", clock=CLOCK) is store
    assert seen == ["cloud://ada:hunter2@host/x"]


def test_a_package_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> Callable[[str], object]:
        raise ImportError("no module named cloud")

    installed(monkeypatch, cloud=load)

    with pytest.raises(ConfigurationError, match=r"package:cloud.*no module named cloud"):
        from_url("cloud://host", clock=CLOCK)
