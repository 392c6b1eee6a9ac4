"""Plans of fits on real ratings: who has arrived at each fit, and which rivals are fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.data.synthetic import generate
from tacit.designs.private.experiment import over_time
from tacit.designs.private.experiment.over_time import evaluate_plan
from tacit.designs.private.plan import largest_epsilon_per_fit
from tacit.errors import ConfigError

FITS, LIFETIME, DELTA = 3, 4.0, 1e-6


class Recommended(list):
    """A list of items."""

    @property
    def item_ids(self):
        return [*self]


@pytest.fixture
def lengths():
    """How long the histories are, together, of which lists are made, for each model and week."""
    return []


@pytest.fixture
def fitted(monkeypatch, lengths):
    """What each model was made with and fitted on, in place of fitting it."""
    seen = []

    class Recorder:
        def __init__(self, *given, **named):
            self.made_with = given, named

        def fit(self, ratings):
            seen.append((*self.made_with, ratings))
            self.items = ratings.item_ids
            return self

        def recommend_many(self, histories, n):
            lengths.append(sum(map(len, histories)))
            first = self.items[:n].tolist()
            return [Recommended(first) for _ in histories]

    monkeypatch.setattr(over_time, "Private", Recorder)
    monkeypatch.setattr(over_time, "Popularity", Recorder)
    return seen


def evaluate(ratings, weeks=(2, 3), **more):
    more = {"delta": DELTA, "seeds": (0,), "workers": 1} | more
    return evaluate_plan(ratings, LIFETIME, FITS, weeks, **more)


def test_half_of_the_people_are_there_at_first_and_all_at_last(fitted):
    """In equal steps: one half, three quarters, all; who was there stays."""
    ratings = generate(users=120, items=40, ratings=3000, seed=1)
    evaluate(ratings)
    plans = [rows for _, named, rows in fitted if "fits" in named]
    whole = plans[-1].n_users
    assert [rows.n_users for rows in plans] == [round(whole / 2), round(0.75 * whole), whole]
    people = [set(rows.user_ids.tolist()) for rows in plans]
    assert people[0] < people[1] < people[2]


def test_rivals_are_fitted_to_the_same_people_in_the_weeks_that_are_measured(fitted):
    """The whole lifetime at once, an equal part of it, and popularity."""
    rows = evaluate(generate(users=120, items=40, ratings=3000, seed=1))
    part = largest_epsilon_per_fit(LIFETIME, DELTA, FITS)
    rivals = [(given[:1], people.n_users) for given, named, people in fitted if "fits" not in named]
    sizes = [rivals[0][1], rivals[3][1]]
    assert sizes[0] < sizes[1]
    assert rivals == [(first, size) for size in sizes for first in ((), (LIFETIME,), (part,))]
    (plan, *_) = [named for _, named, _ in fitted if "fits" in named]
    assert (plan["lifetime"], plan["fits"], plan["delta"]) == (LIFETIME, FITS, DELTA)
    assert [(row.model, row.epsilon, row.week) for row in rows] == [
        (model, epsilon, week)
        for model, epsilon in (
            ("popularity", None),
            ("plan", LIFETIME),
            ("one release", LIFETIME),
            ("fresh fit", part),
        )
        for week in (2, 3)
    ]


def test_rows_arrive_by_their_times(fitted):
    """The first half of the rows at the first fit, whoever they are of."""
    ratings = generate(users=120, items=40, ratings=3000, seed=1)
    moments = np.random.default_rng(3).permutation(len(ratings)).astype(np.int64)
    timed = replace(ratings, timestamps=moments)
    evaluate(timed, by_time=True)
    plans = [rows for _, named, rows in fitted if "fits" in named]
    whole = plans[-1]
    assert len(plans[0]) == round(len(whole) / 2)
    assert len(plans[1]) == round(0.75 * len(whole))
    middle = np.sort(whole.timestamps)[len(plans[0])]
    assert plans[0].timestamps.max() < middle
    with pytest.raises(ConfigError, match="needs times"):
        evaluate(replace(ratings, timestamps=None), by_time=True)


@pytest.mark.parametrize("by_time", [False, True])
def test_lists_are_made_from_what_has_arrived(fitted, lengths, by_time):
    """Where rows arrive by their times a list is made from those that are there; where people
    arrive, from all that the person rated."""
    ratings = generate(users=120, items=40, ratings=3000, seed=1)
    moments = np.random.default_rng(3).permutation(len(ratings)).astype(np.int64)
    evaluate(replace(ratings, timestamps=moments), by_time=by_time)
    (second,), (third,) = set(lengths[:4]), set(lengths[4:])
    assert (second < third) == by_time


def test_the_first_and_the_last_fit_may_be_measured(fitted):
    """Weeks are counted from 1 to the number of fits."""
    rows = evaluate(generate(users=120, items=40, ratings=3000, seed=1), weeks=(1, FITS))
    assert {row.week for row in rows} == {1, FITS}


@pytest.mark.parametrize("weeks", [(0, 1), (4,)])
def test_a_week_that_is_no_fit_is_refused(fitted, weeks):
    """Before anything is fitted."""
    ratings = generate(users=50, items=20, ratings=600, seed=1)
    with pytest.raises(ConfigError, match="from 1 to 3"):
        evaluate(ratings, weeks)
    assert fitted == []
