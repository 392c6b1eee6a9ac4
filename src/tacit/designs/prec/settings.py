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
from tacit.designs.prec.gate import failure_chance, smallest_slack
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
"""Factor from one number of peers to the next: a threshold is at most so much above the best."""


@dataclass(frozen=True)
class Plan:
    """Cost of one client's run, with the gate that it is for."""

    peers: int
    """P: the least number of survivors that the gate is for."""
    slack: int
    """Distance of the gate's threshold above `peers`."""
    gate: float
    """Nats of the gate."""
    floor: float
    """Nats of the votes that the gate lets pass, at `peers` survivors."""
    basis: str
    """`exact` where `floor` is the exact worst case, else `bound`."""
    delta: float
    """Chance that the gate's noise fails."""

    @property
    def threshold(self) -> int:
        """The gate's threshold: about so many voters have to be left."""
        return self.peers + self.slack

    @property
    def epsilon(self) -> float:
        """Nats of one client's whole run."""
        return sum_above([self.gate, self.floor])

    @cached_property
    def mechanism(self) -> ThresholdGate:
        """The gate: it shuts at the first count that is, with noise, at or below the threshold."""
        return ThresholdGate(self.gate, self.threshold, monotonic=True, stops="below")


@dataclass(frozen=True)
class PRecSettings:
    """Choices of a run, with the paper's letters.

    Raises:
        ConfigError: A value is out of range, or the values do not hold together.
    """

    rounds: int
    """T, the most recommendations of one client."""
    objects: int
    """m, the most candidates of a round, 2 or more."""
    voters: int
    """n, an upper bound on the voters."""
    peers: int | None = None
    """P. Sound: the least number of voters that one is hidden among, kept by the gate; None to have
    it chosen. Published: what the paper has the caller promise."""
    diversity: int = 0
    """D, rounds in which the client likes more than one object."""
    radius: int = 0
    """R, disliked objects that a peer may vote for."""
    variant: Variant = "sound"
    """`sound`, or `published` as the paper prints it."""
    epsilon: float | None = None
    """Nats of what `clients_together` clients see together; inf for the paper's algorithm without a
    gate and without a promise; None to have it follow from peers."""
    delta: float = 1e-6
    """Chance that this bound fails."""
    clients_together: int = 1
    """Clients whom epsilon and delta are for, all of them together."""
    clients: int | None = None
    """The most runs that are ever begun; None for no limit."""

    def __post_init__(self) -> None:
        self._check_types()
        if self.variant not in ("sound", "published"):
            raise ConfigError(f"The variant is 'sound' or 'published'; got {self.variant!r}.")
        theory.check_law(*self.sizes)
        if self.peers is not None:
            theory.check_peers(self.objects, self.voters, self.peers)
        self._check_budget()

    def _check_types(self) -> None:
        """Turn whole numbers into int and other numbers into float; refuse what is neither."""
        values = asdict(self)
        for name, (low, high) in _BOUNDS.items():
            value = values[name]
            if value is None and name in ("peers", "clients"):
                continue
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not whole or not low <= value <= high:
                raise ConfigError(f"{name} is a whole number from {low} to {high}; got {value!r}.")
            object.__setattr__(self, name, int(value))
        for name in ("epsilon", "delta"):
            value = values[name]
            if value is None and name == "epsilon":
                continue
            if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
                raise ConfigError(f"{name} is a number; got {value!r}.")
            object.__setattr__(self, name, float(value))

    def _check_budget(self) -> None:
        """Refuse an epsilon, delta or number of clients that cannot be."""
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
        """The distribution that a round draws from."""
        return OutputDistribution(self.rounds, self.objects, self.radius)

    @property
    def credit(self) -> int:
        """Credit of a voter at the start, c = 2D + 2R + 1."""
        return theory.credit(self.diversity, self.radius)

    @property
    def fewest_peers(self) -> int:
        """The fewest peers that the proofs allow."""
        return 6 * self.objects

    @property
    def noiseless(self) -> bool:
        """Whether nothing is promised: the paper's algorithm, without a gate."""
        return self.epsilon == math.inf

    @property
    def has_gate(self) -> bool:
        """Whether a gate stands before each round: the sound variant with a finite epsilon."""
        return self.variant == "sound" and not self.noiseless

    @property
    def epsilon_per_client(self) -> float:
        """Nats for one client's run."""
        return (math.inf if self.epsilon is None else self.epsilon) / self.clients_together

    def floor(self, peers: int, voters: int | None = None) -> tuple[float, str]:
        """Compute the nats of all rounds that a gate for so many peers lets pass.

        Args:
            peers: P.
            voters: At most; all of the settings' if None.

        Returns:
            Nats, and whether they are `exact` or a `bound`.
        """
        most = max(self.voters if voters is None else voters, peers)
        return cached_epsilon("floor", *self.sizes, most, peers)

    @cached_property
    def plan(self) -> Plan:
        """How the sound variant spends one client's epsilon.

        Raises:
            ConfigError: There is no gate, or epsilon or the voters are too few for one.
        """
        if not self.has_gate:
            raise ConfigError("Only the sound variant with a finite epsilon has a gate to plan.")
        if self.peers is None:
            plan = _plan_lowest_threshold(self)
        else:
            plan = self._plan_for_peers(self.peers)
        if plan.threshold > self.voters:
            raise ConfigError(
                f"The gate would be open from about {plan.threshold} voters on, and there are at "
                f"most {self.voters}: everything would be uniform. Take a larger epsilon or delta, "
                "fewer rounds or objects, or have more voters."
            )
        return plan

    def _plan_for_peers(self, peers: int) -> Plan:
        """Plan for so many peers; refuse them where the rounds alone cost too much."""
        plan = _try_peers(self, peers)
        if plan is None:
            floor, _ = self.floor(peers)
            raise ConfigError(
                f"With {peers} peers the rounds alone cost epsilon {floor:.4g} for each client, of "
                f"{self.epsilon_per_client:.4g}. Take more peers, a larger epsilon, or leave peers "
                "out."
            )
        return plan

    def to_header(self) -> dict[str, Any]:
        """Write JSON values; infinity is the text "inf"."""
        return asdict(self) | ({"epsilon": "inf"} if self.noiseless else {})

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> PRecSettings:
        """Read what `to_header` wrote."""
        noiseless = header.get("epsilon") == "inf"
        return cls(**(header | ({"epsilon": math.inf} if noiseless else {})))


