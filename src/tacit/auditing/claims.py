"""Claims under audit: what is claimed, what was found on pairs of inputs, and the verdict.

The runner is `tacit.auditing.audits`.
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
Tool = Literal["exact", "empirical", "grey-box", "rules"]
"""The tool that tells a planted bug from correct code."""

_LEAST_SHARE = 0.1
_ROUNDING = 1e-9
"""Relative, of the floats in which an exact loss is written down."""
SAMPLES = 200_000
"""Releases of each input, unless an audit says otherwise."""
LEAST_SAMPLES = 1_000
"""Fewer releases of each input are refused."""


@dataclass(frozen=True)
class PairResult:
    """Findings on one pair of neighbouring inputs."""

    pair: str
    """Name of the pair."""
    exact: float
    """Loss of the pair, or of all pairs where a closed form covers them, in nats."""
    rule_bound: float | None
    """Loss that the rule engine allows for the pair's description; None without one."""
    lower_bound: float
    """Loss that the samples show, in nats."""
    ideal: float
    """Lower bound that correct code shows in all audits but a share of alpha; 0 if none is sure."""
    samples: int
    """Releases of each input."""
    differences: tuple[str, ...] = ()
    """What the grey-box audit saw."""
    most: float | None = None
    """Largest `lower_bound` if the draws are those that were asked for; None: not compared."""
    failed: str = ""
    """Why the audit of this pair ended early."""

    def faults(self, epsilon: float) -> list[str]:
        """List all that refutes the claim, or what the code states about itself."""
        reasons = list(self.differences)
        if self.failed:
            reasons.append(f"the audit ended early: {self.failed}")
        if exceeds(epsilon, self.exact):
            reasons.append(f"the exact loss {self.exact:.6g} is above the claim")
        if self.rule_bound is not None and exceeds(epsilon, self.rule_bound):
            reasons.append(f"the rules allow {self.rule_bound:.6g}, which is above the claim")
        if self.rule_bound is not None and exceeds(self.rule_bound, self.exact):
            reasons.append(
                f"the exact loss {self.exact:.6g} is above {self.rule_bound:.6g}, which the rules "
                "allow"
            )
        if self.lower_bound > epsilon:
            reasons.append(
                f"the samples show a loss of at least {self.lower_bound:.6g}, above the claim"
            )
        elif self.most is not None and exceeds(self.most, self.lower_bound):
            reasons.append(
                f"the draws are not what was asked for: the samples show a loss of at least "
                f"{self.lower_bound:.6g}, and the noise asked for has {self.most:.6g}"
            )
        return reasons


@dataclass(frozen=True)
class AuditResult:
    """Findings on one claim: one line of the table."""

    mechanism: str
    """Name of the mechanism."""
    unit: str
    """The thing that neighbouring inputs differ in."""
    adjacency: str
    """How they differ in it."""
    epsilon: float
    """The claim, in nats."""
    delta: float
    """The chance at which it is claimed."""
    exact: float
    """Largest exact loss of all pairs."""
    lower_bound: float
    """Largest lower bound of all pairs, with confidence 1 - alpha for all of them together."""
    samples: int
    """Releases of each input of `pair`."""
    alpha: float
    """The chance that correct code is called broken."""
    verdict: Verdict
    """The outcome."""
    pair: str
    """The pair with the largest lower bound."""
    pairs: tuple[PairResult, ...]
    """Findings on every pair."""


def exceeds(epsilon: float, loss: float) -> bool:
    """Say whether an exact loss is above the claim, by more than the rounding of floats."""
    return loss > epsilon * (1 + _ROUNDING)


def judge(epsilon: float, pairs: Sequence[PairResult]) -> Verdict:
    """Compare the findings with the claim.

    A bound below the ideal means that there is more noise than the parameters say, or that the
    auditor tests the wrong event. Such a pass shows nothing and is called weak. So is a pass in
    which no pair is sure to show a tenth of the claim: samples or pairs are too few. Correct code
    is called weak with a chance of at most alpha, since the second condition is not random.
    """
    if any(pair.faults(epsilon) for pair in pairs):
        return "violation"
    if any(pair.lower_bound < pair.ideal for pair in pairs):
        return "weak audit"
    if max(pair.ideal for pair in pairs) < _LEAST_SHARE * epsilon:
        return "weak audit"
    return "no violation found"


