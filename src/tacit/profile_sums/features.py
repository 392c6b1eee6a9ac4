"""Public item metadata as columns of features, which tastes are made of.

There is one column for each genre, tag or category, and one for each band of numbers. Nothing of
them may come from people's ratings: which columns are kept depends on the catalogue alone.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.domains import SEPARATOR, Values, item_features
from tacit.data.ratings import Ratings
from tacit.engine.profile_kernels.types import SparseRows
from tacit.errors import DataError
from tacit.profile_sums.catalogue import ItemSides

MOST_COLUMNS = 64
YEAR_BANDS = (
    *(1930, 1940, 1950, 1960, 1970, 1980, 1986),
    *(1990, 1993, 1995, 1996, 1997, 1998, 1999),
)
"""Public years in which bands begin; they fit films of that time."""
_YEAR_IF_UNKNOWN = 1990
_NUMBER_BANDS = 8
_FEW_NUMBERS = 12
"""A column of at most so many different numbers keeps them as they are."""
UNKNOWN = "unknown"
"""Name of the column for items that have no other."""


@dataclass(frozen=True, eq=False)
class FeatureTables:
    """Public features of both sides, in the same f columns; each row has L2 norm 1."""

    context: sparse.csr_array
    """(context items, f)"""
    targets: sparse.csr_array
    """(target items, f)"""

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self.context.shape[1])


def feature_tables(table: sparse.csr_array, sides: ItemSides) -> FeatureTables | None:
    """Split the rows of all items into the two sides.

    Returns:
        The tables; None if fewer than two features are in use on one side.
    """
    tables = FeatureTables(table[sides.context], table[sides.targets])
    for side in (tables.context, tables.targets):
        if len(np.unique(side.indices)) < 2:
            return None
    return tables


def kernel_rows(features: sparse.csr_array) -> SparseRows:
    """(items, f) features as the kernels read them."""
    return SparseRows(
        features.indptr.astype(np.int64),
        features.indices.astype(np.int32),
        features.data.astype(np.float64),
        features.shape[1],
    )


def feature_columns(
    catalogue: Ratings, names: Sequence[str] | None = None
) -> tuple[tuple[str, ...], sparse.csr_array]:
    """Make columns of features from item metadata.

    Args:
        catalogue: The items with their metadata.
        names: As for `tacit.data.item_features`. 'year' falls into public bands; other columns of
            many numbers fall into bands of equal shares of the catalogue.

    Returns:
        Names of the f columns that most items have, at most 64; and (items, f) rows of L2 norm 1.
        f is 0 without metadata.

    Raises:
        DataError: a value is NaN, or the items do not have a metadata of one of the names.
    """
    cells = _name_features(catalogue, names)
    if not any(cells):
        return (), sparse.csr_array((catalogue.n_items, 0))
    columns = _choose_columns(cells)
    return columns, _matrix_of_columns(cells, columns)


def rows_in_columns(
    catalogue: Ratings, names: Sequence[str] | None, columns: Sequence[str]
) -> sparse.csr_array:
    """Make (items, f) rows in columns that were chosen before, as `feature_columns` makes them.

    Features without a column are left out; an item without any has the column for that, or a row of
    zeros where there is none.
    """
    return _matrix_of_columns(_name_features(catalogue, names), columns)


def rows_of_facts(facts: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> sparse.csr_array:
    """Make (items, f) rows of items that no catalogue has, in columns that were chosen before.

    Args:
        facts: Of each item, by the names of the catalogue's columns: a text, or several in a list.
            Numbers are left out, but for a year: which bands they were in is not known.
        columns: Names of the model's columns.

    Returns:
        Rows of L2 norm 1; zeros for an item of which no feature is known.
    """
    cells = [_name_facts(item) for item in facts]
    named = [name for name in columns if name != UNKNOWN]
    rows = _matrix_of_columns(cells, named)
    if len(named) == len(columns):
        return rows
    zeros = sparse.csr_array((rows.shape[0], 1))
    place = columns.index(UNKNOWN)
    parts = [rows[:, :place], zeros, rows[:, place:]]
    return sparse.csr_array(sparse.hstack(parts))


def _name_facts(facts: Mapping[str, Any]) -> list[str]:
    """List one item's features as NAME=VALUE."""
    named = []
    for name, value in facts.items():
        texts: list[str] = []
        for part in value if isinstance(value, list | tuple) else [value]:
            texts += [] if part is None else str(part).split(SEPARATOR)
        values = [text.strip() for text in texts if text.strip()]
        if name.strip().lower() == "year":
            values = _year_bands([values])[0]
        else:
            values = [text for text in values if _parse_number(text) is None]
        named += [f"{name}={one}" for one in dict.fromkeys(values)]
    return named


