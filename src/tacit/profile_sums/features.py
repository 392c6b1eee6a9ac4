"""Public item metadata as columns of features, which tastes are made of.

There is one column for each genre, tag or category, and one for each band of numbers. The columns
and which of them are kept depend on the catalogue alone, never on people's ratings.
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
"""Largest number of columns."""
YEAR_BANDS = (
    *(1930, 1940, 1950, 1960, 1970, 1980, 1986),
    *(1990, 1993, 1995, 1996, 1997, 1998, 1999),
)
"""First year of each band but the first; fixed for films up to about 2000."""
_YEAR_IF_UNKNOWN = 1990
"""Year of an item whose year is unknown."""
_NUMBER_BANDS = 8
"""Number of bands of a column of numbers."""
_FEW_NUMBERS = 12
"""A column with at most this many different numbers is not divided into bands."""
UNKNOWN = "unknown"
"""Name of the column for items that have none of the other columns."""


@dataclass(frozen=True, eq=False)
class FeatureTables:
    """Public features of context and target items, in the same f columns.

    A row has L2 norm 1 at most; rows without dense features have norm 1, or 0 without a feature.
    """

    context: sparse.csr_array
    """(context items, f) features of the context items."""
    targets: sparse.csr_array
    """(target items, f) features of the target items."""

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self.context.shape[1])


def feature_tables(table: sparse.csr_array, sides: ItemSides) -> FeatureTables | None:
    """Take the rows of the context items and of the target items from a table of all items.

    Args:
        table: (items of the catalogue, f) features.
        sides: Context and target items.

    Returns:
        Both tables; None if on one side fewer than two of the features occur.
    """
    tables = FeatureTables(table[sides.context], table[sides.targets])
    for side in (tables.context, tables.targets):
        if len(np.unique(side.indices)) < 2:
            return None
    return tables


def kernel_rows(features: sparse.csr_array) -> SparseRows:
    """Convert features (items, f) to the arrays that the kernels read."""
    return SparseRows(
        features.indptr.astype(np.int64),
        features.indices.astype(np.int32),
        features.data.astype(np.float64),
        features.shape[1],
    )


def feature_columns(
    catalogue: Ratings, names: Sequence[str] | None = None
) -> tuple[tuple[str, ...], sparse.csr_array]:
    """Choose columns of features from item metadata, and fill them.

    Years are replaced by the bands of `YEAR_BANDS`, and other numbers, if there are many, by 8
    bands that hold about equally many of the catalogue's values.

    Args:
        catalogue: The items with their metadata.
        names: Names of metadata; None: the default ones of `tacit.data.item_features`.

    Returns:
        Names of the f most frequent features, at most 64, as NAME=VALUE, the last one perhaps
        `UNKNOWN`; and rows (items, f) of L2 norm 1. f is 0 if no item has a feature.

    Raises:
        DataError: A value is NaN, or the items have no metadata of one of the names.
    """
    cells = _name_features(catalogue, names)
    if not any(cells):
        return (), sparse.csr_array((catalogue.n_items, 0))
    columns = _choose_columns(cells)
    return columns, _matrix_of_columns(cells, columns)


def rows_in_columns(
    catalogue: Ratings, names: Sequence[str] | None, columns: Sequence[str]
) -> sparse.csr_array:
    """Make rows (items, f) of L2 norm 1 in columns that `feature_columns` chose before.

    Features without a column are left out. An item without any feature has the column `UNKNOWN`, or
    a row of zeros if there is no such column.

    Args:
        catalogue: The items with their metadata.
        names: Names of metadata, as for `feature_columns`.
        columns: Names of the f columns.

    Raises:
        DataError: A value is NaN, or the items have no metadata of one of the names.
    """
    return _matrix_of_columns(_name_features(catalogue, names), columns)


def rows_of_facts(facts: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> sparse.csr_array:
    """Make rows (items, f) of items outside the catalogue, in columns chosen before.

    Args:
        facts: For each item, the name of a catalogue's column to a text, or to a list of texts.
            Numbers other than years are left out, since the bands of the columns are not stored.
        columns: Names of the f columns.

    Returns:
        Rows of L2 norm 1; zeros for an item without any of the features. Column `UNKNOWN` is 0.
    """
    cells = [_name_facts(item_facts) for item_facts in facts]
    known_columns = [name for name in columns if name != UNKNOWN]
    rows = _matrix_of_columns(cells, known_columns)
    if len(known_columns) == len(columns):
        return rows
    zeros = sparse.csr_array((rows.shape[0], 1))
    unknown_place = columns.index(UNKNOWN)
    parts = [rows[:, :unknown_place], zeros, rows[:, unknown_place:]]
    return sparse.csr_array(sparse.hstack(parts))


def _name_facts(facts: Mapping[str, Any]) -> list[str]:
    """List one item's features, each once, as NAME=VALUE; numbers but years are left out.

    Args:
        facts: Name to a value, or to a list of values; None: unknown. A text may hold several
            values, joined by `SEPARATOR`.
    """
    features = []
    for name, fact in facts.items():
        texts: list[str] = []
        for text_or_none in fact if isinstance(fact, list | tuple) else [fact]:
            if text_or_none is not None:
                texts += str(text_or_none).split(SEPARATOR)
        values = [text.strip() for text in texts if text.strip()]
        if name.strip().lower() == "year":
            values = _year_bands([values])[0]
        else:
            values = [text for text in values if _parse_number(text) is None]
        features += [f"{name}={value}" for value in values]
    return list(dict.fromkeys(features))


def _name_features(catalogue: Ratings, names: Sequence[str] | None) -> Values:
    """List the features of each item of a catalogue, each once, as NAME=VALUE."""
    cells: Values = [[] for _ in range(catalogue.n_items)]
    for name, values in item_features(catalogue, names).items():
        for cell, bands in zip(cells, _split_into_bands(name, values), strict=True):
            cell += [f"{name}={band}" for band in bands]
    # Several numbers of one item may lie in one band, which is one feature.
    return [list(dict.fromkeys(cell)) for cell in cells]


def _split_into_bands(name: str, values: Values) -> Values:
    """Replace the numbers in a column by the indices of their bands.

    A column named 'year' has the bands of `YEAR_BANDS`. A column of numbers alone, more than 12
    different ones, has 8 bands that hold about equally many values. Every other column is returned
    unchanged.

    Args:
        name: Name of the column.
        values: The values of each item.

    Raises:
        DataError: A value is NaN.
    """
    distinct = set(itertools.chain.from_iterable(values))
    if any(value.lower() == "nan" for value in distinct):
        raise DataError(f"NaN in the item metadata '{name}'", fix="Leave unknown values empty.")
    if name.strip().lower() == "year":
        return _year_bands(values)
    number_of: dict[str, float] = {}
    for value in distinct:
        number = _parse_number(value)
        if number is None:
            return values
        number_of[value] = number
    if len(set(number_of.values())) <= _FEW_NUMBERS:
        return values
    numbers = sorted(number_of[value] for value in itertools.chain.from_iterable(values))
    edges = [numbers[len(numbers) * band // _NUMBER_BANDS] for band in range(1, _NUMBER_BANDS)]
    bands: Values = []
    for cell in values:
        cell_bands = [int(np.searchsorted(edges, float(value), "right")) for value in cell]
        bands.append([str(band) for band in cell_bands])
    return bands


def _year_bands(values: Values) -> Values:
    """Replace the values of each item by the band of its first year.

    An item without a year, or whose first value is no number, has the band of 1990.
    """
    years = []
    for cell in values:
        year = _parse_number(cell[0]) if cell else None
        years.append(_YEAR_IF_UNKNOWN if year is None else year)
    return [[str(band)] for band in np.digitize(years, YEAR_BANDS).tolist()]


def _parse_number(value: str) -> float | None:
    """Read a finite number from a text; None if the text is something else."""
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _choose_columns(cells: Values) -> tuple[str, ...]:
    """Return the 64 most frequent features; of equally frequent ones the first by name.

    If an item has none of them, `UNKNOWN` is the last column, in place of the 64th feature if there
    is one.

    Args:
        cells: The features of each item, each once.
    """
    counts = Counter(itertools.chain.from_iterable(cells))
    ranked = sorted(counts, key=lambda feature: (-counts[feature], feature))
    names = ranked[:MOST_COLUMNS]
    if any(not set(cell) & set(names) for cell in cells):
        names = [*ranked[: MOST_COLUMNS - 1], UNKNOWN]
    return tuple(names)


def _matrix_of_columns(cells: Values, columns: Sequence[str]) -> sparse.csr_array:
    """Make rows (items, f) of L2 norm 1; all nonzero entries of a row are equal.

    Args:
        cells: The features of each item, each once, as NAME=VALUE; features without a column are
            left out.
        columns: Names of the f columns. An item without any of them has the column `UNKNOWN`, or a
            row of zeros if there is no such column.
    """
    column_of = {feature: column for column, feature in enumerate(columns)}
    unknown = [column_of[UNKNOWN]] if UNKNOWN in column_of else []
    rows = []
    for cell in cells:
        row = sorted(column_of[feature] for feature in cell if feature in column_of)
        rows.append(row or unknown)
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    columns_of_rows = np.fromiter(itertools.chain.from_iterable(rows), dtype=np.int32)
    return unit_feature_rows(lengths, columns_of_rows, len(columns))


def unit_feature_rows(
    lengths: NDArray[np.int64], columns: NDArray[np.int32], width: int
) -> sparse.csr_array:
    """Make rows (items, width) of L2 norm 1; all nonzero entries of a row are equal.

    Args:
        lengths: (items,) number of features of each item.
        columns: (sum of lengths,) columns of the features, item after item.
        width: Number of columns.
    """
    values = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_array((values, columns, offsets), shape=(len(lengths), width))