Check = Callable[[int, float], PairResult]
"""Makes findings on one pair of neighbours from (samples, alpha)."""
Advance = Callable[[int], None]
"""Reports that so many steps are done."""


@dataclass(frozen=True)
class AuditedClaim:
    """A claim with the checks that try to refute it."""

    mechanism: str
    """Name of the mechanism."""
    epsilon: float
    """The claim, in nats."""
    checks: tuple[Check, ...]
    """One for each pair of neighbouring inputs."""
    delta: float = 0.0
    """The chance at which epsilon is claimed."""
    published: bool = False
    """Whether it is the paper's own claim, expected to be refuted."""
    unit: str = "person"
    """The thing that neighbouring inputs differ in."""
    adjacency: str = "comes or goes"
    """How they differ in it."""


class Bug(Protocol):
    """A planted bug, and the correct code beside it."""

    @property
    def name(self) -> str:
        """The bug in a few words."""

    @property
    def tool(self) -> Tool:
        """The tool that has to find it."""

    @property
    def rule_of(self) -> Callable[[bool], Rule] | None:
        """Describes the faulty code (True) or the correct one; None without a description."""

    @property
    def epsilon(self) -> float:
        """The claim that the bug breaks, in nats."""

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        """Audit the faulty mechanism or the correct one.

        Returns:
            Whether it is called broken, and the bound on epsilon; None if there is no bound.
        """


def _no_false_alarm(_: list[Any]) -> float:
    return 0.0


@dataclass(frozen=True)
class Study:
    """A computation or a simulation of an audit, besides its claims.

    `steps` and `run` get the variant, None for all, and whether samples are few.
    """

    name: str
    """Key of its rows in the answer."""
    columns: Mapping[str, Callable[[Any], object]]
    """By heading, the cell of a row."""
    steps: Callable[[str | None, bool], int]
    """Counts the steps that are reported to `Advance`."""
    run: Callable[[str | None, bool, Advance], tuple[list[Any], list[str]]]
    """Makes the rows, and sentences on what is other than expected."""
    false_alarm: Callable[[list[Any]], float] = _no_false_alarm
    """The chance, of these rows, that correct code makes something other than expected."""


@dataclass(frozen=True)
class AuditPlan:
    """The claims, studies and planted bugs that `tacit audit NAME` looks at."""

    claims: Mapping[str, Sequence[Callable[[], AuditedClaim]]]
    """By variant or by mechanism, functions that make a claim with its checks."""
    bugs: Sequence[Bug]
    """Planted bugs that the tools have to catch."""
    samples: int = SAMPLES
    """Releases of each input, enough for every verdict."""
    studies: tuple[Study, ...] = ()
    """Computations and simulations besides."""
    conclusion: str = "No violation found. That is no proof."
    """The sentence where nothing is other than expected."""
    after: str = ""
    """The command to type next, and what it does."""

    def restrict_to(self, variant: str | None) -> AuditPlan:
        """Keep the claims of one variant alone; of None, all.

        Raises:
            ConfigError: There is no variant of that name.
        """
        if variant is None:
            return self
        if variant not in self.claims:
            known = ", ".join(filter(None, self.claims)) or "none here"
            raise ConfigError(f"--variant is one of: {known}; got '{variant}'.")
        return replace(self, claims={variant: self.claims[variant]})

    def steps(self, variant: str | None, *, short: bool, planted: bool) -> int:
        """Count the steps of the audit's progress.

        Args:
            variant: The variant that is audited; None for all.
            short: Whether there are fewer samples than the plan's.
            planted: Whether planted bugs are examined.
        """
        claims = sum(map(len, self.claims.values()))
        studies = sum(study.steps(variant, short) for study in self.studies)
        bugs = len(self.bugs) if planted else 0
        return claims + studies + bugs


def error_place(error: Exception) -> str:
    """Name the kind of an exception and its place in the code; its message may hold the data."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {PurePath(last.filename).name}, line {last.lineno}"
