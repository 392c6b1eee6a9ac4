"""Public item metadata as columns: one per genre, tag or category, and one per band of numbers.

Nothing here may come from people's ratings: which columns are kept hangs on the catalogue alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.genres import SEPARATOR
from tacit.errors import ConfigError, DataError

MOST = 64
YEARS = (1930, 1940, 1950, 1960, 1970, 1980, 1986, 1990, 1993, 1995, 1996, 1997, 1998, 1999)
"""Where public bands of years begin; they fit films of that time."""
USUAL = ("genres", "genre", "categories", "category", "tags", "tag", "year", "price")
"""Names of metadata that is used where none is named."""
_NO_YEAR = 1990
_BANDS = 8
_FEW_NUMBERS = 12
UNKNOWN = "unknown"

Cells = list[list[str]]


def features(
    metadata: Mapping[str, NDArray[Any]], items: int, names: Sequence[str] | None = None
) -> tuple[tuple[str, ...], sparse.csr_array]:
    """Names of f columns and (items, f) rows of L2 norm 1; f is 0 without usable metadata.

    names: of the metadata to use, None: what is usual. Text is cut at '|'; 'year' falls into public
    bands; other numbers into bands of equal shares of the catalogue. At most 64 columns are kept,
    those of most items. DataError for NaN; ConfigError for a name that the items do not have.
    """
    if names is not None:
        for name in names:
            if name not in metadata:
                known = ", ".join(metadata) or "no metadata at all"
                raise ConfigError(f"No item metadata '{name}' for --features; there is {known}.")
    chosen = [name for name in USUAL if name in metadata] if names is None else list(names)
    cells: Cells = [[] for _ in range(items)]
    for name in chosen:
        for own, more in zip(cells, _cells(name, metadata[name].tolist()), strict=True):
            own += [f"{name}={value}" for value in more]
    return _matrix(cells) if any(cells) else ((), sparse.csr_array((items, 0)))


def _cells(name: str, values: list[Any]) -> Cells:
    if any(isinstance(value, float) and math.isnan(value) for value in values):
        raise DataError(f"NaN in the item metadata '{name}'", fix="Leave unknown values empty.")
    if name == "year":
        years = [_NO_YEAR if value in (None, "") else int(float(value)) for value in values]
        return [[str(band)] for band in np.digitize(years, YEARS).tolist()]
    numbers = [_number(value) for value in values if value not in (None, "")]
    if None not in numbers and len(set(numbers)) > _FEW_NUMBERS:
        return _bands(values, sorted(number for number in numbers if number is not None))
    return [_parts(value) for value in values]


def _parts(value: Any) -> list[str]:
    if value is None:
        return []
    return list(dict.fromkeys(part.strip() for part in str(value).split(SEPARATOR) if part.strip()))


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _bands(values: list[Any], ordered: list[float]) -> Cells:
    """Equal shares of the items that have a number."""
    edges = [ordered[len(ordered) * band // _BANDS] for band in range(1, _BANDS)]
    return [
        [] if value in (None, "") else [str(int(np.searchsorted(edges, float(value), "right")))]
        for value in values
    ]


def _matrix(cells: Cells) -> tuple[tuple[str, ...], sparse.csr_array]:
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
