"""A faulty mechanism, the correct one, and the tool that has to distinguish them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from tacit.auditing import bench
from tacit.auditing.bench import Pair, check
from tacit.auditing.claims import exceeds
from tacit.auditing.empirical import Feature, Release, audit, itself
from tacit.auditing.gaussian import audit_gaussian
from tacit.auditing.rules import PrivateValue, Rule, upper_bound
from tacit.auditing.sampler_spy import Tape, differences

Tool = Literal["exact", "empirical", "grey-box", "rules"]
Described = Callable[[bool], Rule]


@dataclass(frozen=True)
class BugResult:
    """by: the tool. lower_bound: of epsilon, nats; the exact loss if exact, None if grey-box.

    rules: whether the rule engine, too, finds no bound within the claim; None if not described.
    """

    bug: str
    caught: bool
    by: Tool
    lower_bound: float | None
    rules: bool | None


@dataclass(frozen=True)
class Clean:
    """The correct code of a bug. alarm: whether the same tool or the rules reported a violation."""

    mechanism: str
    alarm: bool


class Bug(Protocol):
    """A planted bug, as `examine` uses it."""

    @property
    def name(self) -> str: ...
    @property
    def tool(self) -> Tool: ...
    @property
    def described(self) -> Described | None: ...
    @property
    def epsilon(self) -> float: ...
    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        """Audit the faulty mechanism or the correct one: whether it is called broken, and the
        bound."""


@dataclass(frozen=True)
class Sampled:
    """release(input, n, bug): n releases. a, b: neighbouring inputs. epsilon: what is claimed.

    delta: above 0 for releases of one number each with Gaussian noise, which are audited as such.
    """

    name: str
    release: Callable[[Any, int, bool], NDArray[Any]]
    a: Any
    b: Any
    described: Described | None = None
    epsilon: float = 1.0
    delta: float = 0.0
    feature: Feature = itself
    samples: int = 50_000
    tool: Tool = "empirical"

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        def of(data: Any) -> Release:
            return lambda n: self.feature(self.release(data, n, bug))

        a, b = of(self.a), of(self.b)
        if self.delta:
            bound = audit_gaussian(a, b, samples=self.samples, delta=self.delta).lower_bound
        else:
            bound = audit(a, b, samples=self.samples).lower_bound
        return bound > self.epsilon, bound


@dataclass(frozen=True)
class Enumerated:
    """distribution(input, bug): all outcomes with their chances. pairs: of neighbouring inputs."""

    name: str
    distribution: Callable[[Any, bool], bench.Chances]
    pairs: Sequence[tuple[Any, Any]]
    epsilon: float
    described: Described | None = None
    tool: Tool = "exact"

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        loss = bench.worst_loss(lambda data: self.distribution(data, bug), self.pairs)
        return exceeds(self.epsilon, loss), loss


@dataclass(frozen=True)
class OnTheBench:
    """pair(bug): a shipped mechanism, one of its methods overridden if `bug`, read by a tap.

    samples: if above 0 the claim may hold all the same, and what samples show is compared with what
    the mechanism asks for.
    """

    name: str
    pair: Callable[[bool], Pair]
    epsilon: float = 1.0
    samples: int = 0

    @property
    def tool(self) -> Tool:
        return "empirical" if self.samples else "exact"

    @property
    def described(self) -> Described | None:
        return None if self.samples else lambda bug: self.pair(bug).rule or PrivateValue()

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        if self.samples:
            checked = check(self.pair(bug), samples=self.samples)
            return bool(checked.faults(self.epsilon)), checked.lower_bound
        loss = self.pair(bug).exact
        return exceeds(self.epsilon, loss), loss


@dataclass(frozen=True)
class GreyBox:
    """release(input, tape, bug): one release, its randomness from the tape.

    pairs: of neighbouring inputs, one of which has to tell.
    """

    name: str
    release: Callable[[Any, Tape, bool], object]
    pairs: Sequence[tuple[Any, Any]]
    described: Described | None = None
    epsilon: float = 1.0
    tool: Tool = "grey-box"

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        def release(data: Any, tape: Tape) -> object:
            return self.release(data, tape, bug)

        return any(differences(release, a, b) for a, b in self.pairs), None


def examine(bug: Bug) -> tuple[BugResult, Clean]:
    """Audit the faulty mechanism and the correct one with the same tool, and by rules."""
    caught, bound = bug.alarm(True)
    refused = ruled_out(bug, True)
    by = "rules" if refused and not caught else bug.tool
    alarm = bug.alarm(False)[0] or bool(ruled_out(bug, False))
    return (
        BugResult(bug.name, caught or bool(refused), by, bound, refused),
        Clean(f"{bug.name}, repaired", alarm),
    )


def ruled_out(bug: Bug, faulty: bool) -> bool | None:
    """Whether the rules find no bound within the claim; None if the bug is not described."""
    if bug.described is None:
        return None
    return exceeds(bug.epsilon, upper_bound(bug.described(faulty)))


@contextmanager
def planted(steps: Mapping[Any, Mapping[str, Any]]) -> Iterator[None]:
    """Inside, classes and modules have these methods and functions, by name."""
    shipped = [
        (place, name, getattr(place, name)) for place, named in steps.items() for name in named
    ]
    try:
        for place, named in steps.items():
            for name, step in named.items():
                setattr(place, name, step)
        yield
    finally:
        for place, name, step in shipped:
            setattr(place, name, step)
