"""The worlds are what they say: how many agree with the client, and in what."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tacit.designs.prec.experiment.game import WORLD_NAMES, Game
from tacit.designs.prec.experiment.worlds import WORLDS
from tacit.designs.prec.output_distribution import OutputDistribution
from tacit.errors import ConfigError


def played(world: str, game: Game, seed: int = 0):
    """(rounds, voters) votes and (rounds, objects) likes, the first liked object always given."""
    run = WORLDS[world](game, np.random.default_rng(seed))
    votes, likes = [], []
    given = None
    while True:
        try:
            cast, liked = next(run) if given is None else run.send(given)
        except StopIteration:
            return np.array(votes), np.array(likes)
        votes.append(cast.copy())
        likes.append(liked.copy())
        given = int(np.flatnonzero(liked)[0])


def test_every_world_has_a_name_and_a_generator():
    """The command names the worlds that can be played, in their order."""
    assert tuple(WORLDS) == WORLD_NAMES


def wrong(votes, likes):
    """(voters,) how often each voted for what the client dislikes."""
    return np.array([~liked[cast] for cast, liked in zip(votes, likes, strict=True)]).sum(axis=0)


@pytest.mark.parametrize("world", ["planted", "opposed", "adaptive", "search", "sybils"])
def test_the_promise_is_kept(world):
    """Exactly one object is liked, and as many voters as promised never err."""
    game = Game(60, 3, 240, 20)
    votes, likes = played(world, game)
    assert votes.shape == (60, 240)
    assert (likes.sum(axis=1) == 1).all()
    assert (wrong(votes, likes) == 0).sum() >= game.peers


def test_planted_peers_err_within_the_radius():
    """Each in R rounds of her own, and in D rounds two objects are liked."""
    game = Game(80, 3, 200, 30, diversity=7, radius=5)
    votes, likes = played("planted", game)
    assert (wrong(votes, likes)[:30] == 5).all()
    assert (likes.sum(axis=1) == 2).sum() == 7


def test_stubborn_peers_stay_within_the_radius():
    """They are peers whatever the client likes in the first R rounds."""
    votes, likes = played("stubborn", Game(50, 2, 100, 40, radius=9))
    assert (wrong(votes, likes)[:40] <= 9).all()
    assert likes[9:, 0].all()


def test_a_search_ends_with_the_peers():
    """Each phase keeps one camp of m, down to no fewer than P."""
    game = Game(40, 3, 270, 10)
    votes, likes = played("search", game)
    assert 10 <= (wrong(votes, likes) == 0).sum() < 30


def test_all_but_one_round_agree():
    """Lemma 8: the two camps differ in one round alone."""
    votes, _ = played("one-round", Game(30, 2, 40, 20))
    differ = [number for number, cast in enumerate(votes) if len(set(cast.tolist())) > 1]
    assert len(differ) == 1


def test_both_ways_has_two_patterns_within_diversity_and_radius():
    """Theorem 15, for so many seeds that all of D + R is used by some: the patterns differ in at
    most D rounds in which both objects are liked, and in at most R in which only the second
    pattern errs; in no other round."""
    game = Game(60, 2, 4, 4, diversity=2, radius=1, world="both-ways")
    most = 0
    for seed in range(60):
        first, likes = played("both-ways", game, seed)
        second, same_likes = played("both-ways", replace(game, pattern=2), seed)
        np.testing.assert_array_equal(likes, same_likes)
        both_liked = likes.sum(axis=1) == 2
        errs = wrong(second, likes)
        assert (first == first[:, :1]).all()
        assert (second == second[:, :1]).all()
        assert (wrong(first, likes) == 0).all()
        assert both_liked.sum() <= 2
        assert (errs == errs[0]).all()
        assert errs[0] <= 1
        differs = first[:, 0] != second[:, 0]
        assert differs.sum() == both_liked.sum() + errs[0]
        assert differs[both_liked].all()
        most = max(most, int(differs.sum()))
    assert most == 3


def test_both_ways_differs_as_often_as_the_paper_draws():
    """Of 2,000 rounds with D + R = 400 about a tenth differ (5 sigma), D of them first; in all
    others that differ the second pattern errs."""
    game = Game(2000, 2, 12, 12, diversity=100, radius=300, world="both-ways")
    first, likes = played("both-ways", game, 1)
    second, _ = played("both-ways", replace(game, pattern=2), 1)
    differs = np.flatnonzero(first[:, 0] != second[:, 0])
    assert abs(len(differs) - 200) < 5 * np.sqrt(180)
    both_liked = np.flatnonzero(likes.sum(axis=1) == 2)
    np.testing.assert_array_equal(both_liked, differs[:100])
    assert (wrong(first, likes) == 0).all()
    assert (wrong(second, likes) == len(differs) - 100).all()


def test_only_both_ways_has_a_second_pattern():
    """Elsewhere, and beyond two, a pattern is refused."""
    with pytest.raises(ConfigError, match="patterns 1 and 2"):
        Game(10, 2, 10, 5, pattern=2)
    with pytest.raises(ConfigError, match="patterns 1 and 2"):
        Game(10, 2, 10, 5, world="both-ways", pattern=3)


def test_the_search_has_the_paper_s_phases():
    """A phase is m - 1 rounds; in each round of it the client likes the object of one camp, and
    the camps of the phase are as large as each other, until a camp would be smaller than P."""
    game = Game(12, 4, 640, 10)
    votes, likes = played("search", game)
    mine = likes.argmax(axis=1)
    loyal = np.ones(640, dtype=bool)
    for phase in range(4):
        rounds = slice(3 * phase, 3 * phase + 3)
        assert len(set(mine[rounds].tolist())) == 1
        agrees = (votes[rounds] == mine[rounds, None]).all(axis=0)
        loyal &= agrees
        expected = max(10, 640 // 4 ** (phase + 1))
        assert loyal.sum() == expected


def test_stubborn_peers_vote_for_the_first_object_in_every_round():
    """Also while the client's taste is random, in R rounds; strangers do not vote alike."""
    votes, likes = played("stubborn", Game(60, 3, 90, 40, radius=20))
    assert (votes[:, :40] == 0).all()
    assert len({tuple(column) for column in votes[:, 40:].T.tolist()}) == 50
    assert 2 <= (likes[:20].argmax(axis=1) == 0).sum() <= 14


