"""Every choice of a p-REC run, checked once, and how the sound variant divides epsilon.

One part of epsilon is spent on the rounds, the other on the gate. Except with the chance delta, the
gate is open only while the voters who count for the client hold at least P c credits, where c is
the credit of one voter at the start (for D = R = 0: while at least P voters count). So the epsilon
of the rounds follows from P and the other sizes T, m, n, D and R (`planner.py`). The gate gets what
is left of epsilon, which determines how far above P its threshold has to be. If no P is set, it is
chosen so that this threshold is low and few voters are needed.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal

from tacit.accounting.rounding import sum_above
from tacit.designs.prec import theory
from tacit.designs.prec.gate import failure_chance, make_gate, smallest_slack
from tacit.designs.prec.output_distribution import OutputDistribution
from tacit.designs.prec.planner import cached_epsilon
from tacit.errors import ConfigError
from tacit.mechanisms.checks import SMALLEST_EPSILON
from tacit.mechanisms.gate import ThresholdGate
from tacit.privacy import format_upper_bound

Variant = Literal["sound", "published"]

LEAST_EPSILON = 1e-6
"""Smallest epsilon of one client, in nats."""
_LARGEST = 1 << 39
"""Largest value of most whole numbers. Sizes of a run are far smaller, and `theory.check_sizes`
allows twice as much."""
_BOUNDS = {
    "rounds": (1, _LARGEST),
    "objects": (2, 1 << 16),
    "voters": (1, (1 << 31) - 1),
    "diversity": (0, _LARGEST),
    "radius": (0, _LARGEST),
    "peers": (1, _LARGEST),
    "clients_together": (1, _LARGEST),
    "clients": (1, _LARGEST),
}
"""Smallest and largest value of each whole number. A vote is stored in 16 bits, which limits the
objects."""
_SAFE = 1 - 2**-40
"""A factor just below 1 that keeps results of floats below the exact ones."""
_REFINEMENTS = 3
"""How often `_plan_lowest_threshold` searches again, with the epsilon of the rounds computed at the
best number of peers so far."""
_VOTERS_PER_PEER = 12
"""Number of voters for each peer beyond which further voters hardly change the epsilon of the
rounds."""
_PEERS_FACTOR = 1.01
"""Factor from one tried number of peers to the next. The threshold that is found is at most this
factor above the lowest one."""


@dataclass(frozen=True)
class Plan:
    """How epsilon and delta are spent for one client: on the gate, and on the rounds."""

    peers: int
    """P: the least number of survivors, the voters who count for the client, that the gate makes
    sure of."""
    slack: int
    """Distance of the gate's threshold above `peers`."""
    gate_epsilon: float
    """Nats of all answers of the gate together."""
    rounds_epsilon: float
    """Nats of all recommendations while at least `peers` survivors are left."""
    basis: str
    """`exact` if `rounds_epsilon` is the exact worst case, `bound` if it is an upper bound."""
    delta: float
    """Upper bound of the chance that the gate is ever open with fewer than `peers` survivors."""

    @property
    def threshold(self) -> int:
        """The gate's threshold: with more survivors than about this number it is open."""
        return self.peers + self.slack

    @property
    def epsilon(self) -> float:
        """Nats of one client's whole run."""
        return sum_above([self.gate_epsilon, self.rounds_epsilon])

    @cached_property
    def mechanism(self) -> ThresholdGate:
        """The parameters of the gates; each client has a gate of their own (`gate.py`)."""
        return make_gate(self.gate_epsilon, self.peers, self.slack)


