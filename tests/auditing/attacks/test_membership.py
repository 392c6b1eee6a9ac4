"""Membership: guesses, the epsilon they prove, and the game against whole fits."""

import math

import numpy as np
import pytest

from tacit.auditing.attacks.membership import FromLists, FromPredictions, guesses, least_epsilon
from tacit.auditing.empirical import clopper_pearson
from tacit.designs.xmap.audit.membership import GAMES, control_works, play
from tacit.errors import ConfigError
from tacit.recommenders.base import Recommendation, Recommendations


class Remembers:
    """Lists `b` first, and gives it five stars, for accounts that hold `a`, if `there`."""

    def __init__(self, there):
        self.there = there

    def recommend(self, user=None, *, history=None, n=10):
        near = self.there and "a" in history
        items = ["b", "c", "d"] if near else ["c", "d", "b"]
        return Recommendations(
            tuple(Recommendation(user, item, 0.0, rank) for rank, item in enumerate(items[:n], 1))
        )

    def predict(self, items, user=None, *, history=None):
        near = self.there and "a" in history
        stars = {"b": 5.0 if near else 3.0, "a": math.nan}
        return np.array([stars[item] for item in items])


@pytest.mark.parametrize("attack", [FromLists(3, 5.0), FromPredictions()], ids=lambda a: a.name)
def test_scores_rise_with_a_pair_that_is_remembered(attack):
    """Only where the pair was learned do lists and predictions move, and the score is above 0."""
    known = {"a": 5.0, "b": 5.0}
    assert attack.score(Remembers(True), known) > 0
    assert attack.score(Remembers(False), known) == 0


def test_guesses_take_both_ends():
    """Half the people are guessed about: those of the highest and of the lowest scores."""
    labels = np.array([0, 1, 0, 1, 0, 1, 1, 1])
    assert guesses(labels, np.arange(8.0), share=0.5) == (3, 4)
    assert guesses(labels, np.arange(8.0)) == (5, 8)


def test_least_epsilon_is_clopper_pearson_without_delta():
    """The bound is ln(p / (1 - p)) of the lower limit of the chance of a right guess."""
    low = clopper_pearson(90, 100, 0.01)[0]
    found = least_epsilon(90, 100, people=100, level=0.01)
    assert found == pytest.approx(math.log(low / (1 - low)), rel=1e-6)


def test_delta_only_lowers_the_bound():
    """What may be due to delta is no evidence of epsilon."""
    bounds = [least_epsilon(90, 100, people=100, delta=d, level=0.01) for d in (0, 1e-6, 1e-4)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < bounds[0]


def test_coin_flips_prove_nothing():
    """Half of the guesses right is no evidence; and a count that is none is refused."""
    assert least_epsilon(50, 100, people=100) == 0.0
    with pytest.raises(ConfigError, match="is no count"):
        least_epsilon(5, 4, people=10)


def test_randomized_response_is_bounded_rightly():
    """Guesses from a bit that is told with epsilon 1 prove more than 1 hardly ever."""
    generator = np.random.default_rng(0)
    truth = math.e / (1 + math.e)
    found = [
        least_epsilon(int(generator.binomial(500, truth)), 500, people=500) for _ in range(400)
    ]
    assert sum(bound > 1.0 for bound in found) <= 400 * 0.05 + 3 * math.sqrt(400 * 0.05)
    assert max(found) > 0.8


def test_lists_of_nx_map_tell_who_was_there():
    """The control: without noise the attack works, on every world tried."""
    rows = play(GAMES[0], (FromLists(20, 5.0),), fits=2)
    assert rows[0].auc > 0.8
    assert rows[0].lower_bound > 0
    assert rows[0].verdict == "no claim"


def test_the_sound_variant_stays_below_its_claim():
    """Under the guarantee the guesses prove no epsilon above it."""
    rows = play(GAMES[1], (FromPredictions(),), fits=2)
    assert rows[0].lower_bound <= rows[0].epsilon == 1.0
    assert rows[0].verdict == "no violation found"
    assert not control_works(rows)
