"""Generated ratings in two domains: sizes, laws of the strengths, and what the two share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit.data.domains import domain_names, split_list, straddlers
from tacit.data.ratings import Ratings
from tacit.data.synthetic_worlds import films, generate_domains
from tacit.errors import ConfigError


def make(**changes: Any) -> Ratings:
    return generate_domains(**({"users": 800, "items": (90, 60), "seed": 3} | changes))


@pytest.fixture(scope="module")
def made() -> Ratings:
    return make()


def test_sizes(made: Ratings) -> None:
    """As many people and items as asked, in two domains, and about 30 ratings each on 1..5."""
    assert (made.n_users, made.n_items) == (800, 150)
    assert domain_names(made) == ("source", "target")
    assert (made.item_metadata["domain"] == "source").sum() == 90
    assert 28 < len(made) / 800 < 32
    assert np.diff(made.offsets).min() >= 5
    assert set(np.unique(made.values)) == {1.0, 2.0, 3.0, 4.0, 5.0}


def test_the_same_seed_gives_the_same_ratings(made: Ratings) -> None:
    """And another seed others."""
    assert made.digest == make().digest != make(seed=4).digest


def test_a_shift_flattens_the_top(made: Ratings) -> None:
    """The item that most rate is less far ahead of the twentieth."""
    steep = np.sort(np.bincount(made.items, minlength=150))[::-1]
    flat = np.sort(np.bincount(make(shift=20.0).items, minlength=150))[::-1]
    assert flat[0] / flat[19] < 0.6 * steep[0] / steep[19]


def test_overlap_is_the_share_in_both_domains(made: Ratings) -> None:
    """By default everybody who can, rates in both; with overlap 0 nobody does."""
    assert len(straddlers(made, "source", "target")) > 0.98 * 800
    assert len(straddlers(make(overlap=0.0), "source", "target")) == 0
    assert 0.2 < len(straddlers(make(overlap=0.3), "source", "target")) / 800 < 0.4


@pytest.mark.parametrize(
    "bad",
    [
        {"users": 0},
        {"items": (0, 5)},
        {"ratings_per_user": 61.0},
        {"ratings_per_user": 4.0},
        {"overlap": 1.5},
        {"labels": -1},
    ],
)
def test_impossible_worlds_are_refused(bad: dict[str, Any]) -> None:
    """Each parameter out of its range is a configuration error."""
    with pytest.raises(ConfigError):
        make(**bad)


def test_labels_change_nothing_else(made: Ratings) -> None:
    """The ratings are the same to the last bit; each item has one to three different genres."""
    labelled = make(labels=6)
    assert labelled.digest == made.digest
    assert "genres" not in made.item_metadata
    found = split_list(labelled, "genres")
    assert {len(genres) for genres in found} == {1, 2, 3}
    assert {genre for genres in found for genre in genres} == {f"label {n}" for n in range(1, 7)}


def test_films() -> None:
    """The named world has 3,000 items, half in either domain, 80 ratings a person, 18 genres."""
    made = films(300)
    assert (made.n_users, made.n_items) == (300, 3000)
    assert (made.item_metadata["domain"] == "source").sum() == 1500
    assert 75 < len(made) / 300 < 85
    assert len({genre for each in split_list(made, "genres") for genre in each}) == 18