@dataclass(frozen=True)
class PRecSettings:
    """Choices of a run, with the paper's letters.

    Raises:
        ConfigError: A value is out of range, or two values contradict each other.
    """

    rounds: int
    """T, the most recommendations of one client."""
    objects: int
    """m, the most candidates of a round, 2 or more."""
    voters: int
    """n, the most voters that may be present at once."""
    peers: int | None = None
    """P. Sound variant: the least number of voters that the gate requires, among whom a voter is
    hidden; None to choose it. Published variant: the number of peers that the caller promises."""
    diversity: int = 0
    """D, the most rounds in which the client likes more than one object."""
    radius: int = 0
    """R, the largest number of votes of one peer for objects that the client dislikes."""
    variant: Variant = "sound"
    """`sound`, or `published` as the paper prints it."""
    epsilon: float | None = None
    """Nats of what `clients_together` clients see together; inf for the paper's algorithm without a
    gate and without a guarantee; None if it follows from `peers`."""
    delta: float = 1e-6
    """Probability by which any event may exceed the bound of epsilon."""
    clients_together: int = 1
    """Number of clients; epsilon and delta are for what they see together."""
    clients: int | None = None
    """The most clients who may ever join; None for no limit."""

    def __post_init__(self) -> None:
        self._check_types()
        if self.variant not in ("sound", "published"):
            raise ConfigError(f"The variant is 'sound' or 'published'; got {self.variant!r}.")
        theory.check_round_sizes(*self.sizes)
        if self.peers is not None:
            theory.check_peers(self.objects, self.voters, self.peers)
        self._check_budget()

    def _check_types(self) -> None:
        """Convert whole numbers to int, and epsilon and delta to float.

        Raises:
            ConfigError: A value is not of the type that its name needs, or a whole number is out of
                its range.
        """
        values = asdict(self)
        for name, (low, high) in _BOUNDS.items():
            value = values[name]
            if value is None and name in ("peers", "clients"):
                continue
            is_whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not is_whole or not low <= value <= high:
                raise ConfigError(f"{name} is a whole number from {low} to {high}; got {value!r}.")
            object.__setattr__(self, name, int(value))
        for name in ("epsilon", "delta"):
            value = values[name]
            if value is None and name == "epsilon":
                continue
            if isinstance(value, bool) or not isinstance(value, Real):
                raise ConfigError(f"{name} is a number; got {value!r}.")
            try:
                number = float(value)
            except OverflowError:
                raise ConfigError(f"{name} is a number below 1e308; got a larger one.") from None
            if math.isnan(number):
                raise ConfigError(f"{name} is a number; got {value!r}.")
            object.__setattr__(self, name, number)

    def _check_budget(self) -> None:
        """Check epsilon, delta and the numbers of clients against each other and the variant.

        Raises:
            ConfigError: They do not fit each other.
        """
        if self.epsilon is not None and not self.epsilon >= LEAST_EPSILON * self.clients_together:
            raise ConfigError(
                f"epsilon is at least {LEAST_EPSILON:g} for each of the clients that it is for, "
                f"or inf; got {self.epsilon}."
            )
        if not 0 < self.delta < 1:
            raise ConfigError(f"delta lies between 0 and 1, such as 1e-6; got {self.delta}.")
        if self.clients is not None and self.clients < self.clients_together:
            raise ConfigError(
                f"epsilon cannot be for {self.clients_together} clients together if at most "
                f"{self.clients} may join."
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
                "Give epsilon, from which the gate follows, or peers, from which epsilon follows."
            )

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """The paper's m, T, D and R, in the order of the parameters in `theory`."""
        return self.objects, self.rounds, self.diversity, self.radius

    @property
    def output_distribution(self) -> OutputDistribution:
        """The distribution that a round's recommendation is drawn from."""
        return OutputDistribution(self.rounds, self.objects, self.radius)

    @property
    def credit(self) -> int:
        """Credit of a voter with a client at the start, c = 2D + 2R + 1."""
        return theory.credit(self.diversity, self.radius)

    @property
    def fewest_peers(self) -> int:
        """The fewest peers that the proofs allow."""
        return theory.fewest_peers(self.objects)

    @property
    def noiseless(self) -> bool:
        """Whether epsilon is inf: the paper's algorithm without a gate and without a guarantee."""
        return self.epsilon == math.inf

    @property
    def has_gate(self) -> bool:
        """Whether clients have gates: in the sound variant, unless epsilon is inf."""
        return self.variant == "sound" and not self.noiseless

    @property
    def epsilon_per_client(self) -> float:
        """Nats for one client, over all rounds; inf if no epsilon is set."""
        return (math.inf if self.epsilon is None else self.epsilon) / self.clients_together

    def rounds_epsilon(self, peers: int, voters: int | None = None) -> tuple[float, str]:
        """Compute the nats of all recommendations while at least `peers` survivors are left.

        Args:
            peers: P.
            voters: n, taken as at least P; None for `self.voters`.

        Returns:
            Nats, and whether they are `exact` or a `bound`.
        """
        most_voters = max(self.voters if voters is None else voters, peers)
        return cached_epsilon("floor", *self.sizes, most_voters, peers)

    @cached_property
    def plan(self) -> Plan:
        """How the sound variant spends one client's epsilon and delta.

        Raises:
            ConfigError: There is no gate, epsilon is too small, or the gate's threshold is above
                the largest number of voters.
        """
        if not self.has_gate:
            raise ConfigError("Only the sound variant with a finite epsilon has a gate to plan.")
        if self.peers is None:
            plan = _plan_lowest_threshold(self)
        else:
            plan = self._plan_for_peers(self.peers)
        if plan.threshold > self.voters:
            raise ConfigError(
                f"The gate would be open with about {plan.threshold} voters or more, and there are "
                f"at most {self.voters}: all recommendations would be uniform. Take a larger "
                "epsilon or delta, fewer rounds or objects, or have more voters."
            )
        return plan

    def plan_of_gate(self, peers: int, slack: int, gate_epsilon: float) -> Plan | None:
        """Return the plan of a gate that was begun before, perhaps by another version of tacit.

        Another version, or another machine's logarithms, may have divided epsilon in another way
        than `plan` does. The gate can be used if it and the rounds together keep to the settings'
        epsilon and delta, by this version's bounds. If no epsilon is set, the gate has as much as
        the rounds had, and they have to cost no more than that.

        Args:
            peers: P of the gate.
            slack: Distance of the gate's threshold above `peers`.
            gate_epsilon: Nats of all answers of the gate together.

        Returns:
            The plan; None if the gate does not keep to the settings.
        """
        if self.peers not in (None, peers) or not self.fewest_peers <= peers <= self.voters:
            return None
        if slack < 0 or not SMALLEST_EPSILON <= gate_epsilon < math.inf:
            return None
        rounds_epsilon, basis = self.rounds_epsilon(peers)
        delta = failure_chance(gate_epsilon, slack)
        plan = Plan(peers, slack, gate_epsilon, rounds_epsilon, basis, delta)
        most = 2 * gate_epsilon / _SAFE if self.epsilon is None else self.epsilon_per_client
        has_fitting_delta = delta <= self.delta / self.clients_together
        return plan if plan.epsilon <= most and has_fitting_delta else None

    def _plan_for_peers(self, peers: int) -> Plan:
        """Plan for a given number of peers.

        Raises:
            ConfigError: The rounds alone cost so much that nothing of epsilon is left for the gate.
        """
        plan = _try_peers(self, peers)
        if plan is None:
            rounds_epsilon, _ = self.rounds_epsilon(peers)
            raise ConfigError(
                f"With {peers} peers the rounds alone cost epsilon "
                f"{format_upper_bound(rounds_epsilon, digits=4)} for each client, and no more than "
                f"{self.epsilon_per_client:.4g} is allowed. Take more peers, a larger epsilon, or "
                "leave peers out."
            )
        return plan

    def to_header(self) -> dict[str, Any]:
        """Return the settings as JSON values; an infinite epsilon is the text "inf"."""
        header = asdict(self)
        if self.noiseless:
            header["epsilon"] = "inf"
        return header

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> PRecSettings:
        """Read what `to_header` wrote.

        Raises:
            ConfigError: A value is out of range.
            TypeError: There is no setting of one of the names, or a required setting is missing.
        """
        values = dict(header)
        if values.get("epsilon") == "inf":
            values["epsilon"] = math.inf
        return cls(**values)


