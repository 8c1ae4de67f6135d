"""What these tests rely on: the guard sees what must not happen, the probes see what is amiss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.accessible import contrast, focus, nameless, overflow, structure
from tests.browser.chromium import NoBrowser, program
from tests.browser.pages import eventually
from tests.browser.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ORIGIN = "http://127.0.0.1:9"
"""Nobody answers there: what is asked for is made up by the test."""


@pytest.fixture
def careless(browser: Browser) -> Iterator[Visitor]:
    """One whose findings are looked at by the test itself."""
    visitor = Visitor(browser)
    yield visitor
    visitor.leave()


def shown(page: Page, body: str, *, status: int = 200, head: str = "", csp: str = "") -> Page:
    """Show this, as if a server had answered it."""
    content = f'<!doctype html><html lang="en"><head><title>t</title>{head}</head>{body}'
    headers = {"content-type": "text/html", **({"content-security-policy": csp} if csp else {})}
    page.route(ORIGIN + "/", lambda route: route.fulfill(
        status=status, body=content, headers=headers
    ))  # fmt: skip
    page.goto(ORIGIN + "/")
    return page


FAULTS = """
<script>console.error("told")</script>
<script>console.warn("warned")</script>
<script>setTimeout(() => { throw new Error("thrown") })</script>
<script>Promise.reject(new Error("rejected"))</script>
<img alt="" src="http://elsewhere.example/pixel.png">
<script>alert("asked")</script>
<script>setTimeout(() => document.title = "done", 20)</script>"""


def test_the_guard_sees_what_must_not_happen(careless: Visitor) -> None:
    page = shown(careless.page(ORIGIN), FAULTS)
    page.wait_for_function("() => document.title === 'done'")
    expected = {
        "console error: told",
        "console warning: warned",
        "exception: thrown",
        "exception: rejected",
        "request to elsewhere: GET http://elsewhere.example/pixel.png",
        "dialog: asked",
    }
    eventually(page, lambda: expected <= {found.partition(" (")[0] for found in careless.findings})


def test_the_guard_sees_a_server_that_is_broken(careless: Visitor) -> None:
    page = shown(careless.page(ORIGIN), "oh", status=503)
    eventually(page, lambda: f"answer 503: {ORIGIN}/" in careless.findings)


def test_the_guard_sees_what_the_policy_forbids(careless: Visitor) -> None:
    page = careless.page(ORIGIN)
    shown(page, "<script>1</script>", csp="script-src 'self'")
    eventually(page, lambda: any("CSP: script-src" in each for each in careless.findings))


def test_the_guard_lets_pass_what_a_test_excuses(careless: Visitor) -> None:
    page = careless.page(ORIGIN)
    careless.guard(page).excuse("503")
    shown(page, "oh", status=503)
    assert careless.findings == []


GOOD = """<body style="background: #fff; color: #111"><main><h1>Title</h1>
<p style="color: #767676">Just enough</p><p style="font-size: 24px; color: #949494">Large</p>
<button>Save</button> <a href="#x" style="color: #00c">there</a>
<label>Name <input value="Ada"></label>
<p style="background: #000"><span style="color: rgba(255, 255, 255, .8)">blended</span></p>
<p style="opacity: 0; color: #fff">unseen</p><button disabled style="color: #eee">off</button>
<svg width="90" height="20"><rect width="90" height="20" fill="#000"/>
<text x="2" y="15" fill="#fff">drawn</text></svg></main>"""

BAD = """<body style="background: #fff">
<p style="color: #777777">faint</p>
<p style="font-size: 24px; color: #999">faint and large</p>
<p style="opacity: .5; color: #555">faded</p>
<p style="background: rgba(0, 0, 0, .5); color: #999">on a blend</p>
<p style="color: oklch(0.75 0.1 200)">of a wide gamut</p>
<label>N <input placeholder="said before" style="color: #777"></label>
<svg width="90" height="20"><rect width="90" height="20" fill="#eee"/>
<text x="2" y="15" fill="#999">drawn</text></svg>"""


def test_a_page_that_is_well_made_has_no_violations(careless: Visitor) -> None:
    page = shown(careless.page(ORIGIN), GOOD)
    probes = (contrast, focus, nameless, structure, overflow)
    assert [found for probe in probes for found in probe(page)] == []


def test_too_little_contrast_is_found(careless: Visitor) -> None:
    found = contrast(shown(careless.page(ORIGIN), BAD))
    assert [finding.partition(": ")[0] for finding in found] == [
        "text has contrast 4.48, not 4.5",
        "text has contrast 2.85, not 3",
        "text has contrast 2.32, not 4.5",
        "text has contrast 1.41, not 4.5",
        "text has contrast 2.14, not 4.5",
        "value has contrast 4.48, not 4.5",
        "text has contrast 2.46, not 4.5",
    ]


def test_a_control_without_a_name_is_found(careless: Visitor) -> None:
    body = '<button><svg></svg></button><input><a href="/x"></a><button>named</button>'
    assert [finding[:12] for finding in nameless(shown(careless.page(ORIGIN), body))] == [
        "no name: but",
        "no name: tex",
        "no name: lin",
    ]


def test_focus_that_cannot_be_seen_is_found(careless: Visitor) -> None:
    head = "<style>:focus { outline: none } .b:focus { box-shadow: 0 0 0 2px }</style>"
    page = shown(careless.page(ORIGIN), '<button>a</button><button class="b">b</button>', head=head)
    [found] = focus(page)
    assert found == 'focus cannot be seen on button "a"'


def test_a_structure_that_is_amiss_is_found(careless: Visitor) -> None:
    page = shown(careless.page(ORIGIN), '<h1 id="a">x</h1><h1 id="a">y</h1>')
    assert structure(page) == [
        'a second #a: h1#a "y"',
        "2 h1 in place of one",
        "0 main in place of one",
    ]


def test_what_makes_a_page_too_wide_is_found(careless: Visitor) -> None:
    page = shown(
        careless.page(ORIGIN, width=380),
        '<div style="overflow: auto"><p style="width: 900px">in</p></div>'
        '<p id="w" style="width: 600px">wide</p>',
    )
    [found] = overflow(page)
    assert "p#w" in found and '"in"' not in found


def test_without_a_browser_there_is_one_clear_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TASKQ_TEST_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoBrowser, match=r"no chromium on PATH .*apt-get install chromium"):
        program()
