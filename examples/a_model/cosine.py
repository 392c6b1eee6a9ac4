"""A model of one's own, in the style of scikit-learn: items that the same people rated alike.

tacit compare ratings.csv --model cosine.py:Cosine --set shrink=5
tacit attack --model cosine.py:Cosine ratings.csv
"""

from __future__ import annotations

import numpy as np


class Cosine:
    """Score items by the cosine of their columns of stars, added over what a person rated."""

    def __init__(self, shrink: float = 0.0) -> None:
        self.shrink = shrink

    def fit(self, x):
        """Learn from `x`, a (people, items) CSR matrix of stars."""
        stars = x.toarray()
        norms = np.sqrt((stars**2).sum(axis=0)) + self.shrink
        norms[norms == 0] = 1.0
        self.similarity_ = (stars.T @ stars) / np.outer(norms, norms)
        np.fill_diagonal(self.similarity_, 0.0)
        return self

    def predict(self, x):
        """Return (people, items) scores for rows of stars."""
        return x @ self.similarity_
