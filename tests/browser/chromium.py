"""The browser: a Chromium of this machine, headless. None is ever downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first is the same browser without a window's parts, and half as slow to open a page."""
FLAGS = (
    "--no-sandbox",  # root may not have one
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
PATIENCE = 60.0
"""Seconds that it gets to start."""


class NoBrowser(Exception):
    """Why none can be had."""


def program() -> str:
    """Its path: TASKQ_TEST_CHROMIUM, else what is on PATH. NoBrowser where there is none."""
    given = os.environ.get("TASKQ_TEST_CHROMIUM")
    if given:
        return given
    for name in NAMES:
        found = shutil.which(name)
        if found is not None:
            return found
    raise NoBrowser(
        "no chromium on PATH (Debian: apt-get install chromium-headless-shell); see .ci/run"
    )


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser, with a profile that is empty and forgotten at the end.

    Meanwhile an event loop counts as running in this thread: what needs one of its own, as async
    tests do, runs in another thread or later. Raises NoBrowser, with one clear reason.
    """
    path = program()
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        raise NoBrowser(f"playwright cannot be imported: {error}") from None
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(
                executable_path=path, args=FLAGS, timeout=PATIENCE * 1000
            )
        except Error as error:
            reason = str(error).strip().splitlines()[0]
            raise NoBrowser(f"{path} does not start: {reason}") from None
        try:
            yield browser
        finally:
            browser.close()
