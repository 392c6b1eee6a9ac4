"""Setup of the experiment on hiding: what every fold shares, and simulated releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.designs.standard_scheme.disclosure import DEFAULT_RELEASE, RELEASES, Rule
from tacit.designs.standard_scheme.epochs import (
    FIRST_END,
    LAST_EPOCH_OF_FIRST_DAY,
    epoch_start,
)
from tacit.designs.standard_scheme.messages import DAY, WEEK
from tacit.designs.standard_scheme.training.people import (
    ConsentingPeople,
    entry_people,
    rank_in_person,
    replace_data,
)
from tacit.designs.standard_scheme.training.population import simulate_release
from tacit.designs.standard_scheme.training.profiles import ProfileSettings
from tacit.designs.standard_scheme.training.tables import Tables, estimate_all_tables
from tacit.randomness import replay

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TablesByPair = Mapping[tuple[int, int], tuple[Tables, ...]]
"""By pair of folds, the smaller first: the tables estimated without the people of these folds, then
one for each refit."""

JUDGING_ORDER = (
    DEFAULT_RELEASE,
    "coupling+selection",
    "scheme+selection",
    "scheme+rounding",
    "coupling",
    "scheme",
    "selection",
    "attribute-average+selection",
    "movie-average+selection",
    "attribute-average",
    "movie-average",
)
"""Releases by priority: the verdict is about the first one that is measured. The order was fixed
before any result was known."""
UNION = "union"
"""View of an attacker who sees the last release."""
EPOCHS = "epochs"
"""View of an attacker who also sees in which epoch each item was first released."""
WEEKLY = "weekly epochs"
"""Schedule: releases of calendar weeks, by the times of the ratings."""
ONE_REFIT = "one refit"
"""Schedule: two releases, the second with tables that were fitted again."""
THREE_REFITS = "three refits"
"""Schedule: four releases, the last three with tables that were fitted again."""
SCHEDULES = (WEEKLY, ONE_REFIT, THREE_REFITS)
"""All schedules: the epochs in which devices send, in experiments over time."""
QUICK_SCHEDULES = (WEEKLY, THREE_REFITS)
"""Schedules with the quick panel."""
RELEASES_OF_SCHEDULE = {ONE_REFIT: 2, THREE_REFITS: 4}
"""Number of releases under each schedule with refits. A person's history is cut into as many equal
parts: one rated on the first day, and one before each refit."""
LEFT_OUT_OF_REFIT = 0.1
"""Chance of each consenting person to be left out of the tables of a refit."""
_STREAM_OF_TIES = 1
"""Second word of the seed that orders ratings of the same time."""


class Key(NamedTuple):
    """Key of one attacker's scores."""

    release: str
    """What the attacked people send."""
    view: str
    """What the attacker sees: `UNION`, a schedule, or additional knowledge."""
    attack: str
    """Name of the attacker."""
    trained_on: str
    """`raw`: frozen, trained on true stars. `released`: retrained on releases. `nothing`: computed
    from the public tables."""
    target: int
    """Number of the attribute value that is guessed."""


