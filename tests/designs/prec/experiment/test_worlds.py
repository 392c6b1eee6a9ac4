"""The worlds are what they say: how many agree with the client, and in what."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.designs.prec.experiment.worlds import WORLDS, Game
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


def test_both_ways_is_within_diversity_and_radius():
    """Theorem 15: two are liked at most D times, and the camp errs at most R times."""
    game = Game(200, 2, 20, 20, diversity=6, radius=4)
    for seed in range(5):
        votes, likes = played("both-ways", game, seed)
        assert (likes.sum(axis=1) == 2).sum() <= 6
        assert (wrong(votes, likes) <= 4).all()


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
