"""Worlds of a simulated run: everybody's votes, and what the client likes.

A world is a generator. In each round it yields the votes (voters,) and what the client likes
(objects,), and is sent the object that the client was recommended. If there are several clients,
all like the same objects, and the world is sent the recommendation of the first client. m is the
number of objects in each round, P the number of peers, D the diversity and R the radius of a game.

Some worlds are those of the paper's proofs. The paper takes the first part of Theorem 6 from an
earlier paper; `search` is our construction with the same bound: finding the right one of m camps by
trying takes (m - 1) / 2 wrong tries on average.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator

import numpy as np
from numpy.typing import NDArray

from tacit.designs.prec.experiment.game import Game
from tacit.designs.prec.output_distribution import OutputDistribution

Votes = NDArray[np.int64]
"""(voters,) position of the object that each voter votes for in a round."""
Likes = NDArray[np.bool_]
"""(objects,) whether the client likes each object of a round."""
Play = Generator[tuple[Votes, Likes], int, None]
"""Yields votes and likes of each round, and is sent the recommended object's position."""

_LOYAL_SHARE = 0.45
"""Share of the loyal voters who stay loyal in each round of `sybils`. Those who turn away are a
little more than half, so that their object is likely to be recommended once; then they stop
counting."""
_TRIED_SHARES = 200
"""The adaptive adversary compares the multiples of 1 / _TRIED_SHARES as shares of the voters."""


def planted_peers(game: Game, rng: np.random.Generator) -> Play:
    """Peers vote for what the client likes, everybody else at random.

    Each peer votes for a disliked object in R rounds, which are drawn for this peer. In D rounds
    the client likes two objects; if the round has no others, no peer votes for a disliked one.
    """
    likes_two = _choose_at_random(game.rounds, game.diversity, rng)  # (rounds,)
    is_wrong = np.zeros((game.rounds, game.peers), dtype=bool)
    for peer in range(game.peers):
        is_wrong[:, peer] = _choose_at_random(game.rounds, game.radius, rng)
    for number in range(game.rounds):
        votes = _random_votes(game, rng)
        likes = _choose_at_random(game.objects, 2 if likes_two[number] else 1, rng)
        votes[: game.peers] = rng.choice(np.flatnonzero(likes), game.peers)
        wrong_peers = np.flatnonzero(is_wrong[number])
        if not likes.all():
            votes[wrong_peers] = rng.choice(np.flatnonzero(~likes), len(wrong_peers))
        yield votes, likes


def opposed_peers(game: Game, rng: np.random.Generator) -> Play:
    """All but the peers vote for one object that the client dislikes."""
    for _ in range(game.rounds):
        yield _split_votes(game, game.peers, rng)


def adaptive_adversary(game: Game, rng: np.random.Generator) -> Play:
    """An adversary misleads the client at the least cost in voters who still count.

    The adversary knows who still counts, the survivors. In each round a share of them votes for a
    disliked object, all others for the liked one. Once fewer than P survivors would be left, all
    vote for the liked one.
    """
    share = _most_efficient_share(OutputDistribution(game.rounds, game.objects), game.voters)
    is_survivor = np.ones(game.voters, dtype=bool)
    for _ in range(game.rounds):
        likes = _choose_at_random(game.objects, 1, rng)
        liked_object = np.flatnonzero(likes)[0]
        disliked_object = rng.choice(np.flatnonzero(~likes))
        misleading = math.ceil(share * is_survivor.sum())
        votes = np.full(game.voters, liked_object)
        if is_survivor.sum() - misleading >= game.peers:
            votes[np.flatnonzero(is_survivor)[-misleading:]] = disliked_object
        recommended = yield votes, likes
        if likes[recommended]:
            is_survivor &= votes == recommended
        else:
            is_survivor &= votes != recommended


def _most_efficient_share(distribution: OutputDistribution, voters: int) -> float:
    """Find the share of voters that misleads the client most efficiently.

    If k of n voters vote for a disliked object and it is recommended, they stop counting. Their
    efficiency is the chance of that recommendation divided by -ln(1 - k/n), the loss of voters on a
    logarithmic scale.

    Args:
        distribution: p-REC's output distribution for two objects or more.
        voters: n.
    """

    def efficiency(misleading: int) -> float:
        chance = distribution.chances(np.array([misleading, voters - misleading]))[0]
        return float(chance) / -math.log1p(-misleading / voters)

    numbers = []
    for step in range(1, _TRIED_SHARES):
        number = step * voters // _TRIED_SHARES
        if number > 0:
            numbers.append(number)
    return max(numbers, key=efficiency, default=voters / 2) / voters


