"""A password never comes out of a URL again: not by an error, a repr, a location, or a log."""

from __future__ import annotations

import io
import logging
import traceback
from contextlib import closing
from urllib.parse import quote, unquote, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from taskq import TaskQ
from taskq.backends import from_url
from taskq.backends.sql.postgres.address import address_of
from taskq.errors import ConfigurationError
from taskq.settings import Settings
from taskq.testing import ManualClock

CLOCK = ManualClock()

SECRETS = st.text("qxzjk", min_size=4, max_size=8)
"""Pieces of passwords that no sentence of taskq's holds by chance, nor an address in memory."""
BETWEEN = st.text(
    st.one_of(st.sampled_from("/?#@:[]%&=+,;. \\\t\n\0\u2100\uff20\ud800"), st.characters()),
    max_size=3,
)
PLACES = (
    "postgresql://user:{}@127.0.0.1:1/shop",
    "postgresql://:{}@/shop",
    "postgres://user:{}@one:1,two:2/shop?sslmode=require",
    "postgresql+asyncpg://user:{}@127.0.0.1:port/shop",
    "postgresql://user:{}@127.0.0.1/shop?timeout=soon",
    "postgresql://127.0.0.1:1/shop?user=ada&password={}",
    "postgresql://127.0.0.1:1/shop?password={}&user=ada",
    "postgresql+psycopg://user:{}@127.0.0.1/shop",
    "sqlite://user:{}@127.0.0.1/shop.db",
    "sqlite:///shop.db?password={}",
    "memory://user:{}@127.0.0.1",
    "mysql://user:{}@127.0.0.1/shop",
    "postgresql:/user:{}@127.0.0.1/shop",
    "user:{}@127.0.0.1/shop",
)


def told(url: str) -> str:
    """All that TaskQ says of a URL: its error with all causes, or what it shows; and its logs."""
    heard = io.StringIO()
    handler = logging.StreamHandler(heard)
    logging.getLogger().addHandler(handler)
    try:
        with closing(TaskQ(url)) as app:
            store = app.client.store
            shown = [repr(app), repr(app.settings), repr(store), store.location, repr(vars(store))]
    except ConfigurationError as error:
        shown = traceback.TracebackException.from_exception(error).format_exception_only()
        assert error.__cause__ is None
        assert error.__context__ is None or error.__suppress_context__
        shown = [*shown, *map(str, error.args)]
    finally:
        logging.getLogger().removeHandler(handler)
    return "\n".join([*shown, heard.getvalue()])


@given(
    place=st.sampled_from(PLACES), first=SECRETS, between=BETWEEN, last=SECRETS, raw=st.booleans()
)
@example(place=PLACES[0], first="7979", between="?", last="zzzz", raw=True)
@example(place=PLACES[0], first="7979", between="/", last="zzzz", raw=True)
@example(place=PLACES[0], first="zzzz", between="://", last="zzzz", raw=True)
@example(place=PLACES[5], first="zzzz", between="&", last="xxxx", raw=True)
@example(place=PLACES[5], first="zzzz", between="\ud800", last="xxxx", raw=True)
def test_whatever_the_password_nothing_shows_a_piece_of_it(
    place: str, first: str, between: str, last: str, raw: bool
) -> None:
    """seed:E1: embedded as it is, or escaped; all that is wrong is a ConfigurationError."""
    password = f"{first}{between}{last}"
    url = place.format(password if raw else quote(password, safe="", errors="replace"))

    said = told(url)

    assert first not in said
    assert last not in said


@pytest.mark.parametrize("url", PLACES[:3])
@given(password=st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1))
def test_an_escaped_password_reaches_the_driver_as_it_is(url: str, password: str) -> None:
    parted = urlsplit(address_of(url.format(quote(password, safe=""))).dsn)

    assert unquote(parted.password or "") == password
    assert parted.path == "/shop"


@pytest.mark.parametrize("password", ["s3cr:t", "s3cr%t", "s3cr&t=+;,", "s3cr t", "s3cr\u2100t"])
def test_what_need_not_be_escaped_may_stay(password: str) -> None:
    parted = urlsplit(address_of(f"postgresql://ada:{password}@host:1/shop").dsn)

    assert (parted.username, unquote(parted.password or "")) == ("ada", password)
    assert (parted.hostname, parted.port) == ("host", 1)


@pytest.mark.parametrize("password", [*(f"12{each}34" for each in "/?#@[]"), "12]@[34"])
def test_a_password_that_is_not_escaped_is_told_how_to_be(password: str) -> None:
    with pytest.raises(ConfigurationError, match="write %40 for @") as caught:
        TaskQ(f"postgresql://ada:{password}@host/shop")

    assert "12" not in str(caught.value)
    assert "34" not in str(caught.value)


@pytest.mark.parametrize(
    "place",
    [
        "host:abc/shop",
        "host:0/shop",
        "host:65536/shop",
        "host:1:2/shop",
        "one:1,,two/shop",
        "one:1,two:b/shop",
        "[::1/shop",
        "::1]/shop",
        "[hunter2]/shop",
        "[::1]5432/shop",
        "/shop?host=::1",
        "/shop?host=one,,two",
        "/shop?host=one&port=1,b",
        "host/shop?port=\u0661",
    ],
)
def test_a_host_or_port_that_cannot_be_is_refused_at_once(place: str) -> None:
    with pytest.raises(ConfigurationError, match="a host in a PostgreSQL URL") as caught:
        from_url(f"postgresql://{place}", clock=CLOCK)

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "place",
    [
        "host/shop",
        ":5432/shop",
        "host:/shop",
        "ada@/shop",
        "[::1]:5432/shop",
        "[fe80::1%25eth0]/shop",
        "one:1,[::1]:2,three/shop",
        "%2Frun%2Fpg/shop",
        "/shop?host=/run/pg&port=5433",
        "/shop?host=one,two&port=1,2",
        "m\u00fcller.example/shop",
        "host/caf\u00e9",
    ],
)
def test_a_host_that_can_be_is_shown_as_it_is_written(place: str) -> None:
    shown = f"postgresql://{place}".replace("&port=5433", "").replace("&port=1,2", "")

    assert address_of(f"postgresql://{place}\n").location == shown


def test_an_option_without_a_value_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="name=value"):
        address_of("postgresql://host/shop?password=s3cr&t")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:hunter2@host/shop", "postgresql://…"),
        ("postgresql+asyncpg://host/shop?password=hunter2", "postgresql+asyncpg://…"),
        ("sqlite:///shop.db", "sqlite:///shop.db"),
        ("sqlite://ada:hunter2@host/shop.db", "sqlite://…"),
        ("memory://", "memory://"),
        ("hunter2", "…"),
    ],
)
def test_settings_show_no_password(url: str, shown: str) -> None:
    settings = Settings(database_url=url)

    assert f"database_url={shown!r}" in repr(settings)
    assert "hunter2" not in repr(settings)
    assert dict(settings.__rich_repr__())["database_url"] == shown


def test_a_url_of_another_type_is_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="database_url must be str, not a bytes") as caught:
        TaskQ(b"postgresql://ada:hunter2@host/shop")  # type: ignore[arg-type]

    assert "hunter2" not in str(caught.value)
