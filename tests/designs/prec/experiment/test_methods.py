"""The worlds are what they say: how many agree with the client, and in what."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.designs.prec.experiment.methods import WORLDS, Game
from tacit.errors import ConfigError


def played(world: str, game: Game, seed: int = 0):
    """(rounds, voters) votes and (rounds, objects) likes."""
    rounds = list(WORLDS[world](game, np.random.default_rng(seed)))
    return (np.array([each[part].copy() for each in rounds]) for part in (0, 1))


def wrong(votes, likes):
    """(voters,) how often each voted for what the client dislikes."""
    return np.array([~liked[cast] for cast, liked in zip(votes, likes, strict=True)]).sum(axis=0)


@pytest.mark.parametrize("world", ["planted", "opposed", "sybils"])
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
