"""Those who guess passwords are slowed down, and learn nothing by how long it takes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from taskq import TaskQ
from taskq.passwords import NOBODYS, PasswordHash, hashed
from taskq.web import Console, ConsoleOptions
from taskq.web.access import access
from taskq.web.access.throttle import ACCOUNT, ADDRESS, Limit, Throttle, address_key
from taskq.web.application import build
from taskq.web.shell import Shell
from tests.web.asking import OWN, Answer, post

PASSWORD = "correct horse battery"


class Hands:
    """A clock whose hands are moved."""

    def __init__(self) -> None:
        self.passed = 0.0

    def now(self) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=self.passed)

    def monotonic(self) -> float:
        return self.passed


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
async def console(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Knows ada; its passwords are compared without scrypt, which takes its time."""
    users = {"ada": f"admin:{hashed(PASSWORD).text}"}
    app = TaskQ("memory://", clock=hands, web_users=users)
    monkeypatch.setattr(PasswordHash, "fits", fits_at_once([]))
    return build(Console(app, ConsoleOptions()))


def fits_at_once(asked: list[PasswordHash]) -> Callable[[PasswordHash, str], bool]:
    def fits(self: PasswordHash, password: str) -> bool:
        asked.append(self)
        return self != NOBODYS and password == PASSWORD

    return fits


async def log_in(
    console: Shell,
    name: str,
    password: str = "guess",
    address: str = "192.0.2.1",
    *more: tuple[str, str],
) -> Answer:
    content = {"name": name, "password": password}
    return await post(console, "/api/session", content, [*OWN, *more], client=(address, 1))


async def test_an_account_that_is_guessed_at_has_to_wait_longer_and_longer(
    console: Shell, hands: Hands
) -> None:
    """threat:T23: from wherever the guesses come."""
    for number in range(ACCOUNT.free):
        assert (await log_in(console, "ada", address=f"192.0.2.{number}")).status == 401
    waits: list[int] = []
    for number in range(100, 109):
        answer = await log_in(console, "ada", PASSWORD, f"192.0.2.{number}")
        assert (answer.status, answer.json["code"]) == (429, "too_many_attempts")
        waits.append(int(answer.header("retry-after") or 0))
        hands.passed += waits[-1]
        assert (await log_in(console, "ada", address=f"192.0.2.{number}")).status == 401
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


async def test_after_the_wait_the_right_password_counts(console: Shell, hands: Hands) -> None:
    """threat:T23"""
    for _ in range(ACCOUNT.free):
        await log_in(console, "ada")
    hands.passed += 1
    assert (await log_in(console, "ada", PASSWORD)).status == 200
    assert (await log_in(console, "ada")).status == 401


async def test_an_address_that_guesses_at_many_accounts_has_to_wait(console: Shell) -> None:
    """threat:T23"""
    for number in range(ADDRESS.free):
        assert (await log_in(console, f"user{number}")).status == 401
    assert (await log_in(console, "ada", PASSWORD)).status == 429
    assert (await log_in(console, "ada", PASSWORD, "192.0.2.9")).status == 200


async def test_ones_own_login_does_not_wipe_out_guesses_at_others(console: Shell) -> None:
    """threat:T23"""
    for number in range(ADDRESS.free - 1):
        assert (await log_in(console, f"user{number}")).status == 401
        assert (await log_in(console, "ada", PASSWORD)).status == 200
    assert (await log_in(console, "user")).status == 401
    assert (await log_in(console, "ada", PASSWORD)).status == 429


@pytest.mark.parametrize(
    "header",
    ["x-forwarded-for", "forwarded", "x-real-ip", "cf-connecting-ip", "x-forwarded-host"],
)
async def test_no_header_makes_it_another_address(console: Shell, header: str) -> None:
    """threat:T20"""
    for number in range(ADDRESS.free):
        await log_in(console, f"user{number}", "guess", "192.0.2.1", (header, f"10.0.0.{number}"))
    answer = await log_in(console, "ada", PASSWORD, "192.0.2.1", (header, "10.9.9.9"))
    assert answer.status == 429


async def test_a_name_that_nobody_has_takes_a_hash_too(
    console: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """threat:T23: it takes as long, and says the same."""
    asked: list[PasswordHash] = []
    monkeypatch.setattr(PasswordHash, "fits", fits_at_once(asked))
    known, unknown = await log_in(console, "ada"), await log_in(console, "nobody")
    assert known.body == unknown.body
    assert (asked[1], len(asked)) == (NOBODYS, 2)
    assert (asked[0].cost, asked[0].block, asked[0].lanes) == (
        NOBODYS.cost,
        NOBODYS.block,
        NOBODYS.lanes,
    )


async def test_few_passwords_are_checked_at_once(
    console: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """threat:T8: each takes memory; who has to wait for that is not counted as guessing."""
    monkeypatch.setattr(access, "MOST_CHECKS", 0)
    for _ in range(2 * ADDRESS.free):
        answer = await log_in(console, "ada", PASSWORD)
        assert (answer.status, answer.header("retry-after")) == (429, "1")
    monkeypatch.undo()
    monkeypatch.setattr(PasswordHash, "fits", fits_at_once([]))
    assert (await log_in(console, "ada", PASSWORD)).status == 200


async def test_many_tries_at_once_do_not_pass_together(hands: Hands) -> None:
    """threat:T23: each counts when it begins."""
    throttle = Throttle(hands)
    keys = [("account:ada", ACCOUNT)]
    assert [throttle.begin(keys) for _ in range(ACCOUNT.free + 2)] == [0.0] * ACCOUNT.free + [
        1.0,
        1.0,
    ]


async def test_failures_are_forgotten_in_time(hands: Hands) -> None:
    throttle, keys = Throttle(hands), [("k", Limit(free=1, longest=60))]
    throttle.begin(keys)
    assert throttle.begin(keys) == 1.0
    hands.passed = 1 + 901
    assert throttle.begin(keys) == 0.0
    assert throttle.begin(keys) == 1.0


async def test_no_number_of_keys_fills_the_memory(hands: Hands) -> None:
    """threat:T8"""
    throttle = Throttle(hands, most=10)
    for number in range(1000):
        throttle.begin([(f"account:{number}", ACCOUNT)])
    assert len(throttle) == 10


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("unix:", "192.0.2.1", False),
    ],
)
async def test_an_address_is_what_one_customer_has(one: str, other: str, same: bool) -> None:
    """threat:T20"""
    assert (address_key((one, 1)) == address_key((other, 2))) is same
    assert address_key(None) == address_key(None)
