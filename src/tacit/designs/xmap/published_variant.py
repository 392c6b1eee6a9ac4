"""The published variant: a fit by the paper's four steps for each target, and the fitted model.

The steps are run in the paper's order: baseliner, extender, generator, recommender. An item-based
model without noise can also be fitted to ratings that are stored on disk: similarities are then
computed for a tile of items at a time. The result is the same as that of a fit in memory, except
that an item's sum of stars is added in another order and so rounded differently.

Releases   an item-based model releases for each target a table of images and a table of neighbours,
           each drawn once if its epsilon is finite. It also releases the items' means without
           noise; and if it has no noise at all, the table of votes. A user-based model consists of
           people's profiles, so no file holds it.
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
from tacit.designs.xmap.private_neighbours import NeighbourParameters, draw_item_neighbours
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
ReadRows = Callable[[Ratings], tuple[sparse.csr_array, Floats]]
"""Takes the ratings of a block of people. Returns a (people, items) CSR with each person's stars,
and (people,) the mean of each row."""


class PersonRatings(NamedTuple):
    """One person's ratings."""

    history: History
    """Stars by item id; may have items that the model does not know."""
    stars: sparse.csr_array
    """(1, n_items) CSR of the stars of items that the model knows."""
    times: NDArray[np.int64] | None
    """(stored,) seconds of the ratings in `stars.data`; None if unknown."""


@dataclass(frozen=True, eq=False)
class TargetModel:
    """Images, neighbours and votes learned for one target domain."""

    targets: Numbers
    """(n_target,) sorted numbers of the target domain's items."""
    images: Numbers
    """(n_items,) position in the target domain of each source item's image; -1 without one."""
    item_means: Floats
    """(n_items,) mean stars."""
    neighbours: ItemNeighbours | PeopleNeighbours
    """Neighbours by which the recommender predicts."""
    alpha: float
    """How fast old ratings lose weight: by e^-alpha for each rank in time."""
    lowest: float
    """Smallest number of stars on the scale."""
    engine: Engine
    """Computes predictions."""
    votes: VotingTable | None
    """Votes by which lists of an item-based model without noise are ranked; None for any other
    model, whose lists are ranked by predictions."""

    def predict(self, person: PersonRatings) -> Floats:
        """Predict the (n_target,) stars of one person."""
        profile = self._alter_ego(person)
        stars: Floats = self.neighbours.predict(profile, self.alpha, self.engine)[0]
        return stars

    def score(self, person: PersonRatings) -> Floats:
        """Compute the (n_target,) scores by which a list is ranked.

        They are votes, if the model has a voting table. Otherwise a score is how far the predicted
        stars are above the scale's minimum, times the weight that the prediction is based on.
        """
        if self.votes is not None:
            votes: Floats = self.votes.count_votes(mark_likes(person.stars))[0]
            return votes
        support = self.neighbours.support(self._alter_ego(person), self.alpha)[0]
        scores: Floats = support * (self.predict(person) - self.lowest)
        return scores

    def _alter_ego(self, person: PersonRatings) -> Profiles:
        """Make the person's AlterEgo, their profile in the target domain: one row."""
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
    """The model of each target domain, by its name."""
    people: Ratings | None = None
    """Ratings of the people of the fit. They hold no people after a fit to stored ratings, and are
    None for a model that was loaded from a file."""

    @cached_property
    def _numbers(self) -> Mapping[Any, int]:
        """Number of each item by its id."""
        return {item: number for number, item in enumerate(self.ids.tolist())}

    def read_person(
        self, user: Any, history: History | None, history_times: HistoryTimes | None = None
    ) -> PersonRatings:
        """Collect one person's ratings, from a history or from the fit.

        Ratings of items that the model does not know have no effect on predictions.

        Args:
            user: Id of a person of the fit, whose ratings are used if there is no history. Any
                other id stands for a person without ratings.
            history: Stars by item id; None to use the ratings of the fit.
            history_times: Seconds by item id, for each item of the history; None if unknown.

        Raises:
            DataError: The history is not valid, stars are off the scale, or times are given without
                a history or for other items than those of the history.
        """
        if history is None:
            if history_times is not None:
                raise DataError("times are given without a history", fix="Give history= as well.")
            fitted = self._read_fitted(user)
            if fitted is not None:
                return fitted
        history = checked_history({} if history is None else history, self.ids)
        known_items = [item for item in history if item in self._numbers]
        known_items.sort(key=lambda item: self._numbers[item])
        stars = np.array([history[item] for item in known_items], dtype=np.float64)
        if not self.scale.holds(stars).all():
            raise DataError("a rating in the history lies off the scale", expected=str(self.scale))
        numbers = np.array([self._numbers[item] for item in known_items], dtype=np.int32)
        row = (stars, numbers, np.array([0, len(stars)]))
        times = None
        if history_times is not None:
            seconds = checked_times(history_times, history)
            times = np.array([seconds[item] for item in known_items], dtype=np.int64)
        return PersonRatings(history, sparse.csr_array(row, shape=(1, len(self.ids))), times)

    def _read_fitted(self, user: Any) -> PersonRatings | None:
        """Return the ratings of a person of the fit; None for anyone else."""
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
        """Predict (n_items,) stars; NaN for items outside the target domains."""
        stars = np.full(len(self.ids), np.nan)
        for model in self.by_target.values():
            stars[model.targets] = model.predict(person)
        return stars

    def score(self, person: PersonRatings) -> Floats:
        """Compute the (n_items,) scores by which lists are ranked; NaN outside the targets."""
        scores = np.full(len(self.ids), np.nan)
        for model in self.by_target.values():
            scores[model.targets] = model.score(person)
        return scores

    def card(self) -> Guarantee:
        """Make the guarantee card, which counts the images of the fit."""
        settings = self.catalogue.settings
        n_images = sum(int((model.images >= 0).sum()) for model in self.by_target.values())
        return guarantees.card_of_published(
            settings.epsilon, settings.epsilon_of_neighbours, settings.k, n_images
        )


