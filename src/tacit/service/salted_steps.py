"""Steps on a state that many people's answers make, so that the log tells nothing of any of them.

The log keeps the SHA-256 of every state for ever. Anyone who knows the state before could try out
what
the next person said until the hash fits. So each state begins with fresh random bytes, which are
written over by the next: after that no old hash can be tried against anything.
"""

from __future__ import annotations

from tacit.randomness import Source
from tacit.service.idempotency import Reply, Step
from tacit.service.people import salted, unsalted


def salting(take: Step) -> Step:
    """The same step, for a state that is kept with its salt."""

    def step(source: Source, kept: bytes | None) -> tuple[Reply, bytes | None]:
        answer, new = take(source, unsalted(kept))
        return answer, None if new is None else salted(source, new)

    return step
