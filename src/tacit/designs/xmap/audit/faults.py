"""Bugs planted into the sound X-Map's fit, each by replacing one step of the mechanisms it uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bugs import Described, Tool
from tacit.auditing.gaussian import epsilon_of
from tacit.auditing.planting import planted
from tacit.auditing.verdicts import exceeds
from tacit.designs.xmap.audit.sums import DELTA, PEOPLE, people_and_one, replays
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import Contributions, SumRelease

_PUBLIC = 40.0  # people, of whom the faulty designs speak
_shipped_sum: Callable[..., NDArray[np.float64]] = SumRelease.__call__


def rows_not_clipped() -> dict[type, dict[str, Any]]:
    """A person with many ratings adds without limit."""

    def of_sum(release: SumRelease, block: Contributions) -> NDArray[np.int64]:
        return np.trunc(block.values / release.resolution).astype(np.int64)

    def of_gram(release: GramRelease, people: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.trunc(people / release.resolution).astype(np.int64)

    return {SumRelease: {"clipped": of_sum}, GramRelease: {"clipped": of_gram}}


def exact_number_of_people() -> dict[type, dict[str, Any]]:
    """Noisy sums divided by the number of people as it is, times a public guess of it."""

    def mean(release: SumRelease, blocks: Iterable[Contributions]) -> NDArray[np.float64]:
        held = list(blocks)
        people = sum(len(np.unique(block.people)) for block in held)
        return _shipped_sum(release, held) * (_PUBLIC / max(1, people))

    return {SumRelease: {"__call__": mean}}


def items_ranked_by_true_counts() -> dict[type, dict[str, Any]]:
    """Noisy counts, dealt out in the order of the true ones."""

    def ranked(release: SumRelease, blocks: Iterable[Contributions]) -> NDArray[np.float64]:
        held = list(blocks)
        noisy = _shipped_sum(release, held)
        if release.width > 1 or release.rows == 1:
            return noisy
        places = np.concatenate([block.places for block in held])
        true = np.bincount(places, minlength=release.rows)
        noisy[np.argsort(true, kind="stable")] = np.sort(noisy, axis=0)
        return noisy

    return {SumRelease: {"__call__": ranked}}


@dataclass(frozen=True)
class Replayed:
    """A fault in every fit, and the person who shows it. epsilon: what the fit claims."""

    name: str
    fault: Callable[[], dict[type, dict[str, Any]]]
    person: str
    epsilon: float = 1.0
    tool: Tool = "grey-box"
    described: Described | None = None

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        tables = people_and_one(PEOPLE[self.person])
        with planted(self.fault() if bug else {}):
            mu = max(moved.mu for _, moved in replays(self.epsilon, tables))
        loss = math.inf if math.isinf(mu) else epsilon_of(mu, DELTA)
        return exceeds(self.epsilon, loss), loss if self.tool == "exact" else None


BUGS = (
    Replayed(
        "a person's rows not clipped",
        rows_not_clipped,
        "rates everything, half of it 5, half 1",
        tool="exact",
    ),
    Replayed("exact number of people below the line", exact_number_of_people, "rates one film"),
    Replayed(
        "items chosen by true counts",
        items_ranked_by_true_counts,
        "rates one book and one film",
        epsilon=100.0,  # with more noise all counts of so few people are lost, and their order too
    ),
)
"""Each fails on the shipped fit with one step replaced; it is compared with the shipped fit."""
