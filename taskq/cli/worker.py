"""``taskq worker``: one worker in this process, until a signal stops it."""

from __future__ import annotations

import os
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypedDict, Unpack, cast

import anyio
import click
from msgspec import Struct

from taskq.app import TaskQ
from taskq.assembly import WorkerArguments, engine_for, run_engine
from taskq.bridge import busy_threads, serve_in_thread
from taskq.cli.banner import banner
from taskq.cli.command import Command
from taskq.cli.failure import Refused, translated
from taskq.cli.fleet import run_fleet
from taskq.cli.health import health_endpoint
from taskq.cli.loading import chosen, load_app
from taskq.cli.log_options import LogFormat, log_options
from taskq.cli.member import Membership, Place, place
from taskq.cli.names import names
from taskq.cli.output import endure, flush, say
from taskq.cli.reload import SourceWatch, run_again
from taskq.cli.side_console import SideConsole, WebFlags, inherited, web_options
from taskq.cli.stopping import Stopping
from taskq.cli.values import DURATION
from taskq.engine import Engine
from taskq.errors import ConfigurationError
from taskq.logs import LoggingListener, configure, threads_left

AsyncBackend = Literal["asyncio", "trio"]


class Flags(TypedDict):
    """The flags that are a worker's options."""

    queues: tuple[str, ...]
    types: tuple[str, ...]
    concurrency: int | None
    threads: int | None
    suspend_on_await: bool | None
    max_suspended: int | None
    reserve_slots_for_leaves: int | None
    leaf_types: tuple[str, ...]
    priority_aging: float | None
    burst: bool
    shutdown_grace: float | None
    name: str | None
    schedules: bool | None


class Run(Struct, frozen=True, kw_only=True):
    """How to run a worker, beyond its options."""

    backend: AsyncBackend
    log_format: LogFormat
    health_port: int | None
    sources: SourceWatch | None
    place: Place | None = None
    console: SideConsole | None = None


class Ending(Struct, frozen=True, kw_only=True):
    """How a worker ended: by an error, with handlers cut off, with threads that have not ended, or
    because a source file changed."""

    failure: Exception | None
    cut: bool
    stuck: int
    changed: bool


@click.command("worker", cls=Command)
@click.argument("app", required=False)
@click.option("-A", "--app", "app_option", metavar="APP", help="The app, instead of the argument.")
@click.option(
    "-q", "--queues", multiple=True, metavar="A,B",
    help="Serve only these queues.  [default: all that the app and its tasks name]",
)  # fmt: skip
@click.option(
    "-t", "--types", multiple=True, metavar="A,B", help='Run only these types; "*": claim all.'
)
@click.option("-c", "--concurrency", type=int, help="Attempts at once.  [default: 10]")
@click.option("--threads", type=int, help="Of these in threads.  [default: as many]")
@click.option(
    "--suspend-on-await/--no-suspend-on-await",
    default=None,
    help="Whether a handler that awaits others gives its slot up.  [default: it does]",
)
@click.option(
    "--max-suspended",
    type=int,
    help="With so many waiting, begin children only.  [default: 1000]",
)
@click.option("--reserve-slots-for-leaves", type=int, help="Slots that --leaf-types get first.")
@click.option("--leaf-types", multiple=True, metavar="A,B", help="Types that await no others.")
@click.option(
    "--priority-aging", type=DURATION,
    help="Count as one priority higher after each such time of waiting.",
)  # fmt: skip
@click.option(
    "--async-backend", "backend", type=click.Choice(["asyncio", "trio"]), default="asyncio",
    show_default=True, help="The event loop.",
)  # fmt: skip
@click.option(
    "--schedules/--no-schedules",
    default=None,
    help="Whether to fire what is periodic.  [default: it does; never with --burst]",
)
@click.option("-b", "--burst", is_flag=True, help="End when nothing is left to do.")
@click.option("-r", "--reload", is_flag=True, help="Start again when a Python file here changes.")
@log_options
@click.option(
    "--shutdown-grace", type=DURATION,
    help="How long handlers may go on after a stop.  [default: 30]",
)  # fmt: skip
@click.option(
    "-w", "--processes", type=click.IntRange(1, 1000), metavar="N",
    help="So many worker processes; those that end are replaced.",
)  # fmt: skip
@click.option("--member", hidden=True)
@click.option("-n", "--name", help="Its name.  [default: host and process id]")
@click.option(
    "--health-port", type=click.IntRange(0, 65535), metavar="PORT",
    help="Answer GET /health on 127.0.0.1; 0 chooses a port.",
)  # fmt: skip
@web_options
def worker_command(
    app: str | None,
    app_option: str | None,
    backend: AsyncBackend,
    reload: bool,
    log_level: str,
    log_format: LogFormat,
    health_port: int | None,
    processes: int | None,
    member: str | None,
    web: WebFlags,
    **flags: Unpack[Flags],
) -> None:
    """Run activities of APP, written module:attribute, for example app:taskq.

    TASKQ_APP names the app where nothing else does. The first SIGINT or SIGTERM stops it
    gracefully, a second one now, a third at once. Exit code 0 after a stop in which everything that
    had not ended was put back in order, else 1.
    """
    if backend == "trio" and find_spec("trio") is None:
        raise Refused('--async-backend trio needs trio: pip install "taskq-anyio[trio]"')
    if reload and processes is not None:
        raise Refused("--reload is for one worker in one process: leave out -w/--processes")
    sources = SourceWatch(Path.cwd()) if reload else None
    endure()
    configure(log_level, log_format, with_pid=processes is not None)
    own = None if member is None else place(member)
    listener = web.listener() if own is None else inherited(own.web)
    if processes is not None and own is None:
        raise click.exceptions.Exit(
            run_fleet(processes, burst=flags["burst"], health_port=health_port, listener=listener)
        )
    try:
        found = load_app(chosen(app, app_option))
        engine = engine_for(found, _named(worker_arguments(flags), own))
        _check_shared(found, own)
        console = None if listener is None else SideConsole(found, web.host, listener)
    except (click.ClickException, ConfigurationError) as error:
        if sources is None:
            raise
        say(f"Error: {error}")
        sources.wait()
        run_again()
        return
    run = Run(
        backend=backend,
        log_format=log_format,
        health_port=health_port if own is None else None,
        sources=sources,
        place=own,
        console=console,
    )
    ending = _run(found, engine, run)
    if ending.changed:
        run_again()
    _leave(ending)


