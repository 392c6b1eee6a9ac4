"""An attacker of one's own: people who show many items have the attribute, or the other way round.

Installed, it is part of every full panel: `tacit attack standard-scheme RATINGS --panel full`.
"""

from __future__ import annotations

import numpy as np


class CountsItems:
    """Scores a person by the number of shown items; learns the sign."""

    name = "counts-items"
    reads_epochs = False

    def fit(self, seen, labels):
        counts = np.diff(seen.ratings.indptr)
        self.sign = np.sign(counts[labels == 1].mean() - counts[labels == 0].mean()) or 1.0
        return self

    def score(self, seen):
        return self.sign * np.diff(seen.ratings.indptr).astype(float)
