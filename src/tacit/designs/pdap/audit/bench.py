"""P-DAP on the audit's bench: what the paper claims, what this library claims, and planted bugs.

A bug is planted into the sound P-DAP by replacing one step of the code that is shipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bugs import Bug, Described, Enumerated, Tool, planted
from tacit.auditing.claims import Advance, Bench, Line, Study, exceeds
from tacit.auditing.output_distributions import Law
from tacit.auditing.rules import Noised, Private, Rule, Together
from tacit.auditing.sampler_spy import laplace_loss, moves
from tacit.designs.pdap.audit import joint, local, published, rules
from tacit.designs.pdap.audit.rules import Rows, distinguished, released, without
from tacit.designs.pdap.forwarding import Agreement
from tacit.designs.pdap.joint import Joint, JointSetting
from tacit.designs.pdap.joint_sums import GRAIN, SumNoise
from tacit.mechanisms.running import TreeCounter
from tacit.recommenders.base import Unanswered

Steps = dict[type, dict[str, Any]]
_shipped_draw = SumNoise.draw
_shipped_select = Joint.select


def no_noise_on_likes() -> Steps:
    """Dislikes have noise, likes have none."""

    def draw(noise: SumNoise, shape: tuple[int, ...]) -> NDArray[np.int64]:
        drawn = _shipped_draw(noise, shape)
        drawn[..., 0] = 0  # of a pair (likes, dislikes)
        return drawn

    return {SumNoise: {"draw": draw}}


def exploring_by_exact_counts() -> Steps:
    """An arm that was never tried in this cell, whatever the noisy sums say, is tried."""

    def select(policy: Joint, context: Any, arms: Any = None) -> Any:
        cell = policy.grid.number(policy.grid.cell(context))
        exact_counts = policy.kept()[1]["exact"][cell].sum(axis=1)
        if arms is None and (exact_counts == 0).any():
            arms = [int((exact_counts == 0).argmax())]
        return _shipped_select(policy, context, arms)

    return {Joint: {"select": select}}


def half_the_sensitivity() -> Steps:
    """As if a visit moved one sum by a half."""

    def laplace(noise: SumNoise) -> TreeCounter:
        return TreeCounter(noise.epsilon, horizon=1, bound=GRAIN // 2)

    return {SumNoise: {"_laplace": property(laplace)}}


def reward_not_clamped() -> Steps:
    """A neighbour sends what it likes, and it is added as it is."""

    def pairs(_: SumNoise, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        liked = np.rint(shares * GRAIN).astype(np.int64)
        return np.stack([liked, GRAIN - liked], axis=-1)

    return {SumNoise: {"pairs": pairs}}


def answered_twice() -> Steps:
    """A visit is learned as often as it is answered, if others are not."""
    return {Unanswered: {"end_one": lambda *_: True}}


BEYOND: Rows = np.array([[0.1, 2.0, 1.0, 11.0], *joint.FORWARDED[1:].tolist()])
"""A neighbour's reward of four times its range."""


@dataclass(frozen=True)
class Streamed:
    """A fault in the joint learner, and the visit that shows it. epsilon: what it claims."""

    name: str
    fault: Callable[[], Steps]
    rows: Rows
    visit: int
    setting: JointSetting
    tool: Tool = "exact"
    described: Described | None = None

    @property
    def epsilon(self) -> float:
        return self.setting.epsilon

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        other = without(self.rows, self.visit)
        with planted(self.fault() if bug else {}):
            learner = joint.joint(self.setting)
            if self.tool == "grey-box":
                return bool(distinguished(learner, self.rows, other)), None
            loss = laplace_loss(moves(released(learner), self.rows, other))
        return exceeds(self.epsilon, loss), loss


def _raw_first(reward: int, bug: bool) -> dict[Hashable, Fraction]:
    """The first reward of a video is sent as it is."""
    return {reward: Fraction(1)} if bug else dict(local.answer_law(float(reward)))


def _fresh_for_each(side: int, bug: bool) -> Law:
    """Every neighbour gets a randomisation of its own."""
    agreement = Agreement(1, 2, local.EPSILON)
    once = local.sent_law(agreement, (local.LEFT, local.RIGHT)[side])
    if not bug:
        return once
    found: dict[Hashable, Fraction] = {}
    for seen in product(once.items(), repeat=local.PEERS):
        got = tuple(name for name, _ in seen)
        found[got] = math.prod((chance for _, chance in seen), start=Fraction(1))
    return found


