"""Sketches in a comparison: lists for those who sent a report, and for nobody else."""

from __future__ import annotations

import math

from tacit.data.synthetic import generate
from tacit.designs.sketches.experiment.comparison import SketchesRecommender


def test_lists_are_for_people_of_the_ratings_alone():
    """Everybody who reported has a list without repeats; a stranger gets an empty one."""
    ratings = generate(users=60, items=40, ratings=900, seed=1)
    model = SketchesRecommender(epsilon=math.inf).fit(ratings)
    known = model.recommend(ratings.user_ids.tolist()[0], n=5).item_ids
    assert 0 < len(known) <= 5
    assert len({*known}) == len(known)
    for stranger in ("nobody", None, 10**9):
        assert list(model.recommend(stranger, n=5)) == []
