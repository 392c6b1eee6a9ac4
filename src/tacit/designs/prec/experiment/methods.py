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
from collections.abc import Callable, Mapping
from functools import lru_cache, partial

import numpy as np

from tacit.accounting.calibration import smallest_noise
from tacit.accounting.events import Event, Exponential, repeat
from tacit.accounting.pure import PureAccountant
from tacit.accounting.zcdp import ZCDPAccountant
from tacit.designs.prec import PRec, PRecSettings, theory
from tacit.designs.prec.experiment.worlds import UNPROMISED, Game, Likes, Votes
from tacit.designs.prec.gate import failure_chance
from tacit.errors import ConfigError
from tacit.mechanisms.selection import Selection
from tacit.randomness import replay

ABSTAINS = -1
PRIVATE = ("p-rec", "exponential")


class Player:
    """One method in one run. Clients are 0, 1, ...; votes are (voters,), ABSTAINS for no vote.

    Draws are replayed from the seed, but for the gate's noise, which is always the system's.
    """

    def play(self, votes: Votes, wanted: Mapping[int, Likes]) -> list[int]:
        """Give an object to each client who asks; each then says whether they like it.

        Args:
            votes: (voters,) votes of the round.
            wanted: For each client the (objects,) likes, looked up for the given object alone.

        Returns:
            The object of each client.
        """
        raise NotImplementedError

    def stopped_round(self, client: int) -> int | None:  # most never stop
        """Return the round, from 1, from which a client was given any object; None for never."""
        return None


class PRecPlayer(Player):
    """p-REC as it is shipped."""

    def __init__(self, game: Game, seed: int, settings: PRecSettings) -> None:
        self._server = PRec(settings, randomness=replay(f"p-rec {seed}"))
        self._voters = np.arange(game.voters)
        self._candidates = np.arange(game.objects)
        self._server.join_voters(self._voters)
        for client in range(game.clients):
            self._server.join(client)

    def play(self, votes: Votes, wanted: Mapping[int, Likes]) -> list[int]:
        """See `Player`."""
        voting = votes != ABSTAINS
        self._server.open_round(self._candidates, (self._voters[voting], votes[voting]))
        given = []
        for client, likes in wanted.items():
            given.append(int(self._server.recommend(client)))
            self._server.feedback(client, likes[given[-1]])
        return given

    def stopped_round(self, client: int) -> int | None:
        """See `Player`."""
        return self._server.transcript(client).stopped


class ExponentialPlayer(Player):
    """The exponential mechanism."""

    def __init__(self, game: Game, seed: int) -> None:
        each = per_round(game.epsilon, game.delta, game.rounds * game.together)
        self.draw = Selection(each, game.objects, 1, 0, game.voters, 1, monotonic=True)
        self._source = replay(f"exponential {seed}")

    def play(self, votes: Votes, wanted: Mapping[int, Likes]) -> list[int]:
        """See `Player`."""
        counts = np.bincount(votes[votes != ABSTAINS], minlength=self.draw.candidates)
        rows = np.tile(counts, (len(wanted), 1))
        return [int(chosen) for chosen in self.draw(rows, self._source)]


class MajorityPlayer(Player):
    """The majority, in which a voter who was wrong keeps a share of their weight for a client."""

    def __init__(self, game: Game, seed: int, *, left: float) -> None:
        self._objects = game.objects
        self._left = left
        self._weights = np.ones((game.clients, game.voters))

    def play(self, votes: Votes, wanted: Mapping[int, Likes]) -> list[int]:
        """See `Player`."""
        voting = votes != ABSTAINS
        given = []
        for client, likes in wanted.items():
            mine = self._weights[client]
            chosen = int(np.bincount(votes[voting], mine[voting], self._objects).argmax())
            mine[voting & ((votes == chosen) != likes[chosen])] *= self._left
            mine /= mine.max()
            given.append(chosen)
        return given


