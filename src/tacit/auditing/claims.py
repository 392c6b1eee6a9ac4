"""Claims under audit, the findings on pairs of neighbouring inputs, and the verdict.

`tacit.auditing.audits` runs audits.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Literal, Protocol

from tacit.auditing.rules import Rule
from tacit.errors import ConfigError

Verdict = Literal["no violation found", "violation", "weak audit"]
"""Verdict on a claim; `judge` says when which is given."""
Tool = Literal["exact", "empirical", "grey-box", "rules"]
"""A tool that tells a planted bug from correct code."""

_LEAST_SHARE = 0.1
"""An audit is weak if no pair has an ideal of at least this share of the claimed epsilon."""
_ROUNDING = 1e-9
"""Relative error of an exact loss that is computed in floats."""
SAMPLES = 200_000
"""Releases of each input, unless an audit says otherwise."""
LEAST_SAMPLES = 1_000
"""Fewest releases of each input that an audit can be run with."""


@dataclass(frozen=True)
class PairResult:
    """Findings on one pair of neighbouring inputs."""

    pair: str
    """Name of the pair."""
    exact: float
    """Exact loss of the pair, in nats. If a formula gives only the largest loss of all neighbouring
    inputs, this is that largest loss."""
    rule_bound: float | None
    """Upper bound of the rule engine on the loss, in nats; None if no rule describes the pair."""
    lower_bound: float
    """Lower bound on the loss from samples, in nats."""
    ideal: float
    """Lower bound that samples of correct code reach with a chance of at least 1 - alpha, in nats;
    0 if they reach no positive one with this chance."""
    samples: int
    """Releases of each input."""
    differences: tuple[str, ...] = ()
    """What the grey-box audit found wrong, such as differences between the two inputs."""
    most: float | None = None
    """If all draws are made as the code asks for them, `lower_bound` is above this loss, in nats,
    with a chance of at most alpha; None if this is not compared."""
    failed: str = ""
    """Why the audit of this pair ended early; "" if it did not."""

    def faults(self, epsilon: float) -> list[str]:
        """List findings that refute the claim or contradict one another, and an early end.

        Args:
            epsilon: The claim, in nats.
        """
        reasons = list(self.differences)
        if self.failed:
            reasons.append(f"the audit ended early: {self.failed}")
        if is_exceeded(epsilon, self.exact):
            reasons.append(f"the exact loss {self.exact:.6g} is above the claim")
        if self.rule_bound is not None and is_exceeded(epsilon, self.rule_bound):
            reasons.append(f"the rules allow {self.rule_bound:.6g}, which is above the claim")
        if self.rule_bound is not None and is_exceeded(self.rule_bound, self.exact):
            reasons.append(
                f"the exact loss {self.exact:.6g} is above {self.rule_bound:.6g}, which the rules "
                "allow"
            )
        if self.lower_bound > epsilon:
            reasons.append(
                f"the samples show a loss of at least {self.lower_bound:.6g}, above the claim"
            )
        elif self.most is not None and is_exceeded(self.most, self.lower_bound):
            reasons.append(
                f"the draws are not those asked for: the samples show a loss of at least "
                f"{self.lower_bound:.6g}, and the draws asked for allow {self.most:.6g}"
            )
        return reasons


@dataclass(frozen=True)
class AuditResult:
    """Findings on one claim, and the verdict: one line of the table."""

    mechanism: str
    """Name of the mechanism."""
    unit: str
    """What neighbouring inputs differ in."""
    adjacency: str
    """How neighbouring inputs differ, such as "comes or goes"."""
    epsilon: float
    """The claim, in nats."""
    delta: float
    """The delta of the claim."""
    exact: float
    """Largest exact loss of all pairs."""
    lower_bound: float
    """Largest lower bound of all pairs, with confidence 1 - alpha for all of them together."""
    samples: int
    """Releases of each input of `pair`."""
    alpha: float
    """Largest chance that correct code is called broken."""
    verdict: Verdict
    """The verdict of `judge`."""
    pair: str
    """The pair with the largest lower bound."""
    pairs: tuple[PairResult, ...]
    """Findings on every pair."""


def is_exceeded(epsilon: float, loss: float) -> bool:
    """Say whether a loss is above `epsilon`, by more than the rounding of floats."""
    return loss > epsilon * (1 + _ROUNDING)


def judge(epsilon: float, pairs: Sequence[PairResult]) -> Verdict:
    """Give the verdict on a claim from the findings on its pairs.

    It is "violation" if a pair has a fault. It is "weak audit", which shows nothing, in two cases:
    - A pair's lower bound is below its ideal. Then there is more noise than the parameters say, or
      the auditor tests the wrong event. With correct code this has a chance of at most alpha.
    - No pair has an ideal of at least a tenth of the claim. Then there are too few samples or
      pairs. This does not depend on the draws.

    Args:
        epsilon: The claim, in nats.
        pairs: Findings on the pairs.
    """
    if any(pair.faults(epsilon) for pair in pairs):
        return "violation"
    if any(pair.lower_bound < pair.ideal for pair in pairs):
        return "weak audit"
    if max(pair.ideal for pair in pairs) < _LEAST_SHARE * epsilon:
        return "weak audit"
    return "no violation found"


Check = Callable[[int, float], PairResult]
"""Audits one pair of neighbouring inputs with (samples, alpha)."""
Advance = Callable[[int], None]
"""Reports a number of steps as done."""


@dataclass(frozen=True)
class AuditedClaim:
    """A claim with the checks that try to refute it."""

    mechanism: str
    """Name of the mechanism."""
    epsilon: float
    """The claim, in nats."""
    checks: tuple[Check, ...]
    """Checks of pairs of neighbouring inputs, one for each pair."""
    delta: float = 0.0
    """The delta of the claim."""
    published: bool = False
    """Whether the claim is that of a paper, and the audit is expected to refute it."""
    unit: str = "person"
    """What neighbouring inputs differ in."""
    adjacency: str = "comes or goes"
    """How neighbouring inputs differ, such as "comes or goes"."""


class Bug(Protocol):
    """A planted bug: faulty code, and the correct code."""

    @property
    def name(self) -> str:
        """The bug in a few words."""

    @property
    def tool(self) -> Tool:
        """The tool that has to find the bug."""

    @property
    def rule_of(self) -> Callable[[bool], Rule] | None:
        """Function that returns the rule of the faulty code (True) or the correct code (False).

        None: no rule describes the code.
        """

    @property
    def epsilon(self) -> float:
        """The claim, in nats; it is the same for the faulty and the correct code."""

    def audit(self, *, planted: bool) -> tuple[bool, float | None]:
        """Audit the faulty code or the correct code with the bug's tool.

        Args:
            planted: Whether the code has the fault.

        Returns:
            Whether the code is called broken; and the lower bound on epsilon in nats, which is
            None if the tool gives none.
        """


def _no_false_alarm(_rows: list[Any]) -> float:
    """Return the chance of a false alarm in a study without samples."""
    return 0.0


@dataclass(frozen=True)
class Study:
    """A computation or a simulation that an audit runs in addition to its claims.

    `steps` and `run` are called with the variant (None for all) and whether there are fewer samples
    than the plan's.
    """

    name: str
    """Key of its rows in the result."""
    columns: Mapping[str, Callable[[Any], object]]
    """For each heading of its table, the function from a row to the cell."""
    steps: Callable[[str | None, bool], int]
    """Returns the number of steps that `run` reports."""
    run: Callable[[str | None, bool, Advance], tuple[list[Any], list[str]]]
    """Returns the rows, and a sentence for each unexpected finding."""
    false_alarm: Callable[[list[Any]], float] = _no_false_alarm
    """Returns, for rows, an upper bound of the chance that samples call correct code wrong."""


@dataclass(frozen=True)
class AuditPlan:
    """All that `tacit audit NAME` audits: claims, studies and planted bugs."""

    claims: Mapping[str, Sequence[Callable[[], AuditedClaim]]]
    """For each variant or mechanism by name, functions that make a claim with its checks. The name
    is "" for claims that belong to no variant."""
    bugs: Sequence[Bug]
    """Planted bugs that the tools have to find."""
    samples: int = SAMPLES
    """Releases of each input by default: so many that an audit of correct code is weak with a
    chance of at most alpha."""
    studies: tuple[Study, ...] = ()
    """Further computations and simulations."""
    conclusion: str = "No violation found. That is no proof."
    """The conclusion if no finding is unexpected."""
    next_step: str = ""
    """The command to type next, two spaces, and what it does; "": no command."""

    def restrict_to(self, variant: str | None) -> AuditPlan:
        """Return the plan with the claims of one variant only; with all claims for None.

        Raises:
            ConfigError: There is no variant of that name.
        """
        if variant is None:
            return self
        if variant not in self.claims:
            variants = ", ".join(filter(None, self.claims)) or "none here"
            raise ConfigError(f"--variant is one of: {variants}; got '{variant}'.")
        return replace(self, claims={variant: self.claims[variant]})

    def steps(self, variant: str | None, *, short: bool, planted: bool) -> int:
        """Return the number of steps that the audit reports.

        Args:
            variant: The variant for studies; None for all. All claims of the plan are counted.
            short: Whether there are fewer samples than the plan's.
            planted: Whether planted bugs are examined.
        """
        claims = sum(map(len, self.claims.values()))
        studies = sum(study.steps(variant, short) for study in self.studies)
        bugs = len(self.bugs) if planted else 0
        return claims + studies + bugs


def error_place(error: Exception) -> str:
    """Return the class of an exception and its place in the code, without its message.

    The message may hold data.
    """
    last_frame = traceback.extract_tb(error.__traceback__)[-1]
    file = PurePath(last_frame.filename).name
    return f"{type(error).__name__} in {file}, line {last_frame.lineno}"
