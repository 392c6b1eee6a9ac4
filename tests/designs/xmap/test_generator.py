"""Images and AlterEgos."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from tacit.designs.xmap.generator import (
    make_alter_egos,
    nearest_image,
    private_replacement_selection,
)
from tacit.designs.xmap.theory import SPREAD
from tacit.randomness import replay, simulation

NAN = math.nan
DRAWS = 20_000


def test_nearest_is_the_largest():
    """NX-Map takes the largest X-SIM, not the largest |X-SIM|; without one there is no image."""
    similar = np.array([[0.1, -0.9, 0.3], [NAN, -0.2, NAN], [NAN, NAN, NAN], [0.5, 0.5, NAN]])
    assert nearest_image(similar).tolist() == [2, 1, -1, 0]


def test_infinity_is_the_nearest():
    """PRS at epsilon = inf is NX-Map's choice itself."""
    with simulation():
        assert private_replacement_selection(math.inf, replay(0)) is nearest_image


def replacement_chances(similar, epsilon):
    """Proportional to exp(epsilon X-SIM / (2 GS))."""
    weights = np.exp(epsilon * similar / (2 * SPREAD))
    return weights / weights.sum()


def frequencies(choose, row):
    chosen = choose(np.tile(row, (DRAWS, 1)))
    return np.bincount(chosen, minlength=len(row)) / DRAWS


def test_published_replacement_follows_its_chances():
    """Among items with an X-SIM, chances are exp(epsilon X-SIM / 4); off by 5 standard deviations
    in fewer than one run of 100,000."""
    row = np.array([0.9, NAN, -0.9, 0.2])
    with simulation():
        found = frequencies(private_replacement_selection(3.0, replay(1)), row)
    expected = np.zeros(4)
    expected[[0, 2, 3]] = replacement_chances(row[[0, 2, 3]], 3.0)
    assert found[1] == 0
    assert np.abs(found - expected).max() < 5 * math.sqrt(0.25 / DRAWS)
    assert np.abs(found - 1 / 4).max() > 5 * math.sqrt(0.25 / DRAWS)  # uniform draws would fail


def test_published_support_tells():
    """An item without any X-SIM has no image, with one it has: an outcome of chance 0 without the
    person who is the link."""
    without, present = np.array([[NAN, NAN]]), np.array([[NAN, 0.4]])
    with simulation():
        assert private_replacement_selection(1.0, replay(3))(without).tolist() == [-1]
        assert private_replacement_selection(1.0, replay(3))(present).tolist() == [1]


def ego(rows, images, means=(3.0, 3.0, 3.0, 3.0, 3.0), times=None):
    """AlterEgos over five items, of which the last two are the target."""
    entries = [(p, i, v) for p, row in enumerate(rows) for i, v in sorted(row.items())]
    people, items, values = map(list, zip(*entries, strict=True))
    matrix = sparse.csr_array((np.array(values, float), (people, items)), (len(rows), 5))
    return make_alter_egos(
        matrix,
        times,
        item_means=np.array(means),
        images=np.array(images, dtype=np.int32),
        targets=np.array([3, 4], dtype=np.int32),
    )


def test_image_keeps_rating_and_time():
    """A source rating moves to its image as it is; a source item without one is left out."""
    made = ego([{0: 5, 2: 1}], (1, -1, -1, -1, -1), times=np.array([70, 80]))
    assert made.stars.toarray().tolist() == [[0, 5]]
    assert made.times.tolist() == [70]


def test_duplicates_are_averaged():
    """Two source items with one image: the mean of both ratings, the later time."""
    made = ego([{0: 5, 1: 2}], (0, 0, -1, -1, -1), times=np.array([90, 20]))
    assert made.stars.toarray().tolist() == [[3.5, 0]]
    assert made.times.tolist() == [90]


def test_own_ratings_are_appended_and_stand():
    """Target ratings are kept beside images, and an image never overwrites one."""
    made = ego([{0: 5, 1: 1, 3: 2}], (0, 1, -1, -1, -1))
    assert made.stars.toarray().tolist() == [[2, 1]]


def test_image_keeps_the_mean_of_what_was_rated():
    """A 4 for a source item of mean 4.5 is half a star below, whatever the image's mean."""
    made = ego([{0: 4, 4: 5}], (0, -1, -1, -1, -1), means=(4.5, 3, 3, 2.0, 3.0))
    assert made.deviations.tolist() == [-0.5, 2.0]


def test_people_stay_apart():
    """Each person's profile holds her own ratings alone, and may be empty."""
    made = ego([{0: 5}, {1: 3}, {4: 2}], (0, -1, -1, -1, -1))
    assert made.stars.toarray().tolist() == [[5, 0], [0, 0], [0, 2]]


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_epsilon_matters(epsilon):
    """More budget, likelier best image."""
    row = np.array([0.9, -0.9])
    with simulation():
        found = frequencies(private_replacement_selection(epsilon, replay(5)), row)
    assert found[0] == pytest.approx(replacement_chances(row, epsilon)[0], abs=0.02)
