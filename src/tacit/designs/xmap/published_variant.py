"""The published variant, fitted: the paper's four steps for each target, and what they leave.

A fit goes through the steps in the paper's order: baseliner, extender, generator, recommender.
Where ratings are stored, the steps run by joins of items. The result equals a fit in memory to the
last bit, except where floats round an item's sum of stars: it is added in another order.

Releases   one table of images and one of neighbours, each drawn here, once. No person is in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored_ratings import RatingsSource, StoredRatings, catalogue_of, require_in_memory
from tacit.designs.xmap import guarantees
from tacit.designs.xmap.baseliner import Baseline, center_stars, mean_stars_of_people
from tacit.designs.xmap.catalogue import Catalogue
from tacit.designs.xmap.extender import Extension, extend
from tacit.designs.xmap.generator import (
    Profiles,
    choose_images,
    make_alter_egos,
    private_replacement_selection,
)
from tacit.designs.xmap.private_neighbours import PrivateNeighbours, draw_item_neighbours
from tacit.designs.xmap.recommender import ItemNeighbours, PeopleNeighbours, find_item_neighbours
from tacit.designs.xmap.settings import Settings
from tacit.designs.xmap.voting_lists import (
    VotingTable,
    make_voting_table,
    mark_likes,
    mark_rated,
)
from tacit.engine import Engine, Numbers, Table
from tacit.engine.item_item_tiles import TiledTable
from tacit.errors import DataError
from tacit.privacy import Guarantee
from tacit.randomness import Source
from tacit.recommenders.base import History, HistoryTimes
from tacit.recommenders.inputs import checked_history, checked_times

Floats = NDArray[np.float64]
RowsOf = Callable[[Ratings], tuple[sparse.csr_array, Floats]]
"""From a block of people to (people, items) stars, and (people,) their means."""


class PersonRatings(NamedTuple):
    """One person's ratings."""

    history: History
    """Item id to stars; may hold items that the model does not know."""
    stars: sparse.csr_array
    """(1, n_items) stars of known items."""
    times: NDArray[np.int64] | None
    """(stored,) seconds beside `stars.data`; None if unknown."""


@dataclass(frozen=True, eq=False)
class TargetModel:
    """Images, neighbours and votes learned for one target domain."""

    targets: Numbers
    """(n_target,) sorted item numbers."""
    images: Numbers
    """(n_items,) place in the target of each source item's image; -1: none."""
    item_means: Floats
    """(n_items,) mean stars."""
    neighbours: ItemNeighbours | PeopleNeighbours
    """The recommender."""
    alpha: float
    """How fast old ratings lose weight."""
    lowest: float
    """Lowest stars of the scale."""
    engine: Engine
    """Computes predictions."""
    votes: VotingTable | None
    """What lists are ranked by; None where they are ranked by the recommender's own numbers."""

    def predict(self, person: PersonRatings) -> Floats:
        """Predict (n_target,) stars."""
        profile = self._alter_ego(person)
        stars: Floats = self.neighbours.predict(profile, self.alpha, self.engine)[0]
        return stars

    def score(self, person: PersonRatings) -> Floats:
        """Compute the (n_target,) scores that a list is ranked by."""
        if self.votes is not None:
            votes: Floats = self.votes.count_votes(mark_likes(person.stars))[0]
            return votes
        support = self.neighbours.support(self._alter_ego(person), self.alpha)[0]
        scores: Floats = support * (self.predict(person) - self.lowest)
        return scores

    def _alter_ego(self, person: PersonRatings) -> Profiles:
        return make_alter_egos(
            person.stars,
            person.times,
            item_means=self.item_means,
            images=self.images,
            targets=self.targets,
        )


