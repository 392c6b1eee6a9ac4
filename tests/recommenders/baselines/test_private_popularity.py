"""Private popularity: what is released, what it costs, and what its card says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tacit.accounting import GDPAccountant
from tacit.data import Ratings, RatingScale, generate, on_catalogue, with_domains
from tacit.errors import ConfigError
from tacit.privacy import Basis
from tacit.recommenders.baselines import PrivatePopularity
from tacit.recommenders.fits_in_process import comparison

STARS = RatingScale(1, 5, 1)


def test_known_counts() -> None:
    """Without noise an item's count is the sum of 1 / root of how many items each fan likes."""
    made = Ratings.from_arrays([1, 1, 2, 3, 3], [10, 20, 10, 10, 30], [5, 4, 4, 2, 5])
    found = PrivatePopularity(epsilon=math.inf).fit(made)
    assert found.counts_ == pytest.approx([1 / math.sqrt(2) + 1, 1 / math.sqrt(2), 1])


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_event_costs_what_was_asked_for(epsilon: float) -> None:
    """The release's own event is worth epsilon at the given delta, and little less."""
    event = PrivatePopularity(epsilon=epsilon, delta=1e-6).event(1700)
    spent = GDPAccountant().add(event).epsilon(1e-6)
    assert 0.999 * epsilon < spent <= epsilon


def test_noise_is_that_of_the_event() -> None:
    """The spread over 2,000 items that nobody likes is the sigma of (1, 1e-6), 4.2247.

    False alarm below 1e-6: the standard deviation of the estimate is 1.6 %, the bound 10 %. A
    noise of the root of two more or less, as from a wrong norm, would be found.
    """
    made = Ratings.from_arrays([1], [0], [5], scale=STARS)
    whole = on_catalogue(made, dict.fromkeys(range(2000), "all"))
    counts = PrivatePopularity(epsilon=1.0, delta=1e-6).fit(whole).counts_
    assert np.std(counts) == pytest.approx(4.2247, rel=0.1)


def test_one_person_moves_the_counts_by_one() -> None:
    """However much a person likes, what they add has length 1 at most."""
    made = generate(users=30, items=40, ratings=700, seed=1)
    model = PrivatePopularity(epsilon=math.inf)
    whole = model.fit(made).counts_
    for person in range(made.n_users):
        kept = made.where(made.users != person)
        without = PrivatePopularity(epsilon=math.inf).fit(kept).counts_
        assert np.linalg.norm(whole - without) <= 1 + 1e-9


def test_one_domain_alone() -> None:
    """Only likes in the domain count, and a person's length is over them alone."""
    made = Ratings.from_arrays([1, 1], [10, 20], [5, 5])
    named = with_domains(made, {10: "books", 20: "films"})
    found = PrivatePopularity(epsilon=math.inf, domain="films").fit(named)
    assert found.item_ids_.tolist() == [20]
    assert found.counts_.tolist() == [1.0]


def test_cards() -> None:
    """Proved with catalogue and scale from outside, else conditional; none without noise."""
    read_off = generate(users=30, items=40, ratings=700, seed=1)
    given = on_catalogue(read_off, dict.fromkeys(range(1, 41), "all"))

    def card(ratings: Ratings, epsilon: float) -> Any:
        with comparison():
            return PrivatePopularity(epsilon=epsilon).fit(ratings).guarantees()[0]

    assert card(given, 1.0).basis is Basis.PROVED
    assert (card(given, 1.0).epsilon, card(given, 1.0).delta) == (1.0, 1e-6)
    assert card(read_off, 1.0).basis is Basis.CONDITIONAL
    assert "--catalogue" in card(read_off, 1.0).sentence
    assert card(given, math.inf).basis is Basis.NONE


@pytest.mark.parametrize("bad", [{"epsilon": 0.0}, {"epsilon": 1.0, "delta": 0.0}])
def test_impossible_budgets_are_refused(bad: dict[str, float]) -> None:
    """epsilon above 0, delta between 0 and 1."""
    with pytest.raises(ConfigError):
        PrivatePopularity(**bad)
