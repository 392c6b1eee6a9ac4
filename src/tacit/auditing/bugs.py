"""A faulty mechanism beside its clean twin, and the tool that has to tell them apart.

The two are one function with a switch, so that the page shows the bug and nothing else. They are
simulations: their noise is NumPy's and protects nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from tacit.auditing import exact
from tacit.auditing.empirical import Feature, audit, itself
from tacit.auditing.gaussian import audit_gaussian, epsilon_of
from tacit.auditing.greybox import Tape, differences
from tacit.auditing.verdicts import judge

Tool = Literal["exact", "empirical", "grey-box"]


@dataclass(frozen=True)
class Caught:
    """by: the tool. lower_bound: of epsilon, nats; the exact loss if exact, None if grey-box."""

    bug: str
    caught: bool
    by: Tool
    lower_bound: float | None


@dataclass(frozen=True)
class Quiet:
    """The clean twin of a bug; alarm: whether the same tool called it broken."""

    mechanism: str
    alarm: bool


class Bug(Protocol):
    """What a bug of any of the four classes below can be asked."""

    @property
    def name(self) -> str: ...
    @property
    def tool(self) -> Tool: ...
    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        """Audit the faulty mechanism or its twin: whether it is called broken, and the bound."""


@dataclass(frozen=True)
class Sampled:
    """release(input, n, bug): n releases. a, b: neighbouring inputs. epsilon: what is claimed."""

    name: str
    release: Callable[[Any, int, bool], NDArray[Any]]
    a: Any
    b: Any
    epsilon: float = 1.0
    features: Mapping[str, Feature] = field(default_factory=lambda: {"release": itself})
    samples: int = 200_000
    tool: Tool = "empirical"

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        found = audit(
            lambda n: self.release(self.a, n, bug),
            lambda n: self.release(self.b, n, bug),
            samples=self.samples,
            features=self.features,
        ).lower_bound
        return judge(self.epsilon, lower_bound=found) == "violation", found


@dataclass(frozen=True)
class Normal:
    """release(input, n, bug): n numbers with Gaussian noise. mu: claimed, sensitivity / sigma."""

    name: str
    release: Callable[[Any, int, bool], NDArray[Any]]
    a: Any
    b: Any
    mu: float = 1.0
    delta: float = 1e-5
    samples: int = 200_000
    tool: Tool = "empirical"

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        found = audit_gaussian(
            lambda n: self.release(self.a, n, bug),
            lambda n: self.release(self.b, n, bug),
            samples=self.samples,
            delta=self.delta,
        ).lower_bound
        claimed = epsilon_of(self.mu, self.delta)
        return judge(claimed, lower_bound=found) == "violation", found


@dataclass(frozen=True)
class Enumerated:
    """distribution(input, bug): all outcomes with their chances. pairs: of neighbouring inputs."""

    name: str
    distribution: Callable[[Any, bool], Mapping[Hashable, exact.Chance]]
    pairs: Sequence[tuple[Any, Any]]
    epsilon: float
    tool: Tool = "exact"

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        found = exact.worst_loss(lambda data: self.distribution(data, bug), self.pairs)
        return judge(self.epsilon, exact=found) == "violation", found


@dataclass(frozen=True)
class Watched:
    """release(input, tape, bug): one release, its randomness from the tape."""

    name: str
    release: Callable[[Any, Tape, bool], object]
    a: Any
    b: Any
    tool: Tool = "grey-box"

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        found = differences(lambda data, tape: self.release(data, tape, bug), self.a, self.b)
        return bool(found), None


def examine(bug: Bug) -> tuple[Caught, Quiet]:
    """Audit the faulty mechanism and its clean twin with the same tool."""
    caught, found = bug.alarm(True)
    alarm, _ = bug.alarm(False)
    return Caught(bug.name, caught, bug.tool, found), Quiet(f"{bug.name}, repaired", alarm)
