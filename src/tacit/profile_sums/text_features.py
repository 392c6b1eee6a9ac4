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


def text_features(catalogue: Ratings, names: Sequence[str], columns: int) -> Floats:
    """Make dense features from texts of the catalogue: TF-IDF, and its largest singular vectors.

    Args:
        catalogue: Items with their metadata.
        names: Item metadata with texts, read one after the other.
        columns: How many columns the items have already: 64 are not passed together.

    Returns:
        (items, r) rows of length 1 at most.

    Raises:
        DataError: the items have no such metadata, or no words.
    """
    texts = [""] * catalogue.n_items
    for name in names:
        values = catalogue.public_metadata.get(name)
        if values is None:
            known = ", ".join(sorted(catalogue.public_metadata)) or "none"
            fix = None
            if name in catalogue.row_texts:
                fix = "It stands in people's rows, whose texts no model uses: give it with --items."
            raise DataError(f"the items have no '{name}'", expected=f"one of {known}", fix=fix)
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
    wanted = max(MOST_COLUMNS - columns, _LEAST_COLUMNS)
    width = min(wanted, min(words.shape) - 1)
    if width < 1:
        raise DataError("the texts have one word alone", fix="Name other columns with --text.")
    rows = TruncatedSVD(width, algorithm="arpack", random_state=0).fit_transform(words)
    rows = orient_columns(np.asarray(rows, dtype=np.float64))
    return limit_rows(rows, np.diff(words.indptr) > 0)
