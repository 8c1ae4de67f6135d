"""``taskq web-password``: makes what the setting ``web_users`` takes."""

from __future__ import annotations

import pytest

from taskq.passwords import PasswordHash
from taskq.settings import load


def test_it_prints_the_hash_of_the_first_line(cli) -> None:
    result = cli("web-password", input="correct horse\nmore\n")

    kept = PasswordHash.read(result.stdout.strip())
    assert result.exit_code == 0
    assert kept is not None and kept.fits("correct horse")


def test_with_a_name_it_prints_the_account(cli) -> None:
    """threat:T23"""
    result = cli("web-password", "ada", "--role", "operator", input="correct horse\n")

    settings = load(environ={"TASKQ_WEB_USERS": result.stdout.strip()})
    assert settings.web_users["ada"].startswith("operator:scrypt$")


@pytest.mark.parametrize(
    ("arguments", "password"), [((), "short"), ((), ""), ((), "x" * 1025), (("a b",), "x" * 20)]
)
def test_what_the_setting_would_not_take_is_not_made(
    cli, arguments: tuple[str, ...], password: str
) -> None:
    result = cli("web-password", *arguments, input=f"{password}\n")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr
    assert not password or password not in result.stderr


def test_a_role_for_nobody_is_refused(cli) -> None:
    result = cli("web-password", "--role", "admin", input="correct horse\n")
    assert result.exit_code == 2
    assert "give its NAME too" in result.stderr