def _asked(side: int, bug: bool) -> Law:
    """Only the neighbour that was chosen is asked, and nobody where an own video was."""
    agreement = Agreement(1, 2, local.EPSILON)
    return local.sent_law(agreement, (local.LEFT, local.RIGHT)[side], asks_all=not bug)


def _lived(side: int, bug: bool) -> Law:
    """Three visits; nobody asks the budget, which is for two."""
    make = partial(local.Told, local.setting(2), local.worst(2))
    context = (local.LEFT, local.RIGHT)[side]
    return local.lived_law(make, context, float(1 - side), metered=not bug)


def _noised(bug: Rule, repaired: Rule) -> Described:
    return lambda faulty: bug if faulty else repaired


_ONE = joint.setting()
_METERED = local.VISITS * local.EPSILON
BUGS: tuple[Bug, ...] = (
    Streamed(
        "noise on dislikes but not on likes",
        no_noise_on_likes,
        joint.UNEXPLORED,
        1,
        _ONE,
        described=_noised(Together((Noised(1, 1), Private())), Noised(1, 1)),
    ),
    Streamed(
        "exact counts say what to explore",
        exploring_by_exact_counts,
        joint.UNEXPLORED,
        1,
        _ONE,
        tool="grey-box",
        described=_noised(rules.UNEXPLORED, Noised(1, 1)),
    ),
    Enumerated(
        "a forwarded reward sent raw once",
        _raw_first,
        [(1, 0)],
        local.EPSILON,
        described=_noised(rules.RAW_REWARD, rules.answer(local.EPSILON)),
    ),
    Enumerated(
        "a fresh randomisation for each neighbour",
        _fresh_for_each,
        [(0, 1)],
        local.EPSILON,
        described=_noised(
            Together((rules.forward(Agreement(1, 2, local.EPSILON)),) * local.PEERS),
            rules.forward(Agreement(1, 2, local.EPSILON)),
        ),
    ),
    Enumerated("a neighbour asked because of the cell", _asked, [(0, 1)], local.EPSILON),
    Streamed(
        "half the sensitivity",
        half_the_sensitivity,
        joint.UNEXPLORED,
        1,
        _ONE,
        described=_noised(Noised(GRAIN, GRAIN / 2), Noised(GRAIN, GRAIN)),
    ),
    Streamed("a reward that is not clamped", reward_not_clamped, BEYOND, 0, _ONE),
    Streamed("a visit learned twice", answered_twice, joint.AGAIN, 0, _ONE),
    Enumerated("visits that nobody meters", _lived, [(0, 1)], _METERED),
)
"""Each fails with one step replaced; it is compared with the shipped code."""

SAMPLES = 5_000
PUBLISHED: tuple[Callable[[], Line], ...] = published.LINES
SOUND: tuple[Callable[[], Line], ...] = (*local.LINES, *joint.LINES)


def audit() -> Bench:
    """Both variants, and what the rules say about every published step."""
    return Bench(
        {"published": PUBLISHED, "sound": SOUND},
        BUGS,
        SAMPLES,
        (Study("rules", _COLUMNS, lambda *_: 0, _rules),),
        "Nothing is other than expected. That no violation was found is no proof.",
        "tacit simulate pdap  shows what privacy costs in clicks.",
    )


_COLUMNS: dict[str, Callable[[Any], object]] = {
    name: itemgetter(name) for name in ("policy", "unit", "step", "bound")
}


def _rules(variant: str | None, _: bool, __: Advance) -> tuple[list[Any], list[str]]:
    """Every step with its bound, and published policies that the rules do bound."""
    if variant == "sound":
        return [], []
    rows = [
        {"policy": one.policy, "unit": one.unit, "step": one.step, "bound": one.bound}
        for one in rules.STEPS
    ]
    bounds = rules.by_policy()
    wrong = [f"{name}: the rules bound it" for name in rules.INFINITE if bounds[name] < math.inf]
    return rows, wrong