@dataclass(frozen=True)
class Experiment:
    """Data and settings that all folds share."""

    people: ConsentingPeople
    """Everybody whose attribute is known."""
    fold_of: Ints
    """(people,) fold that each person is tested in."""
    order: sparse.csr_array
    """CSR like the levels: 1 for a person's first rating, 2 for the second, ..."""
    weekly: sparse.csr_array | None
    """CSR like the levels: 1 + label of the epoch of each rating; None without times."""
    genres: Floats
    """Genres of items, as `tacit.auditing.attacks.PublicKnowledge` has them."""
    years: Floats
    """Years of items, as `tacit.auditing.attacks.PublicKnowledge` has them."""
    minimum: float
    """The fewest stars of the scale."""
    step: float
    """Stars in one level."""
    published: bool
    """Whether estimates are made as the paper prints them."""
    profiles: ProfileSettings
    """How item profiles are made."""
    features: Floats | None
    """(items, d) explicit features; None if profiles are latent."""
    disclosure_epsilon: float
    """Epsilon of the public tables, as in `Settings`."""
    contributions: int
    """Contributions to the public tables, as in `Settings`."""
    releases: tuple[str, ...]
    """Names of the releases that are attacked."""
    attacks: tuple[str, ...]
    """Names of the attackers."""
    schedules: tuple[str, ...]
    """Names of the schedules under which the judged release is also attacked over time."""
    seed: int
    """Seed of folds, draws and attackers."""
    quick: bool = False
    """Whether attackers use the faster settings of the quick panel."""
    attackers_only: bool = False
    """Whether errors, lists, released fractions and attackers with other knowledge are left out."""
    penalty: int = 0
    """Penalty of the item-item weights that make the lists; 0 until it is chosen."""

    @property
    def labels(self) -> Ints:
        """(people,) values of the attribute, as numbers."""
        return self.people.labels[:, 0]

    @property
    def folds(self) -> int:
        """Number of folds."""
        return int(self.fold_of.max()) + 1

    @property
    def whole_levels(self) -> int:
        """Number of whole levels of the scale; 5 on a continuous one."""
        return self.people.n_levels or 5

    @property
    def targets(self) -> range:
        """Numbers of the values that are guessed: the second of two; of more than two, each one."""
        count = len(self.people.values[0])
        return range(1, 2) if count == 2 else range(count)

    @property
    def judged_release(self) -> str | None:
        """The release that the verdict is about; None if only true stars are attacked."""
        return next((name for name in JUDGING_ORDER if name in self.releases), None)

    def people_outside(self, *folds: int) -> Ints:
        """List the numbers of the people who are in none of these folds."""
        return np.flatnonzero(~np.isin(self.fold_of, folds))

    def people_inside(self, fold: int) -> Ints:
        """List the numbers of the people in this fold."""
        return np.flatnonzero(self.fold_of == fold)

    def stars(self, levels: sparse.csr_array) -> sparse.csr_array:
        """Convert a CSR of levels to stars."""
        return replace_data(levels, self.minimum + self.step * levels.data)

    def epochs(self, schedule: str) -> sparse.csr_array:
        """Make a CSR like the levels: 1 + label of the epoch of each rating under a schedule.

        Under a schedule with refits, a person's ratings are cut by time into equal parts: part 0
        has label 0, the others the labels after the first day.
        """
        if schedule == WEEKLY:
            assert self.weekly is not None
            return self.weekly
        ratings_of_person = np.diff(self.order.indptr)[entry_people(self.order)]
        part = (self.order.data - 1) * RELEASES_OF_SCHEDULE[schedule] // ratings_of_person
        label = np.where(part > 0, part + LAST_EPOCH_OF_FIRST_DAY, 0)
        return replace_data(self.order, 1 + label)

    def epoch_labels(self, schedule: str) -> list[int]:
        """List the labels of a schedule's epochs, ascending: with refits, one for each fit."""
        if schedule == WEEKLY:
            assert self.weekly is not None
            labels: list[int] = (np.unique(self.weekly.data.astype(np.int64)) - 1).tolist()
            return labels
        first_later = LAST_EPOCH_OF_FIRST_DAY + 1
        n_later = RELEASES_OF_SCHEDULE[schedule] - 1
        return [0, *range(first_later, first_later + n_later)]


