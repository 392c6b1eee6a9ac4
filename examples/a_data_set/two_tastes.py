"""A data set of one's own: people who like even items, and people who like odd ones.

A package would read its files here, such as those that it downloads into a cache of its own.
"""

from __future__ import annotations

import numpy as np

import tacit


def two_tastes():
    """60 people, 40 items, 12 ratings each, on 1 to 5 stars in whole stars."""
    users = np.repeat(np.arange(60), 12)
    items = (5 * users + 3 * np.tile(np.arange(12), 60)) % 40
    stars = np.where((users + items) % 2 == 0, 5.0, 2.0)
    return tacit.Ratings.from_arrays(users, items, stars, scale=tacit.RatingScale(1, 5, 1))
