"""The addition to a person's taste by their likes, through the released tastes of liked items.

A taste from public features sees a film's genres; the tastes of the items that a person likes also
see what else their likers share. Post-processing of released values, so no further epsilon; in one
domain alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.profile_sums.sums.taste_maps import orient_columns

Floats = NDArray[np.float64]

_WEIGHT = 0.7
_SPREAD_WEIGHT = 0.1
_LEAST_VALUE = 1e-9
"""Least eigenvalue that counts, over the largest."""


@dataclass(frozen=True, eq=False)
class OwnLikesMap:
    """Map from a person's likes to what they add to the person's taste."""

    matrix: Floats
    """(k, k) K, by which B'x - b_0 is multiplied."""
    mean: Floats
    """(k,) b_0 = B'mu: the sum B'x that an average person has."""

    def addition_to_taste(self, unit_likes: sparse.csr_array, items: Floats) -> Floats:
        """Return (people, k) K (B'x - b_0), 0 for a person without likes.

        Args:
            unit_likes: (people, target items) x: likes over their norm, nothing else stored.
            items: (target items, k) B.
        """
        has_likes = np.diff(unit_likes.indptr)[:, None] > 0
        added: Floats = (unit_likes @ items - self.mean) @ self.matrix * has_likes
        return added


def own_like_strengths(squares: Floats, spread: Floats) -> Floats:
    """Choose how strongly own likes count along each direction.

    h_j = 0.7 s_j / (s_j^2 + 0.1 D_j), 0 where s_j is at most 1e-9 of the largest.

    Args:
        squares: (k,) s: squared lengths of the items' vectors along the directions.
        spread: (k,) D: mean squares of the vectors along them, over everybody's likes.
    """
    counts = squares > _LEAST_VALUE * max(float(squares.max()), 0.0)
    strengths = np.zeros(len(squares))
    kept = squares[counts]
    strengths[counts] = _WEIGHT * kept / (kept**2 + _SPREAD_WEIGHT * spread[counts])
    return strengths


def fit_own_likes(shares: Floats, items: Floats) -> OwnLikesMap:
    """Choose the map from the release.

    With mu the shares, at least 0, p = mu / sum of mu, and B'B = W diag(e^2) W':

        b_0 = B'mu
        D_j = sum over items of p (B W)^2_j
        h   = `own_like_strengths` of e^2 and D
        K   = W diag(h) W'

    Args:
        shares: (target items,) mu: released shares of likes (`sums.counts`), not floored.
        items: (target items, k) B.
    """
    positive = np.maximum(shares, 0)
    total = float(positive.sum())
    weights = positive / total if total > 0 else positive
    squares, vectors = np.linalg.eigh(items.T @ items)
    vectors = orient_columns(vectors)
    spread = weights @ (items @ vectors) ** 2
    strengths = own_like_strengths(squares, spread)
    return OwnLikesMap(vectors * strengths @ vectors.T, items.T @ positive)
