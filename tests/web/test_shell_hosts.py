"""By which names a console answers."""

from __future__ import annotations

import pytest

from taskq import TaskQ
from taskq.errors import ConfigurationError
from taskq.web import Console, ConsoleOptions
from taskq.web.application import build
from taskq.web.shell import AllowedHosts, Shell
from taskq.web.shell.hosts import host_of, origin_of
from tests.web.asking import ask

OURS = (
    "localhost",
    "LOCALHOST:8080",
    "127.0.0.1",
    "127.0.0.1:1",
    "[::1]",
    "[::1]:65535",
    "[0:0:0:0:0:0:0:1]:8080",
)
MALFORMED = (
    "",
    " ",
    "localhost.",
    "127.0.0.1.:80",
    "localhost:",
    "localhost:0",
    "localhost:65536",
    "localhost:http",
    "localhost:80:80",
    "localhost:1@evil.example",
    "evil.example@localhost",
    "localhost/evil",
    "localhost\\evil",
    "localhost?x",
    "localhost#x",
    "local host",
    "localhost,evil.example",
    "http://localhost",
    "[::1",
    "::1",
    "[::1%25lo]",
    "[::1%lo]",
    "[127.0.0.1]",
    "[:::1]",
    "-localhost",
    "a..b",
    "x" * 64 + ".example",
    "loc\xe4lhost",
    "localhost\x00",
    "localhost\n",
    "a." * 200 + "b",
)
FOREIGN = (
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil-localhost",
    "0.0.0.0",
    "127.1",
    "2130706433",
    "0x7f000001",
    "192.0.2.1",
    "[::]",
    "[::2]",
    "[::ffff:127.0.0.1]",
    "[fe80::1]",
)


async def status(console: Shell, *hosts: str) -> tuple[int, str | None]:
    answer = await ask(console, "GET", "/health", [("host", host) for host in hosts])
    return answer.status, answer.json.get("code")


async def test_a_console_answers_to_the_names_of_its_machine(console: Shell) -> None:
    """threat:T19"""
    for host in OURS:
        assert await status(console, host) == (200, None), host


async def test_a_host_that_is_malformed_is_refused(console: Shell) -> None:
    """threat:T19"""
    for host in MALFORMED:
        assert await status(console, host) == (400, "bad_host"), host


async def test_other_names_are_refused(console: Shell) -> None:
    """threat:T19: a page that had its own name resolve to this machine gets nothing."""
    for host in FOREIGN:
        assert await status(console, host) == (400, "bad_host"), host


async def test_no_host_and_two_hosts_are_refused(console: Shell) -> None:
    """threat:T19"""
    assert await status(console) == (400, "bad_host")
    assert await status(console, "localhost", "localhost") == (400, "bad_host")
    assert await status(console, "localhost", "evil.example") == (400, "bad_host")


async def test_what_a_proxy_says_of_the_host_is_not_asked(console: Shell) -> None:
    """threat:T20"""
    headers = [("host", "evil.example"), ("x-forwarded-host", "localhost")]
    assert (await ask(console, "GET", "/health", headers)).status == 400


async def test_settings_and_options_allow_more_names() -> None:
    """threat:T19"""
    app = TaskQ("memory://", web_allowed_hosts=["queue.example.com"])
    shell = build(Console(app, ConsoleOptions(allowed_hosts=("tools.example.com:8443",))))
    for host in (
        "queue.example.com",
        "QUEUE.example.com:99",
        "tools.example.com:8443",
        "localhost",
    ):
        assert await status(shell, host) == (200, None), host
    for host in ("tools.example.com", "sub.queue.example.com", "queue.example.com."):
        assert await status(shell, host) == (400, "bad_host"), host


async def test_a_star_leaves_names_to_somebody_else() -> None:
    shell = build(Console(TaskQ("memory://"), ConsoleOptions(allowed_hosts=("*",))))
    assert await status(shell, "anything.example") == (200, None)
    assert await status(shell, "anything..example") == (400, "bad_host")


@pytest.mark.parametrize(
    "entry",
    ["", "queue.example.com/", "https://queue.example.com/x", "ftp://a", "a b", "*.a", "//a"],
)
def test_an_entry_that_is_no_host_is_told(entry: str) -> None:
    with pytest.raises(ConfigurationError, match=r"web_allowed_hosts: .* is no host"):
        AllowedHosts([entry])


def test_equal_hosts_are_read_as_equal() -> None:
    assert host_of("[0:0::0:1]:80") == host_of("[::1]:80")
    assert host_of("Example.COM") == host_of("example.com")
    assert origin_of("https://Example.com") == origin_of("https://example.com:443")
    assert origin_of("https://example.com") != origin_of("http://example.com:443")
    assert origin_of("null") is None and origin_of("file://") is None
