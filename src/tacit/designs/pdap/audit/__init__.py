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
from tacit.auditing.rules import Noised, Private, Rule, Together, upper_bound
from tacit.auditing.sampler_spy import laplace_loss, moves
from tacit.designs.pdap import theory
from tacit.designs.pdap.audit import joint, local, published
from tacit.designs.pdap.audit.joint import Rows, distinguished, released, without
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


def _lived(side: int, bug: bool) -> Law:
    """Three visits; nobody asks the budget, which is for two."""
    make = partial(local.Told, local.setting(2), local.worst(2))
    return local.lived_law(make, _SIDES[side], float(1 - side), metered=not bug)


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
        described=_noised(published.UNEXPLORED, Noised(1, 1)),
    ),
    Enumerated(
        "a forwarded reward sent raw once",
        _raw_first,
        [(1, 0)],
        local.EPSILON,
        described=_noised(published.RAW_REWARD, local.answer_rule(local.EPSILON)),
    ),
    Enumerated(
        "a fresh randomisation for each neighbour",
        _fresh_for_each,
        [(0, 1)],
        local.EPSILON,
        described=_noised(
            Together((local.forward_rule(_AGREED),) * local.PEERS), local.forward_rule(_AGREED)
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


@dataclass(frozen=True)
class Step:
    """What one step of a policy tells about one unit, and what the rules allow it."""

    policy: str
    unit: str
    step: str
    rule: Rule

    @property
    def bound(self) -> float:
        """Nats; infinite if the description allows none."""
        return upper_bound(self.rule)


_EXPLORATION = "which arm is explored"
_SPLIT = "when a cell splits"


def _of_own_users(policy: str, epsilon: float) -> tuple[Step, ...]:
    return (
        Step(policy, "context", _EXPLORATION, published.UNEXPLORED),
        Step(policy, "context", "draw among own videos, level 5", published.draw(epsilon, 5)),
        Step(policy, "context", "own or forwarded, by means", published.OWN_OR_FORWARDED),
        Step(policy, "visit", _SPLIT, published.SPLIT),
    )


def _of_guests(policy: str, epsilon: float) -> tuple[Step, ...]:
    levels = theory.levels(1024)  # a reward is in all levels of its tree
    return (
        Step(policy, "reward", "reward sent while exploring", published.RAW_REWARD),
        Step(policy, "reward", "largest mean", published.LARGEST_MEAN),
        Step(policy, "reward", "noisy total, T = 1,024", Noised(levels, levels / epsilon)),
        Step(policy, "visit", _SPLIT, published.SPLIT),
    )


def _without_noise(policy: str) -> tuple[Step, ...]:
    return (
        Step(policy, "context", _EXPLORATION, published.UNEXPLORED),
        Step(policy, "context", "largest mean", published.LARGEST_MEAN),
    )


EPSILON = 0.1
"""epsilon' of the steps below."""
STEPS: tuple[Step, ...] = (
    *_without_noise("cap"),
    *_without_noise("dup"),
    *_without_noise("dap"),
    *_of_own_users("p-dap", EPSILON),
    *_of_guests("p-dap, guests", EPSILON),
    *_of_own_users("gp-dap", theory.epsilon_at(EPSILON, 2, 1, 5, geometric=True)),
    *_of_guests("gp-dap, guests", EPSILON),
    Step("sound-joint", "visit", "sums in epochs", joint.sums(SumNoise(1.0))),
    Step("sound-context", "visit", "report of 4 cells", local.response_rule(0.5, 8)),
    Step("messages", "context", "forward, 9 cells", local.forward_rule(Agreement(2, 3, 1.0))),
    Step("messages", "reward", "answer", local.answer_rule(1.0)),
)
"""The first two groups publish without bound; the last have one, at epsilon 1 each."""

INFINITE = ("cap", "dup", "dap", "p-dap", "p-dap, guests", "gp-dap", "gp-dap, guests")
"""Policies that no epsilon bounds: at least one step of each is infinite."""


def by_policy() -> dict[str, float]:
    """The largest bound of each policy's steps."""
    found: dict[str, float] = {}
    for step in STEPS:
        found[step.policy] = max(found.get(step.policy, 0.0), step.bound)
    return found


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
        for one in STEPS
    ]
    bounds = by_policy()
    wrong = [f"{name}: the rules bound it" for name in INFINITE if bounds[name] < math.inf]
    return rows, wrong