def _plan_lowest_threshold(settings: PRecSettings) -> Plan:
    """Find a plan with a threshold near the lowest, for the settings' epsilon and delta."""
    least = settings.fewest_peers
    peers = _best_peers(settings, least * theory.eps_tight(*settings.sizes, least))
    for _ in range(_TURNS):  # the weight hardly depends on the peers, or on voters beyond many
        few = min(settings.voters, _MANY * peers)
        peers = _best_peers(settings, peers * settings.floor(peers, few)[0])
    plan = _try_peers(settings, peers)
    while plan is None:
        peers += peers // 8 + 1
        plan = _try_peers(settings, peers)
    return plan


def _try_peers(settings: PRecSettings, peers: int) -> Plan | None:
    """Plan for so many peers; None where the rounds alone cost too much.

    Where no epsilon is set, the gate gets as much as the floor.
    """
    floor, basis = settings.floor(peers)
    gate = max(floor, SMALLEST_EPSILON)
    if settings.epsilon is not None:
        gate = (settings.epsilon_per_client - floor) * _SAFE - settings.epsilon_per_client * (
            1 - _SAFE
        )
        if gate < SMALLEST_EPSILON:
            return None
    slack = smallest_slack(gate, settings.delta / settings.clients_together * _SAFE)
    return Plan(peers, slack, gate, floor, basis, failure_chance(gate, slack))


def _best_peers(settings: PRecSettings, weight: float) -> int:
    """Find the peers at which P + slack is least, if the floor costs weight / P."""
    epsilon = settings.epsilon_per_client
    delta = settings.delta / settings.clients_together
    least = max(settings.fewest_peers, math.ceil(weight / epsilon) + 1)
    best = (math.inf, least)
    peers = float(least)
    while peers < best[0]:
        whole = math.ceil(peers)
        gate = epsilon - weight / whole
        if gate > SMALLEST_EPSILON:
            best = min(best, (whole + smallest_slack(gate, delta), whole))
        peers = max(peers + 1, peers * _STEP)
    return best[1]
