"""A fault run: load, harm, healing, and the audit. ``./scripts/chaos`` runs it for long.

Clients enqueue, also in transactions of their own, cancel and look; workers are killed, paused,
stopped and locked out at random; a PostgreSQL server is restarted as after a crash, its sessions
are ended, connections are cut, also after a commit and before its reply. Then the harm ends,
everything has to end, and every promise is checked against the database, the effects and what
clients were told.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import click
from msgspec import Struct

from taskq import TaskQ
from tests.browser import first_data
from tests.browser.chromium import NoBrowser
from tests.chaos.arena import REPOSITORY, Arena
from tests.chaos.audit import Finding, audit, report
from tests.chaos.console import ALLOWED, HEADING, measured
from tests.chaos.crowd import LARGEST_TREE, Crowd, crowd
from tests.chaos.nemesis import Nemesis
from tests.chaos.orders import make_table
from tests.chaos.site import SITES, Site
from tests.chaos.ticks import ticking
from tests.loops import EVERY_LOOP

LOOPS = {"asyncio": ("asyncio",), "trio": ("trio",), "both": ("asyncio", "trio")}
PAUSE = 5.0
"""Seconds between two kills of workers that fire schedules."""
MOST = 40_000
"""Activities that clients make in one run, about, at the most."""
SETTINGS = {"LEASE": 1.5, "SHUTDOWN_GRACE": 1.5, "LOCK_TIMEOUT": 0.5, "ENQUEUE_TIMEOUT": 3.0}


class Outcome(Struct, frozen=True):
    """How a fault run ended: whether everything had ended in time, what was found and done."""

    drained: bool
    findings: Sequence[Finding]
    deeds: Counter[str]
    statuses: Counter[str]

    @property
    def sound(self) -> bool:
        """Whether no promise was broken."""
        return self.drained and not any(finding.violations for finding in self.findings)

    def __str__(self) -> str:
        """The table, and what stands behind it."""
        return "\n".join(
            [
                f"deeds: {counted(self.deeds)}",
                f"activities: {counted(self.statuses)}",
                *([] if self.drained else ["not everything had ended in time"]),
                report(self.findings),
            ]
        )


def fault_run(
    folder: Path,
    site: Site,
    *,
    seconds: float,
    seed: int,
    loops: Sequence[str],
    workers: int = 3,
    clients: int = 2,
    rate: float = 60.0,
    patience: float = 60.0,
) -> Outcome:
    """Do harm for ``seconds`` in an empty folder, then wait at most ``patience`` and audit."""
    arena = Arena(folder, site.database, url=site.url, **SETTINGS)
    make_table(site.database)
    nemesis = Nemesis(
        arena, seed=seed, loops=loops, workers=workers, clients=clients, cluster=site.cluster
    )
    try:
        nemesis.rage(seconds, rate=min(rate, MOST / seconds))
        drained = nemesis.heal(lambda: not waiting(arena), within=patience)
    finally:
        arena.close()
    statuses = Counter(str(row["status"]) for row in arena.rows())
    deeds = nemesis.deeds
    if site.cluster is not None:
        deeds.update({f"{name} lost": n for name, n in site.cluster.proxy.cuts.items()})
    return Outcome(drained, audit(folder, site.database), deeds, statuses)


def waiting(arena: Arena) -> bool:
    """Whether anything has not ended."""
    sql = (
        "SELECT 1 AS found FROM taskq_activities"
        " WHERE status IN ('scheduled', 'pending', 'processing', 'retrying') LIMIT 1"
    )
    return bool(arena.query(sql))


def counted(counts: Counter[str]) -> str:
    """Counts in one line, the greatest first."""
    return ", ".join(f"{count} {what}" for what, count in counts.most_common()) or "none"


@click.command()
@click.option(
    "--database", "kind", type=click.Choice(list(SITES)), default="sqlite", show_default=True
)
@click.option("--seconds", type=click.FloatRange(min=1), default=600.0, show_default=True)
@click.option("--seed", type=int, help="What harm is done.  [default: by the clock]")
@click.option(
    "--async-backend", "backend", type=click.Choice(list(LOOPS)), default="both", show_default=True
)
@click.option("--workers", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--rate", type=float, default=60.0, show_default=True, help="Activities a second.")
@click.option(
    "--ticks", type=click.IntRange(min=1), help="Instead: a schedule of so many seconds (60)."
)
@click.option(
    "--console",
    "activities",
    type=click.IntRange(min=LARGEST_TREE * 2),
    help="Instead: how long the console takes over so many activities (1000000).",
)
@click.option(
    "--tests",
    is_flag=True,
    help="Instead: the suite's fault tests, each on every database and event loop.",
)
@click.option("--keep", is_flag=True, help="Keep the folder though nothing is wrong.")
def main(
    kind: str,
    seconds: float,
    seed: int | None,
    backend: str,
    workers: int,
    rate: float,
    ticks: int | None,
    activities: int | None,
    tests: bool,
    keep: bool,
) -> None:
    """Harm taskq for a while and check its promises; exit code 1 if one is broken."""
    seed = time.time_ns() % 1_000_000 if seed is None else seed
    if ticks is not None:
        ticking_run(kind, ticks=ticks, seed=seed, workers=workers)
        return
    if activities is not None:
        console_run(kind, activities)
        return
    if tests:
        raise SystemExit(tests_run())
    click.echo(f"seed {seed}: {seconds:g} s of harm on {kind} to {workers} workers on {backend}")
    folder = Path(tempfile.mkdtemp(prefix="taskq-chaos-"))
    with SITES[kind](folder) as site:
        outcome = fault_run(
            folder,
            site,
            seconds=seconds,
            seed=seed,
            loops=LOOPS[backend],
            workers=workers,
            rate=rate,
        )
    click.echo(str(outcome))
    if not outcome.sound:
        click.echo(f"broken; see {folder}")
        raise SystemExit(1)
    if keep:
        click.echo(f"kept {folder}")
    else:
        shutil.rmtree(folder)
    click.echo("sound")


def ticking_run(kind: str, *, ticks: int, seed: int, workers: int) -> None:
    """Let a schedule fire each second while workers are killed in turn; exit code 1 where an
    occurrence was enqueued twice or never."""
    click.echo(
        f"seed {seed}: {ticks} ticks on {kind}, one of {workers} workers killed every {PAUSE:g} s"
    )
    folder = Path(tempfile.mkdtemp(prefix="taskq-chaos-"))
    with SITES[kind](folder) as site:
        found = ticking(
            folder,
            site.database,
            ticks=ticks,
            pause=PAUSE,
            kills=int(ticks / PAUSE) if workers > 1 else 0,
            seed=seed,
            workers=workers,
        )
    every, latest = (len(found.seconds[name]) for name in ("all", "latest"))
    click.echo(f"{found.killed} killed; all: {every} occurrences, latest: {latest}")
    wrong = found.wrong(ticks)
    if wrong:
        click.echo("\n".join(wrong))
        click.echo(f"broken; see {folder}")
        raise SystemExit(1)
    shutil.rmtree(folder)
    click.echo("sound")


def console_run(kind: str, number: int) -> None:
    """Measure every route of the console that looks, and every page; exit code 1 where one is too
    slow. Without a browser the pages are left out, and it says so."""
    click.echo(f"the console over {number} activities on {kind}")
    folder = Path(tempfile.mkdtemp(prefix="taskq-chaos-"))
    with SITES[kind](folder) as site:
        url = site.database.url
        if kind == "sqlite":
            app = TaskQ(url)
            app.stats()  # makes the tables
            app.close()
        found = crowd(url, number)
        click.echo(HEADING)
        measures = measured(url, found, tell=lambda measure: click.echo(str(measure)))
        slow = any(measure.p95 > ALLOWED for measure in measures)
        click.echo(first_data.HEADING)
        try:
            pages = first_data.pages_measured(
                url, _named(found), lambda measure: click.echo(str(measure))
            )
            slow = slow or any(page.middle > first_data.ALLOWED for page in pages)
        except NoBrowser as reason:
            click.echo(f"left out: {reason}")
    shutil.rmtree(folder)
    if slow:
        click.echo("too slow")
        raise SystemExit(1)
    click.echo("sound")


def tests_run() -> int:
    """Run the fault tests of the suite on all that each of them can run on; pytest's exit code."""
    command = [sys.executable, "-m", "pytest", str(Path(__file__).parent)]
    environment = {**os.environ, EVERY_LOOP: "1"}
    return subprocess.run(command, cwd=REPOSITORY, env=environment, check=False).returncode


def _named(found: Crowd) -> dict[str, UUID]:
    """Activities for the addresses of pages."""
    one, other = found.dead[:2]
    return {"tree": found.root, "running": found.member, "blocked": other, "refused": one}


if __name__ == "__main__":
    main()