def search(game: Game, rng: np.random.Generator) -> Play:
    """One of m camps of voters votes for what the client likes, for m - 1 rounds (Theorem 6).

    Then this camp is divided into m camps again, as long as each keeps P voters. After that the
    last camp votes for what the client likes in all rounds.
    """
    members = np.arange(game.voters)  # voters who have been in the client's camp so far
    for number in range(game.rounds):
        if number % (game.objects - 1) == 0:
            liked_object = int(rng.integers(game.objects))
            can_divide = len(members) >= game.objects * game.peers
            camps = []
            if can_divide:
                camps = np.array_split(rng.permutation(members), game.objects)
                members = camps[liked_object]
        votes = _random_votes(game, rng)
        likes = np.arange(game.objects) == liked_object
        for camp_object, camp in enumerate(camps):
            votes[camp] = camp_object
        if not can_divide:
            votes[members] = liked_object
        yield votes, likes


def stubborn_peers(game: Game, rng: np.random.Generator) -> Play:
    """Peers always vote for the first object, which is liked after R random rounds (Theorem 6)."""
    for number in range(game.rounds):
        votes = _random_votes(game, rng)
        votes[: game.peers] = 0
        if number < game.radius:
            likes = _choose_at_random(game.objects, 1, rng)
        else:
            likes = np.arange(game.objects) == 0
        yield votes, likes


def one_round(game: Game, rng: np.random.Generator) -> Play:
    """All vote for what the client likes, except that in one round half of them do not (Lemma 8).

    In that round, which is drawn, a random half votes for an object that the client dislikes.
    """
    wrong_round = rng.integers(game.rounds)
    wrong_camp = rng.permutation(game.voters)[: game.voters // 2]
    for number in range(game.rounds):
        likes = _choose_at_random(game.objects, 1, rng)
        votes = np.full(game.voters, np.flatnonzero(likes)[0])
        if number == wrong_round:
            votes[wrong_camp] = rng.choice(np.flatnonzero(~likes))
        yield votes, likes


def both_ways(game: Game, rng: np.random.Generator) -> Play:
    """All vote for the same object, which in some rounds depends on the pattern (Theorem 15).

    In each round a first and a second object are drawn. In the rounds that depend on the pattern,
    all vote for the first in pattern 1 and for the second in pattern 2. In up to D of these rounds
    the client likes both, in up to R further ones the first alone. In all other rounds the client
    likes the first object, and all vote for it.
    """
    # (D + R) / 2 rounds on average; never more than D + R are used
    may_differ = rng.random(game.rounds) < (game.diversity + game.radius) / (2 * game.rounds)
    differing_rounds = 0
    for number in range(game.rounds):
        first, second = rng.permutation(game.objects)[:2]
        likes = np.arange(game.objects) == first
        vote = first
        if may_differ[number] and differing_rounds < game.diversity + game.radius:
            likes[second] = differing_rounds < game.diversity
            vote = first if game.pattern == 1 else second
            differing_rounds += 1
        yield np.full(game.voters, vote), likes


def sybils(game: Game, rng: np.random.Generator) -> Play:
    """All voters but the peers work together: round after round, a part of them turns away.

    Voters vote for what the client likes until they turn away, and from then on for a disliked
    object. From the second round on, a little over half of the voters who are still loyal turn away
    in each round, until the peers alone are left. The peers never turn away.
    """
    loyal = game.voters
    for number in range(game.rounds):
        if number > 0 and loyal > game.peers:
            loyal = max(game.peers, round(loyal * _LOYAL_SHARE))
        yield _split_votes(game, loyal, rng)


def victim(game: Game, rng: np.random.Generator) -> Play:
    """A client without peers likes what one voter votes for, to learn that voter's votes."""
    for _ in range(game.rounds):
        votes = _random_votes(game, rng)
        yield votes, np.arange(game.objects) == votes[0]


WORLDS: dict[str, Callable[[Game, np.random.Generator], Play]] = {
    "planted": planted_peers,
    "opposed": opposed_peers,
    "adaptive": adaptive_adversary,
    "search": search,
    "stubborn": stubborn_peers,
    "one-round": one_round,
    "both-ways": both_ways,
    "sybils": sybils,
    "victim": victim,
}
"""Worlds by name; the page of a simulation shows the first paragraph of a world's docstring."""


def _split_votes(game: Game, loyal: int, rng: np.random.Generator) -> tuple[Votes, Likes]:
    """Make a round in which the first `loyal` voters vote for the liked object.

    All other voters vote for one disliked object.
    """
    likes = _choose_at_random(game.objects, 1, rng)
    votes = np.full(game.voters, rng.choice(np.flatnonzero(~likes)))
    votes[:loyal] = np.flatnonzero(likes)[0]
    return votes, likes


def _random_votes(game: Game, rng: np.random.Generator) -> Votes:
    """Draw everybody's vote at random."""
    return rng.integers(0, game.objects, game.voters)


def _choose_at_random(size: int, number: int, rng: np.random.Generator) -> Likes:
    """Choose `number` of `size` positions at random, or all if there are fewer: a (size,) mask."""
    chosen = np.zeros(size, dtype=bool)
    chosen[rng.choice(size, min(number, size), replace=False)] = True
    return chosen
