"""``python -m benchmarks [--quick] [--json FILE] [--url URL] [NAME …]``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from rich.console import Console

from benchmarks import backlog, drain, enqueue, footprint, latency, plans, prune, report
from benchmarks.ground import Ground, ground
from benchmarks.row import FULL, QUICK, TINY, Row
from tests.postgres_server import NoServer

SCENARIOS: dict[str, Callable[[Ground], Iterator[Row]]] = {
    "drain": drain.rows,
    "enqueue": enqueue.many,
    "delay": enqueue.singly,
    "pickup": latency.rows,
    "roundtrip": latency.rows,
    "snapshot": backlog.snapshot,
    "big": backlog.big,
    "types": backlog.types,
    "prune": prune.rows,
    "plans": plans.rows,
    "local": drain.local,
    "footprint": footprint.rows,
}
"""In the order in which they are run: the big tables come late and are loaded once."""

SCALES = {"full": FULL, "quick": QUICK, "tiny": TINY}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([*SCENARIOS]), metavar="[NAME]...")
@click.option("--quick", "scale", flag_value="quick", help="Fewer and smaller runs: 3 minutes.")
@click.option("--tiny", "scale", flag_value="tiny", hidden=True)
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write all of it there.")
@click.option("--markdown", is_flag=True, help="Print the table for a page.")
@click.option("--url", help="A server where databases may be made, instead of a private one.")
def main(
    names: tuple[str, ...], scale: str | None, file: Path | None, markdown: bool, url: str | None
) -> None:
    """Measure taskq on PostgreSQL beside the floors, in alternating runs.

    NAMEs: drain, enqueue, delay, pickup, roundtrip, snapshot, big, types, prune, plans, local,
    footprint.
    Exit code 1 when a plan reads more than it should.
    """
    console = Console(width=None if sys.stdout.isatty() else 160)
    chosen = SCALES[scale or "full"]
    rows: list[Row] = []
    try:
        with ground(chosen, url) as place:
            for measure in dict.fromkeys(SCENARIOS[name] for name in names or SCENARIOS):
                for row in measure(place):
                    rows.append(row)
                    console.print(_line(row), highlight=False)
            server = place.version
    except NoServer as error:
        raise click.ClickException(str(error)) from None
    console.print()
    if markdown:
        click.echo(report.markdown(rows))
    else:
        console.print(report.table(rows))
    if file is not None:
        file.write_bytes(report.document(rows, chosen, server))
    if any(row.scenario == "plans" and not row.met for row in rows):
        sys.exit(1)


def _line(row: Row) -> str:
    return "  ".join(cell for cell in report.cells(row) if cell)


if __name__ == "__main__":
    main()
