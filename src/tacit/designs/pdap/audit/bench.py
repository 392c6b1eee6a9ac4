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
from tacit.auditing.sampler_spy import Asked, laplace_loss, moves, tapped
from tacit.designs.pdap.audit import joint, local, published, rules
from tacit.designs.pdap.audit.streams import Rows, released, told_apart, without
from tacit.designs.pdap.forwarding import Agreement
from tacit.designs.pdap.policies.joint.learner import Joint
from tacit.designs.pdap.policies.joint.settings import JointSetting
from tacit.designs.pdap.policies.joint.sums import GRAIN, NodeNoise
from tacit.designs.pdap.policies.partition import Cell, NoisyCells
from tacit.mechanisms.tree import TreeCounter
from tacit.randomness import secure
from tacit.recommenders.answers import Unanswered

Steps = dict[type, dict[str, Any]]
_shipped_draw = NodeNoise.draw
_shipped_select, _shipped_release = Joint.select, Joint._release
_shipped_split = NoisyCells.split


def no_noise_on_counts() -> Steps:
    """Sums of rewards have noise, numbers of visits have none."""

    def draw(noise: NodeNoise, shape: tuple[int, ...]) -> NDArray[np.int64]:
        drawn = _shipped_draw(noise, shape)
        drawn[..., 0] = 0  # of a pair (visits, likes)
        return drawn

    return {NodeNoise: {"draw": draw}}


def exploring_by_exact_counts() -> Steps:
    """An arm that was never tried in this cell, whatever the noisy sums say, is tried."""

    def select(policy: Joint, context: Any, arms: Any = None) -> Any:
        cell = policy.grid.number(policy.grid.cell(np.asarray(context)))
        exact_counts = policy._sums._exact[cell].sum(axis=1)
        if arms is None and (exact_counts == 0).any():
            arms = [int((exact_counts == 0).argmax())]
        return _shipped_select(policy, context, arms)

    return {Joint: {"select": select}}


def tree_of_log_levels() -> Steps:
    """ceil(log2 T) levels, at a T that is a power of two."""
    fewer = property(lambda setting: setting.horizon.bit_length() - 1)
    return {JointSetting: {"nodes": fewer}}


def half_the_sensitivity() -> Steps:
    """As if a visit moved one sum by a half."""

    def laplace(noise: NodeNoise) -> TreeCounter:
        return TreeCounter(noise.epsilon, horizon=1 << (noise.nodes - 1), bound=GRAIN // 2)

    return {NodeNoise: {"_laplace": property(laplace)}}


def reward_not_clamped() -> Steps:
    """A neighbour sends what it likes, and it is added as it is."""

    def pairs(_: NodeNoise, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        liked = np.rint(shares * GRAIN).astype(np.int64)
        return np.stack([liked, GRAIN - liked], axis=-1)

    return {NodeNoise: {"pairs": pairs}}


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
                return bool(told_apart(learner, self.rows, other)), None
            loss = laplace_loss(moves(released(learner), self.rows, other))
        return exceeds(self.epsilon, loss), loss


def splits_by_exact_counts() -> Steps:
    """Cells are split by the visits of the epoch as they are."""

    def release(policy: Joint) -> None:
        exact = policy._sums._exact.sum(axis=(1, 2)) / GRAIN
        with planted({NoisyCells: {"split": lambda cells, _: _shipped_split(cells, exact)}}):
            _shipped_release(policy)

    return {Joint: {"_release": release}}


@dataclass(frozen=True)
class Split:
    """Two streams whose noisy sums are the same: whatever else the cells were made from shows."""

    name: str
    epsilon: float = 1.0
    tool: Tool = "grey-box"
    described: Described | None = None

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        with planted(splits_by_exact_counts() if bug else {}):
            return _cells(4) != _cells(3), None


def _cells(left: int) -> list[Cell]:
    """After an epoch of four visits on the left, and one with `left` of four there.

    Noise makes up for those that are not.
    """

    def answer(asked: Asked) -> NDArray[np.int64]:
        noisy = asked.values.copy()
        if len(noisy) == 2:  # two cells: the second epoch
            noisy[:, 0, 0] += GRAIN * (4 - left) * np.array([1, -1])
        return noisy

    told = joint.setting(videos=1, neighbours=0, slices=None, partition="noisy", index="optimistic")
    with tapped(answer):
        policy = Joint(told, randomness=secure())
        for feature in [0.1] * (4 + left) + [0.9] * (4 - left):
            policy.update(policy.select(np.array([feature])), 1.0)
        policy.until_release()
    return list(policy.grid._cells)  # type: ignore[union-attr]


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
_TREE = joint.setting(release="tree", first=1, horizon=4)
_METERED = local.VISITS * local.EPSILON
BUGS: tuple[Bug, ...] = (
    Streamed(
        "noise on sums but not on counts",
        no_noise_on_counts,
        joint.UNEXPLORED,
        1,
        joint.setting(pair="visits and likes"),
        described=_noised(Together((Noised(1, 2), Private())), Noised(2, 2)),
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
    Streamed(
        "tree with log2 T levels",
        tree_of_log_levels,
        joint.FORWARDED,
        0,
        _TREE,
        described=_noised(rules.tree(4, 2, 1.0), rules.tree(4, 3, 1.0)),
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
    Split("cells split by exact counts", described=_noised(rules.SPLIT, Noised(1, 1))),
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
