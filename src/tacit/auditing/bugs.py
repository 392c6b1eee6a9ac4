"""Kinds of planted bugs: faulty code, the correct one, and the tool that tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tacit.auditing.claims import Bug, Tool, exceeds
from tacit.auditing.empirical import Feature, Release, audit, itself
from tacit.auditing.exact_losses import Chances, largest_loss
from tacit.auditing.gaussian import audit_gaussian
from tacit.auditing.pairs import Pair, check_pair
from tacit.auditing.rules import PrivateValue, Rule, upper_bound
from tacit.auditing.sampler_spy import Tape, differences

RuleOf = Callable[[bool], Rule]
"""Describes the faulty code (True) or the correct one."""


@dataclass(frozen=True)
class BugResult:
    """Findings of the tools in faulty code."""

    bug: str
    """Name of the bug."""
    caught: bool
    """Whether a tool called it broken."""
    by: Tool
    """The tool that did."""
    lower_bound: float | None
    """Bound on epsilon, in nats; the exact loss if exact, None if grey-box."""
    rules: bool | None
    """Whether the rules' bound, too, exceeds the claim; None if the code is not described."""


@dataclass(frozen=True)
class RepairedResult:
    """Findings of the tools in the correct code beside a bug."""

    mechanism: str
    """Name of the bug, repaired."""
    alarm: bool
    """Whether the bug's tool or the rules reported a violation."""


@dataclass(frozen=True)
class SampledBug:
    """A bug that samples show."""

    name: str
    """The bug in a few words."""
    release: Callable[[Any, int, bool], NDArray[Any]]
    """Makes n releases from (input, n, bug)."""
    a: Any
    """The first input."""
    b: Any
    """The second input, neighbouring."""
    rule_of: RuleOf | None = None
    """Describes the code for the rule engine."""
    epsilon: float = 1.0
    """The claim, in nats."""
    delta: float = 0.0
    """Above 0 for releases of one number with Gaussian noise, which are audited as such."""
    feature: Feature = itself
    """Turns releases into one number each."""
    samples: int = 50_000
    """Releases of each input."""
    tool: Tool = "empirical"
    """The tool that has to find the bug."""

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        """Bound epsilon from samples of the faulty code or of the correct one."""
        a = self._releases(self.a, bug)
        b = self._releases(self.b, bug)
        if self.delta:
            bound = audit_gaussian(a, b, samples=self.samples, delta=self.delta).lower_bound
        else:
            bound = audit(a, b, samples=self.samples).lower_bound
        return bound > self.epsilon, bound

    def _releases(self, data: Any, bug: bool) -> Release:
        return lambda n: self.feature(self.release(data, n, bug))


@dataclass(frozen=True)
class EnumeratedBug:
    """A bug that exact output distributions show."""

    name: str
    """The bug in a few words."""
    distribution: Callable[[Any, bool], Chances]
    """Returns all outcomes with their chances from (input, bug)."""
    pairs: Sequence[tuple[Any, Any]]
    """Pairs of neighbouring inputs."""
    epsilon: float
    """The claim, in nats."""
    rule_of: RuleOf | None = None
    """Describes the code for the rule engine."""
    tool: Tool = "exact"
    """The tool that has to find the bug."""

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        """Compute the largest loss of all pairs."""
        loss = largest_loss(lambda data: self.distribution(data, bug), self.pairs)
        return exceeds(self.epsilon, loss), loss


@dataclass(frozen=True)
class MechanismBug:
    """A shipped mechanism, one of its methods overridden."""

    name: str
    """The bug in a few words."""
    pair: Callable[[bool], Pair]
    """Makes the pair with the faulty mechanism (True) or with the shipped one."""
    epsilon: float = 1.0
    """The claim, in nats."""
    samples: int = 0
    """If above 0, this many samples are compared with the noise that the mechanism asks for, since
    the claim may hold in spite of the bug."""

    @property
    def tool(self) -> Tool:
        """The tool that has to find the bug."""
        return "empirical" if self.samples else "exact"

    @property
    def rule_of(self) -> RuleOf | None:
        """Describes the pair for the rule engine."""
        return None if self.samples else self._rule

    def _rule(self, bug: bool) -> Rule:
        return self.pair(bug).rule or PrivateValue()

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        """Check the pair by samples, or read its exact loss."""
        if self.samples:
            checked = check_pair(self.pair(bug), samples=self.samples)
            return bool(checked.faults(self.epsilon)), checked.lower_bound
        loss = self.pair(bug).exact
        return exceeds(self.epsilon, loss), loss


@dataclass(frozen=True)
class GreyBoxBug:
    """A bug that shows in draws or errors, besides the released value."""

    name: str
    """The bug in a few words."""
    release: Callable[[Any, Tape, bool], object]
    """Makes one release from (input, tape, bug), its randomness from the tape."""
    pairs: Sequence[tuple[Any, Any]]
    """Pairs of neighbouring inputs; the bug has to show in at least one pair."""
    rule_of: RuleOf | None = None
    """Describes the code for the rule engine."""
    epsilon: float = 1.0
    """The claim, in nats."""
    tool: Tool = "grey-box"
    """The tool that has to find the bug."""

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        """Compare draws and errors of both inputs of each pair."""

        def release(data: Any, tape: Tape) -> object:
            return self.release(data, tape, bug)

        return any(differences(release, a, b) for a, b in self.pairs), None


def examine(bug: Bug) -> tuple[BugResult, RepairedResult]:
    """Audit the faulty mechanism and the correct one with the bug's tool, and by rules."""
    caught, bound = bug.alarm(True)
    refused = is_ruled_out(bug, True)
    by: Tool = "rules" if refused and not caught else bug.tool
    alarm = bug.alarm(False)[0] or bool(is_ruled_out(bug, False))
    result = BugResult(bug.name, caught or bool(refused), by, bound, refused)
    return result, RepairedResult(f"{bug.name}, repaired", alarm)


def is_ruled_out(bug: Bug, faulty: bool) -> bool | None:
    """Say whether the rules find no bound within the claim; None if the bug is not described."""
    if bug.rule_of is None:
        return None
    return exceeds(bug.epsilon, upper_bound(bug.rule_of(faulty)))


@contextmanager
def plant(steps: Mapping[Any, Mapping[str, Any]]) -> Iterator[None]:
    """Give classes and modules these methods and functions, by name, inside the block."""
    shipped = []
    for place, named in steps.items():
        shipped += [(place, name, getattr(place, name)) for name in named]
    try:
        for place, named in steps.items():
            for name, step in named.items():
                setattr(place, name, step)
        yield
    finally:
        for place, name, step in shipped:
            setattr(place, name, step)
