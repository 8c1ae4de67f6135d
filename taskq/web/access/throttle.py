"""Slows down those who guess: each further failure makes the next try wait longer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address
from typing import Final

from msgspec import Struct

from taskq.clock import Clock

FORGOTTEN: Final = 900.0
"""Seconds after its last failure that a key is remembered, behind its delay."""
MOST_KEYS: Final = 10_000
"""Keys that are remembered; of more, those that failed longest ago are forgotten."""


class Limit(Struct, frozen=True):
    """``free`` failures cost nothing, then the next try waits 1, 2, 4 … seconds, up to
    ``longest``."""

    free: int
    longest: float

    def delay(self, failures: int) -> float:
        """Seconds that the next try waits after so many."""
        over = failures - self.free
        return 0.0 if over < 0 else min(self.longest, 2.0 ** min(over, 32))


ACCOUNT: Final = Limit(free=5, longest=60.0)
"""Short, as anybody can make the account of somebody else wait."""
ADDRESS: Final = Limit(free=10, longest=FORGOTTEN)


class _Failures(Struct):
    count: int
    until: float
    """When the next try may be."""


class Throttle:
    """Counts failures by key. A try is counted as failed when it begins, so that many at once do
    not pass; ``succeeded`` takes it back."""

    def __init__(self, clock: Clock, most: int = MOST_KEYS) -> None:
        self._clock = clock
        self._most = most
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def __len__(self) -> int:
        return len(self._failures)

    def begin(self, keys: Iterable[tuple[str, Limit]]) -> float:
        """Seconds to wait before a try under all of these keys; 0: it is allowed, and counted."""
        now, pairs = self._clock.monotonic(), list(keys)
        waits = [self._failures[key].until - now for key, _ in pairs if key in self._failures]
        if max(waits, default=0.0) > 0:
            return max(waits)
        for key, limit in pairs:
            self._fail(key, limit, now)
        return 0.0

    def succeeded(self, key: str, *, forget: bool) -> None:
        """Take the try back; ``forget``: and all before it."""
        found = self._failures.get(key)
        if found is None:
            return
        found.count -= 1
        found.until = self._clock.monotonic()
        if forget or found.count <= 0:
            del self._failures[key]

    def _fail(self, key: str, limit: Limit, now: float) -> None:
        found = self._failures.get(key)
        if found is None or now > found.until + FORGOTTEN:
            found = self._failures[key] = _Failures(0, now)
        found.count += 1
        found.until = now + limit.delay(found.count)
        self._failures.move_to_end(key)
        while len(self._failures) > self._most:
            self._failures.popitem(last=False)


def address_key(client: tuple[str, int] | None) -> str:
    """The key of the socket's other end: of an IPv6 address the network, of which one customer
    has 2**64 addresses. What headers say of it is not asked."""
    if client is None:
        return "address:none"
    try:
        address = ip_address(client[0])
    except ValueError:
        return f"address:{client[0][:64]}"
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return f"address:{mapped}" if mapped else f"address:{address.packed[:8].hex()}"
    return f"address:{address}"
