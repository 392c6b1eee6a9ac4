"""Own likes: the part of a person's taste that comes from the tastes of the items they like.

A taste from public features knows only, say, the genres of the liked films. The released tastes of
these films also hold what else their likers have in common. The map is computed from released
values, so it costs no epsilon. It is used within one domain only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.profile_sums.sums.taste_maps import orient_columns

Floats = NDArray[np.float64]

_WEIGHT = 0.7
"""Factor of all strengths of own likes."""
_SPREAD_WEIGHT = 0.1
"""Weight of the spread in the denominator of a strength."""
_LEAST_VALUE = 1e-9
"""Least eigenvalue that counts, as a share of the largest; smaller ones are rounding errors."""


@dataclass(frozen=True, eq=False)
class OwnLikesMap:
    """Linear map from a person's likes to an addition to their taste: (x B - b_0) K.

    x is the person's row of likes of norm 1, and B (target items, k) are the tastes of items.
    """

    matrix: Floats
    """(k, k) K, by which x B - b_0 is multiplied."""
    mean: Floats
    """(k,) b_0 = B'mu: the row x B of an average person."""

    def addition_to_taste(self, unit_likes: sparse.csr_array, items: Floats) -> Floats:
        """Return the additions (people, k) (x B - b_0) K to people's tastes; 0 without likes.

        Args:
            unit_likes: (people, target items) x: rows of likes of norm 1, with no stored zeros.
            items: (target items, k) B, the tastes of items.
        """
        has_likes = np.diff(unit_likes.indptr)[:, None] > 0
        added: Floats = (unit_likes @ items - self.mean) @ self.matrix * has_likes
        return added


def own_like_strengths(squares: Floats, spread: Floats) -> Floats:
    """Choose how strongly own likes count along each direction.

    h_j = 0.7 s_j / (s_j^2 + 0.1 D_j), or 0 if s_j is at most 1e-9 of the largest s.

    Args:
        squares: (k,) s: sum over items of the squares of their vectors along each direction.
        spread: (k,) D: the same squares averaged over items, weighed by their shares of likes.

    Returns:
        (k,) h.
    """
    is_kept = squares > _LEAST_VALUE * max(float(squares.max()), 0.0)
    kept = squares[is_kept]
    strengths = np.zeros(len(squares))
    strengths[is_kept] = _WEIGHT * kept / (kept**2 + _SPREAD_WEIGHT * spread[is_kept])
    return strengths


def fit_own_likes(shares: Floats, items: Floats) -> OwnLikesMap:
    """Compute the map from released values.

    With mu the shares of likes, negative ones replaced by 0, p = mu / (sum of mu), and the
    eigenvalue decomposition B'B = W diag(s) W':

        b_0 = B'mu
        D_j = sum over items i of p_i (B W)_ij^2
        h   = `own_like_strengths` of s and D
        K   = W diag(h) W'

    Args:
        shares: (target items,) released shares of likes (`sums.counts`), some perhaps negative.
        items: (target items, k) B, the released tastes of items.
    """
    positive = np.maximum(shares, 0)
    total = float(positive.sum())
    weights = positive / total if total > 0 else positive
    squares, vectors = np.linalg.eigh(items.T @ items)
    vectors = orient_columns(vectors)
    spread = weights @ (items @ vectors) ** 2
    strengths = own_like_strengths(squares, spread)
    return OwnLikesMap(vectors * strengths @ vectors.T, items.T @ positive)
