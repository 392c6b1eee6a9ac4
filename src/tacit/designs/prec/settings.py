"""Every choice of a p-REC run, checked once."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from numbers import Real
from operator import index
from typing import Any, Literal

from tacit.designs.prec import theory
from tacit.designs.prec.budget import Plan, plan_for_epsilon, plan_for_peers
from tacit.designs.prec.output_distribution import OutputDistribution
from tacit.errors import ConfigError

Variant = Literal["sound", "published"]

MOST_OBJECTS = 1 << 16
MOST_VOTERS = (1 << 31) - 1
MOST_ROUNDS = 1 << 39
LEAST_EPSILON = 1e-6


@dataclass(frozen=True)
class PRecSettings:
    """What a `PRec` is built for; the paper's letters in brackets.

    rounds (T): the most recommendations of one client. objects (m): the most in a round, 2 or more.
    voters (n): an upper bound. peers (P): sound, the least number of voters that one is hidden
    among, kept by the gate, None to have it chosen; published, what the paper has the caller
    promise. diversity (D), radius (R): rounds in which the client likes more than one object, and
    disliked objects a peer may vote for. epsilon: nats, of what `clients_together` clients see
    together; inf for the paper's algorithm without a gate and without a promise; None to have it
    follow from peers. delta: of the same. clients: the most runs that are ever begun, None for no
    limit.
    """

    rounds: int
    objects: int
    voters: int
    peers: int | None = None
    diversity: int = 0
    radius: int = 0
    variant: Variant = "sound"
    epsilon: float | None = None
    delta: float = 1e-6
    clients_together: int = 1
    clients: int | None = None

    def __post_init__(self) -> None:
        self._check_types()
        if self.variant not in ("sound", "published"):
            raise ConfigError(f"The variant is 'sound' or 'published'; got {self.variant!r}.")
        theory.check_law(self.objects, self.rounds, self.diversity, self.radius)
        if self.peers is not None:
            theory.check_peers(self.objects, self.voters, self.peers)
        self._check_budget()

    def _check_types(self) -> None:
        """Whole numbers become int, other numbers float; what is neither is refused."""
        least = {"rounds": 1, "objects": 2, "voters": 1, "diversity": 0, "radius": 0}
        most = {"rounds": MOST_ROUNDS, "objects": MOST_OBJECTS, "voters": MOST_VOTERS}
        for name in (*least, "peers", "clients_together", "clients"):
            value = getattr(self, name)
            if value is None and name in ("peers", "clients"):
                continue
            low, high = least.get(name, 1), most.get(name, MOST_ROUNDS)
            object.__setattr__(self, name, _whole(name, value, low, high))
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if value is None and name == "epsilon":
                continue
            if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
                raise ConfigError(f"{name} is a number; got {value!r}.")
            object.__setattr__(self, name, float(value))

    def _check_budget(self) -> None:
        if self.epsilon is not None and not self.epsilon >= LEAST_EPSILON * self.clients_together:
            raise ConfigError(
                f"epsilon is at least {LEAST_EPSILON:g} for each of the clients priced together, "
                f"or inf; got {self.epsilon}."
            )
        if not 0 < self.delta < 1:
            raise ConfigError(f"delta lies between 0 and 1, such as 1e-6; got {self.delta}.")
        if self.clients is not None and self.clients < self.clients_together:
            raise ConfigError(
                f"{self.clients_together} clients cannot be priced together where at most "
                f"{self.clients} are served."
            )
        if self.noiseless:
            return
        if self.variant == "published" and (self.epsilon is not None or self.peers is None):
            raise ConfigError(
                "The published variant's epsilon follows from the peers it is promised: give peers "
                "and no epsilon, or epsilon=inf."
            )
        if self.epsilon is None and self.peers is None:
            raise ConfigError(
                "Give epsilon, and the gate is set for it, or peers, and epsilon follows."
            )

    @property
    def law(self) -> OutputDistribution:
        """Of one round."""
        return OutputDistribution(self.rounds, self.objects, self.radius)

    @property
    def credit(self) -> int:
        """What a voter has at the start, c = 2D + 2R + 1."""
        return 2 * self.diversity + 2 * self.radius + 1

    @property
    def fewest_peers(self) -> int:
        """What the proofs need: 6 m."""
        return 6 * self.objects

    @property
    def noiseless(self) -> bool:
        """Whether nothing is promised: the paper's algorithm, without a gate."""
        return self.epsilon == math.inf

    @property
    def gated(self) -> bool:
        return self.variant == "sound" and not self.noiseless

    @cached_property
    def plan(self) -> Plan:
        """How the sound variant spends one client's epsilon; ConfigError where it cannot."""
        if not self.gated:
            raise ConfigError("Only the sound variant with a finite epsilon has a gate to plan.")
        if self.epsilon is None and self.peers is not None:
            return plan_for_peers(self, self.peers)
        return plan_for_epsilon(self)

    def to_header(self) -> dict[str, Any]:
        """JSON values; infinity is written as the text "inf"."""
        values = asdict(self)
        return values | ({"epsilon": "inf"} if self.noiseless else {})

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> PRecSettings:
        """What `to_header` wrote."""
        noiseless = header.get("epsilon") == "inf"
        return cls(**(header | ({"epsilon": math.inf} if noiseless else {})))


def _whole(name: str, value: Any, low: int, high: int) -> int:
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is None:
        raise ConfigError(f"{name} is a whole number; got {value!r}.")
    if not low <= number <= high:
        raise ConfigError(f"{name} is a whole number from {low} to {high}; got {number}.")
    return number


def check_parts(settings: Any, randomness: Any, number: Any) -> None:
    """What would fail later, and with no sentence."""
    if not isinstance(settings, PRecSettings):
        raise ConfigError(f"The settings of a run are a PRecSettings(...); got {settings!r}.")
    if not hasattr(randomness, "words"):
        raise ConfigError(
            f"randomness is a source, such as tacit.randomness.secure(); got {randomness!r}."
        )
    if number is not None and (type(number) is not int or not 0 <= number < 1 << 64):
        raise ConfigError(f"A run's number is a whole number below 2^64; got {number!r}.")
