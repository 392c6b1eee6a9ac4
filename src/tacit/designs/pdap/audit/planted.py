"""Bugs that the audits must catch: each replaces one step of the shipped code."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bugs import EnumeratedBug, plant
from tacit.auditing.claims import Bug, Tool, exceeds
from tacit.auditing.output_distributions import (
    Distribution,
)
from tacit.auditing.sampler_spy import laplace_loss, moves
from tacit.designs.pdap.audit import joint
from tacit.designs.pdap.audit.devices import (
    EPSILON,
    LEFT,
    RIGHT,
    VISITS,
    life_distribution,
    worst_table,
)
from tacit.designs.pdap.audit.forwarded import PEERS, sent_distribution
from tacit.designs.pdap.audit.joint import Rows, distinguished, released, without
from tacit.designs.pdap.forwarding import Agreement
from tacit.designs.pdap.joint import Joint
from tacit.designs.pdap.joint_sums import GRAIN, SumNoise
from tacit.designs.pdap.unanswered import Unanswered

_shipped_draw = SumNoise.draw
_shipped_select = Joint.select


def no_noise_on_likes(noise: SumNoise, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Draw noise for dislikes, and none for likes."""
    drawn = _shipped_draw(noise, shape)
    drawn[..., 0] = 0  # of a pair (likes, dislikes)
    return drawn


def exploring_by_exact_counts(policy: Joint, context: Any, arms: Any = None) -> Any:
    """Try an arm that was never tried in this cell, whatever the noisy sums say."""
    exact_counts = policy.export_state()[1]["exact"][policy.grid.number(context)].sum(axis=1)
    if arms is None and (exact_counts == 0).any():
        arms = [int((exact_counts == 0).argmax())]
    return _shipped_select(policy, context, arms)


def reward_not_clamped(_: SumNoise, share: float) -> NDArray[np.int64]:
    """Add what a neighbour reports as it is."""
    liked = round(share * GRAIN)
    return np.array([liked, GRAIN - liked])


BEYOND: Rows = np.array([[0.1, 2.0, 1.0, 11.0], *joint.FORWARDED[1:].tolist()])
"""A neighbour's reward of four times its range."""


@dataclass(frozen=True)
class Streamed:
    """A fault in the joint learner, and the visit that shows it.

    Attributes:
        name: in words.
        fault: attributes of classes that are replaced.
        rows: of the stream.
        visit: the row that is left out in the neighbouring stream.
        tool: how the fault is shown.
        epsilon: claimed for one visit.
    """

    name: str
    fault: dict[type, dict[str, Any]]
    rows: Rows
    visit: int
    tool: Tool = "exact"
    rule_of: None = None
    epsilon: float = joint.EPSILON

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        """Whether an audit is alarmed, and the loss it found. bug: whether the fault is planted."""
        other = without(self.rows, self.visit)
        with plant(self.fault if bug else {}):
            learner = joint.joint(joint.setting())
            if self.tool == "grey-box":
                return bool(distinguished(learner, self.rows, other)), None
            loss = laplace_loss(moves(released(learner), self.rows, other))
        return exceeds(self.epsilon, loss), loss


_AGREED = Agreement(1, 2, EPSILON)
_SIDES = (LEFT, RIGHT)


def _randomise_for_each(side: int, bug: bool) -> Distribution:
    """Give every neighbour a randomisation of its own."""
    once = sent_distribution(_AGREED, _SIDES[side])
    if not bug:
        return once
    answers: dict[Hashable, Fraction] = {}
    for seen in product(once.items(), repeat=PEERS):
        got = tuple(name for name, _ in seen)
        answers[got] = math.prod((chance for _, chance in seen), start=Fraction(1))
    return answers


def _ask_chosen_only(side: int, bug: bool) -> Distribution:
    """Ask only the neighbour that was chosen, and nobody where an own video was."""
    return sent_distribution(_AGREED, _SIDES[side], asks_all=not bug)


def _live_unmetered(side: int, bug: bool) -> Distribution:
    """Live three visits without asking the limit, which is for two."""
    return life_distribution(worst_table(2), _SIDES[side], float(1 - side), metered=not bug)


BUGS: tuple[Bug, ...] = (
    Streamed(
        "noise on dislikes but not on likes",
        {SumNoise: {"draw": no_noise_on_likes}},
        joint.UNEXPLORED,
        1,
    ),
    Streamed(
        "exact counts say what to explore",
        {Joint: {"select": exploring_by_exact_counts}},
        joint.UNEXPLORED,
        1,
        tool="grey-box",
    ),
    Streamed("a reward that is not clamped", {SumNoise: {"pair": reward_not_clamped}}, BEYOND, 0),
    # A visit is learned as often as it is answered, if others are not.
    Streamed("a visit learned twice", {Unanswered: {"end_one": lambda *_: True}}, joint.AGAIN, 0),
    EnumeratedBug(
        "a fresh randomisation for each neighbour", _randomise_for_each, [(0, 1)], EPSILON
    ),
    EnumeratedBug("a neighbour asked because of the cell", _ask_chosen_only, [(0, 1)], EPSILON),
    EnumeratedBug("visits that nobody meters", _live_unmetered, [(0, 1)], VISITS * EPSILON),
)
