"""The four boxes, one after the other, for one target domain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.designs.xmap.baseliner import baseline, means_of_items
from tacit.designs.xmap.bridge import Bridge, People
from tacit.designs.xmap.catalogue import Catalogue
from tacit.designs.xmap.constant import constant_neighbours
from tacit.designs.xmap.extender import extend
from tacit.designs.xmap.generator import (
    Profiles,
    alter_egos,
    drawn_as_published,
    drawn_from_catalogue,
    images,
)
from tacit.designs.xmap.private_neighbours import DrawnPeople, published_neighbours
from tacit.designs.xmap.recommender import (
    ItemNeighbours,
    PeopleNeighbours,
    RatedTogether,
    item_neighbours,
    rated_together,
)
from tacit.designs.xmap.settings import Settings
from tacit.engine.base import Engine, Numbers
from tacit.errors import DataError
from tacit.randomness import Source

Floats = NDArray[np.float64]


def means_by_domain(ratings: Ratings, catalogue: Catalogue) -> Floats:
    """(n_items,) mean stars; an item that nobody rated has the mean of its domain."""
    means = np.zeros(ratings.n_items)
    for name in np.unique(catalogue.domains.astype(str)):
        items = catalogue.targets(name)
        means[items] = means_of_items(ratings.matrix[:, items])
    return means


def fit_bridge(
    ratings: Ratings,
    catalogue: Catalogue,
    target: str,
    item_means: Floats,
    settings: Settings,
    *,
    each: float,
    engine: Engine,
    draws: Source,
) -> Bridge:
    """Learn one target. each: nats for one image or table of the constant variant."""
    sources, targets = catalogue.sources(target), catalogue.targets(target)
    used = np.zeros(ratings.n_items, dtype=np.bool_)
    used[np.concatenate([sources, targets])] = True
    here = ratings.where(used[ratings.items])
    constant = settings.variant == "constant"
    # The constant variant pays for everything it learns, so it may not look.
    if not constant and not np.isin(here.items, targets).any():
        raise DataError("nobody rated anything in the target domain", found=target)
    extension = extend(
        baseline(here.matrix),
        sources,
        targets,
        k=settings.extender_k,
        most_edges=settings.most_edges,
        significance=settings.significance,
        engine=engine,
    )
    draw = (
        drawn_from_catalogue(each, draws)
        if constant
        else drawn_as_published(settings.epsilon, draws)
    )
    places = np.full(ratings.n_items, -1, dtype=np.int32)
    places[sources] = images(extension, sources, draw, engine)
    own = np.full(ratings.n_items, -1, dtype=np.int32)
    own[targets] = np.arange(len(targets))
    profiles = alter_egos(
        here.matrix,
        here.timestamps,
        item_means=item_means,
        images=places,
        own=own,
        width=len(targets),
    )
    means = item_means[targets]
    return Bridge(
        targets=targets,
        images=places,
        item_means=item_means,
        neighbours=_constant(profiles, means, settings, each, draws)
        if constant
        else _neighbours(profiles, means, settings, engine, draws),
        k=settings.k,
        alpha=settings.alpha,
        lowest=ratings.scale.minimum,
        engine=engine,
        lists=_lists(here.matrix, sources, targets, settings, engine),
    )


def _neighbours(
    profiles: Profiles, means: Floats, settings: Settings, engine: Engine, draws: Source
) -> ItemNeighbours | People:
    budget = settings.budget
    if settings.recommender == "user-based":
        people = PeopleNeighbours(means, profiles)
        return people if budget is None else DrawnPeople(people, budget, 0, draws)
    how = {"k": settings.k, "significance": settings.significance}
    if budget is None:
        return item_neighbours(profiles, means, **how, engine=engine)
    return published_neighbours(profiles, means, **how, budget=budget, source=draws)


def _constant(
    profiles: Profiles, means: Floats, settings: Settings, each: float, draws: Source
) -> ItemNeighbours:
    return constant_neighbours(
        profiles,
        means,
        k=settings.k,
        significance=settings.significance,
        epsilon=each,
        source=draws,
    )


def _lists(
    stars: sparse.csr_array,
    sources: Numbers,
    targets: Numbers,
    settings: Settings,
    engine: Engine,
) -> RatedTogether | None:
    """Only without noise: the table is computed from everybody's ratings as they are."""
    if not settings.noiseless or settings.variant == "constant":
        return None
    if settings.recommender == "user-based":
        return None
    among = np.sort(np.concatenate([sources, targets]))
    return rated_together(stars, targets, among, engine)