@dataclass(frozen=True, eq=False)
class PublishedModel:
    """The published variant, fitted to all its targets."""

    catalogue: Catalogue
    """Settings, and the domain of each item."""
    ids: Column
    """(n_items,) ids of the items."""
    scale: RatingScale
    """Scale of the stars."""
    by_target: Mapping[str, TargetModel]
    """What is learned for each target domain."""
    people: Ratings | None = None
    """Those fitted to; None for a model that was loaded."""

    @cached_property
    def _numbers(self) -> Mapping[Any, int]:
        """Number of each item by its id."""
        return {item: number for number, item in enumerate(self.ids.tolist())}

    def read_person(
        self, user: Any, history: History | None, history_times: HistoryTimes | None = None
    ) -> PersonRatings:
        """Collect one person's ratings: a history's, or those of a person fitted to.

        Ratings of unknown items have no say.

        Args:
            user: Id of a person fitted to; without a history their ratings are used.
            history: Item id to stars.
            history_times: Item id to seconds, for each item of the history.

        Raises:
            DataError: Stars off the scale, or times that are not those of the history's items.
        """
        if history is None:
            if history_times is not None:
                raise DataError("times are given without a history", fix="Give history= as well.")
            fitted = self._read_fitted(user)
            if fitted is not None:
                return fitted
        given = checked_history({} if history is None else history, self.ids)
        rated = sorted((self._numbers[item], item) for item in given if item in self._numbers)
        stars = np.array([given[item] for _, item in rated], dtype=np.float64)
        if not self.scale.holds(stars).all():
            raise DataError("a rating in the history lies off the scale", expected=str(self.scale))
        numbers = np.array([number for number, _ in rated], dtype=np.int32)
        row = (stars, numbers, np.array([0, len(stars)]))
        times = None
        if history_times is not None:
            moments = checked_times(history_times, given)
            times = np.array([moments[item] for _, item in rated], dtype=np.int64)
        return PersonRatings(given, sparse.csr_array(row, shape=(1, len(self.ids))), times)

    def _read_fitted(self, user: Any) -> PersonRatings | None:
        """Look up a person who was fitted to; None for others."""
        people = self.people
        if people is None:
            return None
        number = people.user_number(user)
        if number is None:
            return None
        rows = slice(people.offsets[number], people.offsets[number + 1])
        times = None if people.timestamps is None else people.timestamps[rows]
        return PersonRatings(people.history(user), people.matrix[[number]], times)

    def predict(self, person: PersonRatings) -> Floats:
        """Predict (n_items,) stars; NaN outside the targets."""
        stars = np.full(len(self.ids), np.nan)
        for model in self.by_target.values():
            stars[model.targets] = model.predict(person)
        return stars

    def score(self, person: PersonRatings) -> Floats:
        """Compute (n_items,) scores that lists are ranked by; NaN outside the targets."""
        scores = np.full(len(self.ids), np.nan)
        for model in self.by_target.values():
            scores[model.targets] = model.score(person)
        return scores

    def card(self) -> Guarantee:
        """Say what the paper claims and why it fails, with the number of images drawn."""
        settings = self.catalogue.settings
        drawn = sum(int((model.images >= 0).sum()) for model in self.by_target.values())
        return guarantees.card_of_published(
            settings.epsilon, settings.for_neighbours, settings.k, drawn
        )


def fit_published(
    ratings: RatingsSource, catalogue: Catalogue, engine: Engine, draws: Source
) -> PublishedModel:
    """Fit each target. An item that nobody rated has the mean of its domain.

    Args:
        ratings: Ratings of the domains in question, in memory or stored.
        catalogue: Settings, and the domain of each item.
        engine: Computes similarities, paths and predictions.
        draws: Where images and neighbours are drawn from.
    """
    known = catalogue_of(ratings)
    if isinstance(ratings, StoredRatings):
        sums, counts = ratings.total(_sum_stars_of_items)
    else:
        sums, counts = _sum_stars_of_items(ratings)
    means = np.zeros(len(counts))
    for name in np.unique(catalogue.domains.astype(str)):
        items = catalogue.targets(name)
        overall = sums[items].sum() / max(1.0, counts[items].sum())
        filled = np.full(len(items), overall)
        means[items] = np.divide(sums[items], counts[items], out=filled, where=counts[items] > 0)
    by_target = {}
    for name in catalogue.settings.target:
        fit = TargetFit(ratings, catalogue, name, means, counts.astype(np.int64), engine, draws)
        by_target[name] = fit.run()
    return PublishedModel(catalogue, known.item_ids, known.scale, by_target, known)


