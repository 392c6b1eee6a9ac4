"""Public item metadata as columns: one per genre, tag or category, and one per band of numbers.

Nothing here may come from people's ratings: which columns are kept hangs on the catalogue alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from tacit.data.metadata import Values, item_features
from tacit.data.ratings import Ratings
from tacit.errors import DataError

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
