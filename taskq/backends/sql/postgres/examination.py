"""What is to be said of a PostgreSQL database: judges facts, and asks for none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from taskq.backends.examination import Finding, Level
from taskq.backends.sql.postgres.facts import (
    OLD,
    Facts,
    Holder,
    Pooler,
    Server,
    Table,
    settings,
)
from taskq.backends.sql.postgres.schema import quoted
from taskq.backends.sql.tables import metadata
from taskq.migrations import VERSION_TABLE

SKEW: Final = 2.0
"""Seconds between two clocks that are worth a word: leases are measured in tens of them."""
CROWDED: Final = 0.8
"""Share of the connections in use from which on a restart of everything may find none."""

UNNAMED: Final = "add ?prepared_statement_cache_size=0 to the URL"
DEAF: Final = "set TASKQ_LISTEN=off, or give a URL that reaches the server itself"


def judged(facts: Facts, *, prepared: bool) -> Iterator[Finding]:
    """The findings, in the order in which they are read. ``prepared``: statements are, by name."""
    yield _server(facts.server)
    yield _durability(facts.server)
    yield _connections(facts.server)
    yield _skew(facts.skew, facts.trip)
    yield _pooler(facts.pooler, prepared)
    if not facts.server.standby:  # LISTEN is for those that can write
        yield _listen(facts.hears)
    yield from _rights(facts.server.role, facts.tables)
    yield from _vacuum(facts)


def _server(server: Server) -> Finding:
    found = f"PostgreSQL {server.version}"
    if server.standby:
        message = f"{found} is a standby: it can only be read"
        return Finding(Level.FAIL, "server", message, "give the URL of the primary")
    if server.read_only:
        message = f"{found}: transactions of {server.role} only read by default"
        advice = "ALTER ROLE … RESET default_transaction_read_only, or another role"
        return Finding(Level.FAIL, "server", message, advice)
    return Finding(Level.OK, "server", f"{found}, which can be written")


def _durability(server: Server) -> Finding:
    off = [name for name in ("fsync", "full_page_writes") if not getattr(server, name)]
    if off:
        message = (
            f"{' and '.join(off)} off: a crash of the machine may lose what was stored, or all"
        )
        return Finding(Level.FAIL, "durable", message, "turn it on, except for tests")
    if server.synchronous_commit == "off":
        message = (
            "synchronous_commit is off here; taskq turns it on for what it promises to keep, except"
            " in your own transactions (session=, connection=)"
        )
        return Finding(Level.OK, "durable", message)
    return Finding(Level.OK, "durable", "what is committed survives a crash")


def _connections(server: Server) -> Finding:
    message = f"{server.used} of {server.connections} connections are in use"
    if server.used < CROWDED * server.connections:
        return Finding(Level.OK, "sessions", message)
    advice = "raise max_connections, or put a pooler before it: a process of taskq takes up to 17"
    return Finding(Level.WARN, "sessions", message, advice)


def _skew(ahead: float, trip: float) -> Finding:
    side = "ahead of" if ahead > 0 else "behind"
    message = (
        f"the database's clock is {abs(ahead):.3f} s {side} this host's"
        f" (a round trip takes {trip * 1000:.1f} ms)"
    )
    if abs(ahead) <= max(SKEW, trip):
        return Finding(Level.OK, "skew", message)
    return Finding(Level.WARN, "skew", message, "synchronise the clocks (NTP)")


def _pooler(pooler: Pooler | None, prepared: bool) -> Finding:
    if pooler is None:
        return Finding(Level.OK, "pooler", "none is seen before the server")
    if not pooler.lends:
        return Finding(Level.OK, "pooler", "one that lends a session for a connection")
    message = "one that lends a session for a transaction"
    if not prepared or pooler.names:
        return Finding(Level.OK, "pooler", message)
    message += ", and knows no statements that are prepared by name"
    return Finding(Level.FAIL, "pooler", message, UNNAMED)


def _listen(hears: bool | None) -> Finding:
    match hears:
        case None:
            message = "off: what other processes do is found by polling"
            return Finding(Level.OK, "listen", message)
        case True:
            return Finding(Level.OK, "listen", "notifications arrive")
        case False:
            message = "notifications do not arrive: work is found by polling"
            return Finding(Level.WARN, "listen", message, DEAF)


def _rights(role: str, tables: tuple[Table, ...]) -> Iterator[Finding]:
    if not tables:
        return
    lacking = [table for table in tables if table.lacking]
    for table in lacking:
        rights = ", ".join(table.lacking)
        message = f"{role} lacks {rights} on {table.shown}"
        advice = f"GRANT {rights} ON {table.shown} TO {quoted(role)}"
        yield Finding(Level.FAIL, "rights", message, advice)
    if not lacking:
        yield Finding(Level.OK, "rights", f"{role} may read and write every table")


def _vacuum(facts: Facts) -> Iterator[Finding]:
    """Dead rows make claims slow where nothing clears them away."""
    wrong = [
        *_autovacuum(facts.server.autovacuum),
        *(finding for table in facts.tables for finding in _storage(table)),
        *(finding for holder in facts.holders for finding in _holder(holder)),
    ]
    yield from wrong
    if not wrong:
        yield Finding(Level.OK, "vacuum", "dead rows are cleared away as they come")


def _autovacuum(on: bool) -> Iterator[Finding]:
    if not on:
        message = "autovacuum or track_counts is off: dead rows stay, and claims become slow"
        yield Finding(Level.FAIL, "vacuum", message, "turn both on in postgresql.conf")


def _storage(table: Table) -> Iterator[Finding]:
    if table.options.get("autovacuum_enabled") in ("false", "off", "no", "0"):
        message = f"autovacuum is off for {table.shown}"
        advice = f"ALTER TABLE {table.shown} RESET (autovacuum_enabled)"
        yield Finding(Level.FAIL, "vacuum", message, advice)
    if table.name == VERSION_TABLE or table.name not in metadata.tables:
        return
    given = settings(table.name)
    missing = [name for name in given if name not in table.options]
    if missing:
        message = f"{table.shown} lacks the storage settings {', '.join(missing)}"
        wanted = ", ".join(f"{name} = {given[name]}" for name in missing)
        advice = f"ALTER TABLE {table.shown} SET ({wanted})"
        yield Finding(Level.WARN, "vacuum", message, advice)


def _holder(holder: Holder) -> Iterator[Finding]:
    if holder.age is not None and holder.age < OLD:
        return
    since = "" if holder.age is None else f", open for {holder.age:.0f} s,"
    message = f"{holder.name}{since} keeps dead rows from being cleared away"
    yield Finding(Level.WARN, "vacuum", message, f"end it: {holder.remedy}")
