"""What an audit says about a claim, and in which words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["no violation found", "violation", "weak audit"]

_LEAST_SHARE = 0.1
_ROUNDING = 1e-9  # of the floats in which an exact loss is written down


@dataclass(frozen=True)
class Checked:
    """What was found on one pair of neighbouring inputs.

    exact: the pair's loss, or of all pairs where a closed form covers them. rule_bound: what the
    rule engine allows for its description. ideal: what an auditor who knows the best event
    reaches in nearly all audits. differences: what the grey-box audit saw.
    """

    pair: str
    exact: float
    rule_bound: float | None
    lower_bound: float
    ideal: float
    samples: int
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Audit:
    """One line of the table.

    epsilon, delta: what is claimed. exact: the largest exact loss of all pairs. lower_bound: the
    largest of all pairs, with confidence 1 - alpha for all of them together. pair: the one that
    gave it; samples: of each of its two inputs.
    """

    mechanism: str
    unit: str
    adjacency: str
    epsilon: float
    delta: float
    exact: float
    lower_bound: float
    samples: int
    alpha: float
    verdict: Verdict
    pair: str
    pairs: tuple[Checked, ...]

    @property
    def tightness(self) -> float:
        """The bound as a share of the claim."""
        return self.lower_bound / self.epsilon


def exceeds(epsilon: float, loss: float) -> bool:
    """Whether an exact loss is above the claim, by more than the rounding of floats."""
    return loss > epsilon * (1 + _ROUNDING)


def judge(epsilon: float, pairs: Sequence[Checked]) -> Verdict:
    """Compare what was found with the claim.

    A bound below the ideal means that the auditor looked in the wrong place, or that there is more
    noise than the parameters say. Such a pass is worth nothing, and is called weak; so is one
    whose bounds are all below a tenth of the claim, for which samples or pairs were too few.
    """
    if any(
        exceeds(epsilon, one.exact) or one.lower_bound > epsilon or one.differences for one in pairs
    ):
        return "violation"
    if any(one.lower_bound < one.ideal for one in pairs):
        return "weak audit"
    if max(one.lower_bound for one in pairs) < _LEAST_SHARE * epsilon:
        return "weak audit"
    return "no violation found"