def estimate_without(experiment: Experiment, first: int, second: int) -> tuple[Tables, ...]:
    """Estimate the tables that a first fit and its refits give without the people of two folds.

    The two may be the same fold.

    Returns:
        The tables of all other people, then one for each refit of the longest schedule.
    """
    numbers = experiment.people_outside(first, second)
    generator = np.random.default_rng([experiment.seed, first, second])
    n_fits = [RELEASES_OF_SCHEDULE.get(name, 1) for name in experiment.schedules]
    n_refits = max(n_fits, default=1) - 1
    groups = [numbers]
    for _ in range(n_refits):
        is_in_refit = generator.random(len(numbers)) >= LEFT_OUT_OF_REFIT
        groups.append(numbers[is_in_refit])
    coupling = any(RELEASES[name].transform == "coupling" for name in experiment.releases)

    def estimate_for(group: Ints) -> Tables:
        """Estimate the tables of the attribute from the people with these numbers."""
        tables_by_attribute = estimate_all_tables(
            select_people(experiment.people, group),
            epsilon=experiment.disclosure_epsilon,
            contributions=experiment.contributions,
            shrink=not experiment.published,
            coupling=coupling,
            seed=experiment.seed,
        )
        return tables_by_attribute[experiment.people.names[0]]

    return tuple(map(estimate_for, groups))


def simulate_one_release(
    experiment: Experiment,
    levels: sparse.csr_array,
    labels: Ints,
    table: Tables,
    rule: Rule,
    stream: str,
) -> sparse.csr_array:
    """Simulate the release of people whose devices send once.

    Args:
        experiment: Data and settings.
        levels: (people, items) CSR of true levels.
        labels: (people,) numbers of their attribute values.
        table: The public tables.
        rule: What devices do.
        stream: Name of the random stream.

    Returns:
        (people, items) CSR of released levels.
    """
    return simulate_release(
        levels,
        labels[:, None],
        [table],
        rule,
        n_levels=experiment.people.n_levels,
        source=replay(f"{experiment.seed}/{stream}"),
    )


def rating_order(ratings: Ratings, seed: int) -> sparse.csr_array:
    """Number each person's ratings by time, or at random without times.

    Returns:
        CSR like the ratings: 1 for a person's first rating, 2 for the second, ...
    """
    tie_breakers = np.random.default_rng([seed, _STREAM_OF_TIES]).random(len(ratings))
    if ratings.timestamps is None:
        order = np.lexsort((tie_breakers,))
    else:
        order = np.lexsort((tie_breakers, ratings.timestamps))  # by time first
    rank = np.argsort(order)
    return replace_data(ratings.matrix, 1 + rank_in_person(ratings.matrix, rank))


def rating_weeks(ratings: Ratings) -> sparse.csr_array | None:
    """Find the epoch of each rating, as if each account had been created with its first rating.

    Returns:
        CSR like the ratings: 1 + label of the epoch, with epochs of a week; None without times.
    """
    if ratings.timestamps is None:
        return None
    times = ratings.timestamps.astype(np.int64)
    first_times = np.minimum.reduceat(times, np.asarray(ratings.offsets[:-1]))
    created = first_times[ratings.users]
    # Labels 0 and 1 mean the first day. A wrong clock gives a time near 1970, whose calendar label
    # may be below 2; it becomes 2.
    calendar_label = np.maximum(2, (times - epoch_start(0, WEEK)) // WEEK)
    label = np.where(times < created + DAY, LAST_EPOCH_OF_FIRST_DAY, calendar_label)
    label[times < created + FIRST_END] = 0
    return replace_data(ratings.matrix, 1 + label)


def select_people(people: ConsentingPeople, numbers: Ints) -> ConsentingPeople:
    """Return the people with these numbers, in this order."""
    return replace(people, levels=people.levels[numbers], labels=people.labels[numbers])


def read_entries(matrix: sparse.csr_array, rows: Ints, items: Ints) -> Floats:
    """Read the entries of a CSR at these rows and columns; NaN where nothing is stored."""
    # Number the stored entries from 1, so that 0 means that nothing is stored.
    entry_numbers = replace_data(matrix, np.arange(1, matrix.nnz + 1))[rows, items]
    data_after_nan = np.append(np.nan, matrix.data)
    return np.asarray(data_after_nan[entry_numbers])
