"""What no page of the console may ever do, watched while it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, ConsoleMessage, Request, Response, WebError

OWN = ("data:", "blob:", "about:")
"""Addresses that lead to no server."""

VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`CSP: ${event.violatedDirective} forbids ${event.blockedURI || "inline"}`);
});
"""


class Guard:
    """Of everything in a browser's context: console errors and warnings, exceptions that nobody
    caught, requests that leave the origin, answers that say the server is broken, violations of the
    Content-Security-Policy, dialogs.

    ``excuse`` names what a test brings about itself.
    """

    def __init__(self) -> None:
        self.begin("")

    def begin(self, origin: str) -> None:
        """Mind this origin; what was found and excused before is forgotten."""
        self._origin = origin
        self._found: list[str] = []
        self._excused: list[str] = []

    def watch(self, context: BrowserContext) -> None:
        """From now on, on every page."""
        context.add_init_script(VIOLATIONS)
        context.on("console", self._console)
        context.on("weberror", self._exception)
        context.on("request", self._request)
        context.on("response", self._response)
        context.on("dialog", self._dialog)

    def excuse(self, *parts: str) -> None:
        """What holds one of these texts is no finding, whenever it was or will be made."""
        self._excused += parts

    @property
    def findings(self) -> list[str]:
        """What was not to happen, in order."""
        return [
            finding for finding in self._found if not any(part in finding for part in self._excused)
        ]

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            at = message.location.get("url", "")
            self._found.append(f"console {message.type}: {message.text} ({at})")

    def _exception(self, error: WebError) -> None:
        self._found.append(f"exception: {error.error}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"{self._origin}/", *OWN)):
            self._found.append(f"request to elsewhere: {request.method} {request.url}")

    def _response(self, response: Response) -> None:
        if response.status >= 500:
            self._found.append(f"answer {response.status}: {response.url}")

    def _dialog(self, dialog: object) -> None:
        self._found.append(f"dialog: {getattr(dialog, 'message', dialog)}")
        getattr(dialog, "dismiss", lambda: None)()
