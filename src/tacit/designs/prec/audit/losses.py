"""What two walks on neighbouring patterns tell apart, part by part of the proof and in all.

The proof has three parts: the gate's answers cost its epsilon; while P survivors are left, the
rounds cost the floor's; and a round with fewer is drawn by the law with a chance of delta at most.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from tacit.designs.prec import PRec, PRecSettings
from tacit.designs.prec.audit.patterns import Pattern
from tacit.designs.prec.audit.walk import Drawn, Path, Walk, all_paths, views, walked

Views = Mapping[Hashable, float]
_HALVINGS = 60


@dataclass(frozen=True)
class Pair:
    """The same paths with them and without them. peers: P, of the proof."""

    beside: list[Walk]
    without: list[Walk]
    peers: int

    @property
    def rounds(self) -> float:
        """The largest sum of ln(p / p'), either way, over rounds with P survivors."""
        return max(abs(told) for both in self._both() for told in rounds_told(*both, self.peers))

    @property
    def gate(self) -> float:
        """The largest log-ratio of the gate's answers along one path; infinite without noise."""
        return max(
            apart(p, q)
            for one, other in self._both()
            for p, q in zip(_answers(one), _answers(other), strict=True)
        )

    @property
    def unguarded(self) -> float:
        """Chance that the law draws with fewer than P survivors, in the worse pattern, if all paths
        were walked."""
        firsts = [_first_below(walk, self.peers) for walk in self.beside]
        return max(
            sum(dict(_reached(walks, firsts)).values()) for walks in (self.beside, self.without)
        )

    def views(self) -> tuple[Views, Views]:
        """Chances of everything that a client can see, if all paths were walked."""
        return dict(views(self.beside)), dict(views(self.without))

    def _both(self) -> list[tuple[Walk, Walk]]:
        return list(zip(self.beside, self.without, strict=True))


def walked_pair(
    kind: type[PRec],
    settings: PRecSettings,
    votes: Pattern,
    paths: Sequence[Path] | None = None,
    *,
    peers: int | None = None,
) -> Pair:
    """Both neighbours along these paths; by default, all. peers: where the plan has none."""
    chosen = all_paths(votes) if paths is None else paths
    walks = [walked(kind, settings, side, chosen) for side in (votes, votes.without)]
    return Pair(walks[0], walks[1], settings.plan.peers if peers is None else peers)


def rounds_told(beside: Walk, without: Walk, peers: int) -> list[float]:
    """The sum of ln(p / p') after each round, until fewer than P survive."""
    told = []
    for one, other in zip(beside.drawn, without.drawn, strict=True):
        if one.survivors < peers:
            break
        told.append(math.log(one.chance / other.chance))
    return list(accumulate(told, initial=0.0))


def apart(p: float, q: float) -> float:
    """|ln(p / q)|; infinite if only one of them is 0."""
    if p == q:
        return 0.0
    return math.inf if 0 in (p, q) else abs(math.log(p / q))


def beyond(first: Views, second: Views, epsilon: float) -> float:
    """The least delta at which epsilon holds for these two, in both directions."""
    factor = math.exp(epsilon)
    return max(
        sum(max(0.0, chance - factor * other.get(seen, 0.0)) for seen, chance in one.items())
        for one, other in ((first, second), (second, first))
    )


def loss_at(first: Views, second: Views, delta: float) -> float:
    """The least epsilon that holds for these two at delta, from above."""
    low, high = 0.0, 1.0
    while beyond(first, second, high) > delta:
        low, high = high, 2 * high
        if high > 2**8:
            return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(first, second, middle) > delta else (low, middle)
    return high


def together(one: Views, clients: int) -> Views:
    """What several clients see who are served on the same votes: each draws for themselves."""
    joint: dict[Hashable, float] = {(): 1.0}
    for _ in range(clients):
        joint = {
            (before, seen): chance * more
            for before, chance in joint.items()
            for seen, more in one.items()
        }
    return joint


def _answers(walk: Walk) -> list[float]:
    shut, never = walk.passing
    return [*shut, never]


def _first_below(walk: Walk, peers: int) -> int | None:
    """Place of the first event in which the law draws with too few survivors."""
    for place, event in enumerate(walk.events):
        if isinstance(event, Drawn) and event.survivors < peers:
            return place
    return None


def _reached(walks: Sequence[Walk], firsts: Sequence[int | None]) -> list[tuple[Path, float]]:
    """(outputs before, chance) of those events; paths with the same beginning share theirs."""
    found = []
    for walk, place in zip(walks, firsts, strict=True):
        if place is None:
            continue
        drawn = [event for event in walk.events[:place] if isinstance(event, Drawn)]
        shut, never = walk.passing
        let_pass = sum(shut[place - len(drawn) :]) + never
        chance = math.prod(event.chance for event in drawn) * let_pass
        found.append((tuple(event.output for event in drawn), chance))
    return found
