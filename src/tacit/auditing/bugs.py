"""Kinds of planted bugs, each with faulty code, correct code and a tool; and their examination."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tacit.auditing.claims import Bug, Tool, is_exceeded
from tacit.auditing.empirical import Feature, Release, audit, identity_feature
from tacit.auditing.exact_losses import Chances, largest_loss
from tacit.auditing.gaussian import audit_gaussian
from tacit.auditing.pairs import Pair, check_pair
from tacit.auditing.rules import PrivateValue, Rule, upper_bound
from tacit.auditing.sampler_spy import Tape, differences

RuleOf = Callable[[bool], Rule]
"""Returns the rule that describes the faulty code (True) or the correct code (False)."""


@dataclass(frozen=True)
class BugResult:
    """Findings of the tools in the faulty code."""

    bug: str
    """Name of the bug."""
    caught: bool
    """Whether a tool called the code broken."""
    by: Tool
    """The tool that caught the bug; the bug's own tool if none caught it."""
    lower_bound: float | None
    """Lower bound on epsilon, in nats; the tool "exact" gives the exact loss. None if the
    audit gave no bound."""
    rules: bool | None
    """Whether the rules' bound exceeds the claim; None if no rule describes the code."""


@dataclass(frozen=True)
class RepairedResult:
    """Findings of the tools in the correct code."""

    mechanism: str
    """Name of the bug, and the word "repaired"."""
    alarm: bool
    """Whether the bug's tool or the rules reported a violation."""


@dataclass(frozen=True)
class SampledBug:
    """A bug that is found by a lower bound on epsilon from samples."""

    name: str
    """The bug in a few words."""
    release: Callable[[Any, int, bool], NDArray[Any]]
    """Makes n releases from (input, n, planted)."""
    a: Any
    """The first input."""
    b: Any
    """The second input, neighbouring to the first."""
    rule_of: RuleOf | None = None
    """Describes the code for the rule engine; None if no rule can."""
    epsilon: float = 1.0
    """The claim, in nats."""
    delta: float = 0.0
    """Delta of the claim. Above 0, the releases must be one number with Gaussian noise, and
    `audit_gaussian` audits them."""
    feature: Feature = identity_feature
    """Maps releases to one number each, in which the bug is looked for."""
    samples: int = 50_000
    """Releases of each input."""
    tool: Tool = "empirical"
    """The tool that has to find the bug."""

    def audit(self, *, planted: bool) -> tuple[bool, float | None]:
        """Audit samples of the faulty or the correct code; see `Bug.audit`."""
        a = self._releases(self.a, planted)
        b = self._releases(self.b, planted)
        if self.delta:
            bound = audit_gaussian(a, b, samples=self.samples, delta=self.delta).lower_bound
        else:
            bound = audit(a, b, samples=self.samples).lower_bound
        return bound > self.epsilon, bound

    def _releases(self, data: Any, planted: bool) -> Release:
        """Return the function that makes n releases of one input, and maps them by the feature."""
        return lambda n: self.feature(self.release(data, n, planted))


@dataclass(frozen=True)
class EnumeratedBug:
    """A bug that is found by the exact loss between output distributions."""

    name: str
    """The bug in a few words."""
    distribution: Callable[[Any, bool], Chances]
    """Returns all outcomes and their chances, from (input, planted)."""
    pairs: Sequence[tuple[Any, Any]]
    """Pairs of neighbouring inputs."""
    epsilon: float
    """The claim, in nats."""
    rule_of: RuleOf | None = None
    """Describes the code for the rule engine; None if no rule can."""
    tool: Tool = "exact"
    """The tool that has to find the bug."""

    def audit(self, *, planted: bool) -> tuple[bool, float | None]:
        """Compare the largest exact loss of all pairs with the claim; see `Bug.audit`."""
        loss = largest_loss(lambda data: self.distribution(data, planted), self.pairs)
        return is_exceeded(self.epsilon, loss), loss


