"""p-REC and the methods that it is compared with. Each is a `Player`; all play the same rounds.

p-rec               the sound variant, with its gate, for epsilon and delta
p-rec-no-gate       the paper's algorithm, which guarantees nothing unless there are P peers
exponential         the exponential mechanism on all votes of each round, for the same epsilon and
                    delta over all rounds of `Game.clients_together` clients. Counts are monotonic,
                    so it draws in proportion to e^(epsilon_0 count), with epsilon_0 the epsilon
                    of one choice, and k choices cost at most k epsilon_0^2 / 8 in zCDP
majority            the object with the most votes; no privacy
weighted-majority   the object with the largest sum of weights: voters whom p-REC would charge a
                    credit have their weight halved; no privacy
uniform             an object at random, whatever the votes
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
from tacit.designs.prec.experiment.game import WITHOUT_PEERS, Game
from tacit.designs.prec.experiment.worlds import Likes, Votes
from tacit.designs.prec.gate import failure_chance
from tacit.errors import ConfigError
from tacit.mechanisms.selection import Selection
from tacit.randomness import replay

ABSTAINS = -1
"""Stands in a round's votes for a voter who does not vote."""
_STREAM_OF_RECOMMENDATIONS = 1
"""Second word of the seed of uniform recommendations."""


class Player:
    """One method in one run. Clients are numbered from 0.

    Draws repeat with the seed, except for the gate's noise, which the operating system draws.
    """

    def play(self, votes: Votes, likes_by_client: Mapping[int, Likes]) -> list[int]:
        """Recommend an object to each client of a round, and learn whether they like it.

        Args:
            votes: (voters,) position of the object that each voter votes for, or ABSTAINS.
            likes_by_client: For each client of the round, (objects,) whether they like an object;
                a player may look only at the entry of the object that it recommends.

        Returns:
            Position of the object recommended to each of these clients, in their order.
        """
        raise NotImplementedError

    def stopped_round(self, client: int) -> int | None:
        """Return the round, from 1, in which the client's gate shut; None if it has not shut.

        Methods without a gate return None.
        """
        return None


class PRecPlayer(Player):
    """Recommends by the shipped curator of p-REC."""

    def __init__(self, game: Game, seed: int, settings: PRecSettings) -> None:
        """Begin a run in which all voters and clients of the game have joined.

        Args:
            game: Sizes of the run.
            seed: Seed of the recommendations.
            settings: p-REC's settings.
        """
        self._server = PRec(settings, randomness=replay(f"p-rec {seed}"))
        self._voters = np.arange(game.voters)
        self._candidates = np.arange(game.objects)
        self._server.join_voters(self._voters)
        for client in range(game.clients):
            self._server.join(client)

    def play(self, votes: Votes, likes_by_client: Mapping[int, Likes]) -> list[int]:
        """See `Player`."""
        has_voted = votes != ABSTAINS
        self._server.open_round(self._candidates, (self._voters[has_voted], votes[has_voted]))
        recommended = []
        for client, likes in likes_by_client.items():
            candidate = int(self._server.recommend(client))
            self._server.feedback(client, likes[candidate])
            recommended.append(candidate)
        return recommended

    def stopped_round(self, client: int) -> int | None:
        """See `Player`."""
        return self._server.transcript(client).stopped_round


class ExponentialPlayer(Player):
    """Recommends by the exponential mechanism on the votes of each round."""

    def __init__(self, game: Game, seed: int) -> None:
        """Compute the epsilon of a choice that the game's epsilon and delta allow.

        Args:
            game: Sizes of the run, and the epsilon and delta of `clients_together` clients.
            seed: Seed of the recommendations.
        """
        choices = game.rounds * game.clients_together
        epsilon = epsilon_per_choice(game.epsilon, game.delta, choices)
        self.draw = Selection(
            epsilon,
            candidates=game.objects,
            sensitivity=1,
            lower=0,
            upper=game.voters,
            resolution=1,
            monotonic=True,
        )
        self._source = replay(f"exponential {seed}")

    def play(self, votes: Votes, likes_by_client: Mapping[int, Likes]) -> list[int]:
        """See `Player`."""
        counts = np.bincount(votes[votes != ABSTAINS], minlength=self.draw.candidates)
        rows = np.tile(counts, (len(likes_by_client), 1))
        return [int(chosen) for chosen in self.draw(rows, self._source)]


class MajorityPlayer(Player):
    """Recommends the object whose voters have the largest sum of weights.

    Each voter has a weight with each client, 1 at the start. If p-REC would charge a voter for the
    client's answer, their weight is multiplied by `kept_share`, which is 1 for the plain majority.
    """

    def __init__(self, game: Game, seed: int, *, kept_share: float) -> None:
        self._objects = game.objects
        self._kept_share = kept_share
        self._weights = np.ones((game.clients, game.voters))

    def play(self, votes: Votes, likes_by_client: Mapping[int, Likes]) -> list[int]:
        """See `Player`."""
        has_voted = votes != ABSTAINS
        recommended = []
        for client, likes in likes_by_client.items():
            weights = self._weights[client]
            sums = np.bincount(votes[has_voted], weights[has_voted], self._objects)
            chosen = int(sums.argmax())
            is_charged = has_voted & ((votes == chosen) != likes[chosen])
            weights[is_charged] *= self._kept_share
            weights /= weights.max()  # only ratios matter; without this all could become 0
            recommended.append(chosen)
        return recommended


