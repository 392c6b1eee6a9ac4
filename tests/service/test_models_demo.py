"""The demonstration's model and curves are computed, from people that nobody is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data.domains import cross_domain_split, items_in
from tacit.designs.xmap import XMap
from tacit.designs.xmap import serve as demo_models
from tacit.designs.xmap.experiment.judging import judge_target
from tacit.service.demo import book_titles, film_titles


@pytest.fixture(scope="module")
def ratings():
    return demo_models.population()


def test_a_fit_reads_nothing_off_these_ratings(ratings):
    """Catalogue, domains and scale were given, so that the guarantee is proved."""
    assert ratings.catalogue_given
    assert ratings.scale_given
    assert not ratings.filtered
    assert ratings.n_items == demo_models.BOOKS + demo_models.FILMS


def test_everything_has_a_title_of_its_own(ratings):
    """Films and books are told apart by their titles."""
    titles = ratings.item_metadata["title"].tolist()
    assert len(set(titles)) == len(titles) == ratings.n_items
    assert all(title.isascii() and 3 <= len(title) <= 40 for title in titles)


@settings(max_examples=30, deadline=None)
@given(few=st.integers(0, 20), more=st.integers(0, 20))
def test_titles_stay_when_there_are_more(few, more):
    """A longer list of titles begins with the shorter one: an item keeps its title."""
    for titles in (film_titles, book_titles):
        assert titles(few + more)[:few] == titles(few)


def test_what_is_shown_without_privacy_is_what_the_evaluation_measures(ratings):
    """At epsilon inf there is no noise: the curve ends where the evaluation of X-Map does."""
    (quality,) = demo_models.measured(ratings, epsilons=(0.5,))
    split = cross_domain_split(
        ratings,
        source="books",
        target="films",
        share=demo_models.SHARE,
        seed=demo_models.SEED,
    )
    model = XMap(source="books", target="films", epsilon=math.inf, stars=True).fit(split.train)
    films = np.zeros(ratings.n_items, dtype=bool)
    films[items_in(ratings, "films")] = True
    judged = judge_target(model, split, films, n=demo_models.LIST, stars=False)
    assert quality["non_private"] == pytest.approx(judged.mean_ndcg)
    assert quality["points"][0]["value"] < quality["non_private"]
