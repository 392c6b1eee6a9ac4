"""The plan of a campaign: how many people it needs, by lower bounds and by each method."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tacit.data.synthetic_worlds import Blocks, example_blocks
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
    LARGEST_COUNT,
    MICRO,
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
"""Values of theta, the expected number of rated items in a sensed set, that the planner tries. Each
is replaced by the nearest value with which a set has a whole number of places."""
LEAST_SETS_IN_CATALOGUE = 4
"""Number of disjoint sets that the catalogue has room for, at least, unless sets have one place.
`theory` takes sets for small beside the catalogue. In fact, a set tells two items apart only if it
holds one of them alone: with sets of a share p of the catalogue, the signal is about 1 - p of the
one that `theory` gives."""
LEAST_EPSILON = 1 / MICRO
"""Smallest epsilon of a campaign, in nats."""
MOST_EPSILON = (NO_NOISE - 1) / MICRO
"""Largest epsilon of a campaign, in nats."""
NO_NOISE_EPSILON = 20.0
"""Epsilon for which campaigns without noise are planned."""
BOUNDS = ("ldp", "scarce", "adaptive", "one_bit")
"""Names of the lower bounds; see `Plan.lower_bounds`."""
PAIR_METHODS = (
    "pairwise-preference",
    "pairwise-identical",
    "pairwise-rated",
    "pairwise-rated-identical",
)
"""Methods whose questions are about pairs."""
ADVISED = ("maxsense", "multi-maxsense", "pairwise-preference")
"""Methods that may be advised: those of Figures 1 to 3 whose epsilon protects also which items were
rated."""


@dataclass(frozen=True)
class MethodPlan:
    """One method with its best parameters, and the number of people that it needs."""

    method: str
    """The method's name."""
    theta: float | None
    """theta for `new_campaign`, rounded to the fewest decimals with which sets have the planned
    size. None for pairs; the smallest of THETAS if the catalogue is too small for the sets."""
    questions: int
    """Number of questions, each answered by one bit of a report."""
    users_clt: float
    """Number of people needed, by the normal approximation, which experiments confirm; inf if the
    method cannot work."""
    users_theorem: float | None
    """Number of people that is proved to be enough; inf if sensed sets cannot work, None for pairs,
    whose theorem does not state its constant."""
    spectrum: PairConditions | None = None
    """Conditions of Theorem 3.5 in the assumed world; None for sensed sets, and for RATED_METHODS
    if people rated fewer than two items."""


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
    """The parameters of `plan`, and the numbers of people that sketches need with them."""

    items: int
    """N, number of items of the catalogue."""
    rated: int
    """w, number of items that a person has rated."""
    epsilon: float
    """Nats of a whole report, for the unit."""
    clusters: int
    """L, number of item clusters."""
    eta: float
    """Chance that at least one label is wrong."""
    wrong: float
    """Share of labels that may be wrong; it changes only the lower bounds."""
    unit: str
    """What epsilon protects: one of UNITS."""
    lower_bounds: dict[str, float]
    """Lower bounds of the number of people, by name (`theory`). `ldp` and `adaptive` hold for any
    learner, `scarce` for questions that do not depend on earlier answers. These three are absent
    for other units than 'user', for which they are not known, and `adaptive` also if labels may be
    wrong. `one_bit` is for one fixed yes/no question to each person, at any epsilon and unit; it is
    absent unless people rated one item."""
    methods: tuple[MethodPlan, ...]
    """Methods of ADVISED, then the others; in each group those that need fewer people first."""
    information: tuple[ReportInformation, ...]
    """Information in a report that answers one question: first of MaxSense (absent if its sets are
    too large), then of the pair methods with public questions, and of `one-bit-question` if people
    rated one item. Empty for other units than 'user'."""
    shared_items: SharedItems
    """Chance that two people rated no item in common (Lemma 4.7)."""

    @property
    def best(self) -> MethodPlan:
        """The method of ADVISED that needs the fewest people."""
        return self.methods[0]

    def method_plan(self, method: str) -> MethodPlan:
        """Return the plan of a method of ADVISED or PAIR_METHODS."""
        return next(planned for planned in self.methods if planned.method == method)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON values; None stands for infinity and for unknown bounds."""
        values = asdict(self)
        for method in values["methods"]:
            for name in ("users_clt", "users_theorem"):
                if method[name] == math.inf:
                    method[name] = None
        values["lower_bounds"] = {name: self.lower_bounds.get(name) for name in BOUNDS}
        return values


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
    """Plan how many people are needed so that all labels are right with probability 1 - eta.

    With `wrong` above 0, the lower bounds are for at most this share of wrong labels instead.

    Args:
        items: N, number of items of the catalogue.
        rated: w, number of items that a person has rated; they are a random set.
        epsilon: Nats of a whole report, for the unit.
        clusters: L, number of item clusters.
        eta: Chance that at least one label is wrong.
        wrong: Share of labels that may be wrong; it changes only the lower bounds. The bound
            `adaptive` is known for 0 only.
        unit: What epsilon protects: 'user', 'rating' or 'moved rating'. For the last two only the
            lower bound `one_bit` is known.
        blocks: Who likes what, with `clusters` item clusters; None for
            `synthetic_worlds.example_blocks(clusters)`. The lower bounds do not depend on it.

    Raises:
        ConfigError: A number is out of range, there is no such unit, or `blocks` has another number
            of clusters.
    """
    world = example_blocks(clusters) if blocks is None else blocks
    _check_numbers(items, rated, epsilon, eta, wrong, unit)
    if len(world.items) != clusters:
        raise ConfigError(
            f"The world has {len(world.items)} item clusters, the plan is for {clusters}."
        )
    sensing_plans = []
    for questions in _tried_numbers_of_questions(epsilon, rated, unit):
        eps = epsilon / exposed_bits("multi-maxsense", unit, questions, rated)
        sensing_plans.append(_plan_sensing(questions, eps, items, rated, eta, world))
    maxsense = replace(sensing_plans[0], method="maxsense")  # the first one has one question
    multi_maxsense = min(sensing_plans, key=lambda method: method.users_clt)
    methods = [maxsense, multi_maxsense]
    methods += [_plan_pairs(name, items, rated, epsilon, eta, world) for name in PAIR_METHODS]
    methods.sort(
        key=lambda method: (method.method not in ADVISED, method.users_clt, method.questions)
    )
    information: list[ReportInformation] = []
    if unit == "user":
        information = _report_information(items, rated, epsilon, maxsense.theta)
    return Plan(
        items=items,
        rated=rated,
        epsilon=epsilon,
        clusters=clusters,
        eta=eta,
        wrong=wrong,
        unit=unit,
        lower_bounds=_lower_bounds(items, rated, epsilon, eta, wrong, unit),
        methods=tuple(methods),
        information=tuple(information),
        shared_items=shared_items(items, rated),
    )


def _lower_bounds(
    items: int, rated: int, epsilon: float, eta: float, wrong_share: float, unit: str
) -> dict[str, float]:
    """Compute `Plan.lower_bounds`."""
    bounds = {}
    if unit == "user":
        bounds["ldp"] = theory.ldp_bound(items, epsilon, eta, wrong_share)
        bounds["scarce"] = theory.scarce_bound(items, rated, epsilon, eta, wrong_share)
        if wrong_share == 0:
            bounds["adaptive"] = theory.adaptive_bound(items, rated, epsilon, eta)
    if rated == 1:
        bounds["one_bit"] = theory.one_bit_bound(items, eta, wrong_share)
    return bounds


def _tried_numbers_of_questions(epsilon: float, rated: int, unit: str) -> list[int]:
    """List the numbers of questions that the planner compares, ascending, beginning with 1.

    For the unit 'user' the list has the number that is best if all bits share epsilon. For every
    unit it also has the powers of two at which a change by the unit cannot change all bits: then
    each bit has a larger part of epsilon.
    """
    numbers = {1}
    if unit == "user":
        numbers.add(theory.best_questions(epsilon, MOST_QUESTIONS))
    for questions in (2, 4, 8, 16, MOST_QUESTIONS):
        if exposed_bits("multi-maxsense", unit, questions, rated) < questions:
            numbers.add(questions)
    return sorted(numbers)


def _check_numbers(
    items: int, rated: int, epsilon: float, eta: float, wrong_share: float, unit: str
) -> None:
    """Raise ConfigError if a number is out of range, or there is no such unit; see `plan`."""
    if not 2 <= items <= LARGEST_COUNT or not 1 <= rated <= items:
        raise ConfigError(
            f"A plan needs 2 to {LARGEST_COUNT} items and 1 to {items} rated ones; "
            f"got {items} and {rated}."
        )
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise ConfigError(f"epsilon is finite, from a millionth to 2147.483646; got {epsilon}.")
    if not 0 < eta < 0.5:
        raise ConfigError(f"eta is a chance of failure between 0 and 1/2; got {eta}.")
    if not 0 <= wrong_share < 0.5:
        raise ConfigError(
            f"The share of wrong labels is 0 or more and below 1/2; got {wrong_share}."
        )
    if unit not in UNITS:
        raise ConfigError(f"A unit is one of {', '.join(UNITS)}; got {unit!r}.")


def _plan_pairs(
    method: str, items: int, rated: int, epsilon: float, eta: float, world: Blocks
) -> MethodPlan:
    """Plan a method of pairs: how many people it needs, and whether Theorem 3.5's conditions hold.

    Args:
        method: One of PAIR_METHODS.
        items: N, number of items.
        rated: w, number of items that a person has rated.
        epsilon: Nats of a whole report.
        eta: Chance that at least one label is wrong.
        world: Who likes what.
    """
    device_chooses_pair = method in RATED_METHODS
    if device_chooses_pair and rated < 2:
        return MethodPlan(method, theta=None, questions=1, users_clt=math.inf, users_theorem=None)
    rated_chance = 1.0 if device_chooses_pair else theory.pair_rated_chance(items, rated)
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
    return MethodPlan(
        method,
        theta=None,
        questions=1,
        users_clt=users,
        users_theorem=None,
        spectrum=conditions,
    )


def _report_information(
    items: int, rated: int, epsilon: float, theta: float | None
) -> list[ReportInformation]:
    """Compute `Plan.information` for the unit 'user'.

    Args:
        items: N, number of items.
        rated: w, number of items that a person has rated.
        epsilon: Nats of a whole report.
        theta: theta of MaxSense; MaxSense is left out if it is None.
    """
    reports = []
    if theta is not None:
        size = set_size(wheel_size(items), round(theta * MICRO), rated)
        maxsense = maxsense_information(items, rated, epsilon, min(size, items))
        if maxsense is not None:
            reports.append(maxsense)
    reports.append(pair_information(items, rated, epsilon))
    reports.append(pair_information(items, rated, epsilon, identical=True))
    if rated == 1:
        reports.append(one_bit_information(items))
    return reports


def _plan_sensing(
    questions: int, eps: float, items: int, rated: int, eta: float, world: Blocks
) -> MethodPlan:
    """Plan Multi-MaxSense for a number of questions, with the theta that needs the fewest people.

    Args:
        questions: Number of questions, each answered by one bit.
        eps: Epsilon of one bit, in nats.
        items: N, number of items.
        rated: w, number of items that a person has rated.
        eta: Chance that at least one label is wrong.
        world: Who likes what.
    """
    # In the notation of theory.py
    alpha = world.people
    beta = world.items
    b = world.likes

    def users_by_clt(theta: float) -> float:
        """Return the number of people needed with this theta, by the normal approximation."""
        distance = theory.separation(theta, alpha, beta, b)
        chances = theory.maxsense_chances(items, rated, eps, theta, alpha, beta, b)
        mean_chance = float(beta @ chances)
        return theory.clt_users(items, rated, eps, theta, distance, mean_chance, eta, questions)

    modulus = wheel_size(items)
    sizes = {max(1, round(modulus * float(theta) / rated)) for theta in THETAS}
    # The sets of one person are disjoint, so all of them have to fit into the catalogue.
    largest = max(1, modulus // LEAST_SETS_IN_CATALOGUE)
    possible = [size for size in sizes if size <= largest and size * questions <= modulus]
    thetas = [size * rated / modulus for size in sorted(possible)]
    if not thetas:
        return MethodPlan(
            "multi-maxsense",
            theta=float(THETAS[0]),
            questions=questions,
            users_clt=math.inf,
            users_theorem=math.inf,
        )
    theta = min(thetas, key=users_by_clt)
    distance = theory.separation(theta, alpha, beta, b)
    return MethodPlan(
        "multi-maxsense",
        theta=_round_theta(theta, round(theta * modulus / rated), items, rated),
        questions=questions,
        users_clt=users_by_clt(theta),
        users_theorem=theory.theorem_5_1(items, rated, eps, theta, distance, eta, questions),
    )


def _round_theta(theta: float, size: int, items: int, rated: int) -> float:
    """Round theta to the fewest decimals, 1 to 5, with which a set has `size` places; else to 6.

    A campaign states theta in millionths, so it has no more than 6 decimals.
    """
    for decimals in range(1, 6):
        rounded = round(theta, decimals)
        if rounded > 0 and set_size(wheel_size(items), round(rounded * MICRO), rated) == size:
            return rounded
    return round(theta, 6)