class UniformPlayer(Player):
    """Recommends objects at random.

    With `is_shut_gate` it plays p-REC with a gate that shuts in the first round.
    """

    def __init__(self, game: Game, seed: int, *, is_shut_gate: bool = False) -> None:
        self._objects = game.objects
        self._is_shut_gate = is_shut_gate
        self._rng = np.random.default_rng([seed, _STREAM_OF_RECOMMENDATIONS])

    def play(self, votes: Votes, likes_by_client: Mapping[int, Likes]) -> list[int]:
        """See `Player`."""
        positions = self._rng.integers(0, self._objects, len(likes_by_client))
        return [int(position) for position in positions]

    def stopped_round(self, client: int) -> int | None:
        """See `Player`."""
        return 1 if self._is_shut_gate else None


def _make_gated_player(game: Game, seed: int) -> Player:
    """Make the sound variant, or a uniform player if the gate needs more voters than there are.

    With an infinite epsilon there is no gate.
    """
    if math.isinf(game.epsilon):
        return _make_ungated_player(game, seed)
    settings = sound_settings(game)
    if settings is None:
        return UniformPlayer(game, seed, is_shut_gate=True)
    return PRecPlayer(game, seed, settings)


def _make_ungated_player(game: Game, seed: int) -> Player:
    """Make the paper's algorithm, without a gate."""
    return PRecPlayer(game, seed, _settings(game, math.inf))


PLAYERS: dict[str, Callable[[Game, int], Player]] = {
    "p-rec": _make_gated_player,
    "p-rec-no-gate": _make_ungated_player,
    "exponential": ExponentialPlayer,
    "majority": partial(MajorityPlayer, kept_share=1.0),
    "weighted-majority": partial(MajorityPlayer, kept_share=0.5),
    "uniform": UniformPlayer,
}
"""For each method, the function that makes its player for a game and a seed."""


@lru_cache(maxsize=64)
def sound_settings(game: Game) -> PRecSettings | None:
    """Make the settings of the sound variant, for a finite epsilon.

    The result is None if they have no plan, as when the gate needs more voters than there are.
    """
    settings = _settings(game, game.epsilon)
    try:
        _ = settings.plan  # raises if there is none
    except ConfigError:
        return None
    return settings


def _settings(game: Game, epsilon: float) -> PRecSettings:
    """Make p-REC's settings for a game, with `epsilon` in place of the game's own."""
    return PRecSettings(
        rounds=game.rounds,
        objects=game.objects,
        voters=game.voters,
        diversity=game.diversity,
        radius=game.radius,
        epsilon=epsilon,
        delta=game.delta,
        clients_together=game.clients_together,
    )


def loss_bound(game: Game, method: str) -> float | None:
    """Compute an upper bound of the expected loss, for p-REC with and without a gate.

    Without a gate it is `theory.loss_bound`. With a gate, a second term is added: the loss of
    uniform recommendations times a bound of the chance that the gate ever shuts. If the gate has no
    plan, the bound is the loss of uniform recommendations alone.

    The peers keep (D + R + 1) P credits, so there are always at least (D + R + 1) P // c survivors,
    the voters who still count for the client. D, R, P and T are the diversity, the radius, the
    peers and the rounds of the game, and c is the credit of one voter at the start. If the
    threshold is below this number by some distance, the chance that the gate shuts in one round is
    at most the chance that the difference of its two noises reaches this distance, and the chances
    of T rounds are added. Otherwise the chance that the gate ever shuts is bounded by 1.

    The bound is None for other methods, in worlds without P peers, and if the proofs do not allow
    the sizes.
    """
    if not method.startswith("p-rec") or game.world in WITHOUT_PEERS:
        return None
    voters = game.voters
    peers = game.peers
    try:
        theory.check_sizes(game.objects, game.rounds, game.diversity, game.radius, voters, peers)
    except ConfigError:
        return None
    loss_without_gate = theory.loss_bound(game.objects, game.rounds, game.radius, voters, peers)
    if method == "p-rec-no-gate" or math.isinf(game.epsilon):
        return loss_without_gate
    settings = sound_settings(game)
    uniform_loss = theory.uniform_loss(game.objects, game.rounds)
    if settings is None:
        return uniform_loss
    kept_credit = theory.promised_credit(game.diversity, game.radius, game.peers)
    distance = kept_credit // settings.credit - settings.plan.threshold
    shut_chance = 1.0
    if distance > 0:
        # failure_chance(epsilon, slack) is the chance of a difference of slack + 2 or more
        chance_in_one_round = failure_chance(settings.plan.gate_epsilon, distance - 2)
        shut_chance = min(1.0, game.rounds * chance_in_one_round)
    return loss_without_gate + uniform_loss * shut_chance


@lru_cache(maxsize=256)
def epsilon_per_choice(epsilon: float, delta: float, choices: int) -> float:
    """Compute an epsilon of one choice with which all choices fit into epsilon and delta.

    Two accountants, of pure and of zero-concentrated differential privacy, each find one, and the
    larger is taken.

    Args:
        epsilon: Nats of all choices together; for inf the result is inf.
        delta: Probability by which any event may exceed the bound of epsilon.
        choices: Number of draws by the exponential mechanism.
    """
    if math.isinf(epsilon):
        return epsilon

    def make_event(noise: float) -> Event:
        return repeat(Exponential(1 / noise), choices)

    zcdp_noise = smallest_noise(make_event, epsilon=epsilon, delta=delta, accountant=ZCDPAccountant)
    pure_noise = smallest_noise(make_event, epsilon=epsilon, delta=delta, accountant=PureAccountant)
    return 1 / min(zcdp_noise, pure_noise)
