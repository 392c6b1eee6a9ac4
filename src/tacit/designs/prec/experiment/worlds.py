"""Worlds that a p-REC run is tried in: votes of everybody, and what the client likes.

A world yields, round by round, the votes (voters,) and what the client likes (objects,), and is
sent what the client was given. Several clients share one taste; the world is sent what the first
was given. The paper takes the first part of Theorem 6 from an earlier paper; `search` is our
construction with the same bound: to find one camp of m by trying takes (m - 1) / 2 wrong tries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.designs.prec.output_distribution import OutputDistribution
from tacit.errors import ConfigError

Votes = NDArray[np.int64]
Likes = NDArray[np.bool_]
Play = Generator[tuple[Votes, Likes], int, None]

_LOYAL = 0.45
"""Share that stays: traitors are a little over one half, so that they are followed once."""
UNPROMISED = ("one-round", "victim")  # where no P voters are peers, so that no loss is bounded
_CREDITED = ("planted", "stubborn", "both-ways")  # for any diversity and radius
_SHARES = 200  # of the voters, which the adaptive adversary weighs up


@dataclass(frozen=True)
class Game:
    """Setting of one run.

    Raises:
        ConfigError: A value is out of range.
    """

    rounds: int
    """T."""
    objects: int
    """m."""
    voters: int
    """n."""
    peers: int
    """P."""
    diversity: int = 0
    """D, which the promise allows."""
    radius: int = 0
    """R, which the promise allows."""
    clients: int = 1
    """Clients with the same taste."""
    together: int = 1
    """Clients whom epsilon and delta are for, together."""
    epsilon: float = 1.0
    """Nats of private methods."""
    delta: float = 1e-6
    """Chance beside epsilon."""
    world: str = "planted"
    """A key of `WORLDS`."""
    pattern: int = 1
    """1 or 2, the first or the second of the two that `both-ways` has; 1 in all other worlds."""

    def __post_init__(self) -> None:
        if not (self.rounds >= 3 and self.objects >= 2 and 0 <= self.radius <= self.rounds):
            raise ConfigError(
                "A simulation needs 3 rounds or more, 2 objects or more, and a radius of at most "
                f"the rounds; got {self.rounds}, {self.objects} and {self.radius}."
            )
        if not 1 <= self.peers <= self.voters:
            raise ConfigError(
                f"Between 1 and all {self.voters} voters are peers; got {self.peers}."
            )
        if not 0 <= self.diversity <= self.rounds:
            raise ConfigError("diversity is 0 to the number of rounds.")
        if not 1 <= self.together <= self.clients:
            raise ConfigError(
                f"Of {self.clients} clients, 1 to all are priced together; got {self.together}."
            )
        if self.world not in WORLDS:
            raise ConfigError(f"A world is one of {', '.join(WORLDS)}; got {self.world!r}.")
        if self.pattern not in ((1, 2) if self.world == "both-ways" else (1,)):
            raise ConfigError(
                "The world 'both-ways' has the patterns 1 and 2, every other world has the pattern "
                f"1 alone; got {self.pattern}."
            )
        if self.world not in _CREDITED and (self.diversity or self.radius):
            raise ConfigError(f"The world '{self.world}' is for diversity 0 and radius 0.")


def planted_peers(game: Game, rng: np.random.Generator) -> Play:
    """Peers vote for what the client likes, everybody else at random.

    Each peer errs in R rounds of their own; in D rounds two objects are liked.
    """
    twice = _choose_objects(game.rounds, game.diversity, rng)
    wrong = np.zeros((game.rounds, game.peers), dtype=bool)
    for peer in range(game.peers):
        wrong[:, peer] = _choose_objects(game.rounds, game.radius, rng)
    for number in range(game.rounds):
        votes = _random_votes(game, rng)
        likes = _choose_objects(game.objects, 1 + int(twice[number]), rng)
        votes[: game.peers] = rng.choice(np.flatnonzero(likes), game.peers)
        erring = np.flatnonzero(wrong[number])
        if not likes.all():
            votes[erring] = rng.choice(np.flatnonzero(~likes), len(erring))
        yield votes, likes


def opposed_peers(game: Game, rng: np.random.Generator) -> Play:
    """All but the peers vote for one object that the client dislikes."""
    for _ in range(game.rounds):
        yield _split_votes(game, game.peers, rng)


def adaptive_adversary(game: Game, rng: np.random.Generator) -> Play:
    """An adversary who knows the state spends voters where they cost most.

    A share of the survivors votes for a disliked object, all others for what they like. When too
    few are left to spend, all agree.
    """
    share = _dearest_share(OutputDistribution(game.rounds, game.objects), game.voters)
    alive = np.ones(game.voters, dtype=bool)
    for _ in range(game.rounds):
        likes = _choose_objects(game.objects, 1, rng)
        liked = np.flatnonzero(likes)[0]
        other = rng.choice(np.flatnonzero(~likes))
        spent = math.ceil(share * alive.sum())
        votes = np.full(game.voters, liked)
        if alive.sum() - spent >= game.peers:
            votes[np.flatnonzero(alive)[-spent:]] = other
        given = yield votes, likes
        alive &= (votes == given) if likes[given] else (votes != given)


def _dearest_share(law: OutputDistribution, voters: int) -> float:
    """Find the share with the highest chance of a disliked recommendation for the voters spent."""

    def efficiency(spent: int) -> float:
        chance = law.chances(np.array([spent, voters - spent]))[0]
        return float(chance) / -math.log1p(-spent / voters)

    steps = [step * voters // _SHARES for step in range(1, _SHARES)]
    return max(filter(None, steps), key=efficiency, default=voters / 2) / voters


def search(game: Game, rng: np.random.Generator) -> Play:
    """One of m camps is the client's in each phase, until only the peers are left (Theorem 6)."""
    left = np.arange(game.voters)
    for number in range(game.rounds):
        if number % (game.objects - 1) == 0:
            mine = int(rng.integers(game.objects))
            split = len(left) >= game.objects * game.peers
            camps = np.array_split(rng.permutation(left), game.objects) if split else []
            left = camps[mine] if split else left
        votes = _random_votes(game, rng)
        likes = np.arange(game.objects) == mine
        for camp, members in enumerate(camps):
            votes[members] = camp
        if not split:
            votes[left] = mine
        yield votes, likes


