"""From everybody's rows to the released model: four sums over people, the mode chosen in between.

Source       Gaussian differential privacy: Dong, Roth, Su (2022); the Gram matrix: Dwork, Talwar,
             Thakurta, Zhang (STOC 2014); discrete noise: Canonne, Kamath, Steinke (NeurIPS 2020).
Runs at      the platform.
Sees         everybody's rows, and public item metadata.
Releases     everything in `Released`.
Guarantee    (epsilon, delta) for ONE PERSON'S WHOLE PROFILE, added or removed: `settings.events`
             are declared before the first sum and charged whatever happens.
Assumptions  catalogue, metadata, rating scale and settings are public.

Features are public item metadata as columns: one per genre, tag or category, and one per band of
numbers. Nothing of them may come from people's ratings: which columns are kept hangs on the
catalogue alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.domains import Values, item_features
from tacit.data.ratings import Ratings
from tacit.designs.private import guarantees
from tacit.designs.private.guarantees import Usefulness
from tacit.designs.private.people import People, Sides, sides_of
from tacit.designs.private.popular import TopItems, count, head_size, top_items
from tacit.designs.private.settings import Mode, Settings, noise_multipliers, overall
from tacit.designs.private.tastes import Features, centre, directions, item_tastes, whitening
from tacit.engine.profile_sums_compiled import Centre
from tacit.errors import ConfigError, DataError

MOST = 64
YEARS = (1930, 1940, 1950, 1960, 1970, 1980, 1986, 1990, 1993, 1995, 1996, 1997, 1998, 1999)
"""Where public bands of years begin; they fit films of that time."""
_NO_YEAR = 1990
_BANDS = 8
_FEW_NUMBERS = 12
UNKNOWN = "unknown"


def features(
    ratings: Ratings, names: Sequence[str] | None = None
) -> tuple[tuple[str, ...], sparse.csr_array]:
    """Names of f columns and (items, f) rows of L2 norm 1; f is 0 without metadata.

    names: as for `tacit.data.item_features`. 'year' falls into public bands; other columns of many
    numbers into bands of equal shares of the catalogue. At most 64 columns are kept, those of most
    items. DataError for NaN, or a name that the items do not have.
    """
    cells: Values = [[] for _ in range(ratings.n_items)]
    for name, values in item_features(ratings, names).items():
        for own, more in zip(cells, _banded(name, values), strict=True):
            own += [f"{name}={value}" for value in more]
    return _matrix(cells) if any(cells) else ((), sparse.csr_array((ratings.n_items, 0)))


def _banded(name: str, values: Values) -> Values:
    if any(value.lower() == "nan" for own in values for value in own):
        raise DataError(f"NaN in the item metadata '{name}'", fix="Leave unknown values empty.")
    if name.strip().lower() == "year":
        years = [_number(own[0]) if own else None for own in values]
        found = [_NO_YEAR if year is None else year for year in years]
        return [[str(band)] for band in np.digitize(found, YEARS).tolist()]
    numbers = [_number(value) for own in values for value in own]
    known = sorted(number for number in numbers if number is not None)
    if len(known) < len(numbers) or len(set(known)) <= _FEW_NUMBERS:
        return values
    edges = [known[len(known) * band // _BANDS] for band in range(1, _BANDS)]
    return [[str(int(np.searchsorted(edges, float(v), "right"))) for v in own] for own in values]


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _matrix(cells: Values) -> tuple[tuple[str, ...], sparse.csr_array]:
    """The most frequent columns; one for what has no other, if there is such an item."""
    counts = Counter(value for own in cells for value in own)
    order = sorted(counts, key=lambda value: (-counts[value], value))
    kept = order[:MOST]
    if any(not set(own) & set(kept) for own in cells):
        kept = [*order[: MOST - 1], UNKNOWN]
    place = {value: column for column, value in enumerate(kept)}
    rows = [sorted(place[value] for value in own if value in place) for own in cells]
    rows = [row or [place[UNKNOWN]] for row in rows]
    lengths = np.array([len(row) for row in rows])
    columns = np.array([column for row in rows for column in row], dtype=np.int32)
    values = np.repeat(1 / np.sqrt(lengths), lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return tuple(kept), sparse.csr_array((values, columns, offsets), shape=(len(rows), len(kept)))


@dataclass(frozen=True, eq=False)
class Prepared:
    """names: of all features. features: None where fewer than two are in use on a side."""

    sides: Sides
    names: tuple[str, ...]
    features: Features | None


def prepared(
    ratings: Ratings,
    source: str | Sequence[str] | None,
    target: str | Sequence[str] | None,
    domain: str,
    wanted: Sequence[str] | None,
    mode: Mode,
) -> Prepared:
    """What can be refused is refused here, before the first sum. wanted: names of metadata."""
    sides = sides_of(ratings, source, target, domain)
    names, table = features(ratings, wanted)
    both = Features(table[sides.context], table[sides.targets])
    usable = all(len(np.unique(side.indices)) >= 2 for side in (both.context, both.targets))
    chosen_mode(None, usable, sides.joint, Settings(mode=mode))
    return Prepared(sides, names, both if usable else None)


Floats = NDArray[np.float64]
FEW, MANY = 300.0, 4300.0
"""Effective populations below and (across domains) above which top items serve better."""


@dataclass(frozen=True, eq=False)
class Tastes:
    """features: (context items, f). centre: what profiles are measured from. directions: (f, k) V.
    items: (target items, k) B. deviation: of the noise in an entry of B before shrinking."""

    features: sparse.csr_array
    centre: Centre
    directions: Floats
    items: Floats
    deviation: float


@dataclass(frozen=True, eq=False)
class Released:
    """All that leaves the platform. means: (target items,) released shares of likes. deviation: of
    their noise. lists: None where only popularity was released."""

    means: Floats
    deviation: float
    lists: Tastes | TopItems | None
    usefulness: Usefulness

    @property
    def mode(self) -> Literal["taste", "top-items", "popularity"]:
        if self.lists is None:
            return "popularity"
        return "taste" if isinstance(self.lists, Tastes) else "top-items"

    @property
    def serves_lists(self) -> bool:
        """Whether lists are personal; otherwise everybody gets private popularity.

        Top items are served whatever is expected: they beat the popularity of the same release
        also where exact popularity is out of reach.
        """
        return self.mode == "top-items" or (self.mode == "taste" and self.usefulness.worthwhile)


def release(
    people: People, sizes: tuple[int, int], features: Features | None, settings: Settings
) -> Released:
    """sizes: numbers of context and target items. features: None without public metadata."""
    noises = noise_multipliers(settings)
    sigma = overall(noises[:4])
    counts = count(people, *sizes, noises[0], settings)
    effective = counts.people / sigma if sigma else None
    mode = chosen_mode(effective, features is not None, people.joint, settings)
    needed = guarantees.people_needed(sizes[1], sigma, joint=people.joint)
    useful = Usefulness(counts.people, effective, needed)
    if counts.too_few:
        lists: Tastes | TopItems | None = None
    elif mode == "top-items" or features is None:
        lists = top_items(people, counts, head_size(effective, people.joint), noises[1:4])
    else:
        at = centre(counts, features, settings)
        whitened = whitening(people, at, features, counts.people, noises[1], settings)
        along = directions(people, at, features, counts, whitened, noises[2], settings)
        items, deviation = item_tastes(people, at, features, counts, along, noises[3], settings)
        lists = Tastes(features.context, at, along, items, deviation)
        if effective is not None:  # what the release itself says about such lists
            popular = guarantees.popular_above_noise(counts.targets, counts.deviation)
            useful = replace(
                useful, popular=popular, gain=guarantees.list_gain(counts.means, items)
            )
    return Released(counts.means, counts.deviation, lists, useful)


def chosen_mode(
    effective: float | None, metadata: bool, joint: bool, settings: Settings
) -> Literal["taste", "top-items"]:
    """By the noisy number of people alone: every mode has the same noise multipliers."""
    if settings.mode == "taste" and not metadata:
        raise ConfigError("mode 'taste' needs item metadata of two features or more.")
    if settings.mode != "auto":
        return settings.mode
    if effective is not None and (effective < FEW or (not joint and effective > MANY)):
        return "top-items"
    return "taste" if metadata else "top-items"


def in_words(released: Released) -> str:
    """Effective population, mode, and whether lists are worth it; all of it released."""
    useful = released.usefulness
    if useful.effective is None:
        return f"Mode: {released.mode}."
    said = (
        f"Effective population {useful.effective:,.0f} (about {useful.people:,.0f} people divided "
        f"by the noise multiplier). Mode: {released.mode}."
    )
    if useful.worthwhile:
        return f"{said} Personal lists are expected to beat popularity."
    lacking = f" About {useful.missing:,} more people are needed." if useful.missing else ""
    served = (
        "They are served still: they beat the popularity that this release knows."
        if released.serves_lists
        else "Everybody gets the same list of popular items, made privately."
    )
    return f"{said} Personal lists are not expected to beat exact popularity.{lacking} {served}"