def fit_published(
    ratings: RatingsSource, catalogue: Catalogue, engine: Engine, draws: Source
) -> PublishedModel:
    """Fit a model for each target.

    Where an item's mean stars are needed, an item that nobody rated has the mean of its domain.

    Args:
        ratings: Ratings of the domains of the settings, in memory or stored.
        catalogue: Settings, and the domain of each item.
        engine: Computes similarities, paths and predictions.
        draws: Where images and neighbours are drawn from.

    Raises:
        DataError: Nobody rated anything in a target domain.
        ConfigError: The ratings are stored, and the model is user-based or has noise.
    """
    people_and_items = catalogue_of(ratings)
    if isinstance(ratings, StoredRatings):
        sums, counts = ratings.total(_sum_stars_of_items)
    else:
        sums, counts = _sum_stars_of_items(ratings)
    means = np.zeros(len(counts))
    for name in np.unique(catalogue.domains.astype(str)):
        items = catalogue.items_of(name)
        mean_of_domain = sums[items].sum() / max(1.0, counts[items].sum())
        means[items] = np.divide(
            sums[items],
            counts[items],
            out=np.full(len(items), mean_of_domain),
            where=counts[items] > 0,
        )
    by_target = {}
    for name in catalogue.settings.target:
        fit = TargetFit(ratings, catalogue, name, means, counts.astype(np.int64), engine, draws)
        by_target[name] = fit.run()
    return PublishedModel(
        catalogue, people_and_items.item_ids, people_and_items.scale, by_target, people_and_items
    )


