"""How many people it takes, at least and by each method, and which parameters to ask with."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.data.synthetic_worlds import Blocks, example
from tacit.designs.sketches import theory
from tacit.designs.sketches.messages import (
    MICRO,
    MOST,
    MOST_QUESTIONS,
    NO_NOISE,
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
_wheel = lru_cache(maxsize=64)(wheel_size)
BOUNDS = ("ldp", "scarce", "adaptive")


@dataclass(frozen=True)
class MethodPlan:
    """One method. theta is None for pairs. users: inf where the method cannot work.

    theta is the shortest number that stands for the planned sets: `design` takes it as it is.
    users_clt: the normal approximation, which experiments meet. users_theorem: proved to be enough;
    None where the theorem leaves its constant open.
    """

    method: str
    theta: float | None
    questions: int
    users_clt: float
    users_theorem: float | None


@dataclass(frozen=True)
class Plan:
    """lower_bounds: see `theory`. methods: best first by `users_clt`.

    Any learner needs `ldp` and `adaptive`; `scarce` is for questions fixed beforehand. All three
    are for the unit 'user': for others no bound is known and there are none.
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

    @property
    def best(self) -> MethodPlan:
        """The method that needs the fewest people."""
        return self.methods[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; None for infinity and for bounds that are not known."""
        methods = [asdict(method) for method in self.methods]
        for method in methods:
            if math.isinf(method["users_clt"]):
                method["users_clt"] = None
            if method["users_theorem"] is not None and math.isinf(method["users_theorem"]):
                method["users_theorem"] = None
        bounds = {name: self.lower_bounds.get(name) for name in BOUNDS}
        return asdict(self) | {"methods": methods, "lower_bounds": bounds}


def plan(
    *,
    items: int,
    rated: int,
    epsilon: float,
    clusters: int = 2,
    eta: float = 0.1,
    wrong: float = 0.0,
    unit: str = "user",
    questions: int | None = None,
    blocks: Blocks | None = None,
) -> Plan:
    """People needed until every item's label is right, but for a chance of eta.

    rated: items that a person has rated, a random set. wrong: share of labels that may be wrong,
    for the lower bounds alone; `adaptive` is known for 0 only. unit: what epsilon is for ('user',
    'rating', 'moved rating'); the lower bounds are for 'user' alone. questions: of Multi-MaxSense,
    the best number by default. blocks: who likes what; by default an assumed world,
    `synthetic_blocks.example`. The methods' numbers depend on it, the lower bounds do not.
    ConfigError for numbers out of range.
    """
    world = example(clusters) if blocks is None else blocks
    asked = _Asked(items, rated, epsilon, eta, unit, world)
    if questions is not None and not 1 <= questions <= MOST_QUESTIONS:
        raise ConfigError(f"Questions are 1 to {MOST_QUESTIONS}; got {questions}.")
    if len(world.items) != clusters:
        raise ConfigError(f"Blocks with {len(world.items)} item clusters, asked for {clusters}.")
    if not 0 <= wrong < 0.5:
        raise ConfigError(f"The share of wrong labels is 0 or more and below 1/2; got {wrong}.")
    bounds = {}
    if unit == "user":
        bounds = {
            "ldp": theory.ldp_bound(items, epsilon, eta, wrong),
            "scarce": theory.scarce_bound(items, rated, epsilon, eta, wrong),
        }
        if wrong == 0:
            bounds["adaptive"] = theory.adaptive_bound(items, rated, epsilon, eta)
    kinds = world.people, world.items, world.likes
    pairs = theory.pairwise_users(items, rated, epsilon, *kinds, eta)
    methods = [
        _sensing("maxsense", 1, asked),
        _multi(questions, asked),
        MethodPlan("pairwise-preference", None, 1, pairs, None),
    ]
    methods.sort(key=lambda method: (method.users_clt, method.questions))
    return Plan(items, rated, epsilon, clusters, eta, wrong, unit, bounds, tuple(methods))


def bit_epsilon(epsilon: float, questions: int, unit: str, rated: int) -> float:
    """What one bit may cost so that the whole report costs epsilon for the unit."""
    return epsilon / exposed_bits("multi-maxsense", unit, questions, rated)


@dataclass(frozen=True, eq=False)
class _Asked:
    items: int
    rated: int
    epsilon: float
    eta: float
    unit: str
    world: Blocks

    def __post_init__(self) -> None:
        items, rated, epsilon = self.items, self.rated, self.epsilon
        if not 2 <= items <= MOST or not 1 <= rated <= items:
            raise ConfigError(
                f"A plan needs 2 to {MOST} items and 1 to {items} rated ones; got {items} and "
                f"{rated}."
            )
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise ConfigError(f"epsilon is a finite number above 0; got {epsilon}.")
        if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
            raise ConfigError(f"epsilon is at least a millionth and at most 2147; got {epsilon}.")
        if not 0 < self.eta < 0.5:
            raise ConfigError(f"eta is a chance of failure between 0 and 1/2; got {self.eta}.")
        if self.unit not in UNITS:
            raise ConfigError(f"A unit is one of {', '.join(UNITS)}; got {self.unit!r}.")


def _sensing(method: str, questions: int, asked: _Asked) -> MethodPlan:
    """With the theta that needs the fewest people for this number of questions."""
    items, rated, eta, world = asked.items, asked.rated, asked.eta, asked.world
    eps = bit_epsilon(asked.epsilon, questions, asked.unit, rated)
    kinds = world.people, world.items, world.likes

    def users(theta: float, *, proved: bool = False) -> float:
        D = theory.separation(theta, *kinds)  # noqa: N806
        if proved:
            return theory.theorem_5_1(items, rated, eps, theta, D, eta, questions)
        share = float(world.items @ theory.maxsense_chances(items, rated, eps, theta, *kinds))
        return theory.clt_users(items, rated, eps, theta, D, share, eta, questions)

    modulus = _wheel(items)
    sizes = {max(1, round(modulus * float(theta) / rated)) for theta in THETAS}
    # Sets of one person are disjoint: all of them have to fit into the catalogue.
    possible = [size * rated / modulus for size in sorted(sizes) if size * questions <= modulus]
    if not possible:
        return MethodPlan(method, float(THETAS[0]), questions, math.inf, math.inf)
    theta = min(possible, key=users)
    written = _written(theta, round(theta * modulus / rated), items, rated)
    return MethodPlan(method, written, questions, users(theta), users(theta, proved=True))


def _written(theta: float, size: int, items: int, rated: int) -> float:
    """With as few decimals, at most 6, as leave a campaign's sets of this size."""
    for decimals in range(1, 6):
        short = round(theta, decimals)
        if short > 0 and set_size(_wheel(items), round(short * MICRO), rated) == size:
            return short
    return round(theta, 6)


def _multi(questions: int | None, asked: _Asked) -> MethodPlan:
    """Questions by what each is worth when all share epsilon, or more where they need not share."""
    tried = {
        number
        for number in (2, 4, 8, 16, MOST_QUESTIONS)
        if exposed_bits("multi-maxsense", asked.unit, number, asked.rated) < number
    }
    user = asked.unit == "user"
    shared = theory.best_questions(asked.epsilon, MOST_QUESTIONS) if user else 1
    numbers = sorted({1, shared, *tried} if questions is None else {questions})
    plans = [_sensing("multi-maxsense", number, asked) for number in numbers]
    return min(plans, key=lambda found: found.users_clt)
