"""Texts of the public catalogue as dense features of items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from tacit.data.ratings import Ratings
from tacit.errors import DataError
from tacit.profile_sums.dense_features import limit_rows
from tacit.profile_sums.features import MOST_COLUMNS
from tacit.profile_sums.sums.taste_maps import orient_columns

Floats = NDArray[np.float64]

_LEAST_COLUMNS = 2
"""Number of text features that are made even if there are 64 other columns already."""


def text_features(catalogue: Ratings, names: Sequence[str], columns: int) -> Floats:
    """Make dense features from texts of the catalogue: a truncated SVD of TF-IDF.

    Args:
        catalogue: Items with their metadata.
        names: Names of item metadata with texts, which are joined for each item.
        columns: Number of feature columns that the items already have.

    Returns:
        (items, r) rows of L2 norm 1 at most, zeros for an item without words. r is
        max(64 - columns, 2), or less if there are few items or words.

    Raises:
        DataError: The items have no metadata of one of the names, or fewer than two words are
            shared by items.
    """
    texts = [""] * catalogue.n_items
    for name in names:
        values = catalogue.public_metadata.get(name)
        if values is None:
            available = ", ".join(sorted(catalogue.public_metadata)) or "none"
            fix = None
            if name in catalogue.row_texts:
                fix = "It stands in people's rows, whose texts no model uses: give it with --items."
            raise DataError(f"the items have no '{name}'", expected=f"one of {available}", fix=fix)
        texts = [
            f"{text} {value}" if isinstance(value, str) else text
            for text, value in zip(texts, values.tolist(), strict=True)
        ]
    try:
        words = TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform(texts)
    except ValueError:
        raise DataError(
            "the texts of the items have no words that two items share",
            fix="Name other columns with --text.",
        ) from None
    free_columns = max(MOST_COLUMNS - columns, _LEAST_COLUMNS)
    width = min(free_columns, min(words.shape) - 1)  # ARPACK needs fewer than both dimensions
    if width < 1:
        raise DataError(
            "the texts of the items share only one word",
            expected="two or more words, each in the texts of two items",
            fix="Name other columns with --text.",
        )
    rows = TruncatedSVD(width, algorithm="arpack", random_state=0).fit_transform(words)
    rows = orient_columns(np.asarray(rows, dtype=np.float64))
    return limit_rows(rows, np.diff(words.indptr) > 0)
