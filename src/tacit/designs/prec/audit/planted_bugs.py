"""Faulty curators: each overrides one step of the shipped class, and a check has to see it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tacit.auditing.bugs import RuleOf
from tacit.auditing.claims import Tool
from tacit.designs.prec import Entry, PRec
from tacit.designs.prec.audit.exact_checks import (
    Check,
    changing_voters,
    hostile_views,
    worst_streams,
)
from tacit.designs.prec.clients import Run
from tacit.designs.prec.output_distribution import uniform
from tacit.designs.prec.voters import Id
from tacit.engine.votes import Counts, Votes
from tacit.mechanisms.gate import GateRun, ThresholdGate


class _HalfNoise(ThresholdGate):
    """A gate both of whose noises have half their scale."""

    def _scale(self, factor: int) -> float:
        return super()._scale(factor) / 2


def _with_gates(kind: type[ThresholdGate] = ThresholdGate, *, slack: bool = True) -> type[PRec]:
    """Make a curator with gates of another kind, or with gates that stand at P itself."""

    class OtherGates(PRec):
        def _gate(self) -> GateRun | None:
            plan = self.plan
            if plan is None:
                return None
            threshold = plan.threshold if slack else plan.peers
            return kind(plan.gate, threshold, monotonic=True, stops="below").start()

    return OtherGates


class GateAfterDraw(PRec):
    """The output distribution draws first, and the gate decides about the next round."""

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


class RepeatedDraw(PRec):
    """A client who asks again in the same round is given another draw."""

    def recommend(self, client: Any) -> Id:
        """Draw again, whether or not the client was given something in this round."""
        run = self._run_of(client)
        candidate = self.candidates[self._choose(run)]
        if run.entry_of(self.round) is None:
            run.entries.append(Entry(self.round, candidate, None))
        return candidate


class SilenceIsFree(PRec):
    """A client's dislike costs nobody."""

    def _charged_answer(self, run: Run) -> tuple[int, bool] | None:
        answer = super()._charged_answer(run)
        if answer is None:
            return None
        _, liked = answer
        return answer if liked else None


class NewcomersCount(PRec):
    """A voter who comes later counts for clients who are here already."""

    def _advance(self, candidates: tuple[Id, ...], votes: Votes) -> None:
        before = len(self._votes)
        super()._advance(candidates, votes)
        if not before:
            return
        for run in self._runs.values():
            credit = run.block.credit
            credit.alive[before:] |= np.uint64(1 << run.place)
            run.block.hold_credits(credit)


class AbstainersLeftOut(PRec):
    """A voter who abstains stays alive and counts for the gate, but not in the round's shares."""

    def open_round(self, candidates: Collection[Any], votes: Any) -> None:
        """Open a round in which an abstainer votes for a further candidate, whom nobody gets."""
        voters, places = votes
        rows = self._voters.admit(voters)
        cast = np.full(len(self._voters.ids), len(candidates), dtype=np.uint16)
        cast[rows] = places
        self._advance((*candidates, "nobody"), cast)

    def _tallies(self, run: Run) -> tuple[Counts, int]:
        counts, credit = super()._tallies(run)
        return counts[:-1], credit


@dataclass(frozen=True)
class CuratorBug:
    """A faulty curator, and the check that has to see it; it is compared with the shipped one."""

    name: str
    """What is wrong with it."""
    kind: type[PRec]
    """The faulty class."""
    check: Check
    """The check that has to see it."""
    epsilon: float = 1.0
    """Claimed nats, for the table."""
    rule_of: RuleOf | None = None
    """Rules by which the rule engine would see it; none here."""
    tool: Tool = "exact"
    """Kind of check."""

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        """Run the check on the faulty curator, or on the shipped one.

        Returns:
            Whether a result did not hold, and the largest of those.
        """
        results = self.check(self.kind if bug else PRec)
        broken = [result.largest for result in results if result.verdict != "held"]
        return bool(broken), max(broken, default=None)


_NARROW = partial(hostile_views, gate=3.0, instances=6)
_WIDE = partial(hostile_views, gate=0.3, instances=4)

BUGS = (
    CuratorBug("half the gate's noise", _with_gates(_HalfNoise), _NARROW),
    CuratorBug("slack forgotten", _with_gates(slack=False), _WIDE),
    CuratorBug("gate asked after the draw", GateAfterDraw, _NARROW),
    CuratorBug("a fresh gate before every round", FreshGates, _NARROW),
    CuratorBug("drawn again when asked again", RepeatedDraw, worst_streams),
    CuratorBug("a dislike costs nobody", SilenceIsFree, changing_voters),
    CuratorBug("newcomers count at once", NewcomersCount, changing_voters),
    CuratorBug("abstainers left out of the shares", AbstainersLeftOut, changing_voters),
)
