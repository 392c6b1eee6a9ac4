"""Faulty mechanisms that an exact computation or a look inside gives away.

Every function takes `bug`: True for the fault, False for its repair.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

from tacit.auditing import exact
from tacit.auditing.bench import Pair
from tacit.auditing.greybox import Tape
from tacit.auditing.shipped_noise import laplace_pair
from tacit.auditing.shipped_streams import gate_pair
from tacit.mechanisms.threshold import ThresholdGate
from tacit.mechanisms.tree import TreeCounter


class _TreeWithoutALevel(TreeCounter):
    @property
    def scale(self) -> float:
        return (self.levels - 1) * self.bound / self.epsilon


class _GateWithHalfTheThresholdNoise(ThresholdGate):
    @property
    def threshold_scale(self) -> float:
        return super().threshold_scale / 2


class _GateForMonotonicCounts(ThresholdGate):
    @property
    def count_scale(self) -> float:
        return super().count_scale / 2


def tree_with_log_levels(bug: bool) -> Pair:
    """The shipped counter, charged for log2(T) levels where T = 2 steps touch two nodes."""
    counter = (_TreeWithoutALevel if bug else TreeCounter)(1.0, horizon=2)
    return laplace_pair("first of two steps", counter, [1, 0], [0, 0], distance=2, share=100)


def gate_with_half_the_threshold_noise(bug: bool) -> Pair:
    """The shipped gate; the threshold's noise hides that all counts before the stop moved."""
    return _gate((_GateWithHalfTheThresholdNoise if bug else ThresholdGate)(1.0, 1))


def gate_with_half_the_count_noise(bug: bool) -> Pair:
    """The shipped gate; the counts' noise is that of monotonic counts, and these are not."""
    return _gate((_GateForMonotonicCounts if bug else ThresholdGate)(1.0, 1))


def _gate(gate: ThresholdGate) -> Pair:
    return gate_pair("ten up, the last down", gate, [1] * 10 + [0], [0] * 10 + [1])


def bit_off_by_one(bit: int, bug: bool) -> dict[Hashable, Fraction]:
    """`<=` for `<`: one more face of the die keeps the bit. Claimed: ln 3."""
    return exact.outcomes(lambda dice: bit ^ (dice.below(256) >= (193 if bug else 192)))


def selection_without_the_2(scores: tuple[int, ...], bug: bool) -> dict[Hashable, Fraction]:
    """Each score may move, and so does the sum of weights. Claimed: 2 ln 2."""
    return exact.outcomes(lambda dice: _drawn([(4 if bug else 2) ** s for s in scores], dice))


def always_the_top_item(scores: tuple[int, ...], bug: bool) -> dict[Hashable, Fraction]:
    """A "private" mode that draws nothing. Claimed: 2 ln 2."""
    if bug:
        return exact.outcomes(lambda _: scores.index(max(scores)))
    return selection_without_the_2(scores, False)


def _drawn(weights: list[int], dice: exact.Dice) -> int:
    face = dice.below(sum(weights))
    return next(j for j in range(len(weights)) if face < sum(weights[: j + 1]))


def error_tells_the_data(ratings: list[float], tape: Tape, bug: bool) -> object:
    if not all(0 <= rating <= 5 for rating in ratings):
        raise ValueError(f"not a rating in {ratings}" if bug else "not a rating from 0 to 5")
    return sum(ratings) + tape.noise(5.0, 1)


def scale_from_the_data(ratings: list[float], tape: Tape, bug: bool) -> object:
    scale = max(ratings) - min(ratings) if bug else 5.0
    return sum(ratings) + tape.noise(scale, 1)


def no_noise_on_zero(cells: list[int], tape: Tape, bug: bool) -> object:
    """Empty cells are left out of a table, and with them their noise."""
    return [cell + tape.noise(2.0, 1) for cell in cells if cell or not bug]
