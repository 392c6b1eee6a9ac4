"""A comparison gives no mean of a few people, nor means from which one could be computed."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.evaluation.comparison_result import ComparisonResult


def compare(people: int, **values: list[str | None]) -> ComparisonResult:
    """Compare popularity on ratings of so many people, whose first ones have these values."""
    draws = np.random.default_rng(4)
    users = np.repeat(np.arange(people), 12)
    items = np.concatenate([draws.choice(30, 12, replace=False) for _ in range(people)])
    stars = draws.integers(3, 6, len(users)).astype(float)
    attributes = {}
    for name, firsts in values.items():
        texts = [*firsts, *("m" if person % 2 else "f" for person in range(people - len(firsts)))]
        attributes[name] = dict(enumerate(texts))
    ratings = tacit.Ratings.from_arrays(
        users, items, stars, scale=tacit.RatingScale(1, 5, 1), user_attributes=attributes
    )
    return tacit.compare(ratings, models=["popularity"], seeds=[0], attacks=False)


def groups(result: ComparisonResult) -> set[str]:
    """The names of all groups that have a metric."""
    return {row["metric"].partition(" ")[2] for row in result.rows} - {""}


@pytest.mark.parametrize("first", [["x"], [None], ["x", None, "x"]])
def test_a_value_of_few_people_leaves_its_attribute_out(first: list[str | None]) -> None:
    """Its mean, and those of the other values, which give it together with everybody's."""
    found = groups(compare(120, gender=first, side=[]))
    assert {"side:m", "side:f", "activity:low", "taste:rare"} <= found
    assert not [name for name in found if name.startswith("gender")]


def test_thirds_of_few_people_are_left_out() -> None:
    """45 people make thirds of 15; the page says so."""
    result = compare(45, side=[])
    assert groups(result) == {"side:m", "side:f"}
    assert "fewer than 20 test people, it is left out" in result.page({}).html()