@dataclass(frozen=True)
class MechanismBug:
    """A bug planted into a shipped mechanism, or into the sampler that it calls."""

    name: str
    """The bug in a few words."""
    pair: Callable[[bool], Pair]
    """Makes the pair with the faulty mechanism (True) or with the shipped one."""
    epsilon: float = 1.0
    """The claim, in nats."""
    samples: int = 0
    """Above 0 for a bug of the sampler: the pair is audited with this many samples, also against
    the noise that the mechanism asks for, because the claim may hold in spite of the bug. 0: the
    pair is judged by its exact loss."""

    @property
    def tool(self) -> Tool:
        """The tool that has to find the bug: empirical with samples, exact without."""
        return "empirical" if self.samples else "exact"

    @property
    def rule_of(self) -> RuleOf | None:
        """Function that returns the pair's rule; None for a bug of the sampler."""
        return None if self.samples else self._rule

    def _rule(self, planted: bool) -> Rule:
        """Return the rule of the pair; `PrivateValue` if it has none."""
        return self.pair(planted).rule or PrivateValue()

    def audit(self, *, planted: bool) -> tuple[bool, float | None]:
        """Check the pair by samples, or by its exact loss; see `Bug.audit`."""
        if self.samples:
            result = check_pair(self.pair(planted), samples=self.samples)
            return bool(result.faults(self.epsilon)), result.lower_bound
        loss = self.pair(planted).exact
        return is_exceeded(self.epsilon, loss), loss


@dataclass(frozen=True)
class GreyBoxBug:
    """A bug that is found in the draws or errors of a release, and not in the released value."""

    name: str
    """The bug in a few words."""
    release: Callable[[Any, Tape, bool], object]
    """Makes one release from (input, tape, planted), with the tape as its source of randomness."""
    pairs: Sequence[tuple[Any, Any]]
    """Pairs of neighbouring inputs; the bug has to be found in at least one pair."""
    rule_of: RuleOf | None = None
    """Describes the code for the rule engine; None if no rule can."""
    epsilon: float = 1.0
    """The claim, in nats."""
    tool: Tool = "grey-box"
    """The tool that has to find the bug."""

    def audit(self, *, planted: bool) -> tuple[bool, float | None]:
        """Compare the draws and errors of the two inputs of each pair; see `Bug.audit`."""

        def release(data: Any, tape: Tape) -> object:
            return self.release(data, tape, planted)

        has_difference = any(differences(release, a, b) for a, b in self.pairs)
        return has_difference, None


def examine(bug: Bug) -> tuple[BugResult, RepairedResult]:
    """Audit the faulty code and the correct code of a bug, with the bug's tool and by rules."""
    caught_by_tool, bound = bug.audit(planted=True)
    caught_by_rules = is_refuted_by_rules(bug, True)
    caught = caught_by_tool or bool(caught_by_rules)
    by: Tool = "rules" if caught_by_rules and not caught_by_tool else bug.tool
    result = BugResult(bug.name, caught, by, lower_bound=bound, rules=caught_by_rules)
    tool_alarm, _ = bug.audit(planted=False)
    alarm = tool_alarm or bool(is_refuted_by_rules(bug, False))
    return result, RepairedResult(f"{bug.name}, repaired", alarm)


def is_refuted_by_rules(bug: Bug, is_faulty: bool) -> bool | None:
    """Say whether the rules' bound exceeds the claim; None if no rule describes the code.

    Args:
        bug: The bug.
        is_faulty: True: the faulty code is judged. False: the correct code.
    """
    if bug.rule_of is None:
        return None
    return is_exceeded(bug.epsilon, upper_bound(bug.rule_of(is_faulty)))


@contextmanager
def plant(replacements: Mapping[Any, Mapping[str, Any]]) -> Iterator[None]:
    """Replace methods and functions while the `with` block runs.

    Args:
        replacements: For each class or module, the new methods or functions by name.
    """
    originals = []
    for owner, replacements_of_owner in replacements.items():
        originals += [(owner, name, getattr(owner, name)) for name in replacements_of_owner]
    try:
        for owner, replacements_of_owner in replacements.items():
            for name, replacement in replacements_of_owner.items():
                setattr(owner, name, replacement)
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)
