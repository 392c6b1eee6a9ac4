"""From consenting people's ratings to everything that a model holds.

Runs at     the recommender.
Sees        the consenting people's ratings and attributes in the clear.
Guarantee   none for them, but for the tables if these are estimated privately.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.designs.standard_scheme.disclosure import Tables
from tacit.designs.standard_scheme.ease import Ease, fit_ease
from tacit.designs.standard_scheme.messages import Rule
from tacit.designs.standard_scheme.population import release
from tacit.designs.standard_scheme.refitting import People, people_of
from tacit.designs.standard_scheme.server import Profiles
from tacit.designs.standard_scheme.taste_fitting import with_taste
from tacit.designs.standard_scheme.training import (
    Consenting,
    Factorization,
    Ints,
    consenting,
    estimate,
    estimate_privately,
    of_kind,
    published_factorization,
    sound_factorization,
    train_profiles,
    unit,
)
from tacit.randomness import replay, secure, simulation

if TYPE_CHECKING:
    from tacit.designs.standard_scheme.recommender import StandardScheme


@dataclass(frozen=True)
class Fitted:
    """What is learned, beside the items and their scale."""

    n_consenting: int
    tables: dict[str, Tables]
    profiles: Profiles
    ease: Ease
    people: People | None


def fit(model: StandardScheme, ratings: Ratings, rule: Rule, former: People | None) -> Fitted:
    """Learn with the settings of a model, for devices that follow this rule.

    former: the people of the fit before.
    """
    people, numbers = consenting(ratings, model.attributes, model.values)
    known = people_of(ratings, numbers, former)
    tables = _tables(model, people, coupling=rule.transform == "coupling")
    if model.second_order == "taste":
        tables = with_taste(people, tables, seed=model.random_state)
    profiles = train_profiles(
        people.levels,
        people.labels,
        list(tables.values()),
        of_kind(model.profiles, factorization(model, people), ratings),
        lowest=ratings.scale.minimum / unit(ratings.scale),
    )
    ease = _ease(people, tables, rule, model.random_state)
    return Fitted(people.n_people, tables, profiles, ease, known)


def factorization(model: StandardScheme, people: Consenting) -> Factorization:
    """How profiles are learned, from the settings and the scale."""
    if model.variant == "published":
        how = published_factorization(factors=model.factors, seed=model.random_state)
    else:
        how = sound_factorization(people.n_levels, factors=model.factors, seed=model.random_state)
    given = {name: getattr(model, name) for name in ("regularization", "ridge", "sweeps")}
    return replace(how, **{name: value for name, value in given.items() if value is not None})


def _tables(model: StandardScheme, people: Consenting, *, coupling: bool) -> dict[str, Tables]:
    if math.isinf(model.disclosure_epsilon):
        shrink = model.variant == "sound"
        return estimate(people, shrink=shrink, coupling=coupling, seed=model.random_state)
    return estimate_privately(
        people,
        secure(),
        epsilon=model.disclosure_epsilon,
        contributions=model.contributions,
        coupling=coupling,
    )


def _ease(people: Consenting, tables: dict[str, Tables], rule: Rule, seed: int) -> Ease:
    def simulate(levels: sparse.csr_array, who: Ints) -> sparse.csr_array:
        with simulation():
            return release(
                levels,
                people.labels[who],
                list(tables.values()),
                rule,
                n_levels=people.n_levels,
                source=replay(seed),
            )

    return fit_ease(people.levels, people.n_levels, simulate, seed=seed)