def test_the_stubborn_are_wrong_in_the_first_rounds_alone():
    """Over 40 seeds every one of the first R rounds has a client who dislikes the first object
    (fails by chance less than once in 10^11 runs); no later round has."""
    games = [played("stubborn", Game(9, 2, 6, 4, radius=4), seed)[1] for seed in range(40)]
    disliked = [any(not likes[number, 0] for likes in games) for number in range(9)]
    assert disliked == [True] * 4 + [False] * 5


def test_the_camps_of_one_round_are_halves():
    """Lemma 8: in the round that differs half of the voters vote for what is disliked."""
    votes, likes = played("one-round", Game(30, 2, 40, 20))
    assert sorted(wrong(votes, likes).tolist()) == [0] * 20 + [1] * 20


def test_all_but_the_peers_are_opposed():
    """Exactly P voters always agree with the client; nobody else ever does."""
    votes, likes = played("opposed", Game(30, 3, 60, 20))
    assert sorted(wrong(votes, likes).tolist()) == [0] * 20 + [30] * 40


def test_the_adversary_spends_voters_while_there_are_enough():
    """Against one disliked object a round, each voter once, fewer every time, and then no more."""
    game = Game(60, 3, 60, 20)
    votes, likes = played("adaptive", game)
    assert wrong(votes, likes).max() == 1
    spent = [int((~liked[cast]).sum()) for cast, liked in zip(votes, likes, strict=True)]
    assert spent[0] > 0
    assert spent == sorted(spent, reverse=True)
    assert spent[-1] == 0
    assert sum(spent) <= game.voters - game.peers
    assert max(len(set(cast.tolist())) for cast in votes) == 2


@pytest.mark.parametrize(("rounds", "objects", "voters"), [(60, 3, 64), (1000, 2, 320)])
def test_the_adversary_spends_where_voters_are_dearest(rounds, objects, voters):
    """In the first round the chance of a disliked recommendation, by the share of survivors that
    it costs, is within 3 % of the best of any number of voters."""
    votes, likes = played("adaptive", Game(rounds, objects, voters, 1))
    spent = int((~likes[0][votes[0]]).sum())
    law = OutputDistribution(rounds, objects)

    def worth(number):
        chance = law.chances(np.array([number, voters - number]))[0]
        return float(chance) / -math.log1p(-number / voters)

    assert worth(spent) > 0.97 * max(worth(number) for number in range(1, voters))


def test_the_adversary_sees_whom_a_bad_recommendation_spends():
    """Where the client is given what they dislike, those who voted for it are lost to them, and
    those who voted otherwise stay: as many are spent as of the survivors before."""
    game = Game(60, 3, 600, 5)
    run = WORLDS["adaptive"](game, np.random.default_rng(0))
    alive = np.ones(600, dtype=bool)
    cast, liked = (values.copy() for values in next(run))
    share = (~liked[cast]).sum() / 600
    for number in range(3):
        betrayers = ~liked[cast]
        assert betrayers[alive].sum() == np.ceil(share * alive.sum())
        assert not betrayers[~alive].any()
        good = number % 2
        given = int(np.flatnonzero(liked)[0] if good else cast[betrayers][0])
        alive &= (cast == given) if good else (cast != given)
        cast, liked = (values.copy() for values in run.send(given))


def test_sybils_betray_in_halves():
    """Until only the peers are left, a little over half of those who stay loyal turn at a time."""
    votes, likes = played("sybils", Game(20, 2, 800, 50))
    loyal = [int(liked[cast].sum()) for cast, liked in zip(votes, likes, strict=True)]
    assert loyal[:5] == [800, 360, 162, 73, 50]
    assert loyal[-1] == 50


def test_the_victim_is_followed():
    """The client likes what voter 0 votes for, and nobody else agrees with her for long."""
    votes, likes = played("victim", Game(60, 2, 200, 12))
    assert (wrong(votes, likes) == 0).nonzero()[0].tolist() == [0]


@pytest.mark.parametrize(
    "sizes",
    [(2, 2, 10, 5), (10, 1, 10, 5), (10, 2, 10, 11), (10, 2, 10, 5, 11), (10, 2, 10, 5, 0, 11)],
)
def test_a_game_that_cannot_be_played_is_refused(sizes):
    """Too few rounds or objects, more peers than voters, more exceptions than rounds."""
    with pytest.raises(ConfigError):
        Game(*sizes)
