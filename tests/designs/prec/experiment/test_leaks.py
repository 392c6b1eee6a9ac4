"""The leak of the lower-bound worlds: by hand, by enumeration, and by the shipped curator."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from tacit.designs.prec import OutputDistribution, PRec, PRecSettings, theory
from tacit.designs.prec.audit.walk import make_pattern, walk_paths
from tacit.designs.prec.experiment import leaks
from tacit.designs.prec.experiment.game import Game
from tacit.designs.prec.experiment.leaks import Kinds, exact_log_ratios, leak, pattern_pair
from tacit.designs.prec.planner import promise_epsilon
from tacit.errors import ConfigError

ONE_ROUND = Game(40, 2, 48, 24, world="one-round")
BOTH_WAYS = Game(60, 2, 13, 13, diversity=20, radius=10, world="both-ways")
SEARCH = Game(7, 2, 60, 14, world="search")
STUBBORN = Game(6, 2, 30, 20, radius=1, world="stubborn")


def kinds(game, pair):
    law = OutputDistribution(game.rounds, game.objects, game.radius)
    sizes = {"objects": game.objects, "diversity": game.diversity, "radius": game.radius}
    return Kinds(pair.first, law, **sizes), Kinds(pair.second, law, **sizes)


def log_ratio(pair_kinds, likes, sequence):
    """ln Pr[b] - ln Pr'[b] of one recommendation sequence, and ln Pr[b]."""
    sides = []
    for side in pair_kinds:
        credits_, total = side.start(), 0.0
        for number, given in enumerate(sequence):
            total += math.log(side.chances(number, credits_)[given])
            credits_ = side.charge(number, credits_, given, bool(likes[number][given]))
        sides.append(total)
    return sides[0] - sides[1], sides[0]


def test_one_round_by_hand():
    """Lemma 8: in the round that differs a half votes for the other object, or nobody does; the
    other rounds tell nothing. gamma is 2/119, so the chances of the other object are 1/2 and 1/119.
    """
    found = leak(ONE_ROUND, 3)
    gamma = 2 / (3 * 40 - 1)
    assert found.steps == 24
    assert found.worst == pytest.approx(math.log(0.5 / (gamma / 2)))
    own = math.log(0.5 / (1 - gamma / 2))
    assert found.mean == pytest.approx(0.5 * math.log(0.5 / (gamma / 2)) + 0.5 * own)
    assert found.per_step == pytest.approx(found.worst / 24)
    assert found.played == pytest.approx(found.worst) or found.played == pytest.approx(own)


def test_both_ways_tells_in_every_round_that_differs():
    """Theorem 15: while both voters count, each round with two votes tells as much as one vote
    can; the largest sum is between one such round and all of them."""
    pair = pattern_pair(BOTH_WAYS, 1)
    differs = int((pair.first[:, 0] != pair.second[:, 0]).sum())
    gamma = float(OutputDistribution(60, 2, 10).gamma)
    once = math.log((1 - gamma / 2) / (gamma / 2))
    found = leak(BOTH_WAYS, 1)
    assert differs > 3
    assert once * 3 < found.worst <= once * differs * (1 + 1e-12)
    assert found.steps == 26


@pytest.mark.parametrize(
    "game", [SEARCH, STUBBORN, replace(BOTH_WAYS, rounds=9, diversity=6, radius=0)]
)
def test_largest_and_mean_are_those_of_all_sequences(game):
    """Every recommendation sequence of a short run, one after the other."""
    pair = pattern_pair(game, 2)
    sides = kinds(game, pair)
    every = itertools.product(range(game.objects), repeat=game.rounds)
    found = [log_ratio(sides, pair.likes, sequence) for sequence in every]
    assert sum(math.exp(chance) for _, chance in found) == pytest.approx(1)
    largest, mean = exact_log_ratios(*sides, pair.likes)
    assert largest == pytest.approx(max(abs(ratio) for ratio, _ in found))
    assert mean == pytest.approx(
        sum(math.exp(chance) * ratio for ratio, chance in found), abs=1e-12
    )


