"""Faulty curators: each overrides a step or two of the shipped class, and a check must detect it.

The docstring of a faulty class says what it does wrong.
"""

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
    check_changing_voters,
    check_hostile_views,
    check_worst_patterns,
)
from tacit.designs.prec.clients import JoinedClient
from tacit.designs.prec.gate import make_gate
from tacit.designs.prec.output_distribution import draw_uniformly
from tacit.designs.prec.round import Answer, VoteCount
from tacit.designs.prec.voters import Id
from tacit.engine.votes import Votes
from tacit.mechanisms.gate import GateRun, ThresholdGate


class _HalfNoiseGate(ThresholdGate):
    """A gate whose two noises have half the scale that they need."""

    def _scale(self, factor: int) -> float:
        return super()._scale(factor) / 2


class HalfNoise(PRec):
    """The gates draw noise of half the scale."""

    def _start_gate(self) -> GateRun | None:
        """Start a gate whose noises have half their scale; None without gates."""
        plan = self.plan
        if plan is None:
            return None
        gate = _HalfNoiseGate(plan.gate_epsilon, plan.threshold, monotonic=True, stops="below")
        return gate.start()


class NoSlack(PRec):
    """The gates' threshold is the plan's number of peers, without the slack for their noise."""

    def _start_gate(self) -> GateRun | None:
        plan = self.plan
        return None if plan is None else make_gate(plan.gate_epsilon, plan.peers, 0).start()


class GateAfterDraw(PRec):
    """The draw from the output distribution comes first; the gate decides about the next round."""

    def _choose(self, client: JoinedClient) -> int:
        """Draw from the output distribution, and ask the gate only then."""
        if client.stopped_round is not None:
            return draw_uniformly(len(self.candidates), self.source)
        count = self._count_votes(client)
        position = self._distribution.draw(count.votes, self.source)
        survivors = count.credit_left // self.settings.credit
        if client.gate is not None and client.gate.stops_at(survivors):
            client.stopped_round = self.round
        return position


class NewGateEachRound(PRec):
    """A new gate is started before every round, while only one is paid for."""

    def _choose(self, client: JoinedClient) -> int:
        client.gate = self._start_gate()
        return super()._choose(client)


class RepeatedDraw(PRec):
    """A client who asks again in the same round gets another draw."""

    def recommend(self, client: Any) -> Id:
        """Draw a candidate, even if the client has a recommendation of this round already."""
        joined_client = self._find_client(client)
        candidate = self.candidates[self._choose(joined_client)]
        if joined_client.entry_in_round(self.round) is None:
            joined_client.entries.append(Entry(self.round, candidate, None))
        return candidate


class DislikeIsFree(PRec):
    """A client's dislike costs no voter any credit."""

    def _answer_to_charge(self, client: JoinedClient) -> Answer | None:
        """Return the client's answer if it is a like; None for a dislike."""
        answer = super()._answer_to_charge(client)
        if answer is None or not answer.liked:
            return None
        return answer


class NewcomersCount(PRec):
    """A voter who joins later counts for clients who joined before."""

    def _start_next_round(self, candidates: tuple[Id, ...], votes: Votes) -> None:
        """Start the next round, and let new voters count for all clients."""
        old_rows = len(self._votes)
        super()._start_next_round(candidates, votes)
        if old_rows == 0:
            return
        for client in self._client_by_id.values():
            credit = client.block.credit
            credit.alive[old_rows:] |= np.uint64(1 << client.slot)
            client.block.replace_credits(credit)


class AbstainersLeftOut(PRec):
    """A voter who abstains keeps counting for the gate, but not in the round's shares."""

    def open_round(self, candidates: Collection[Any], votes: Any) -> None:
        """Open a round in which abstainers vote for an extra candidate that is never recommended.

        `_count_votes` removes these votes from the counts.
        """
        voters, positions = votes
        rows = self._voters.find_or_add_rows(voters)
        votes_by_row = np.full(len(self._voters.ids), len(candidates), dtype=np.uint16)
        votes_by_row[rows] = positions
        self._start_next_round((*candidates, "nobody"), votes_by_row)

    def _count_votes(self, client: JoinedClient) -> VoteCount:
        count = super()._count_votes(client)
        return VoteCount(count.votes[:-1], count.credit_left)


@dataclass(frozen=True)
class CuratorBug:
    """A faulty curator, and the check that has to fail on it and hold for the shipped curator."""

    name: str
    """What is wrong with the curator."""
    curator_class: type[PRec]
    """The faulty class."""
    check: Check
    """The check that must detect the bug."""
    epsilon: float = 1.0
    """Nats that are claimed, as the table of bugs prints them."""
    rule_of: RuleOf | None = None
    """Rule that describes the faulty code (`Bug.rule_of`); no rule describes a curator."""
    tool: Tool = "exact"
    """Kind of check."""

    def audit(self, *, planted: bool) -> tuple[bool, float | None]:
        """Run the check on the faulty curator, or on the shipped one.

        Args:
            planted: Whether to check the faulty curator.

        Returns:
            Whether some result is not `held`, and the largest loss in nats of such results; None if
            none of them is a loss. A `blind` result is not `held`.
        """
        results = self.check(self.curator_class if planted else PRec)
        not_held = [result for result in results if result.verdict != "held"]
        losses_not_held = [result.largest for result in not_held if result.is_loss]
        return bool(not_held), max(losses_not_held, default=None)


_VIEWS_AT_LARGE_GATE_EPSILON = partial(check_hostile_views, gate_epsilon=3.0, instances=6)
_VIEWS_AT_SMALL_GATE_EPSILON = partial(check_hostile_views, gate_epsilon=0.3, instances=4)

# Each bug, and the check that has to detect it
BUGS = (
    CuratorBug("half the gate's noise", HalfNoise, _VIEWS_AT_LARGE_GATE_EPSILON),
    CuratorBug("slack forgotten", NoSlack, _VIEWS_AT_SMALL_GATE_EPSILON),
    CuratorBug("gate asked after the draw", GateAfterDraw, _VIEWS_AT_LARGE_GATE_EPSILON),
    CuratorBug("a fresh gate before every round", NewGateEachRound, _VIEWS_AT_LARGE_GATE_EPSILON),
    CuratorBug("drawn again when asked again", RepeatedDraw, check_worst_patterns),
    CuratorBug("a dislike costs nobody", DislikeIsFree, check_changing_voters),
    CuratorBug("newcomers count at once", NewcomersCount, check_changing_voters),
    CuratorBug("abstainers left out of the shares", AbstainersLeftOut, check_changing_voters),
)