def _plan_lowest_threshold(settings: PRecSettings) -> Plan:
    """Find a plan with nearly the lowest threshold, for the settings' epsilon and delta.

    The search assumes that the rounds cost k / P nats, for some k that hardly depends on P. It
    begins with the k of Theorems 11 and 17 (`theory.eps_tight`). A few times, it then computes what
    the rounds really cost with the best number of peers P so far, and searches again with
    k = P times this cost.
    """
    fewest = settings.fewest_peers
    k_of_theorem = fewest * theory.eps_tight(*settings.sizes, fewest)
    peers = _find_best_peers(settings, k_of_theorem)
    for _ in range(_REFINEMENTS):
        voters = min(settings.voters, _VOTERS_PER_PEER * peers)
        rounds_epsilon, _ = settings.rounds_epsilon(peers, voters)
        peers = _find_best_peers(settings, peers * rounds_epsilon)
    plan = _try_peers(settings, peers)
    while plan is None:  # the rounds cost more than assumed
        peers += peers // 8 + 1  # about an eighth more peers
        plan = _try_peers(settings, peers)
    return plan


def _try_peers(settings: PRecSettings, peers: int) -> Plan | None:
    """Plan for a number of peers; None if the rounds leave nothing of epsilon for the gate.

    If no epsilon is set, the gate gets as much as the rounds.
    """
    rounds_epsilon, basis = settings.rounds_epsilon(peers)
    if settings.epsilon is None:
        gate_epsilon = max(rounds_epsilon, SMALLEST_EPSILON)
    else:
        epsilon = settings.epsilon_per_client
        # A little less than epsilon - rounds_epsilon: the sum of both must not exceed epsilon
        gate_epsilon = (epsilon - rounds_epsilon) * _SAFE - epsilon * (1 - _SAFE)
        if gate_epsilon < SMALLEST_EPSILON:
            return None
    slack = smallest_slack(gate_epsilon, settings.delta / settings.clients_together * _SAFE)
    delta = failure_chance(gate_epsilon, slack)
    return Plan(peers, slack, gate_epsilon, rounds_epsilon, basis, delta)


def _find_best_peers(settings: PRecSettings, k: float) -> int:
    """Find the number of peers P with about the lowest threshold P + slack.

    Args:
        settings: Settings with an epsilon.
        k: The rounds are assumed to cost k / P nats.
    """
    epsilon = settings.epsilon_per_client
    delta = settings.delta / settings.clients_together
    fewest = max(settings.fewest_peers, math.ceil(k / epsilon) + 1)
    lowest_threshold = math.inf
    best_peers = fewest
    candidate = float(fewest)
    while candidate < lowest_threshold:  # a threshold is above its number of peers
        peers = math.ceil(candidate)
        gate_epsilon = epsilon - k / peers
        if gate_epsilon > SMALLEST_EPSILON:
            threshold = peers + smallest_slack(gate_epsilon, delta)
            if threshold < lowest_threshold:
                lowest_threshold = threshold
                best_peers = peers
        candidate = max(candidate + 1, candidate * _PEERS_FACTOR)
    return best_peers