@pytest.mark.parametrize("game", [ONE_ROUND, BOTH_WAYS, SEARCH, STUBBORN])
def test_chances_are_the_shipped_curators(game):
    """Along a sequence of recommendations, both patterns have the chances that PRec draws with."""
    pair = pattern_pair(game, 1)
    answers = pair.likes.astype(np.int64)
    rng = np.random.default_rng(5)
    sequence = tuple(rng.integers(0, game.objects, game.rounds).tolist())
    settings = PRecSettings(
        game.rounds,
        game.objects,
        pair.first.shape[1],
        diversity=game.diversity,
        radius=game.radius,
        epsilon=math.inf,
    )
    for side, votes in zip(kinds(game, pair), (pair.first, pair.second), strict=True):
        (walk,) = walk_paths(PRec, settings, make_pattern(votes, answers), [sequence])
        credits_ = side.start()
        for number, event in enumerate(walk.draws):
            given = sequence[number]
            assert side.chances(number, credits_)[given] == pytest.approx(event.chance)
            credits_ = side.charge(number, credits_, given, bool(answers[number, given]))
        assert len(walk.draws) == game.rounds


@pytest.mark.parametrize("seed", range(4))
def test_credits_are_the_shipped_curators(seed):
    """Of voters who vote and are answered at random, so that both credits run out."""
    rounds, objects, voters = 24, 2, 9
    rng = np.random.default_rng(seed)
    votes = rng.integers(0, objects, (rounds, voters))
    answers = rng.integers(0, 2, (rounds, objects))
    sequence = tuple(rng.integers(0, objects, rounds).tolist())
    settings = PRecSettings(rounds, objects, voters, diversity=6, radius=1, epsilon=math.inf)
    (walk,) = walk_paths(PRec, settings, make_pattern(votes, answers), [sequence])
    distribution = OutputDistribution(rounds, objects, 1)
    side = Kinds(votes, distribution, objects=objects, diversity=6, radius=1)
    credits_ = side.start()
    for number, event in enumerate(walk.draws):
        given = sequence[number]
        assert side.chances(number, credits_)[given] == pytest.approx(event.chance)
        credits_ = side.charge(number, credits_, given, bool(answers[number, given]))
    assert len(walk.draws) == rounds
    assert None in credits_


@pytest.mark.parametrize("game", [ONE_ROUND, BOTH_WAYS, replace(SEARCH, rounds=12)])
@pytest.mark.parametrize("seed", range(3))
def test_a_step_keeps_to_what_is_proven(game, seed):
    """Divided by the steps, no log-ratio is above the epsilon of the promise that is kept."""
    pair, found = pattern_pair(game, seed), leak(game, seed)
    sizes = {"objects": 2, "rounds": game.rounds, "peers": pair.peers, "voters": pair.voters}
    sizes |= {"diversity": game.diversity, "radius": game.radius}
    assert found.proven == promise_epsilon(**sizes)[0]
    assert 0 < found.per_step <= found.proven
    assert abs(found.played) <= found.worst + 1e-12
    assert 0 <= found.mean <= found.worst


def test_the_lower_bound_stands_beside():
    """What nobody can go below at p-REC's loss bound, for the pair's own peers and voters."""
    pair, found = pattern_pair(ONE_ROUND, 1), leak(ONE_ROUND, 1)
    assert (pair.peers, pair.voters) == (24, 48)
    assert found.lower_bound == theory.eps_lower_bound(2, 40, 0, 0, 48, 24)
    assert found.lower_bound > 0


@pytest.mark.parametrize("game", [SEARCH, STUBBORN])
def test_a_peer_is_what_differs(game):
    """Theorem 6's worlds with and without one voter, who never errs beyond the radius."""
    pair = pattern_pair(game, 1)
    assert pair.second.shape[1] == pair.first.shape[1] - 1
    left = pair.first.T.tolist()
    for column in pair.second.T.tolist():
        left.remove(column)
    (removed,) = left
    wrong = sum(not likes[vote] for likes, vote in zip(pair.likes, removed, strict=True))
    assert wrong <= game.radius


def test_too_many_credits_are_not_followed(monkeypatch):
    """Beyond the limit only the played sequence is known, and it is what a step is judged by."""
    monkeypatch.setattr(leaks, "MOST_STATES", 3)
    found = leak(SEARCH, 1)
    assert (found.worst, found.mean) == (None, None)
    assert found.per_step == abs(found.played)


def test_worlds_without_a_pair_are_refused():
    """No proof compares two patterns of the planted world."""
    with pytest.raises(ConfigError, match="Leaks are computed in the worlds"):
        leak(Game(10, 2, 40, 20), 1)
