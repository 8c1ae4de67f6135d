"""``taskq web``: the console, served until a signal stops it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import anyio
import click
from anyio import sleep_forever

from taskq.app import TaskQ
from taskq.cli.command import Command
from taskq.cli.console_server import HOST, PORT, bound, console_server, entrance_of
from taskq.cli.failure import NotDone, Refused
from taskq.cli.loading import chosen
from taskq.cli.log_options import LogFormat, log_options
from taskq.cli.output import say
from taskq.cli.stopping import Signals
from taskq.cli.target import missing, target
from taskq.cli.worker import backend_options
from taskq.logs import configure

if TYPE_CHECKING:
    from taskq.web.serving import WebServer


@click.command("web", cls=Command)
@click.argument("app", required=False)
@click.option("-A", "--app", "app_option", metavar="APP", help="The app, instead of the argument.")
@click.option("--database", metavar="URL", help="See this database, without an app.")
@click.option("--host", default=HOST, show_default=True, help="Listen at this address.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True,
    help="Listen at this port; 0 chooses one.",
)  # fmt: skip
@click.option(
    "--base-path", default="/", show_default=True, metavar="PATH",
    help="Where a proxy shows it, for example /taskq.",
)  # fmt: skip
@click.option("--read-only", is_flag=True, help="Look only: no command is there.")
@click.option("--api-only", is_flag=True, help="The API without the page.")
@log_options
def web_command(
    app: str | None,
    app_option: str | None,
    database: str | None,
    host: str,
    port: int,
    base_path: str,
    read_only: bool,
    api_only: bool,
    log_level: str,
    log_format: LogFormat,
) -> None:
    """Serve the console of APP, written module:attribute, or of a database.

    It listens on this machine only, and prints a link that logs in once, within 10 minutes. Another
    --host needs accounts, see docs/console.md. The first SIGINT or SIGTERM stops it within 5 s, a
    second now.
    """
    configure(log_level, log_format)
    named = chosen(app, app_option)
    found = target(database, named)
    try:
        _check_visible(found, may_be_made=named is not None and not read_only)
        server = console_server(
            found, host, bound(host, port), base_path=base_path,
            read_only=read_only, api_only=api_only,
        )  # fmt: skip
        where = found.client.store.location
        keep_what_is_loaded()
        serve_until_stopped(server, lambda url: say(f"console of {where}: {url}"))
    finally:
        found.close()


def keep_what_is_loaded() -> None:
    """What is there now stays for as long as the process: no collection of garbage has to walk
    through it while a request waits, which takes a tenth of a second."""
    gc.collect()
    gc.freeze()


def serve_until_stopped(
    server: WebServer,
    announce: Callable[[str], object],
    beside: Callable[[], Coroutine[Any, Any, object]] = sleep_forever,
) -> None:
    """Serve until a signal stops it, with ``beside`` running; in the main thread. ``announce`` is
    given where to begin, and how long a link works, once that answers."""
    from taskq.web.serving import GRACE

    signals = Signals(server.stop, GRACE, what="requests")
    signals.listen()

    async def serve() -> None:
        await server.open()
        announce(entrance_of(server))
        async with anyio.create_task_group() as group:
            group.start_soon(signals.watch)
            group.start_soon(beside)
            await server.serve()
            group.cancel_scope.cancel()

    try:
        anyio.run(serve, backend="asyncio", backend_options=backend_options("asyncio"))
    finally:
        signals.over()


def _check_visible(found: TaskQ, *, may_be_made: bool) -> None:
    store = found.client.store
    if not store.capabilities.shared:
        raise Refused(
            f"{store.location} lives inside one process: nothing can be seen from here; in a"
            " worker's own process it can, by taskq worker --web"
        )
    if not may_be_made and missing(store.location):
        raise NotDone(f"there is no database at {store.location}")