@dataclass(frozen=True, eq=False)
class TargetFit:
    """One fit for one target, step by step."""

    ratings: RatingsSource
    """In memory or stored."""
    catalogue: Catalogue
    """Settings, and the domain of each item."""
    target: str
    """Name of the target domain."""
    item_means: Floats
    """(n_items,) mean stars."""
    raters: NDArray[np.int64]
    """(n_items,) people who rated each item."""
    engine: Engine
    """Computes similarities, paths and predictions."""
    draws: Source
    """Where images and neighbours are drawn from."""

    @property
    def settings(self) -> Settings:
        """The choices of the fit."""
        return self.catalogue.settings

    def run(self) -> TargetModel:
        """Run the paper's four steps."""
        settings = self.settings
        if settings.user_based or not settings.noiseless:
            # A user-based model holds everybody, and a private draw needs all candidates at once.
            require_in_memory(self.ratings)
        sources = self.catalogue.sources(self.target)
        targets = self.catalogue.targets(self.target)
        if not self.raters[targets].any():
            raise DataError("nobody rated anything in the target domain", found=self.target)
        used = np.zeros(len(self.raters), np.bool_)
        used[sources] = True
        used[targets] = True
        raters = np.where(used, self.raters, 0)
        stars_of = partial(_read_stars, used=used)

        # Steps 1 and 2: similarities, layers, edges.
        base = Baseline(_make_table(self.ratings, stars_of, center_stars, raters), raters)
        extension = extend(
            base,
            sources,
            targets,
            k=settings.extender_k,
            significance=settings.significance,
            engine=self.engine,
        )

        # Step 3: images and AlterEgos.
        images = self._choose_images(extension, sources)
        alter_egos_of = partial(
            make_alter_egos, item_means=self.item_means, images=images, targets=targets
        )

        # Step 4: neighbours in the target.
        neighbours = self._make_neighbours(stars_of, alter_egos_of, self.item_means[targets])

        votes = None
        if settings.noiseless and not settings.user_based:
            voters = np.flatnonzero(used).astype(np.int32)
            rated = _make_table(self.ratings, stars_of, mark_rated, raters)
            votes = make_voting_table(rated, raters, targets, voters, self.engine)
        lowest = catalogue_of(self.ratings).scale.minimum
        return TargetModel(
            targets,
            images,
            self.item_means,
            neighbours,
            settings.alpha,
            lowest,
            self.engine,
            votes,
        )

    def _choose_images(self, extension: Extension, sources: Numbers) -> Numbers:
        """(n_items,) place in the target of each source item's image; -1: none."""
        choose = private_replacement_selection(self.settings.epsilon, self.draws)
        run_blocks = self.ratings.spread if isinstance(self.ratings, StoredRatings) else map
        images = np.full(len(self.raters), -1, np.int32)
        images[sources] = choose_images(extension, sources, choose, self.engine, run_blocks)
        return images

    def _make_neighbours(
        self, stars_of: RowsOf, alter_egos_of: Callable[..., Profiles], means: Floats
    ) -> ItemNeighbours | PeopleNeighbours:
        """Find or draw the neighbours of items or of people."""
        settings = self.settings
        pnsa = None
        if settings.budget is not None:
            pnsa = PrivateNeighbours(settings.k, settings.budget, settings.pnsa)
        if settings.user_based:
            stars, _ = stars_of(require_in_memory(self.ratings))
            return PeopleNeighbours(means, alter_egos_of(stars, None), settings.k, pnsa, self.draws)
        egos_of = partial(_read_alter_egos, stars_of=stars_of, alter_egos_of=alter_egos_of)
        table = _make_table(self.ratings, egos_of, center_stars)
        if pnsa is not None:
            drawn = draw_item_neighbours(table.values, settings.significance, pnsa, self.draws)
            return ItemNeighbours(means, *drawn)
        return find_item_neighbours(
            table, means, k=settings.k, significance=settings.significance, engine=self.engine
        )


def _make_table(
    ratings: RatingsSource,
    rows_of: RowsOf,
    make: Callable[[sparse.csr_array, Floats], Table],
    raters: NDArray[np.int64] | None = None,
) -> Table:
    """Make a table of everybody's rows, where the ratings are."""
    if not isinstance(ratings, StoredRatings):
        return make(*rows_of(ratings))
    return TiledTable.of_ratings(ratings, rows_of, make, raters)


def _sum_stars_of_items(block: Ratings) -> Floats:
    """(2, items) sums of stars, and numbers of ratings."""
    stars = np.bincount(block.items, block.values, block.n_items)
    counts = np.bincount(block.items, minlength=block.n_items)
    return np.stack([stars, counts]).astype(np.float64)  # of no ratings they are integers


def _read_stars(block: Ratings, *, used: NDArray[np.bool_]) -> tuple[sparse.csr_array, Floats]:
    """Read stars of the items in use, and people's means over them."""
    stars = block.where(used[block.items]).matrix
    return stars, mean_stars_of_people(stars)


def _read_alter_egos(
    block: Ratings, *, stars_of: RowsOf, alter_egos_of: Callable[..., Profiles]
) -> tuple[sparse.csr_array, Floats]:
    """Read stars of the AlterEgos, and people's means over them."""
    stars, _ = stars_of(block)
    profiles = alter_egos_of(stars, None).stars
    return profiles, mean_stars_of_people(profiles)
