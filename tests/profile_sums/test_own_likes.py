"""A person's likes a second time, through the released tastes of items."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from tacit.profile_sums.own_likes import fit_own_likes
from tacit.profile_sums.people import people_between
from tacit.profile_sums.release import release_lists
from tacit.profile_sums.scoring import score_items, split_score
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.moment import people_tastes

# A power of 0 but for rounding; 'auto' would ask for pairs of likes in place of own likes.
INFINITE = Settings(epsilon=math.inf, mode="taste", damping=1e-300)


def test_scores_by_hand(one_domain_example):
    """Of three people in four items, to 1e-4: what is left is the ridge of 1e-6."""
    people, features = one_domain_example
    released = release_lists(people, 4, 4, features, INFINITE)
    tastes = released.personal.items
    np.testing.assert_allclose(np.abs(tastes[:, 0]), [0, 0.288675, 0, 0.288675], atol=1e-5)
    np.testing.assert_allclose(tastes[:, 1], 0, atol=1e-9)
    strengths = np.linalg.eigvalsh(released.personal.own_likes.matrix)
    np.testing.assert_allclose(strengths, [0, 3.818182], atol=1e-3)
    scores = score_items(people, released, INFINITE)
    expected = [[0.47140, 0.81424, 0.47140, -0.34284], [0.47140, -0.34284, 0.47140, 0.81424]]
    np.testing.assert_allclose(scores[:2], expected, atol=1e-4)
    np.testing.assert_allclose(scores[2], released.means, atol=1e-9)


def test_a_release_without_tastes_adds_nothing():
    """Item tastes of 0 have no direction: no division by 0."""
    own_likes = fit_own_likes(np.zeros(5), np.zeros((5, 3)))
    assert not own_likes.matrix.any()
    assert not own_likes.mean.any()


def test_signs_of_directions_cancel():
    """The map of turned directions is the turned map."""
    draws = np.random.default_rng(2)
    items, shares = draws.normal(size=(9, 3)), draws.random(9)
    signs = np.diag([1.0, -1.0, -1.0])
    plain, turned = fit_own_likes(shares, items), fit_own_likes(shares, items @ signs)
    np.testing.assert_allclose(turned.matrix, signs @ plain.matrix @ signs, atol=1e-12)


def test_people_without_likes_get_popularity_and_their_taste(people_of, one_domain_example):
    """Ratings that are no likes add nothing here."""
    _, features = one_domain_example
    people, _ = one_domain_example
    released = release_lists(people, 4, 4, features, INFINITE)
    dislikes = people_of([{0: 1.0}], 4, list(range(4)), list(range(4)))
    added = released.personal.own_likes.addition_to_taste(
        sparse.csr_array((1, 4)), released.personal.items
    )
    assert not added.any()
    assert split_score(dislikes, 1, released, INFINITE).added_by_item.shape == (1,)


def test_reasons_add_what_own_likes_add(one_domain_example):
    """The parts of a score by own items are those of the taste and of the released tastes."""
    people, features = one_domain_example
    released = release_lists(people, 4, 4, features, INFINITE)
    model = released.personal
    person = people_between(people, 0, 1)  # likes items 1 and 2
    parts = split_score(person, 1, released, INFINITE)
    by_likes = model.items[:2] @ model.own_likes.matrix @ model.items[1] / math.sqrt(2)
    assert by_likes[1] == pytest.approx(0.288675**2 * 3.818182 / math.sqrt(2), abs=1e-4)
    without = parts.added_by_item - by_likes
    tastes = people_tastes(person, model.centre, model.features) @ model.directions
    assert without.sum() == pytest.approx(float((tastes @ model.items[1])[0]), abs=1e-9)
