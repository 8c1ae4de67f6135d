"""A real PgBouncer before the test server, on the loopback, gone in the end."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.postgres_server import free_port, unprivileged

PATIENCE = 10.0

CONFIGURATION = """
[databases]
* = host={host} port={port} user={user}{password}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listens}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 200
logfile = {folder}/log
{more}
"""


class NoPooler(Exception):
    """Why none can be had."""


def program() -> str:
    """PgBouncer's binary. NoPooler where there is none."""
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if found is None:
        raise NoPooler("no pgbouncer on PATH (Debian: apt-get install pgbouncer)")
    return found


def version() -> tuple[int, ...]:
    """Of the binary, as ``(1, 18, 0)``."""
    said = subprocess.run([program(), "--version"], capture_output=True, text=True).stdout
    found = re.search(r"PgBouncer ([\d.]+)", said)
    assert found is not None, said
    return tuple(map(int, found[1].split(".")))


@contextmanager
def pooler(server: str, *, mode: str, size: int = 2, more: str = "") -> Iterator[int]:
    """Lends ``size`` sessions of a server to any number of clients; the port where it listens.

    ``server`` is a URL of a server that is reached by TCP.
    """
    there = urlsplit(server)
    if there.hostname is None:
        raise NoPooler("the test server is not reached by TCP")
    binary, user = program(), unprivileged()
    folder, port = Path(tempfile.mkdtemp(prefix="taskq-pooler-")), free_port()
    password = "" if there.password is None else f" password={unquote(there.password)}"
    text = CONFIGURATION.format(
        host=there.hostname,
        port=there.port or 5432,
        user=unquote(there.username or "postgres"),
        password=password,
        listens=port,
        mode=mode,
        size=size,
        folder=folder,
        more=more,
    )
    try:
        configuration = folder / "pgbouncer.ini"
        configuration.write_text(text)
        if user:
            for path in (folder, configuration):
                os.chown(path, user["user"], user["group"])
        with subprocess.Popen(
            [binary, "-q", str(configuration)], cwd=folder, stdin=subprocess.DEVNULL, **user
        ) as process:
            try:
                _answers(process, port, folder)
                yield port
            finally:
                process.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _answers(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    """Wait until it takes connections."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    log = folder / "log"
    raise NoPooler(f"pgbouncer failed: {log.read_text() if log.exists() else 'no log'}")
