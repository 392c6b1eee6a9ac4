"""Which neighbours can be asked: a breaker that listens to its own questions, never to visits.

Why      A breaker that opens after calls that failed would decide, for everybody, by whose visits
         were forwarded: that is what the learner hides. So it asks whether the neighbour is ready,
         at most once in `EVERY` seconds, whenever anybody comes; and what became of anybody's call
         changes nothing.
States   up; down, for `REST` seconds and then for twice as many, up to `MOST_REST`, until it says
         that it is ready again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tacit.service.vendors.calls import Calls
from tacit.service.vendors.peers import Neighbour

EVERY = 2.0
REST = 1.0
MOST_REST = 30.0


@dataclass
class _Seen:
    up: bool = True
    next: float = 0.0
    rest: float = REST


@dataclass
class Reach:
    """Of one vendor, in one process. It is used on the event loop alone."""

    calls: Calls
    peers: Sequence[Neighbour]
    _seen: dict[str, _Seen] = field(default_factory=dict)
    _looking: set[asyncio.Task[None]] = field(default_factory=set)

    def now(self) -> tuple[str, ...]:
        """Names of those that can be asked. A visit may trigger a look at the network."""
        for peer in self.peers:
            seen = self._seen.setdefault(peer.name, _Seen())
            if time.monotonic() >= seen.next:
                seen.next = time.monotonic() + EVERY
                task = asyncio.get_running_loop().create_task(self._look(peer, seen))
                self._looking.add(task)
                task.add_done_callback(self._looking.discard)
        return tuple(peer.name for peer in self.peers if self._seen[peer.name].up)

    async def _look(self, peer: Neighbour, seen: _Seen) -> None:
        seen.up = await self.calls.reaches(peer)
        seen.rest = REST if seen.up else min(2 * seen.rest, MOST_REST)
        seen.next = time.monotonic() + (EVERY if seen.up else seen.rest)
