"""Bugs planted into p-REC's curator, each one step of the shipped class overridden."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tacit.auditing.bugs import Described, Tool
from tacit.designs.prec import Entry, PRec
from tacit.designs.prec.audit.exact import Check, changing_voters, hostile_views, worst_streams
from tacit.designs.prec.clients import Counts, Run
from tacit.designs.prec.output_distribution import uniform
from tacit.designs.prec.voters import Id, Votes
from tacit.mechanisms.running import GateRun, ThresholdGate


class _HalfNoise(ThresholdGate):
    """Both of the gate's noises have half their scale."""

    def _scale(self, factor: int) -> float:
        return super()._scale(factor) / 2


def _gated(kind: type[ThresholdGate] = ThresholdGate, *, slack: bool = True) -> type[PRec]:
    """With gates of another kind, or that stand at P itself."""

    class Gated(PRec):
        def _gate(self) -> GateRun | None:
            if (plan := self.plan) is None:
                return None
            threshold = plan.threshold if slack else plan.peers
            return kind(plan.gate, threshold, monotonic=True, stops="below").start()

    return Gated


class GateAfterDraw(PRec):
    """The law draws first, and the gate decides about the next round."""

    def _choose(self, run: Run) -> int:
        if run.stopped is not None:
            return uniform(len(self.candidates), self.source)
        counts, credit = self._tallies(run)
        place = self._law.draw(counts, self.source)
        if run.gate is not None and run.gate.stops_at(credit // self.settings.credit):
            run.stopped = self.round
        return place


class FreshGates(PRec):
    """A new gate before every round, none of which is charged but the first."""

    def _choose(self, run: Run) -> int:
        run.gate = self._gate()
        return super()._choose(run)


class DrawnAgain(PRec):
    """Asked again in the same round, the client is given another draw."""

    def recommend(self, client: Any) -> Id:
        run = self._run_of(client)
        candidate = self.candidates[self._choose(run)]
        if run.given(self.round) is None:
            run.entries.append(Entry(self.round, candidate, None))
        return candidate


class SilenceIsFree(PRec):
    """A client's dislike costs nobody."""

    def _charged(self, run: Run) -> tuple[int, bool] | None:
        charged = super()._charged(run)
        return charged if charged is not None and charged[1] else None


class NewcomersCount(PRec):
    """Who comes later counts for clients who are here already."""

    def _advance(self, candidates: tuple[Id, ...], votes: Votes) -> None:
        before = len(self._votes)
        super()._advance(candidates, votes)
        for run in self._runs.values() if before else ():
            run.block.credit.alive[before:] |= np.uint64(1 << run.place)
            run.block._counts = None


class AbstainersLeftOut(PRec):
    """Who does not vote stays alive and counts for the gate, but not in the round's shares."""

    def open_round(self, candidates: Collection[Any], votes: Any) -> None:
        voters, places = votes
        rows = self._voters.admit(voters)
        cast = np.full(len(self._voters.ids), len(candidates), dtype=np.uint16)
        cast[rows] = places
        self._advance((*candidates, "nobody"), cast)

    def _tallies(self, run: Run) -> tuple[Counts, int]:
        counts, credit = super()._tallies(run)
        return counts[:-1], credit


@dataclass(frozen=True)
class Curated:
    """A faulty curator, and the check that has to see it; it is compared with the shipped one."""

    name: str
    kind: type[PRec]
    check: Check
    epsilon: float = 1.0
    described: Described | None = None
    tool: Tool = "exact"

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        found = self.check(self.kind if bug else PRec)
        broken = [one.largest for one in found if one.verdict != "held"]
        return bool(broken), max(broken, default=None)


_NARROW = partial(hostile_views, gate=3.0, instances=6)
_WIDE = partial(hostile_views, gate=0.3, instances=4)

BUGS = (
    Curated("half the gate's noise", _gated(_HalfNoise), _NARROW),
    Curated("slack forgotten", _gated(slack=False), _WIDE),
    Curated("gate asked after the draw", GateAfterDraw, _NARROW),
    Curated("a fresh gate before every round", FreshGates, _NARROW),
    Curated("drawn again when asked again", DrawnAgain, worst_streams),
    Curated("a dislike costs nobody", SilenceIsFree, changing_voters),
    Curated("newcomers count at once", NewcomersCount, changing_voters),
    Curated("abstainers left out of the shares", AbstainersLeftOut, changing_voters),
)
