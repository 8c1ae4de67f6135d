"""Does harm to workers and clients at random, by its seed, and puts new ones in their place."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from tests.chaos.arena import Arena, WorkerProcess, now, until
from tests.chaos.outages import Outages
from tests.chaos.site import Cluster


class Nemesis:
    """Keeps ``workers`` workers and ``clients`` clients running in an arena, and harms them.

    ``loops`` are the event loops of the workers, in turn. What it does to end a worker, and how
    that one ended, is written to a log for the audit, and also who ended otherwise. ``deeds``
    counts what it did. A ``cluster`` is harmed too.
    """

    def __init__(
        self,
        arena: Arena,
        *,
        seed: int,
        loops: Sequence[str],
        workers: int,
        clients: int,
        cluster: Cluster | None = None,
    ) -> None:
        self.deeds: Counter[str] = Counter()
        self._arena = arena
        self._random = random.Random(seed)
        self._seed = seed
        self._loops = loops
        self._wanted = workers
        self._clients_wanted = clients
        self._workers: list[WorkerProcess] = []
        self._clients: list[WorkerProcess] = []
        self._stopping: list[WorkerProcess] = []
        self._paused: list[tuple[float, WorkerProcess]] = []
        self._started = 0
        self._harms: dict[Callable[[], None], float] = {
            self._kill: 4,
            self._pause: 4,
            self._stop: 4,
            self._stop_twice: 1,
            self._lock: 1,
            self._kill_client: 1,
        }
        self._first = self._shuffled(self._harms)
        if cluster is not None:
            lease = arena.settings["LEASE"]
            outages = Outages(cluster, self._random, lease=lease, deeds=self.deeds)
            self._harms.update(outages.harms)
            self._first += self._shuffled(outages.harms)
        self._log = os.open(
            arena.folder / "clients-nemesis.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644
        )

    def rage(self, seconds: float, *, rate: float) -> None:
        """Do harm for so long, while clients make ``rate`` activities a second. The time begins
        when there is a worker to harm."""
        self._tend()
        until(lambda: self._victim() is not None, "a worker starts")
        end = time.monotonic() + seconds
        due = time.monotonic() + 0.5
        while (left := end - time.monotonic()) > 0:
            self._tend()
            while len(self._clients) < self._clients_wanted and left > 1:
                self._start_client(left, rate / self._clients_wanted)
            if time.monotonic() >= due:
                self._harm()
                due = time.monotonic() + self._random.uniform(0.1, 1.0)
            time.sleep(0.05)

    def heal(self, done: Callable[[], bool], *, within: float) -> bool:
        """Do no more harm; wait until ``done``, then stop the workers. Whether it was in time."""
        end = time.monotonic() + within
        self._paused = [(0.0, worker) for _, worker in self._paused]
        while self._clients and time.monotonic() < end:
            self._tend()
            time.sleep(0.05)
        for client in self._clients:
            client.destroy()
        while not (drained := done()) and time.monotonic() < end:
            self._tend()
            time.sleep(0.2)
        for worker in list(self._workers):
            self._ask_to_stop(worker)
        while self._stopping and time.monotonic() < end + 20:
            self._collect()
            time.sleep(0.05)
        return drained

    def _tend(self) -> None:
        """Wake who has paused enough, note who has ended, start new workers."""
        for at, worker in self._paused:
            if at <= time.monotonic() and worker.code is None:
                worker.send(signal.SIGCONT)
        self._paused = [each for each in self._paused if each[0] > time.monotonic()]
        self._collect()
        while len(self._workers) < self._wanted:
            self._start_worker()

    def _collect(self) -> None:
        for worker in self._stopping:
            if worker.code is not None:
                self._write("exited", worker, at=worker.ended_at, code=worker.code)
        self._stopping = [worker for worker in self._stopping if worker.code is None]
        for worker in self._workers:
            if worker.code is not None:
                self._write("died", worker, code=worker.code)
        self._workers = [worker for worker in self._workers if worker.code is None]
        self._clients = [client for client in self._clients if client.code is None]

    def _harm(self) -> None:
        """Each kind once, in any order, those of the database before others; then as it comes."""
        if self._first:
            deed = self._first.pop()
        else:
            [deed] = self._random.choices(list(self._harms), weights=list(self._harms.values()))
        deed()

    def _shuffled(self, harms: Iterable[Callable[[], None]]) -> list[Callable[[], None]]:
        deeds = list(harms)
        self._random.shuffle(deeds)
        return deeds

    def _victim(self) -> WorkerProcess | None:
        """A worker that has come as far as to heed signals, and stands on its feet."""
        paused = {worker.pid for _, worker in self._paused}
        ready = [
            worker
            for worker in self._workers
            if worker.pid not in paused and worker.code is None and "slots" in worker.said()
        ]
        return self._random.choice(ready) if ready else None

    def _kill(self) -> None:
        if (victim := self._victim()) is not None:
            self.deeds["killed"] += 1
            victim.destroy()
            self._workers.remove(victim)

    def _pause(self) -> None:
        if (victim := self._victim()) is not None:
            self.deeds["paused"] += 1
            longest = 3 * self._arena.settings["LEASE"]
            victim.send(signal.SIGSTOP)
            self._paused.append((time.monotonic() + self._random.uniform(0.1, longest), victim))

    def _stop(self) -> None:
        if (victim := self._victim()) is not None:
            self.deeds["stopped"] += 1
            self._ask_to_stop(victim)

    def _stop_twice(self) -> None:
        if (victim := self._victim()) is not None:
            self.deeds["stopped twice"] += 1
            self._ask_to_stop(victim)
            time.sleep(self._random.uniform(0.0, 0.2))
            if victim.code is None:
                victim.send(signal.SIGINT)

    def _lock(self) -> None:
        """Hold a write transaction for a while; nothing else is harmed meanwhile."""
        self.deeds["locked"] += 1
        try:
            with self._arena.database.locked():
                time.sleep(self._random.uniform(0.1, 1.5 * self._arena.settings["LEASE"]))
        except TimeoutError:
            self.deeds["not locked"] += 1

    def _kill_client(self) -> None:
        if self._clients:
            self.deeds["client killed"] += 1
            self._clients.pop(self._random.randrange(len(self._clients))).destroy()

    def _ask_to_stop(self, worker: WorkerProcess) -> None:
        grace = int(self._arena.settings["SHUTDOWN_GRACE"] * 1_000_000)
        if "slots" in worker.said():
            self._write("stopped", worker, grace=grace)
            self._stopping.append(worker)
        worker.send(signal.SIGTERM)
        self._workers.remove(worker)

    def _start_worker(self) -> None:
        loop = self._loops[self._started % len(self._loops)]
        self._started += 1
        command = ["-m", "taskq", "worker", "app:taskq", "--async-backend", loop]
        flags = ["-c", "8", "--log-level", "warning"]
        self._workers.append(self._arena.python(*command, *flags, ready=False))

    def _start_client(self, seconds: float, rate: float) -> None:
        self._started += 1
        arguments = [self._arena.folder, self._seed + self._started, seconds, rate]
        self._clients.append(
            self._arena.python("-m", "tests.chaos.producer", *map(str, arguments), ready=False)
        )

    def _write(self, what: str, worker: WorkerProcess, **fields: object) -> None:
        line: dict[str, object] = {"what": what, "at": now(), "pid": worker.pid, **fields}
        os.write(self._log, json.dumps(line).encode() + b"\n")