@dataclass(frozen=True, eq=False)
class TargetFit:
    """A fit for one target domain."""

    ratings: RatingsSource
    """Ratings of everybody, in memory or stored."""
    catalogue: Catalogue
    """Settings, and the domain of each item."""
    target: str
    """Name of the target domain."""
    item_means: Floats
    """(n_items,) mean stars."""
    raters: NDArray[np.int64]
    """(n_items,) number of people who rated each item."""
    engine: Engine
    """Computes similarities, paths and predictions."""
    draws: Source
    """Where images and neighbours are drawn from."""

    @property
    def settings(self) -> Settings:
        """Parameters of the model."""
        return self.catalogue.settings

    def run(self) -> TargetModel:
        """Run the paper's four steps, and make the voting table if the model has one.

        Raises:
            DataError: Nobody rated anything in the target domain.
            ConfigError: The ratings are stored, and the model is user-based or has noise.
        """
        settings = self.settings
        if settings.user_based or not settings.noiseless:
            # A user-based model holds everybody's profile, and a private draw needs all candidates
            # at once.
            require_in_memory(self.ratings)
        sources = self.catalogue.sources(self.target)
        targets = self.catalogue.items_of(self.target)
        if not self.raters[targets].any():
            raise DataError("nobody rated anything in the target domain", found=self.target)
        is_used = np.zeros(len(self.raters), np.bool_)
        is_used[sources] = True
        is_used[targets] = True
        raters = np.where(is_used, self.raters, 0)
        read_stars = partial(_read_stars, is_used=is_used)

        # Steps 1 and 2: similarities, layers, edges.
        base = Baseline(_make_table(self.ratings, read_stars, center_stars, raters), raters)
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
        neighbours = self._make_neighbours(read_stars, alter_egos_of, self.item_means[targets])

        votes = None
        if settings.noiseless and not settings.user_based:
            voters = np.flatnonzero(is_used).astype(np.int32)
            rated = _make_table(self.ratings, read_stars, mark_rated, raters)
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
        """Choose or draw the image of each source item.

        Returns:
            (n_items,) position in the target domain of each item's image; -1 without one.
        """
        choose = private_replacement_selection(self.settings.epsilon, self.draws)
        run_blocks = self.ratings.spread if isinstance(self.ratings, StoredRatings) else map
        images = np.full(len(self.raters), -1, np.int32)
        images[sources] = choose_images(extension, sources, choose, self.engine, run_blocks)
        return images

    def _make_neighbours(
        self, read_stars: ReadRows, alter_egos_of: Callable[..., Profiles], means: Floats
    ) -> ItemNeighbours | PeopleNeighbours:
        """Make the recommender's neighbours, of items or of people.

        With an epsilon', neighbours of items are drawn here; neighbours of a person are drawn when
        stars are first predicted for this person.

        Args:
            read_stars: Reads the stars of a block of people, for source and target items.
            alter_egos_of: Makes the AlterEgos of these people from their stars and times.
            means: (n_target,) mean stars of the target items.
        """
        settings = self.settings
        pnsa = None
        budget = settings.neighbour_budget
        if budget is not None:
            pnsa = NeighbourParameters(settings.k, budget, settings.pnsa)
        if settings.user_based:
            stars, _ = read_stars(require_in_memory(self.ratings))
            return PeopleNeighbours(means, alter_egos_of(stars, None), settings.k, pnsa, self.draws)
        read_alter_egos = partial(
            _read_alter_egos, read_stars=read_stars, alter_egos_of=alter_egos_of
        )
        table = _make_table(self.ratings, read_alter_egos, center_stars)
        if pnsa is not None:
            items, similarities = draw_item_neighbours(
                table.values, settings.significance, pnsa, self.draws
            )
            return ItemNeighbours(means, items, similarities)
        return find_item_neighbours(
            table, means, k=settings.k, significance=settings.significance, engine=self.engine
        )


def _make_table(
    ratings: RatingsSource,
    read_rows: ReadRows,
    make: Callable[[sparse.csr_array, Floats], Table],
    raters: NDArray[np.int64] | None = None,
) -> Table:
    """Make a table of everybody's rows: in memory, or in tiles if the ratings are stored.

    Args:
        ratings: Ratings of everybody.
        read_rows: Reads the rows of a block of people, and the mean of each row.
        make: Makes a table from rows and their means.
        raters: (items,) number of people with an entry in each column of the rows; None to count
            them if they are needed.
    """
    if isinstance(ratings, StoredRatings):
        return TiledTable.of_ratings(ratings, read_rows, make, raters)
    rows, means = read_rows(ratings)
    return make(rows, means)


def _sum_stars_of_items(block: Ratings) -> Floats:
    """Compute for each item the sum of its stars and its number of ratings: (2, items)."""
    stars = np.bincount(block.items, block.values, block.n_items)
    counts = np.bincount(block.items, minlength=block.n_items)
    return np.stack([stars, counts]).astype(np.float64)  # bincount of no ratings is an int array


def _read_stars(block: Ratings, *, is_used: NDArray[np.bool_]) -> tuple[sparse.csr_array, Floats]:
    """Read people's stars of the used items, and each person's mean over these.

    Args:
        block: Ratings of some people.
        is_used: (items,) whether an item is a source or target item.
    """
    stars = block.where(is_used[block.items]).matrix
    return stars, mean_stars_of_people(stars)


def _read_alter_egos(
    block: Ratings, *, read_stars: ReadRows, alter_egos_of: Callable[..., Profiles]
) -> tuple[sparse.csr_array, Floats]:
    """Make the AlterEgos of a block of people; return their stars and each AlterEgo's mean.

    Args:
        block: Ratings of some people.
        read_stars: Reads the stars of these people, for source and target items.
        alter_egos_of: Makes their AlterEgos from stars and times; times have no effect on stars.
    """
    stars, _ = read_stars(block)
    profiles = alter_egos_of(stars, None).stars
    return profiles, mean_stars_of_people(profiles)
