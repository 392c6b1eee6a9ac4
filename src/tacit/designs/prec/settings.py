"""Every choice of a p-REC run, checked once, and how the sound variant divides epsilon.

A part of epsilon is for the gate, a part for what the gate lets pass. The gate keeps at least P
voters (or P times c credits) in play, but for delta. What the rounds then cost is a number of P, T,
m and n alone; the rest of epsilon is the gate's, and decides how far above P its threshold lies.
What is made small here is the threshold: the voters it takes.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal

from tacit.accounting.rounding import sum_above
from tacit.designs.prec import theory
from tacit.designs.prec.clients import failure, smallest_slack
from tacit.designs.prec.output_distribution import OutputDistribution
from tacit.designs.prec.planner import cached_epsilon
from tacit.errors import ConfigError
from tacit.mechanisms.checks import SMALLEST_EPSILON
from tacit.mechanisms.gate import ThresholdGate

Variant = Literal["sound", "published"]

LEAST_EPSILON = 1e-6
_MOST = 1 << 39
_BOUNDS = {
    "rounds": (1, _MOST),
    "objects": (2, 1 << 16),
    "voters": (1, (1 << 31) - 1),
    "diversity": (0, _MOST),
    "radius": (0, _MOST),
    "peers": (1, _MOST),
    "clients_together": (1, _MOST),
    "clients": (1, _MOST),
}
_SAFE = 1 - 2**-40
"""Keeps a difference of floats below the exact one."""
_TURNS = 3
_MANY = 12
_STEP = 1.01
"""From one number of peers tried to the next: a threshold is at most so much above the best."""


@dataclass(frozen=True)
class Plan:
    """What one client's run costs, and from what.

    peers: P, the floor; slack: by how much the gate's threshold lies above it. gate, floor: nats of
    the two parts. basis: "exact" where the floor's part is the exact worst case, else "bound".
    delta: what the gate's noise really fails with.
    """

    peers: int
    slack: int
    gate: float
    floor: float
    basis: str
    delta: float

    @property
    def threshold(self) -> int:
        """Of the gate: about so many voters have to be left."""
        return self.peers + self.slack

    @property
    def epsilon(self) -> float:
        """Nats, of one client's whole run."""
        return sum_above([self.gate, self.floor])

    @cached_property
    def mechanism(self) -> ThresholdGate:
        """Shuts at the first count that is, with noise, at or below the threshold."""
        return ThresholdGate(self.gate, self.threshold, monotonic=True, stops="below")


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
        theory.check_law(*self.sizes)
        if self.peers is not None:
            theory.check_peers(self.objects, self.voters, self.peers)
        self._check_budget()

    def _check_types(self) -> None:
        """Whole numbers become int, other numbers float; what is neither is refused."""
        for name, (low, high) in _BOUNDS.items():
            value = getattr(self, name)
            if value is None and name in ("peers", "clients"):
                continue
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not whole or not low <= value <= high:
                raise ConfigError(f"{name} is a whole number from {low} to {high}; got {value!r}.")
            object.__setattr__(self, name, int(value))
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
    def sizes(self) -> tuple[int, int, int, int]:
        """The paper's m, T, D and R, in the order that `theory` takes them."""
        return self.objects, self.rounds, self.diversity, self.radius

    @property
    def law(self) -> OutputDistribution:
        return OutputDistribution(self.rounds, self.objects, self.radius)

    @property
    def credit(self) -> int:
        """What a voter has at the start, c = 2D + 2R + 1."""
        return theory.credit(self.diversity, self.radius)

    @property
    def fewest_peers(self) -> int:
        return 6 * self.objects  # what the proofs need

    @property
    def noiseless(self) -> bool:
        """Whether nothing is promised: the paper's algorithm, without a gate."""
        return self.epsilon == math.inf

    @property
    def gated(self) -> bool:
        return self.variant == "sound" and not self.noiseless

    @property
    def each(self) -> float:
        """Nats for one client's run."""
        return (math.inf if self.epsilon is None else self.epsilon) / self.clients_together

    def floor(self, peers: int, voters: int | None = None) -> tuple[float, str]:
        """Nats of all rounds that a gate for so many peers lets pass; exact, or a bound. voters: at
        most, all of the settings' if None."""
        most = max(self.voters if voters is None else voters, peers)
        return cached_epsilon("floor", *self.sizes, most, peers)

    @cached_property
    def plan(self) -> Plan:
        """How the sound variant spends one client's epsilon; ConfigError where it cannot."""
        if not self.gated:
            raise ConfigError("Only the sound variant with a finite epsilon has a gate to plan.")
        plan = _lowest(self) if self.peers is None else _plan(self, self.peers)
        if plan is None:
            raise ConfigError(
                f"With {self.peers} peers the rounds alone cost epsilon "
                f"{self.floor(self.peers or 0)[0]:.4g} for each client, of {self.each:.4g}. Take "
                "more peers, a larger epsilon, or leave peers out."
            )
        if plan.threshold > self.voters:
            raise ConfigError(
                f"The gate would be open from about {plan.threshold} voters on, and there are at "
                f"most {self.voters}: everything would be uniform. Take a larger epsilon or delta, "
                "fewer rounds or objects, or have more voters."
            )
        return plan

    def to_header(self) -> dict[str, Any]:
        """JSON values; infinity is written as the text "inf"."""
        return asdict(self) | ({"epsilon": "inf"} if self.noiseless else {})

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> PRecSettings:
        noiseless = header.get("epsilon") == "inf"
        return cls(**(header | ({"epsilon": math.inf} if noiseless else {})))


def _lowest(wanted: PRecSettings) -> Plan:
    """The plan with the lowest threshold found, for epsilon and delta as given."""
    least = wanted.fewest_peers
    peers = _best_peers(wanted, least * theory.eps_tight(*wanted.sizes, least))
    for _ in range(_TURNS):  # the weight hardly depends on the peers, or on voters beyond many
        few = min(wanted.voters, _MANY * peers)
        peers = _best_peers(wanted, peers * wanted.floor(peers, few)[0])
    while (plan := _plan(wanted, peers)) is None:
        peers += peers // 8 + 1
    return plan


def _plan(wanted: PRecSettings, peers: int) -> Plan | None:
    """At these peers: epsilon as given, or else as much for the gate as for the floor. None where
    the rounds alone cost too much."""
    floor, basis = wanted.floor(peers)
    gate = max(floor, SMALLEST_EPSILON)
    if wanted.epsilon is not None:
        gate = (wanted.each - floor) * _SAFE - wanted.each * (1 - _SAFE)
        if gate < SMALLEST_EPSILON:
            return None
    slack = smallest_slack(gate, wanted.delta / wanted.clients_together * _SAFE)
    return Plan(peers, slack, gate, floor, basis, failure(gate, slack))


def _best_peers(wanted: PRecSettings, weight: float) -> int:
    """Where P + slack is least, if the floor costs weight / P."""
    each, delta = wanted.each, wanted.delta / wanted.clients_together
    least = max(wanted.fewest_peers, math.ceil(weight / each) + 1)
    best, peers = (math.inf, least), float(least)
    while peers < best[0]:
        whole = math.ceil(peers)
        gate = each - weight / whole
        if gate > SMALLEST_EPSILON:
            best = min(best, (whole + smallest_slack(gate, delta), whole))
        peers = max(peers + 1, peers * _STEP)
    return best[1]
