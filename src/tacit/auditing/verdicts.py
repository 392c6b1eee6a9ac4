"""What an audit says about a claim, and in which words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["no violation found", "violation", "weak audit"]

_LEAST_SHARE = 0.1
_ROUNDING = 1e-9  # of the floats in which an exact loss is written down


@dataclass(frozen=True)
class Audit:
    """One line of the table.

    epsilon, delta: what is claimed. exact: the exact loss of the instance audited, where it can be
    computed. lower_bound: with confidence 1 - alpha. samples: of each neighbour; 0 if none was
    drawn.
    """

    mechanism: str
    unit: str
    adjacency: str
    epsilon: float
    delta: float
    exact: float | None
    lower_bound: float | None
    samples: int
    alpha: float
    verdict: Verdict

    @property
    def tightness(self) -> float | None:
        """The bound as a share of the claim."""
        return None if self.lower_bound is None else self.lower_bound / self.epsilon


def judge(
    epsilon: float,
    *,
    exact: float | None = None,
    lower_bound: float | None = None,
    ideal: float = 0.0,
) -> Verdict:
    """Compare what was found with the claim.

    ideal: what an ideal auditor reaches in nearly all audits of a mechanism that is as claimed. A
    bound below it means that the auditor looked in the wrong place, or that there is more noise
    than claimed. Such a pass is worth nothing, and is called weak; so is a bound below a tenth of
    the claim, for which the samples were too few.
    """
    above = epsilon * (1 + _ROUNDING)
    if (exact is not None and exact > above) or (lower_bound is not None and lower_bound > epsilon):
        return "violation"
    if lower_bound is not None and lower_bound < max(ideal, _LEAST_SHARE * epsilon):
        return "weak audit"
    return "no violation found"
