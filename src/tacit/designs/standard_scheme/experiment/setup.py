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
Pairs = Mapping[tuple[int, int], tuple[Tables, ...]]
"""By unordered pair of folds: tables without these people, then those of the refits."""

JUDGED = (
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
"""Releases in the order in which one is chosen to be judged, before any number is seen."""
UNION = "union"
EPOCHS = "epochs"
WEEKLY = "weekly epochs"
ONE_REFIT = "one refit"
THREE_REFITS = "three refits"
SCHEDULES = (WEEKLY, ONE_REFIT, THREE_REFITS)
QUICK_SCHEDULES = (WEEKLY, THREE_REFITS)
REFITTED = {ONE_REFIT: 2, THREE_REFITS: 4}
"""Equal parts of a person's history: that of the first day, and one before each refit."""
LEFT_OUT = 0.1
"""Share of the consenting people whom the tables of a refit do not know."""


class Key(NamedTuple):
    """Name of one attacker's scores."""

    release: str
    """What the attacked people send."""
    view: str
    """What the attacker sees of it."""
    attack: str
    """Name of the attacker."""
    trained_on: str
    """`raw` (frozen) or `released` (knows the method)."""
    target: int
    """The value that is guessed, as a number."""


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
    """CSR like the levels: 1 + label of the epoch in which it was rated; None without times."""
    genres: Floats
    """Genres of items, as `tacit.auditing.attacks.PublicKnowledge` has them."""
    years: Floats
    """Years of items, as `tacit.auditing.attacks.PublicKnowledge` has them."""
    minimum: float
    """The lowest star."""
    step: float
    """Stars in one level."""
    published: bool
    """Whether the paper's estimates are taken as printed."""
    profiles: ProfileSettings
    """How item profiles are made."""
    features: Floats | None
    """(items, d) explicit features; None if profiles are latent."""
    disclosure_epsilon: float
    """Epsilon of the public tables, as in `Settings`."""
    contributions: int
    """Contributions to the public tables, as in `Settings`."""
    releases: tuple[str, ...]
    """Names of what is attacked."""
    attacks: tuple[str, ...]
    """Names of the attackers."""
    schedules: tuple[str, ...]
    """How the judged release is also watched over time."""
    seed: int
    """Seed of folds, draws and attackers."""
    quick: bool = False
    """Whether attackers take the shorter ways of the quick panel."""
    attackers_only: bool = False
    """Whether errors, lists, released fractions and attackers with other knowledge are left out."""
    penalty: int = 0
    """Penalty of the item-item weights that make the lists."""

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
        """Values that are guessed: the second of two; of more, each against the rest."""
        count = len(self.people.values[0])
        return range(1, 2) if count == 2 else range(count)

    @property
    def judged_release(self) -> str | None:
        """The release that is also watched over time; None where nothing is obfuscated."""
        return next((name for name in JUDGED if name in self.releases), None)

    def people_outside(self, *folds: int) -> Ints:
        """Numbers of the people in none of these folds."""
        return np.flatnonzero(~np.isin(self.fold_of, folds))

    def people_inside(self, fold: int) -> Ints:
        """Numbers of the people in this fold."""
        return np.flatnonzero(self.fold_of == fold)

    def stars(self, levels: sparse.csr_array) -> sparse.csr_array:
        """Stars of these levels."""
        return replace_data(levels, self.minimum + self.step * levels.data)

    def epochs(self, schedule: str) -> sparse.csr_array:
        """CSR like the levels: 1 + the epoch each rating belongs to under the schedule."""
        if schedule == WEEKLY:
            assert self.weekly is not None
            return self.weekly
        rated = np.diff(self.order.indptr)[entry_people(self.order)]
        part = (self.order.data - 1) * REFITTED[schedule] // rated
        label = np.where(part > 0, part + LAST_EPOCH_OF_FIRST_DAY, 0)
        return replace_data(self.order, 1 + label)

    def epoch_labels(self, schedule: str) -> list[int]:
        """Labels of the schedule's epochs, ascending; of refits one for each fit."""
        if schedule == WEEKLY:
            assert self.weekly is not None
            labels: list[int] = (np.unique(self.weekly.data.astype(np.int64)) - 1).tolist()
            return labels
        later = range(LAST_EPOCH_OF_FIRST_DAY + 1, LAST_EPOCH_OF_FIRST_DAY + REFITTED[schedule])
        return [0, *later]


def estimate_without(experiment: Experiment, first: int, second: int) -> tuple[Tables, ...]:
    """Tables estimated without the people of one or two folds, and those of the refits."""
    numbers = experiment.people_outside(first, second)
    generator = np.random.default_rng([experiment.seed, first, second])
    refits = max((REFITTED.get(name, 1) for name in experiment.schedules), default=1) - 1
    shares = [generator.random(len(numbers)) >= LEFT_OUT for _ in range(refits)]
    coupling = any(RELEASES[name].transform == "coupling" for name in experiment.releases)

    def estimate_of(group: Ints) -> Tables:
        made = estimate_all_tables(
            select_people(experiment.people, group),
            epsilon=experiment.disclosure_epsilon,
            contributions=experiment.contributions,
            shrink=not experiment.published,
            coupling=coupling,
            seed=experiment.seed,
        )
        return made[experiment.people.names[0]]

    groups = [numbers, *[numbers[share] for share in shares]]
    return tuple(map(estimate_of, groups))


def simulate_one_release(
    experiment: Experiment,
    levels: sparse.csr_array,
    labels: Ints,
    table: Tables,
    rule: Rule,
    draw: str,
) -> sparse.csr_array:
    """Released levels of people who speak once; `draw` names the random stream."""
    return simulate_release(
        levels,
        labels[:, None],
        [table],
        rule,
        n_levels=experiment.people.n_levels,
        source=replay(f"{experiment.seed}/{draw}"),
    )


def rating_order(ratings: Ratings, seed: int) -> sparse.csr_array:
    """CSR like the ratings: 1 for a person's first rating, 2 for the second; by time if known."""
    times = () if ratings.timestamps is None else (ratings.timestamps,)
    keys = np.random.default_rng([seed, 1]).random(len(ratings))
    place = np.argsort(np.lexsort((keys, *times)))
    return replace_data(ratings.matrix, 1 + rank_in_person(ratings.matrix, place))


def rating_weeks(ratings: Ratings) -> sparse.csr_array | None:
    """CSR like the ratings: 1 + label of the epoch, if an account begins with its first rating."""
    if ratings.timestamps is None:
        return None
    times = ratings.timestamps.astype(np.int64)
    created = np.minimum.reduceat(times, np.asarray(ratings.offsets[:-1]))[ratings.users]
    label = np.where(
        times < created + DAY, 1, np.maximum(2, (times - epoch_start(0, WEEK)) // WEEK)
    )
    label[times < created + FIRST_END] = 0
    return replace_data(ratings.matrix, 1 + label)


def select_people(people: ConsentingPeople, numbers: Ints) -> ConsentingPeople:
    """Keep the people with these numbers."""
    return replace(people, levels=people.levels[numbers], labels=people.labels[numbers])


def read_entries(matrix: sparse.csr_array, rows: Ints, items: Ints) -> Floats:
    """Stored entries at these places, NaN where nothing is stored."""
    stored = replace_data(matrix, np.arange(1, matrix.nnz + 1))[rows, items]  # 0 where nothing is
    return np.asarray(np.append(np.nan, matrix.data)[stored])
