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
    reaches in nearly all audits. differences: what the grey-box audit saw. most: what
    `lower_bound` can be at most if the draws are those that were asked for; None where it is not
    compared. failed: why the audit of this pair ended early.
    """

    pair: str
    exact: float
    rule_bound: float | None
    lower_bound: float
    ideal: float
    samples: int
    differences: tuple[str, ...] = ()
    most: float | None = None
    failed: str = ""

    def faults(self, epsilon: float) -> list[str]:
        """Whatever refutes the claim, or the account that the code gives of itself."""
        exact, rule, seen = self.exact, self.rule_bound, self.lower_bound
        found = list(self.differences)
        if self.failed:
            found.append(f"the audit ended early: {self.failed}")
        if exceeds(epsilon, exact):
            found.append(f"the exact loss {exact:.6g} is above the claim")
        if rule is not None and exceeds(epsilon, rule):
            found.append(f"the rules allow {rule:.6g}, which is above the claim")
        if rule is not None and exceeds(rule, exact):
            found.append(f"the exact loss {exact:.6g} is above {rule:.6g}, which the rules allow")
        if seen > epsilon:
            found.append(f"the samples show a loss of at least {seen:.6g}, above the claim")
        elif self.most is not None and exceeds(self.most, seen):
            found.append(
                f"the draws are not what was asked for: the samples show a loss of at least "
                f"{seen:.6g}, and the noise asked for has {self.most:.6g}"
            )
        return found


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
    if any(one.faults(epsilon) for one in pairs):
        return "violation"
    if any(one.lower_bound < one.ideal for one in pairs):
        return "weak audit"
    if max(one.lower_bound for one in pairs) < _LEAST_SHARE * epsilon:
        return "weak audit"
    return "no violation found"
