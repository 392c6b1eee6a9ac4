"""p-REC and what it is compared with, all played by the same rules.

p-rec               the sound variant, with its gate, for epsilon and delta
p-rec-no-gate       the paper's algorithm, which promises nothing where peers are not promised
exponential         the exponential mechanism on all votes of each round, for the same epsilon and
                    delta over all rounds: counts are monotonic, so it draws in proportion to
                    e^(epsilon_0 count), and T rounds cost T epsilon_0^2 / 8 of zCDP at most
majority            what most voters vote for
weighted-majority   the same with weights: voters that p-REC would charge have theirs halved; no
                    privacy
uniform             any object; looks at no vote
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import numpy as np

from tacit.accounting.base import PureAccountant, smallest_noise
from tacit.accounting.concentrated import ZCDPAccountant
from tacit.accounting.events import Event, Exponential, repeat
from tacit.designs.prec import PRec, PRecSettings
from tacit.designs.prec.experiment.worlds import Game, Votes
from tacit.errors import ConfigError
from tacit.mechanisms.selection import Selection
from tacit.randomness import replay

ABSTAINS = -1
PRIVATE = ("p-rec", "exponential")


class Player:
    """One method in one run. Clients are 0, 1, ...; votes (voters,), ABSTAINS for no vote.

    Draws are replayed from the seed, but for the gate's noise, which is always the system's.
    """

    def __init__(self, game: Game, seed: int) -> None:
        self.game, self.seed = game, seed

    def choose(self, votes: Votes, asking: Sequence[int]) -> list[int]:
        """An object for each client who asks in this round."""
        raise NotImplementedError

    def learn(
        self, votes: Votes, asking: Sequence[int], given: Sequence[int], liked: Sequence[bool]
    ) -> None:
        """What they said of it, in the same order."""

    def stopped(self, client: int) -> int | None:  # most never stop
        """The round, from 1, from which a client was given any object."""
        return None


class Ours(Player):
    """p-REC as it is shipped."""

    def __init__(self, game: Game, seed: int, settings: PRecSettings) -> None:
        super().__init__(game, seed)
        self._server = PRec(settings, randomness=replay(f"p-rec {seed}"))
        self._voters, self._candidates = np.arange(game.voters), np.arange(game.objects)
        self._server.join_voters(self._voters)
        for client in range(game.clients):
            self._server.join(client)

    def choose(self, votes: Votes, asking: Sequence[int]) -> list[int]:
        voting = votes != ABSTAINS
        self._server.open_round(self._candidates, (self._voters[voting], votes[voting]))
        return [int(self._server.recommend(client)) for client in asking]

    def learn(
        self, votes: Votes, asking: Sequence[int], given: Sequence[int], liked: Sequence[bool]
    ) -> None:
        for client, likes in zip(asking, liked, strict=True):
            self._server.feedback(client, likes)

    def stopped(self, client: int) -> int | None:
        return self._server.transcript(client).stopped


class Raw(Player):
    """The exponential mechanism."""

    def __init__(self, game: Game, seed: int) -> None:
        super().__init__(game, seed)
        each = per_round(game.epsilon, game.delta, game.rounds * game.together)
        self.draw = Selection(each, game.objects, 1, 0, game.voters, 1, monotonic=True)
        self._source = replay(f"exponential {seed}")

    def choose(self, votes: Votes, asking: Sequence[int]) -> list[int]:
        counts = np.bincount(votes[votes != ABSTAINS], minlength=self.game.objects)
        rows = np.tile(counts, (len(asking), 1))
        return [int(chosen) for chosen in self.draw(rows, self._source)]


class Majority(Player):
    """What most vote for; left: of the weight, for each client, of a voter who was wrong."""

    def __init__(self, game: Game, seed: int, *, left: float) -> None:
        super().__init__(game, seed)
        self._left, self._weights = left, np.ones((game.clients, game.voters))

    def choose(self, votes: Votes, asking: Sequence[int]) -> list[int]:
        voting, size = votes != ABSTAINS, self.game.objects
        return [
            int(np.bincount(votes[voting], self._weights[client][voting], size).argmax())
            for client in asking
        ]

    def learn(
        self, votes: Votes, asking: Sequence[int], given: Sequence[int], liked: Sequence[bool]
    ) -> None:
        for client, chosen, likes in zip(asking, given, liked, strict=True):
            wrong = ((votes != chosen) & (votes != ABSTAINS)) if likes else votes == chosen
            mine = self._weights[client]
            mine[wrong] *= self._left
            mine /= mine.max()


class Uniform(Player):
    """shut: whether it stands for a gate that would never open."""

    def __init__(self, game: Game, seed: int, *, shut: bool = False) -> None:
        super().__init__(game, seed)
        self._shut = shut
        self._rng = np.random.default_rng([seed, 1])

    def choose(self, votes: Votes, asking: Sequence[int]) -> list[int]:
        return [int(x) for x in self._rng.integers(0, self.game.objects, len(asking))]

    def stopped(self, client: int) -> int | None:
        return 1 if self._shut else None


_OTHERS: dict[str, Callable[[Game, int], Player]] = {
    "exponential": Raw,
    "majority": partial(Majority, left=1.0),
    "weighted-majority": partial(Majority, left=0.5),
    "uniform": Uniform,
}
METHODS = ("p-rec", "p-rec-no-gate", *_OTHERS)


def player(method: str, game: Game, seed: int) -> Player:
    """ConfigError for a method that there is not."""
    if method not in METHODS:
        raise ConfigError(f"A method is one of {', '.join(METHODS)}; got {method!r}.")
    if method in _OTHERS:
        return _OTHERS[method](game, seed)
    if method == "p-rec" and not math.isinf(game.epsilon):
        settings = sound_settings(game)
        return Uniform(game, seed, shut=True) if settings is None else Ours(game, seed, settings)
    return Ours(game, seed, _settings(game, math.inf, 1))


@lru_cache(maxsize=64)
def sound_settings(game: Game) -> PRecSettings | None:
    """With a plan; None where the gate would need more voters than there are: all is uniform.

    epsilon is finite.
    """
    settings = _settings(game, game.epsilon, game.together)
    try:
        _ = settings.plan
    except ConfigError:
        return None
    return settings


def _settings(game: Game, epsilon: float, together: int) -> PRecSettings:
    sizes = (game.rounds, game.objects, game.voters, None, game.diversity, game.radius)
    return PRecSettings(*sizes, epsilon=epsilon, delta=game.delta, clients_together=together)


@lru_cache(maxsize=256)
def per_round(epsilon: float, delta: float, rounds: int) -> float:
    """Epsilon of one choice of so many, by the accountant that leaves most."""
    if math.isinf(epsilon):
        return epsilon

    def choices(noise: float) -> Event:
        return repeat(Exponential(1 / noise), rounds)

    asked = {"epsilon": epsilon, "delta": delta}
    accountants = ZCDPAccountant, PureAccountant
    return 1 / min(smallest_noise(choices, **asked, accountant=each) for each in accountants)
