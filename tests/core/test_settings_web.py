"""The settings of the console: accounts, what is kept of their secrets, names of hosts."""

from __future__ import annotations

import pickle

import msgspec
import pytest

from taskq.errors import ConfigurationError
from taskq.passwords import hashed
from taskq.settings import Settings, configuration, load
from taskq.settings.accounts import digest_of

TOKEN = "canary-0123456789-abc"
HASH = hashed("correct horse").text


def problem(**settings: object) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load(settings, environ={})
    return str(caught.value)


def test_accounts_are_written_as_a_mapping_or_as_text() -> None:
    written = load(environ={"TASKQ_WEB_TOKENS": f"ada=admin:{TOKEN}, bob=viewer:{TOKEN}=="})
    given = load({"web_tokens": {"ada": f"admin:{TOKEN}", "bob": f"viewer:{TOKEN}=="}}, environ={})
    assert written.web_tokens == given.web_tokens
    assert load({"web_users": f"ada=operator:{HASH}"}, environ={}).web_users == {
        "ada": f"operator:{HASH}"
    }


def test_of_a_token_only_its_digest_is_kept() -> None:
    """threat:T14"""
    settings = load({"web_tokens": {"ada": f"admin:{TOKEN}"}}, environ={})
    assert settings.web_tokens == {"ada": f"admin:{digest_of(TOKEN)}"}
    assert TOKEN.encode() not in pickle.dumps(msgspec.structs.asdict(settings))


def test_what_was_kept_can_be_given_again() -> None:
    settings = load({"web_tokens": {"ada": f"admin:{TOKEN}"}}, environ={})
    assert configuration(base=settings).settings == settings
    assert load({"web_tokens": f"ada=admin:{digest_of(TOKEN)}"}, environ={}) == settings


@pytest.mark.parametrize(
    "settings",
    [
        {"web_tokens": {"ada": f"admin:{TOKEN}"}},
        {"web_tokens": f"ada=admin:{TOKEN}"},
        {"web_users": {"ada": f"admin:{HASH}"}},
        {"web_secret": "canary" * 9},
    ],
)
def test_settings_show_no_secret(settings: dict[str, object]) -> None:
    """threat:T14"""
    found = load(settings, environ={})
    for shown in (repr(found), str(found), str(found.__rich_repr__())):
        assert "canary" not in shown
        assert HASH not in shown and digest_of(TOKEN) not in shown
    assert ("web_secret" not in settings) == ("web_secret=None" in repr(found))


WRONG: list[tuple[dict[str, object], str]] = [
    ({"web_tokens": {"ada": f"root:{TOKEN}"}}, "roles are viewer, operator, admin"),
    ({"web_tokens": {"ada": TOKEN}}, "must begin with a role and a colon"),
    ({"web_tokens": {"ada": 3}}, "must begin with a role and a colon"),
    ({"web_tokens": {"ada": "admin:canary"}}, "must have 20 to 500 ASCII characters"),
    ({"web_tokens": {"ada": f"admin:{TOKEN} x"}}, "must not hold spaces"),
    ({"web_tokens": {"ada": f"admin:{TOKEN}é"}}, "must have 20 to 500 ASCII characters"),
    ({"web_tokens": {"a b": f"admin:{TOKEN}"}}, "a name has 1 to 64 letters"),
    ({"web_tokens": {"аda": f"admin:{TOKEN}"}}, "a name has 1 to 64 letters"),  # noqa: RUF001
    ({"web_tokens": {"ada\n": f"admin:{TOKEN}"}}, "a name has 1 to 64 letters"),
    ({"web_tokens": {"": f"admin:{TOKEN}"}}, "a name has 1 to 64 letters"),
    ({"web_tokens": "canary-that-is-a-token-alone"}, "written name=role:…, must begin with a role"),
    ({"web_tokens": "canary-that-is-a-token-with-padding=="}, "written name=role:…"),
    ({"web_tokens": f"admin:{TOKEN}"}, "a name has 1 to 64 letters"),
    ({"web_tokens": f"ada=admin:{TOKEN},ada=viewer:{TOKEN}"}, "ada is there twice"),
    ({"web_tokens": ["canary"]}, "web_tokens must map names to accounts"),
    ({"web_users": {"ada": "admin:canary"}}, "what 'taskq web-password' prints"),
    ({"web_users": {"ada": f"admin:{HASH}x"}}, "what 'taskq web-password' prints"),
    ({"web_users": f"ada=admin:{HASH}", "web_tokens": f"ada=admin:{TOKEN}"}, "one account"),
    ({"web_secret": "canary"}, "web_secret must have at least 32 characters"),
    ({"web_secret": 12345}, "web_secret must be str | None, not a int"),
    ({"web_allowed_hosts": 3}, "web_allowed_hosts must be names of hosts"),
    ({"web_allowed_hosts": [3]}, "web_allowed_hosts must be names of hosts"),
    ({"web_viewer_payloads": "yes"}, "web_viewer_payloads must be bool"),
]


@pytest.mark.parametrize(("settings", "sentence"), WRONG)
def test_a_wrong_account_is_told_without_its_secret(
    settings: dict[str, object], sentence: str
) -> None:
    """threat:T2, T14"""
    said = problem(**settings)
    assert sentence in said
    assert "canary" not in said and "12345" not in said and HASH not in said


def test_a_wrong_account_names_its_variable_and_not_its_secret() -> None:
    """threat:T14"""
    with pytest.raises(ConfigurationError, match=r"\(TASKQ_WEB_TOKENS\)$") as caught:
        load(environ={"TASKQ_WEB_TOKENS": "ada=root:canary"})
    assert "canary" not in str(caught.value)


def test_hosts_are_a_list_or_a_text() -> None:
    found = load(environ={"TASKQ_WEB_ALLOWED_HOSTS": "queue.example.com, https://q.example.com,"})
    assert found.web_allowed_hosts == ("queue.example.com", "https://q.example.com")
    given = Settings(web_allowed_hosts=["queue.example.com"])
    assert given.web_allowed_hosts == ("queue.example.com",)
