"""p-REC and what it is compared with, all played by the same rules.

p-rec               the sound variant, with its gate, for epsilon and delta
p-rec-no-gate       the paper's algorithm, which promises nothing where peers are not promised
exponential         the exponential mechanism on all votes of each round, for the same epsilon and
                    delta over all rounds: counts are monotonic, so it draws in proportion to
                    e^(epsilon_0 count), and T rounds cost T epsilon_0^2 / 8 of zCDP at most
majority            what most voters vote for
weighted-majority   the same with weights: whoever p-REC would charge has hers halved; no privacy
uniform             any object; looks at no vote
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.basic import BasicAccountant
from tacit.accounting.calibrate import smallest_noise
from tacit.accounting.events import Event, Exponential, repeat
from tacit.accounting.zcdp import ZCDPAccountant
from tacit.errors import ConfigError
from tacit.evaluation.prec_worlds import Game, Likes, Votes
from tacit.mechanisms.selection import Selection
from tacit.randomness import replay
from tacit.recommenders.prec import PRec, PRecSettings

METHODS = (
    "p-rec",
    "p-rec-no-gate",
    "exponential",
    "majority",
    "weighted-majority",
    "uniform",
)
PRIVATE = ("p-rec", "exponential")


@dataclass(frozen=True)
class Budget:
    """Nats and delta for what `together` of the clients see together, and how many there are."""

    epsilon: float
    delta: float
    clients: int = 1
    together: int = 1


class Player(Protocol):
    """One method in one run. stopped: the round in which it became uniform for ever, from 1."""

    stopped: int | None

    def choose(self, votes: Votes) -> list[int]:
        """An object for each client."""

    def learn(self, votes: Votes, given: Sequence[int], likes: Likes) -> None:
        """What the clients said of it."""


def player(method: str, game: Game, budget: Budget, seed: int) -> Player:
    """Draws are replayed from the seed, but for the gate's noise, which is always the system's."""
    if method == "p-rec" and not math.isinf(budget.epsilon):
        settings = sound_settings(game, budget)
        if settings is None:
            return Uniform(game, budget, seed, stopped=1)
        return Ours(settings, game, budget, seed)
    if method in ("p-rec", "p-rec-no-gate"):
        return Ours(_settings(game, math.inf, budget.delta, 1), game, budget, seed)
    return _OTHERS[method](game, budget, seed)


@lru_cache(maxsize=64)
def sound_settings(game: Game, budget: Budget) -> PRecSettings | None:
    """With a plan; None where the gate would need more voters than there are: all is uniform.

    epsilon is finite.
    """
    settings = _settings(game, budget.epsilon, budget.delta, budget.together)
    try:
        _ = settings.plan
    except ConfigError:
        return None
    return settings


def _settings(game: Game, epsilon: float, delta: float, together: int) -> PRecSettings:
    return PRecSettings(
        game.rounds,
        game.objects,
        game.voters,
        diversity=game.diversity,
        radius=game.radius,
        epsilon=epsilon,
        delta=delta,
        clients_together=together,
    )


@lru_cache(maxsize=256)
def per_round(epsilon: float, delta: float, rounds: int) -> float:
    """Epsilon of one choice of so many, by the accountant that leaves most."""

    if math.isinf(epsilon):
        return epsilon

    def choices(noise: float) -> Event:
        return repeat(Exponential(1 / noise), rounds)

    best = smallest_noise(choices, epsilon=epsilon, delta=delta, accountant=ZCDPAccountant)
    return 1 / min(
        best, smallest_noise(choices, epsilon=epsilon, delta=delta, accountant=BasicAccountant)
    )


class Ours:
    """p-REC as it is shipped."""

    def __init__(self, settings: PRecSettings, game: Game, budget: Budget, seed: int) -> None:
        self._server = PRec(settings, randomness=replay(f"p-rec {seed}"))
        self._voters, self._candidates = np.arange(game.voters), np.arange(game.objects)
        self._clients = range(budget.clients)
        self.stopped: int | None = None

    def choose(self, votes: Votes) -> list[int]:
        self._server.open_round(self._candidates, (self._voters, votes))
        given = [int(self._server.recommend(client)) for client in self._clients]
        if self.stopped is None and all(map(self._server.stopped, self._clients)):
            self.stopped = self._server.round
        return given

    def learn(self, votes: Votes, given: Sequence[int], likes: Likes) -> None:
        for client, chosen in zip(self._clients, given, strict=True):
            self._server.feedback(client, bool(likes[chosen]))


class _Yardstick(ABC):
    """Learns nothing, unless it says so."""

    stopped: int | None = None

    def __init__(self, game: Game, budget: Budget, seed: int) -> None:
        self.game, self.budget, self.seed = game, budget, seed

    @abstractmethod
    def choose(self, votes: Votes) -> list[int]: ...

    def learn(self, votes: Votes, given: Sequence[int], likes: Likes) -> None:
        return

    def _counts(self, votes: Votes) -> NDArray[np.int64]:
        return np.bincount(votes, minlength=self.game.objects)


class Raw(_Yardstick):
    def __init__(self, game: Game, budget: Budget, seed: int) -> None:
        super().__init__(game, budget, seed)
        choices = game.rounds * budget.together
        each = per_round(budget.epsilon, budget.delta, choices)
        self._draw = Selection(each, game.objects, 1, 0, game.voters, 1, monotonic=True)
        self._source = replay(f"exponential {seed}")

    def choose(self, votes: Votes) -> list[int]:
        rows = np.tile(self._counts(votes), (self.budget.clients, 1))
        return [int(chosen) for chosen in self._draw(rows, self._source)]


class Majority(_Yardstick):
    def choose(self, votes: Votes) -> list[int]:
        return [int(self._counts(votes).argmax())] * self.budget.clients


class WeightedMajority(_Yardstick):
    """For several clients too it is one: it does as the first one says."""

    def __init__(self, game: Game, budget: Budget, seed: int) -> None:
        super().__init__(game, budget, seed)
        self._weights = np.ones(game.voters)

    def choose(self, votes: Votes) -> list[int]:
        heard = np.bincount(votes, self._weights, self.game.objects)
        return [int(heard.argmax())] * self.budget.clients

    def learn(self, votes: Votes, given: Sequence[int], likes: Likes) -> None:
        chosen = given[0]
        self._weights[(votes != chosen) if likes[chosen] else (votes == chosen)] /= 2
        self._weights /= self._weights.max()


class Uniform(_Yardstick):
    def __init__(
        self, game: Game, budget: Budget, seed: int, *, stopped: int | None = None
    ) -> None:
        super().__init__(game, budget, seed)
        self.stopped = stopped
        self._rng = np.random.default_rng([seed, 1])

    def choose(self, votes: Votes) -> list[int]:
        return [int(x) for x in self._rng.integers(0, self.game.objects, self.budget.clients)]


_OTHERS: dict[str, type[_Yardstick]] = {
    "exponential": Raw,
    "majority": Majority,
    "weighted-majority": WeightedMajority,
    "uniform": Uniform,
}
