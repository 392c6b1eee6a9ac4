"""Remote users: alike in the source, asked about the target."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.data import Ratings, of_domain, with_domains
from tacit.errors import ConfigError, DataError
from tacit.recommenders.baselines import RemoteUser

ROWS = [
    # person, item, stars; s* lie in the source, t* in the target
    ("ann", "s1", 5),
    ("ann", "s2", 1),
    ("ann", "t1", 5),
    ("ann", "t2", 1),
    ("bob", "s1", 1),
    ("bob", "s2", 5),
    ("bob", "t1", 1),
    ("bob", "t2", 5),
    ("eve", "s1", 5),
    ("eve", "s2", 2),
    ("dan", "t1", 4),
    ("dan", "t2", 4),
]


@pytest.fixture
def ratings() -> Ratings:
    """Ann and Bob rated in both domains and are opposites; Eve and Dan in one each."""
    users, items, stars = zip(*ROWS, strict=True)
    made = Ratings.from_arrays(users, items, stars)
    return with_domains(made, {item: item[0] for item in items})


def fitted(ratings: Ratings, k: int = 5) -> RemoteUser:
    return RemoteUser(source="s", target="t", k=k).fit(ratings)


def test_a_person_gets_what_her_likes_say(ratings: Ratings) -> None:
    """Eve is like Ann and unlike Bob, who is not asked: her mean 3.5 plus Ann's deviations from
    Ann's mean of 3."""
    assert fitted(ratings).predict(["t1", "t2"], user="eve").tolist() == [5.5, 1.5]


def test_who_never_rated_in_the_target_takes_no_place(ratings: Ratings) -> None:
    """With one neighbour, Eve's twin asks Ann, not Eve, who has nothing to say."""
    assert fitted(ratings, k=1).predict(["t1"], history={"s1": 5.0, "s2": 2.0}).tolist() == [5.5]


def test_several_neighbours_are_weighted() -> None:
    """Similarities 1 and cos(45 degrees): the means of items are 3, she deviates in s1 alone."""
    rows = [
        ("a", "s1", 4),
        ("a", "s2", 3),
        ("a", "t1", 5),
        ("b", "s1", 4),
        ("b", "s2", 4),
        ("b", "t1", 1),
        ("c", "s1", 1),
        ("c", "s2", 2),
        ("c", "t2", 3),
    ]
    users, items, stars = zip(*rows, strict=True)
    made = Ratings.from_arrays(users, items, stars)
    model = fitted(with_domains(made, {item: item[0] for item in items}))
    near, far = 1.0, math.sqrt(0.5)
    deviations = 5 - 4, 1 - 3
    expected = 5 + (near * deviations[0] + far * deviations[1]) / (near + far)
    np.testing.assert_allclose(model.predict(["t1"], history={"s1": 5.0}), [expected])
    one = fitted(with_domains(made, {item: item[0] for item in items}), k=1)
    assert one.predict(["t1"], history={"s1": 5.0}).tolist() == [6.0]


def test_nobody_alike_leaves_her_mean(ratings: Ratings) -> None:
    """Somebody at the items' means is like nobody; a newcomer gets the overall mean."""
    means = of_domain(ratings, "s")
    at_mean = {
        item: float(means.values[means.items == ratings.item_number(item)].mean())
        for item in ("s1", "s2")
    }
    expected = sum(at_mean.values()) / 2
    np.testing.assert_allclose(fitted(ratings).predict(["t1"], history=at_mean), [expected])
    overall = float(ratings.values.mean())
    np.testing.assert_allclose(fitted(ratings).predict(["t1"], history={}), [overall])


def test_only_the_target_is_recommended(ratings: Ratings) -> None:
    """A list holds target items, and a source item has no prediction."""
    model = fitted(ratings)
    assert model.recommend("eve").item_ids == ["t1", "t2"]
    assert np.isnan(model.predict(["s1"], user="eve")).all()


def test_target_ratings_say_nothing_about_likeness(ratings: Ratings) -> None:
    """Target stars move her mean alone."""
    model = fitted(ratings)
    alone = model.predict(["t2"], history={"s1": 5.0, "s2": 2.0})[0]
    more = model.predict(["t2"], history={"s1": 5.0, "s2": 2.0, "t1": 2.0})[0]
    assert more - alone == pytest.approx(3.0 - 3.5)


def test_senseless_settings_are_refused(ratings: Ratings) -> None:
    """Two different domains that exist, and at least one neighbour."""
    with pytest.raises(ConfigError, match="two domains"):
        RemoteUser(source="s", target="s")
    with pytest.raises(ConfigError, match="neighbour"):
        RemoteUser(source="s", target="t", k=0)
    with pytest.raises(DataError, match="no such domain"):
        RemoteUser(source="x", target="t").fit(ratings)