def stubborn_peers(game: Game, rng: np.random.Generator) -> Play:
    """Peers always vote for the first object, which is liked after R random rounds (Theorem 6)."""
    for number in range(game.rounds):
        votes = _random_votes(game, rng)
        first = np.arange(game.objects) == 0
        votes[: game.peers] = 0
        yield votes, _choose_objects(game.objects, 1, rng) if number < game.radius else first


def one_round(game: Game, rng: np.random.Generator) -> Play:
    """Two camps of peers differ in one round (Lemma 8)."""
    differ = rng.integers(game.rounds)
    mine = rng.permutation(game.voters)[: game.voters // 2]
    for number in range(game.rounds):
        likes = _choose_objects(game.objects, 1, rng)
        votes = np.full(game.voters, np.flatnonzero(likes)[0])
        if number == differ:
            votes[mine] = rng.choice(np.flatnonzero(~likes))
        yield votes, likes


def both_ways(game: Game, rng: np.random.Generator) -> Play:
    """All voters vote alike; in some rounds the client likes two objects, or they err (Theorem 15).

    In D of these rounds both objects are liked, in R more the second one is disliked. In the first
    pattern voters vote for the first object there, in the second pattern for the second one.
    Elsewhere one object is liked and gets all votes.
    """
    differs = rng.random(game.rounds) < (game.diversity + game.radius) / (2 * game.rounds)
    used = 0
    for number in range(game.rounds):
        first, second = rng.permutation(game.objects)[:2]
        likes = np.arange(game.objects) == first
        vote = first
        if differs[number] and used < game.diversity + game.radius:
            likes[second] = used < game.diversity
            vote = first if game.pattern == 1 else second
            used += 1
        yield np.full(game.voters, vote), likes


def sybils(game: Game, rng: np.random.Generator) -> Play:
    """All who are not peers are an army that betrays the client, half of it at a time, for good."""
    loyal = game.voters
    for number in range(game.rounds):
        if number and loyal > game.peers:
            loyal = max(game.peers, min(loyal - 1, round(loyal * _LOYAL)))
        yield _split_votes(game, loyal, rng)


def victim(game: Game, rng: np.random.Generator) -> Play:
    """A client without peers likes what one voter votes for: what they are given, they learn."""
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
"""Worlds by name; the first paragraph of a world's docstring is shown to readers of the page."""


def _split_votes(game: Game, loyal: int, rng: np.random.Generator) -> tuple[Votes, Likes]:
    """Let `loyal` voters vote for what is liked, all others for one other object."""
    likes = _choose_objects(game.objects, 1, rng)
    votes = np.full(game.voters, rng.choice(np.flatnonzero(~likes)))
    votes[:loyal] = np.flatnonzero(likes)[0]
    return votes, likes


def _random_votes(game: Game, rng: np.random.Generator) -> Votes:
    """Draw everybody's vote at random."""
    return rng.integers(0, game.objects, game.voters)


def _choose_objects(size: int, number: int, rng: np.random.Generator) -> Likes:
    """Choose `number` of `size` at random, as a mask."""
    chosen = np.zeros(size, dtype=bool)
    chosen[rng.choice(size, min(number, size), replace=False)] = True
    return chosen
