"""Contexts from ratings lie evenly in the cube and follow tastes; the log has every click."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.data import load
from tacit.data.clicks import contexts_of, log_of
from tacit.data.ratings import Ratings
from tacit.errors import ConfigError


@pytest.fixture(scope="module")
def ratings():
    """60 people of two tastes: the first thirty love the first ten of twenty items."""
    generator = np.random.default_rng(1)
    users, items = np.repeat(np.arange(60), 20), np.tile(np.arange(20), 60)
    loves = (users < 30) == (items < 10)
    stars = np.clip(np.where(loves, 5, 1) + generator.integers(-1, 2, len(users)), 1, 5)
    kept = generator.random(len(users)) < 0.8
    return Ratings.from_arrays(users[kept], items[kept], stars[kept])


def test_each_feature_is_spread_evenly(ratings):
    """Rank scaling: features lie in [0, 1] and their quantiles are those of a uniform."""
    contexts = contexts_of(ratings, 2)
    assert contexts.shape == (60, 2)
    assert np.allclose(np.sort(contexts[:, 0]), (np.arange(60) + 0.5) / 60)


def test_contexts_tell_tastes_apart(ratings):
    """The first feature divides the two groups of people."""
    first = contexts_of(ratings, 1)[:, 0]
    assert abs((first[:30] < 0.5).mean() - (first[30:] < 0.5).mean()) > 0.9


def test_contexts_repeat(ratings):
    """The same ratings give the same contexts, bit for bit."""
    assert np.array_equal(contexts_of(ratings, 3), contexts_of(ratings, 3))


def test_the_log_has_the_most_rated_items_and_their_clicks(ratings):
    """Videos are the most rated items; a click is four stars or more."""
    log = log_of(ratings, videos=5, dimension=2)
    counts = np.bincount(ratings.items, minlength=20)
    assert sorted(counts[list(log.videos)]) == sorted(counts)[-5:]
    assert len(log) == counts[list(log.videos)].sum()
    assert log.chances().sum() == pytest.approx(1)
    row = 7
    item = list(ratings.item_ids).index(log.videos[log.arms[row]])
    given = ratings.values[(ratings.users == log.users[row]) & (ratings.items == item)]
    assert log.clicks[row] == (given[0] >= 4)


@pytest.mark.parametrize("call", [{"dimension": 0}, {"dimension": 20}, {"videos": 21}])
def test_too_many_are_refused(ratings, call):
    """More factors or videos than there are is said in a sentence."""
    with pytest.raises(ConfigError):
        log_of(ratings, **({"videos": 5, "dimension": 2} | call))


def test_contexts_of_real_people_tell_what_they_like(ml_100k):
    """On MovieLens 100K, people in one half of the first feature like other films than the rest."""
    log = log_of(load(ml_100k), videos=20, dimension=2)
    assert log.contexts.shape == (943, 2)
    half = log.contexts[log.users, 0] < 0.5
    gaps = [
        abs(
            log.clicks[(log.arms == arm) & half].mean()
            - log.clicks[(log.arms == arm) & ~half].mean()
        )
        for arm in range(20)
    ]
    assert max(gaps) > 0.15
