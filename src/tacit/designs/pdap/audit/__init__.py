"""P-DAP on the audit's bench: what the paper claims, what this library claims, and planted bugs.

A bug is planted into the sound P-DAP by replacing one step of the code that is shipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bugs import Bug, Enumerated, Tool, planted
from tacit.auditing.claims import Bench, Line, exceeds
from tacit.auditing.output_distributions import Law
from tacit.auditing.sampler_spy import laplace_loss, moves
from tacit.designs.pdap.audit import joint, local, published
from tacit.designs.pdap.audit.joint import Rows, distinguished, released, without
from tacit.designs.pdap.forwarding import Agreement
from tacit.designs.pdap.joint import Joint
from tacit.designs.pdap.joint_sums import GRAIN, SumNoise
from tacit.recommenders.base import Unanswered

Steps = dict[type, dict[str, Any]]
_shipped_draw = SumNoise.draw
_shipped_select = Joint.select


def no_noise_on_likes(noise: SumNoise, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Dislikes have noise, likes have none."""
    drawn = _shipped_draw(noise, shape)
    drawn[..., 0] = 0  # of a pair (likes, dislikes)
    return drawn


def exploring_by_exact_counts(policy: Joint, context: Any, arms: Any = None) -> Any:
    """An arm that was never tried in this cell, whatever the noisy sums say, is tried."""
    exact_counts = policy.kept()[1]["exact"][policy.grid.number(context)].sum(axis=1)
    if arms is None and (exact_counts == 0).any():
        arms = [int((exact_counts == 0).argmax())]
    return _shipped_select(policy, context, arms)


def reward_not_clamped(_: SumNoise, share: float) -> NDArray[np.int64]:
    """A neighbour sends what it likes, and it is added as it is."""
    liked = round(share * GRAIN)
    return np.array([liked, GRAIN - liked])


BEYOND: Rows = np.array([[0.1, 2.0, 1.0, 11.0], *joint.FORWARDED[1:].tolist()])
"""A neighbour's reward of four times its range."""


@dataclass(frozen=True)
class Streamed:
    """A fault in the joint learner, and the visit that shows it."""

    name: str
    fault: Steps
    rows: Rows
    visit: int
    tool: Tool = "exact"
    described: None = None
    epsilon: float = joint.EPSILON

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        other = without(self.rows, self.visit)
        with planted(self.fault if bug else {}):
            learner = joint.joint(joint.setting())
            if self.tool == "grey-box":
                return bool(distinguished(learner, self.rows, other)), None
            loss = laplace_loss(moves(released(learner), self.rows, other))
        return exceeds(self.epsilon, loss), loss


_AGREED = Agreement(1, 2, local.EPSILON)
_SIDES = (local.LEFT, local.RIGHT)


def _fresh_for_each(side: int, bug: bool) -> Law:
    """Every neighbour gets a randomisation of its own."""
    once = local.sent_law(_AGREED, _SIDES[side])
    if not bug:
        return once
    found: dict[Hashable, Fraction] = {}
    for seen in product(once.items(), repeat=local.PEERS):
        got = tuple(name for name, _ in seen)
        found[got] = math.prod((chance for _, chance in seen), start=Fraction(1))
    return found


def _asked(side: int, bug: bool) -> Law:
    """Only the neighbour that was chosen is asked, and nobody where an own video was."""
    return local.sent_law(_AGREED, _SIDES[side], asks_all=not bug)


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
    Enumerated(
        "a fresh randomisation for each neighbour", _fresh_for_each, [(0, 1)], local.EPSILON
    ),
    Enumerated("a neighbour asked because of the cell", _asked, [(0, 1)], local.EPSILON),
)
"""Each fails with one step replaced; it is compared with the shipped code."""

SAMPLES = 5_000
PUBLISHED: tuple[Callable[[], Line], ...] = published.LINES
SOUND: tuple[Callable[[], Line], ...] = (*local.LINES, *joint.LINES)


def audit() -> Bench:
    """Both variants."""
    return Bench(
        {"published": PUBLISHED, "sound": SOUND},
        BUGS,
        SAMPLES,
        conclusion="Nothing is other than expected. That no violation was found is no proof.",
        after="tacit simulate pdap  shows what privacy costs in clicks.",
    )