def _name_features(catalogue: Ratings, names: Sequence[str] | None) -> Values:
    """List each item's features, as NAME=VALUE."""
    cells: Values = [[] for _ in range(catalogue.n_items)]
    for name, values in item_features(catalogue, names).items():
        for cell, bands in zip(cells, _split_into_bands(name, values), strict=True):
            cell += [f"{name}={band}" for band in bands]
    return cells


def _split_into_bands(name: str, values: Values) -> Values:
    """Replace the numbers of a column by their bands; other columns stay."""
    flat = list(itertools.chain.from_iterable(values))
    if any(value.lower() == "nan" for value in flat):
        raise DataError(f"NaN in the item metadata '{name}'", fix="Leave unknown values empty.")
    if name.strip().lower() == "year":
        return _year_bands(values)
    parsed = [_parse_number(value) for value in flat]
    numbers = sorted(number for number in parsed if number is not None)
    if len(numbers) < len(parsed) or len(set(numbers)) <= _FEW_NUMBERS:
        return values
    edges = [numbers[len(numbers) * band // _NUMBER_BANDS] for band in range(1, _NUMBER_BANDS)]
    bands: Values = []
    for cell in values:
        places = [int(np.searchsorted(edges, float(value), "right")) for value in cell]
        bands.append([str(place) for place in places])
    return bands


def _year_bands(values: Values) -> Values:
    years = []
    for cell in values:
        year = _parse_number(cell[0]) if cell else None
        years.append(_YEAR_IF_UNKNOWN if year is None else year)
    return [[str(band)] for band in np.digitize(years, YEAR_BANDS).tolist()]


def _parse_number(value: str) -> float | None:
    """Read a finite number; None for any other text."""
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _choose_columns(cells: Values) -> tuple[str, ...]:
    """Keep the most frequent columns, and one for items without any of them if there are some."""
    counts = Counter(itertools.chain.from_iterable(cells))
    ranked = sorted(counts, key=lambda value: (-counts[value], value))
    names = ranked[:MOST_COLUMNS]
    if any(not set(cell) & set(names) for cell in cells):
        names = [*ranked[: MOST_COLUMNS - 1], UNKNOWN]
    return tuple(names)


def _matrix_of_columns(cells: Values, columns: Sequence[str]) -> sparse.csr_array:
    """Make (items, columns) rows of L2 norm 1."""
    column_of = {value: column for column, value in enumerate(columns)}
    unknown = [column_of[UNKNOWN]] if UNKNOWN in column_of else []
    rows = []
    for cell in cells:
        row = sorted(column_of[value] for value in cell if value in column_of)
        rows.append(row or unknown)
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    entries = np.fromiter(itertools.chain.from_iterable(rows), dtype=np.int32)
    return unit_feature_rows(lengths, entries, len(columns))


def unit_feature_rows(
    lengths: NDArray[np.int64], columns: NDArray[np.int32], width: int
) -> sparse.csr_array:
    """Make (items, width) rows of L2 norm 1 whose entries are equal.

    Args:
        lengths: (items,) number of features of each item.
        columns: (entries,) columns of the features, item after item.
        width: Number of columns.
    """
    values = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_array((values, columns, offsets), shape=(len(lengths), width))
