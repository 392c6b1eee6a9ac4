"""Histories of the people of an experiment: which rating belongs to which epoch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.designs.standard_scheme.epochs import FIRST_END, epoch_start
from tacit.designs.standard_scheme.experiment.setup import (
    ONE_REFIT,
    THREE_REFITS,
    Experiment,
    rating_weeks,
)
from tacit.designs.standard_scheme.messages import DAY, WEEK
from tacit.designs.standard_scheme.training.people import ConsentingPeople
from tacit.designs.standard_scheme.training.profiles import ProfileSettings

ITEMS = 12


def experiment():
    """One person rated twelve items, in the order of their numbers, and another one eight."""
    levels = np.ones((2, ITEMS))
    levels[1, 8:] = 0
    order = np.tile(np.arange(1.0, ITEMS + 1), (2, 1)) * (levels > 0)
    people = ConsentingPeople(
        sparse.csr_array(levels), np.array([[0], [1]]), ("gender",), (("F", "M"),), n_levels=5
    )
    return Experiment(
        people=people,
        fold_of=np.arange(2),
        order=sparse.csr_array(order),
        weekly=None,
        genres=np.zeros((ITEMS, 0)),
        years=np.full(ITEMS, np.nan),
        minimum=1.0,
        step=1.0,
        published=False,
        profiles=ProfileSettings(factors=1),
        features=None,
        disclosure_epsilon=np.inf,
        contributions=50,
        releases=("none",),
        attacks=("lda",),
        schedules=(),
        seed=0,
    )


@pytest.mark.parametrize(("schedule", "parts"), [(ONE_REFIT, 2), (THREE_REFITS, 4)])
def test_a_history_has_a_part_for_each_fit(schedule, parts):
    """Equal parts, one more than refits: the first is epoch 0, the others follow the first day."""
    made = experiment()
    labels = made.epoch_labels(schedule)
    assert labels == [0, *range(2, parts + 1)]
    epochs = made.epochs(schedule).toarray()
    for row, rated in zip(epochs, (12, 8), strict=True):
        expected = np.repeat(labels, rated // parts) + 1
        np.testing.assert_array_equal(row[:rated], expected)
        assert (row[rated:] == 0).all()


def test_weeks_of_an_account_begin_with_its_first_rating():
    """Ratings until the first end are of epoch 0, later ones of the first day of epoch 1, all
    others of the week that the calendar has."""
    created = epoch_start(700, WEEK) + 5 * DAY
    later = [0, FIRST_END, DAY - 1, DAY, 8 * DAY]
    times = np.array([created + each for each in later])
    ratings = Ratings.from_arrays(np.zeros(5, int), np.arange(5), np.full(5, 4.0), timestamps=times)
    found = rating_weeks(ratings).toarray()[0]
    assert (found - 1).tolist() == [0, 1, 1, 700, 701]