def worker_arguments(flags: Flags) -> WorkerArguments:
    """The flags that were given, as keywords of ``taskq.worker``. Refused for an empty name."""
    arguments = WorkerArguments(burst=flags["burst"])
    if flags["queues"]:
        arguments["queues"] = names("--queues", flags["queues"])
    if flags["types"]:
        types = names("--types", flags["types"])
        if "*" in types and len(types) > 1:
            raise Refused('--types "*" is every type: it stands alone')
        arguments["types"] = "*" if types == ["*"] else types
    if flags["leaf_types"]:
        arguments["leaf_types"] = names("--leaf-types", flags["leaf_types"])
    given = {
        "concurrency": flags["concurrency"],
        "threads": flags["threads"],
        "suspend_on_await": flags["suspend_on_await"],
        "max_suspended": flags["max_suspended"],
        "reserve_slots_for_leaves": flags["reserve_slots_for_leaves"],
        "priority_aging": flags["priority_aging"],
        "shutdown_grace": flags["shutdown_grace"],
        "name": flags["name"],
        "schedules": flags["schedules"],
    }
    more = {name: value for name, value in given.items() if value is not None}
    return {**arguments, **cast("WorkerArguments", more)}


def _named(arguments: WorkerArguments, place: Place | None) -> WorkerArguments:
    """Each of several workers has a name of its own."""
    if place is not None and "name" in arguments:
        arguments["name"] = f"{arguments['name']}-{place.seat + 1}"
    return arguments


def _check_shared(found: TaskQ, place: Place | None) -> None:
    store = found.client.store
    if place is not None and not store.capabilities.shared:
        raise Refused(
            f"{store.location} lives inside one process: several cannot work on it (-w/--processes)"
        )


def _run(found: TaskQ, engine: Engine, run: Run) -> Ending:
    """Run the worker's event loop until the worker has stopped."""
    stopping = Stopping(engine, engine.options.shutdown_grace)
    found.publisher.add(LoggingListener())
    found.publisher.add(stopping)
    stopping.listen()
    serving = None
    if run.place is not None:
        options = engine.options
        membership = Membership(
            run.place,
            engine,
            name=options.name,
            grace=options.shutdown_grace,
            stop=stopping.ask,
        )
        serving = serve_in_thread(membership.serve)
    if run.console is not None:
        run.console.start()
    try:
        return anyio.run(
            partial(_serve, found, engine, run, stopping),
            backend=run.backend,
            backend_options=backend_options(run.backend),
        )
    finally:
        stopping.over()
        if run.console is not None:
            run.console.end()
        if serving is not None:
            serving.stop()


def backend_options(backend: AsyncBackend) -> dict[str, object]:
    """uvloop where it is installed."""
    return {"use_uvloop": True} if backend == "asyncio" and find_spec("uvloop") else {}


async def _serve(found: TaskQ, engine: Engine, run: Run, stopping: Stopping) -> Ending:
    """The worker, and what goes with it until it has stopped."""
    failure: Exception | None = None
    endpoint = None
    if run.health_port is not None:
        endpoint = await health_endpoint(run.health_port, engine.health)
    as_json = run.log_format == "json"
    beside = run.console
    console = None if beside is None else beside.entrance if as_json else beside.told
    say(banner(found, engine, run.backend, endpoint, console=console, as_json=as_json))
    async with anyio.create_task_group() as group:
        group.start_soon(stopping.watch)
        if endpoint is not None:
            group.start_soon(endpoint.serve)
        if run.sources is not None:
            group.start_soon(run.sources.stop_at_change, engine)
        try:
            await run_engine(found, engine)
        except Exception as error:
            failure = error
        group.cancel_scope.cancel()
    await found.aclose()
    return Ending(
        failure=failure,
        cut=stopping.cut,
        stuck=stopping.stuck,
        changed=run.sources is not None and run.sources.seen,
    )


def _leave(ending: Ending) -> None:
    """End the command: by an error, by exit code 1 when something was cut off, else well.

    A thread that does not end would keep the interpreter: it is left behind (fault:D15).
    """
    if lingering := _lingering():
        threads_left(lingering)
        if ending.failure is not None:
            say(f"Error: {translated(ending.failure).format_message()}")
        flush()
        os._exit(1)
    if ending.failure is not None:
        raise ending.failure
    if ending.cut or ending.stuck:
        raise click.exceptions.Exit(1)


def _lingering() -> int:
    """How many threads are still in a handler, after a moment in which they may end."""
    end = time.monotonic() + 0.5
    while busy_threads() and time.monotonic() < end:
        time.sleep(0.01)  # between two looks; the event loop has ended
    return busy_threads()
