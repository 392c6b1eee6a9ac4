"""The demonstration's model is computed, from people that nobody is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.designs.xmap import serve as demo_models
from tacit.service.demo_data import book_titles, film_titles


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
