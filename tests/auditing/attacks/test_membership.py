"""Membership: guesses, the epsilon they prove, and the game against whole fits."""

import math
from functools import partial

import numpy as np
import pytest

from tacit.auditing.attacks.membership import (
    FromLists,
    FromPredictions,
    Game,
    Round,
    control_works,
    count_guesses,
    least_epsilon,
    membership_study,
    play_game,
)
from tacit.auditing.empirical import clopper_pearson
from tacit.designs.xmap.audit.tables import DELTA, GAMES, play_once
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
    for few in ({}, {"a": 5.0}):
        assert attack.score(Remembers(True), few) == 0


def test_guesses_take_both_ends():
    """Half the people are guessed about: those of the highest and of the lowest scores."""
    labels = np.array([0, 1, 0, 1, 0, 1, 1, 1])
    assert count_guesses(labels, np.arange(8.0), share=0.5) == (3, 4)
    assert count_guesses(labels, np.arange(8.0)) == (5, 8)


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
    """Half of the guesses right is no evidence; and more right guesses than guesses are refused."""
    assert least_epsilon(50, 100, people=100) == 0.0
    with pytest.raises(ConfigError, match="4 guesses about 10 people"):
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
    lists, _ = play_game(GAMES[0], fits=2)
    assert lists.auc > 0.8
    assert lists.lower_bound > 0
    assert lists.verdict == "no claim"


def test_the_sound_variant_stays_below_its_claim():
    """Under the guarantee the guesses prove no epsilon above it, though right ones would."""
    rows = play_game(GAMES[1], fits=2)
    assert all(row.lower_bound <= row.epsilon == 1.0 for row in rows)
    assert {row.verdict for row in rows} == {"no violation found"}
    assert not control_works(rows)


def test_a_fit_of_xmap_that_forgets_its_noise_is_caught():
    """Planted: the sound fit without noise, with its claim. The worlds are of a fixed seed."""
    settings = {"epsilon": math.inf, "delta": DELTA, "stars": True}
    lists, _ = play_game(Game("planted", partial(play_once, settings), 1.0, DELTA))
    assert lists.verdict == "violation"


@pytest.mark.parametrize(
    ("epsilon", "delta", "verdict"),
    [(1.0, 1e-10, "violation"), (1.0, 1e-6, "weak audit"), (1.4, 1e-10, "weak audit")],
)
def test_a_claim_that_no_guess_could_refute_is_a_weak_audit(epsilon, delta, verdict):
    """All of 60 guesses right refute epsilon 1; not 1.4, and nothing where delta may explain it."""

    def always_right(generator):
        inside = (generator.random(60) < 0.5).astype(np.int64)
        return Round(inside, {"lists": inside.astype(float)})

    (row,) = play_game(Game("leak", always_right, epsilon, delta), fits=2)
    assert row.right == row.guesses == 60
    assert row.verdict == verdict


def test_weak_games_fail_a_whole_audit_and_not_a_short_one():
    """With the samples of the default the audit says that the game cannot refute its claim."""
    weak_round = Round(np.array([0, 1]), {"lists": np.zeros(2)})
    weak = Game("weak", lambda generator: weak_round, 1.0, 1e-6)
    made = membership_study(lambda: (weak,), "recommender", "attack")
    assert made.run(None, True, lambda _: None)[1] == []
    assert "weak, lists: no guesses" in made.run(None, False, lambda _: None)[1][0]