class UniformPlayer(Player):
    """Any object; `shut` says whether it stands for a gate that would never open."""

    def __init__(self, game: Game, seed: int, *, shut: bool = False) -> None:
        self._objects = game.objects
        self._shut = shut
        self._rng = np.random.default_rng([seed, 1])

    def play(self, votes: Votes, wanted: Mapping[int, Likes]) -> list[int]:
        """See `Player`."""
        return [int(x) for x in self._rng.integers(0, self._objects, len(wanted))]

    def stopped_round(self, client: int) -> int | None:
        """See `Player`."""
        return 1 if self._shut else None


def _make_gated_player(game: Game, seed: int) -> Player:
    """Make the sound variant; uniform where its gate would never open."""
    if math.isinf(game.epsilon):
        return _make_ungated_player(game, seed)
    settings = sound_settings(game)
    if settings is None:
        return UniformPlayer(game, seed, shut=True)
    return PRecPlayer(game, seed, settings)


def _make_ungated_player(game: Game, seed: int) -> Player:
    """Make the paper's algorithm, without a gate."""
    return PRecPlayer(game, seed, _settings(game, math.inf))


PLAYERS: dict[str, Callable[[Game, int], Player]] = {
    "p-rec": _make_gated_player,
    "p-rec-no-gate": _make_ungated_player,
    "exponential": ExponentialPlayer,
    "majority": partial(MajorityPlayer, left=1.0),
    "weighted-majority": partial(MajorityPlayer, left=0.5),
    "uniform": UniformPlayer,
}
METHODS = tuple(PLAYERS)


@lru_cache(maxsize=64)
def sound_settings(game: Game) -> PRecSettings | None:
    """Make settings with a plan, for a finite epsilon.

    None where the gate would need more voters than there are: then all is uniform.
    """
    settings = _settings(game, game.epsilon)
    try:
        _ = settings.plan
    except ConfigError:
        return None
    return settings


def _settings(game: Game, epsilon: float) -> PRecSettings:
    sizes = (game.rounds, game.objects, game.voters, None, game.diversity, game.radius)
    return PRecSettings(*sizes, epsilon=epsilon, delta=game.delta, clients_together=game.together)


def loss_bound(game: Game, method: str) -> float | None:
    """Bound the expected loss of p-REC.

    None for other methods, and where nobody keeps the promise or nothing is proved.

    With a gate, rounds after it shut are added. Peers alone keep it (D + R + 1) P credits above 0;
    it shuts in a given round with the chance that the noise bridges what lies between them and its
    threshold.
    """
    if not method.startswith("p-rec") or game.world in UNPROMISED:
        return None
    voters = game.voters
    peers = game.peers
    try:
        theory.check(game.objects, game.rounds, game.diversity, game.radius, voters, peers)
    except ConfigError:
        return None
    proved = theory.loss_bound(game.objects, game.rounds, game.radius, voters, peers)
    if method == "p-rec-no-gate" or math.isinf(game.epsilon):
        return proved
    settings = sound_settings(game)
    lost = game.rounds * (1 - 1 / game.objects)
    if settings is None:
        return lost
    survivors = theory.credit_floor(game.diversity, game.radius, game.peers) // settings.credit
    between = survivors - settings.plan.threshold
    chance = game.rounds * failure_chance(settings.plan.gate, between - 2) if between > 0 else 1.0
    return proved + lost * min(1.0, chance)


@lru_cache(maxsize=256)
def per_round(epsilon: float, delta: float, rounds: int) -> float:
    """Compute the epsilon of one choice of so many, by the accountant that leaves most."""
    if math.isinf(epsilon):
        return epsilon

    def choices(noise: float) -> Event:
        return repeat(Exponential(1 / noise), rounds)

    zcdp = smallest_noise(choices, epsilon=epsilon, delta=delta, accountant=ZCDPAccountant)
    pure = smallest_noise(choices, epsilon=epsilon, delta=delta, accountant=PureAccountant)
    return 1 / min(zcdp, pure)
