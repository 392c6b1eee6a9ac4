"""Numbers of people that sketches need, at least and by each method, and parameters to ask with."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tacit.data.synthetic_worlds import Blocks, example
from tacit.designs.sketches import theory
from tacit.designs.sketches.information import (
    ReportInformation,
    SharedItems,
    maxsense_information,
    one_bit_information,
    pair_information,
    shared_items,
)
from tacit.designs.sketches.messages import (
    IDENTICAL_METHODS,
    MICRO,
    MOST,
    MOST_QUESTIONS,
    NO_NOISE,
    RATED_METHODS,
    UNITS,
    exposed_bits,
    set_size,
    wheel_size,
)
from tacit.errors import ConfigError

THETAS = np.geomspace(0.02, 8, 121)
"""Expected numbers of a person's rated items in one sensed set that the planner tries. Each is
rounded so that a set has a whole number of items, as a campaign needs."""
LEAST_EPSILON = 1 / MICRO
"""Nats; campaigns state epsilon in millionths."""
MOST_EPSILON = (NO_NOISE - 1) / MICRO
"""Nats; the millionths stay below 2^31."""
BOUNDS = ("ldp", "scarce", "adaptive", "one_bit")
PAIR_METHODS = (
    "pairwise-preference",
    "pairwise-identical",
    "pairwise-rated",
    "pairwise-rated-identical",
)
ADVISED = ("maxsense", "multi-maxsense", "pairwise-preference")
"""Methods of Figures 1 to 3 that hide which items were rated: one of them is advised."""


@dataclass(frozen=True)
class MethodPlan:
    """One method with its parameters, and the people it needs; inf where it cannot work."""

    method: str
    """The method's name."""
    theta: float | None
    """The number with the fewest decimals that gives sets of the planned size, for `new_campaign`;
    None for pairs."""
    questions: int
    """Bits in a report."""
    users_clt: float
    """People by the normal approximation, which experiments meet."""
    users_theorem: float | None
    """People who are proved to be enough; None where the theorem leaves its constant open."""
    spectrum: PairConditions | None = None
    """Conditions of Theorem 3.5 in the assumed world; None for sensed sets."""


@dataclass(frozen=True)
class PairConditions:
    """Theorem 3.5's conditions on the matrix of chances in a world."""

    eigenvalues: tuple[float, ...]
    """Eigenvalues, the largest absolute value first."""
    distinct_eigenvalues: bool
    """Whether their absolute values differ and none is 0."""
    distinct_rows: bool
    """Whether the clusters' rows of eigenvectors differ."""


