"""Who votes for what, and what the client likes: worlds that a p-REC run is tried in.

Each yields, round by round, the votes (voters,) and what the client likes (objects,); several
clients have one taste.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.designs.prec import theory
from tacit.errors import ConfigError

Votes = NDArray[np.int64]
Likes = NDArray[np.bool_]
Play = Iterator[tuple[Votes, Likes]]

_LOYAL = 0.45
"""A traitors' share of a little over one half, so that they are followed once."""


@dataclass(frozen=True)
class Game:
    """rounds T, objects m, voters n, peers P; diversity D, radius R: what the promise allows.

    epsilon, delta: for what `together` of the clients see together.
    """

    rounds: int
    objects: int
    voters: int
    peers: int
    diversity: int = 0
    radius: int = 0
    clients: int = 1
    together: int = 1
    epsilon: float = 1.0
    delta: float = 1e-6
    world: str = "planted"

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
        if self.world != "planted" and (self.diversity or self.radius):
            raise ConfigError(f"The world '{self.world}' is for diversity 0 and radius 0.")

    @property
    def loss_bound(self) -> float | None:
        """5.3 of the theory, for p-REC where the promise holds; None where nothing is proved."""
        sizes = self.voters, self.peers
        try:
            theory.check(self.objects, self.rounds, self.diversity, self.radius, *sizes)
        except ConfigError:
            return None
        return theory.loss_bound(self.objects, self.rounds, self.radius, *sizes)


def planted(game: Game, rng: np.random.Generator) -> Play:
    """Peers vote for what the client likes, everybody else at random.

    Each peer errs in R rounds of their own; in D rounds two objects are liked.
    """
    twice = _some(game.rounds, game.diversity, rng)
    wrong = np.zeros((game.rounds, game.peers), dtype=bool)
    for peer in range(game.peers):
        wrong[:, peer] = _some(game.rounds, game.radius, rng)
    for number in range(game.rounds):
        votes, likes = _chance(game, rng), _some(game.objects, 1 + int(twice[number]), rng)
        votes[: game.peers] = rng.choice(np.flatnonzero(likes), game.peers)
        erring = np.flatnonzero(wrong[number])
        if not likes.all():
            votes[erring] = rng.choice(np.flatnonzero(~likes), len(erring))
        yield votes, likes


def opposed(game: Game, rng: np.random.Generator) -> Play:
    """All but the peers vote for one object that the client dislikes."""
    for _ in range(game.rounds):
        yield _parted(game, game.peers, rng)


def sybils(game: Game, rng: np.random.Generator) -> Play:
    """All who are not peers are an army that betrays the client, half of it at a time, for good."""
    loyal = game.voters
    for number in range(game.rounds):
        if number and loyal > game.peers:
            loyal = max(game.peers, min(loyal - 1, round(loyal * _LOYAL)))
        yield _parted(game, loyal, rng)


def victim(game: Game, rng: np.random.Generator) -> Play:
    """The client has no peers and likes exactly what one voter votes for: what the client is
    given is what they learn of the voter.
    """
    for _ in range(game.rounds):
        votes = _chance(game, rng)
        yield votes, np.arange(game.objects) == votes[0]


WORLDS: dict[str, Callable[[Game, np.random.Generator], Play]] = {
    "planted": planted,
    "opposed": opposed,
    "sybils": sybils,
    "victim": victim,
}


def _parted(game: Game, loyal: int, rng: np.random.Generator) -> tuple[Votes, Likes]:
    """So many vote for what is liked, all others for one other object."""
    likes = _some(game.objects, 1, rng)
    votes = np.full(game.voters, rng.choice(np.flatnonzero(~likes)))
    votes[:loyal] = np.flatnonzero(likes)[0]
    return votes, likes


def _chance(game: Game, rng: np.random.Generator) -> Votes:
    return rng.integers(0, game.objects, game.voters)


def _some(size: int, number: int, rng: np.random.Generator) -> Likes:
    chosen = np.zeros(size, dtype=bool)
    chosen[rng.choice(size, min(number, size), replace=False)] = True
    return chosen
