"""How many people it takes, at least and by each method, and which parameters to ask with."""

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
"""Expected number of a person's rated items in one sensed set, as tried by the planner: each is
moved to what a set of whole items comes to, so that what is planned can be asked."""
LEAST_EPSILON, MOST_EPSILON = 1 / MICRO, (NO_NOISE - 1) / MICRO
"""Campaigns state epsilon in millionths below 2^31."""
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
    """One method. theta is None for pairs. users: inf where the method cannot work.

    theta is the shortest number that stands for the planned sets: `design` takes it as it is.
    users_clt: the normal approximation, which experiments meet. users_theorem: proved to be enough;
    None where the theorem leaves its constant open. spectrum: of pairs, whether Theorem 3.5's
    conditions hold in the assumed world; None for sensed sets.
    """

    method: str
    theta: float | None
    questions: int
    users_clt: float
    users_theorem: float | None
    spectrum: PairConditions | None = None


@dataclass(frozen=True)
class PairConditions:
    """Theorem 3.5's conditions on the matrix of chances in a world.

    eigenvalues: the largest absolute value first.
    distinct_eigenvalues: whether their absolute values differ and none is 0.
    distinct_rows: whether the clusters' rows of eigenvectors differ.
    """

    eigenvalues: tuple[float, ...]
    distinct_eigenvalues: bool
    distinct_rows: bool


@dataclass(frozen=True)
class Plan:
    """lower_bounds: see `theory`. methods: those of ADVISED, then others, each best first.

    Any learner needs `ldp` and `adaptive`; `scarce` is for questions fixed beforehand. All three
    are for the unit 'user': for others no bound is known and there are none. `one_bit` is for one
    fixed yes/no question to each person who rated one item, at any epsilon and unit. information:
    of one report, by method, for the unit 'user'. shared_items: Lemma 4.7.
    """

    items: int
    rated: int
    epsilon: float
    clusters: int
    eta: float
    wrong: float
    unit: str
    lower_bounds: dict[str, float]
    methods: tuple[MethodPlan, ...]
    information: tuple[ReportInformation, ...]
    shared_items: SharedItems

    @property
    def best(self) -> MethodPlan:
        """The method that needs the fewest people, of those that hide which items were rated."""
        return self.methods[0]

    def of(self, method: str) -> MethodPlan:
        return next(own for own in self.methods if own.method == method)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; None for infinity and for bounds that are not known."""
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
    """People needed until every item's label is right, but for a chance of eta.

    rated: items that a person has rated, a random set. wrong: share of labels that may be wrong,
    for the lower bounds alone; `adaptive` is known for 0 only. unit: what epsilon is for ('user',
    'rating', 'moved rating'); the lower bounds are for 'user' alone. blocks: who likes what; by
    default an assumed world, `synthetic_worlds.example`. The methods' numbers depend on it, the
    lower bounds do not. ConfigError for numbers out of range.
    """
    world = example(clusters) if blocks is None else blocks
    _check(items, rated, epsilon, eta, wrong, unit)
    if len(world.items) != clusters:
        raise ConfigError(f"Blocks with {len(world.items)} item clusters, asked for {clusters}.")
    bounds, shared = {}, 1
    if unit == "user":
        shared = theory.best_questions(epsilon, MOST_QUESTIONS)
        bounds = {
            "ldp": theory.ldp_bound(items, epsilon, eta, wrong),
            "scarce": theory.scarce_bound(items, rated, epsilon, eta, wrong),
        }
        if wrong == 0:
            bounds["adaptive"] = theory.adaptive_bound(items, rated, epsilon, eta)
    if rated == 1:
        bounds["one_bit"] = theory.one_bit_bound(items, eta, wrong)
    # The best number where all questions share epsilon, or more where they need not share.
    exposed = {
        n: exposed_bits("multi-maxsense", unit, n, rated) for n in range(1, MOST_QUESTIONS + 1)
    }
    numbers = {1, shared, *(n for n in (2, 4, 8, 16, MOST_QUESTIONS) if exposed[n] < n)}
    sensing = [_sensing(n, epsilon / exposed[n], items, rated, eta, world) for n in sorted(numbers)]
    methods = [
        replace(sensing[0], method="maxsense"),
        min(sensing, key=lambda found: found.users_clt),
    ]
    methods += [_pairs(name, items, rated, epsilon, eta, world) for name in PAIR_METHODS]
    information: list[ReportInformation] = []
    if unit == "user":
        information = _information(items, rated, epsilon, methods[0].theta)
    methods.sort(key=lambda own: (own.method not in ADVISED, own.users_clt, own.questions))
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


def _check(items: int, rated: int, epsilon: float, eta: float, wrong: float, unit: str) -> None:
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


def _pairs(
    method: str, items: int, rated: int, epsilon: float, eta: float, world: Blocks
) -> MethodPlan:
    """Plan a method of pairs: the people it needs, and whether Theorem 3.5 covers the world."""
    names_pair = method in RATED_METHODS
    if names_pair and rated < 2:
        return MethodPlan(method, None, 1, math.inf, None)
    both_rated = 1.0 if names_pair else theory.both_rated(items, rated)
    answered = theory.both_alike if method in IDENTICAL_METHODS else theory.both_liked
    chances = theory.pair_chances(epsilon, both_rated, answered(world.people, world.likes))
    spectrum = theory.pair_spectrum(chances, world.items)
    conditions = PairConditions(
        tuple(spectrum.eigenvalues.tolist()),
        spectrum.has_distinct_eigenvalues,
        spectrum.has_distinct_rows,
    )
    users = theory.pairwise_users(items, chances, world.items, eta)
    return MethodPlan(method, None, 1, users, None, conditions)


def _information(
    items: int, rated: int, epsilon: float, theta: float | None
) -> list[ReportInformation]:
    """Information of one report of each method that asks one question about any items."""
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


def _sensing(
    questions: int, eps: float, items: int, rated: int, eta: float, world: Blocks
) -> MethodPlan:
    """With the theta that needs the fewest people for this number of questions. eps: of one bit."""
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
    written = _written(theta, round(theta * modulus / rated), items, rated)
    proved = users(theta, proved=True)
    return MethodPlan("multi-maxsense", written, questions, users(theta), proved)


def _written(theta: float, size: int, items: int, rated: int) -> float:
    """With as few decimals, at most 6, as leave a campaign's sets of this size."""
    for decimals in range(1, 6):
        short = round(theta, decimals)
        if short > 0 and set_size(wheel_size(items), round(short * MICRO), rated) == size:
            return short
    return round(theta, 6)