@dataclass(frozen=True)
class Plan:
    """Numbers of people that sketches need, with the parameters of `plan` and what they come to."""

    items: int
    """N, items of the catalogue."""
    rated: int
    """w, items that a person has rated."""
    epsilon: float
    """Nats of a whole report, for the unit."""
    clusters: int
    """L, item clusters."""
    eta: float
    """Chance that any label is wrong."""
    wrong: float
    """Share of labels that may be wrong, for the lower bounds."""
    unit: str
    """What epsilon is for."""
    lower_bounds: dict[str, float]
    """People that are needed at least, as `theory` has them. Any learner needs `ldp` and
    `adaptive`; `scarce` is for questions fixed beforehand. All three are for the unit 'user':
    they are left out for others, where no bound is known. `one_bit` is for one fixed yes/no
    question to each person who rated one item, at any epsilon and unit."""
    methods: tuple[MethodPlan, ...]
    """Methods of ADVISED, then the others, each best first."""
    information: tuple[ReportInformation, ...]
    """Information of one report by method, for the unit 'user'."""
    shared_items: SharedItems
    """Lemma 4.7."""

    @property
    def best(self) -> MethodPlan:
        """The method that needs the fewest people, of those that hide which items were rated."""
        return self.methods[0]

    def method_plan(self, method: str) -> MethodPlan:
        """Look up one method's plan."""
        return next(planned for planned in self.methods if planned.method == method)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None for infinity and for bounds that are not known."""
        plain = asdict(self)
        for method in plain["methods"]:
            for name in ("users_clt", "users_theorem"):
                method[name] = None if method[name] == math.inf else method[name]
        return plain | {"lower_bounds": {name: self.lower_bounds.get(name) for name in BOUNDS}}


def plan(
    *,
    items: int,
    rated: int,
    epsilon: float,
    clusters: int = 2,
    eta: float = 0.1,
    wrong: float = 0.0,
    unit: str = "user",
    blocks: Blocks | None = None,
) -> Plan:
    """Plan how many people are needed until every item's label is right, but for a chance of eta.

    Args:
        items: N, items of the catalogue.
        rated: w, items that a person has rated, a random set.
        epsilon: Nats of a whole report, for the unit.
        clusters: L, item clusters.
        eta: Chance that a label is wrong.
        wrong: Share of labels that may be wrong, for the lower bounds alone; `adaptive` is known
            for 0 only.
        unit: What epsilon is for: 'user', 'rating' or 'moved rating'; the lower bounds are for
            'user' alone.
        blocks: Who likes what; by default an assumed world, `synthetic_worlds.example`. The
            methods' numbers depend on it, the lower bounds do not.

    Raises:
        ConfigError: A number is out of range.
    """
    world = example(clusters) if blocks is None else blocks
    _check_numbers(items, rated, epsilon, eta, wrong, unit)
    if len(world.items) != clusters:
        raise ConfigError(f"Blocks with {len(world.items)} item clusters, asked for {clusters}.")
    bounds = {}
    best_number = 1  # of questions that share epsilon
    if unit == "user":
        best_number = theory.best_questions(epsilon, MOST_QUESTIONS)
        bounds = {
            "ldp": theory.ldp_bound(items, epsilon, eta, wrong),
            "scarce": theory.scarce_bound(items, rated, epsilon, eta, wrong),
        }
        if wrong == 0:
            bounds["adaptive"] = theory.adaptive_bound(items, rated, epsilon, eta)
    if rated == 1:
        bounds["one_bit"] = theory.one_bit_bound(items, eta, wrong)
    # More questions are tried where one person's data cannot move all of them.
    numbers = {1, best_number}
    for questions in (2, 4, 8, 16, MOST_QUESTIONS):
        if exposed_bits("multi-maxsense", unit, questions, rated) < questions:
            numbers.add(questions)
    sensing = []
    for questions in sorted(numbers):
        eps = epsilon / exposed_bits("multi-maxsense", unit, questions, rated)
        sensing.append(_plan_sensing(questions, eps, items, rated, eta, world))
    methods = [
        replace(sensing[0], method="maxsense"),
        min(sensing, key=lambda method: method.users_clt),
    ]
    methods += [_plan_pairs(name, items, rated, epsilon, eta, world) for name in PAIR_METHODS]
    information: list[ReportInformation] = []
    if unit == "user":
        information = _report_information(items, rated, epsilon, methods[0].theta)
    methods.sort(
        key=lambda method: (method.method not in ADVISED, method.users_clt, method.questions)
    )
    return Plan(
        items=items,
        rated=rated,
        epsilon=epsilon,
        clusters=clusters,
        eta=eta,
        wrong=wrong,
        unit=unit,
        lower_bounds=bounds,
        methods=tuple(methods),
        information=tuple(information),
        shared_items=shared_items(items, rated),
    )


def _check_numbers(
    items: int, rated: int, epsilon: float, eta: float, wrong: float, unit: str
) -> None:
    """Refuse numbers out of range."""
    if not 2 <= items <= MOST or not 1 <= rated <= items:
        raise ConfigError(
            f"A plan needs 2 to {MOST} items and 1 to {items} rated ones; got {items} and {rated}."
        )
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise ConfigError(
            f"epsilon is finite, at least a millionth and at most 2147; got {epsilon}."
        )
    if not 0 < eta < 0.5:
        raise ConfigError(f"eta is a chance of failure between 0 and 1/2; got {eta}.")
    if not 0 <= wrong < 0.5:
        raise ConfigError(f"The share of wrong labels is 0 or more and below 1/2; got {wrong}.")
    if unit not in UNITS:
        raise ConfigError(f"A unit is one of {', '.join(UNITS)}; got {unit!r}.")


def _plan_pairs(
    method: str, items: int, rated: int, epsilon: float, eta: float, world: Blocks
) -> MethodPlan:
    """Plan a method of pairs: the people it needs, and whether Theorem 3.5 covers the world."""
    names_pair = method in RATED_METHODS
    if names_pair and rated < 2:
        return MethodPlan(method, None, 1, math.inf, None)
    rated_chance = 1.0 if names_pair else theory.pair_rated_chance(items, rated)
    if method in IDENTICAL_METHODS:
        true_chances = theory.pair_alike_chances(world.people, world.likes)
    else:
        true_chances = theory.pair_liked_chances(world.people, world.likes)
    chances = theory.pair_chances(epsilon, rated_chance, true_chances)
    spectrum = theory.pair_spectrum(chances, world.items)
    conditions = PairConditions(
        tuple(spectrum.eigenvalues.tolist()),
        spectrum.has_distinct_eigenvalues,
        spectrum.has_distinct_rows,
    )
    users = theory.pairwise_users(items, chances, world.items, eta)
    return MethodPlan(method, None, 1, users, None, conditions)


def _report_information(
    items: int, rated: int, epsilon: float, theta: float | None
) -> list[ReportInformation]:
    """Compute the information of one report, by method that asks one question about any items."""
    found = []
    if theta is not None:
        size = set_size(wheel_size(items), round(theta * MICRO), rated)
        sensed = maxsense_information(items, rated, epsilon, min(size, items))
        found += [] if sensed is None else [sensed]
    found.append(pair_information(items, rated, epsilon))
    found.append(pair_information(items, rated, epsilon, identical=True))
    if rated == 1:
        found.append(one_bit_information(items))
    return found


def _plan_sensing(
    questions: int, eps: float, items: int, rated: int, eta: float, world: Blocks
) -> MethodPlan:
    """Plan MaxSense with the theta that needs the fewest people for this number of questions.

    Args:
        questions: Bits in a report.
        eps: Loss of one bit, in nats.
        items: N.
        rated: w.
        eta: Chance that a label is wrong.
        world: Who likes what.
    """
    kinds = world.people, world.items, world.likes

    def users(theta: float, *, proved: bool = False) -> float:
        D = theory.separation(theta, *kinds)  # noqa: N806
        if proved:
            return theory.theorem_5_1(items, rated, eps, theta, D, eta, questions)
        share = float(world.items @ theory.maxsense_chances(items, rated, eps, theta, *kinds))
        return theory.clt_users(items, rated, eps, theta, D, share, eta, questions)

    modulus = wheel_size(items)
    sizes = {max(1, round(modulus * float(theta) / rated)) for theta in THETAS}
    # Sets of one person are disjoint: all of them have to fit into the catalogue.
    possible = [size * rated / modulus for size in sorted(sizes) if size * questions <= modulus]
    if not possible:
        return MethodPlan("multi-maxsense", float(THETAS[0]), questions, math.inf, math.inf)
    theta = min(possible, key=users)
    shortest = _shortest_theta(theta, round(theta * modulus / rated), items, rated)
    proved = users(theta, proved=True)
    return MethodPlan("multi-maxsense", shortest, questions, users(theta), proved)


def _shortest_theta(theta: float, size: int, items: int, rated: int) -> float:
    """Round theta to the fewest decimals, at most 6, that leave a campaign's sets of this size."""
    for decimals in range(1, 6):
        short = round(theta, decimals)
        if short > 0 and set_size(wheel_size(items), round(short * MICRO), rated) == size:
            return short
    return round(theta, 6)
