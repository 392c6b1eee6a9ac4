"""Simulated runs: losses by method, setting and seed, and their means over seeds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tacit.designs.prec.experiment.game import METHODS, PRIVATE, Game
from tacit.designs.prec.experiment.methods import PLAYERS, loss_bound, sound_settings
from tacit.designs.prec.experiment.worlds import WORLDS
from tacit.errors import ConfigError
from tacit.evaluation import Interval, group_by, mean_interval
from tacit.randomness import simulation


@dataclass(frozen=True)
class PRecRow:
    """The result of one method in one run."""

    method: str
    """A key of `PLAYERS`."""
    world: str
    """A key of `WORLDS`. This and the following fields, up to `pattern`, are those of `Game`."""
    rounds: int
    """T, the number of rounds."""
    objects: int
    """m, the number of objects in each round."""
    voters: int
    """n, the number of voters."""
    peers: int
    """P, the number of voters who agree with the client."""
    diversity: int
    """D, the most rounds in which the client likes more than one object."""
    radius: int
    """R, the largest number of votes of one peer for objects that the client dislikes."""
    clients: int
    """Number of clients, all with the same taste."""
    pattern: int
    """The voting pattern, 1 or 2, in the world `both-ways`; 1 in all other worlds."""
    epsilon: float | None
    """Nats that the method spends; None if it is not private."""
    delta: float | None
    """Delta of the guarantee; None if the method is not private."""
    seed: int
    """Seed of the voters and of the draws."""
    loss: float
    """Number of disliked recommendations, a mean over clients."""
    joint_loss: int
    """Number of rounds in which clients disliked the object that was recommended most often; of
    equally frequent objects the one that was recommended first counts."""
    stopped: int | None
    """The round in which the last of the clients' gates shut; None if one of them never shut, or
    there are no gates."""
    threshold: int | None
    """The gate's threshold, in voters; None without a gate, or if the gate has no plan."""
    loss_bound: float | None
    """Upper bound of the expected loss; None where none is proved (`methods.loss_bound`)."""


def play(game: Game, method: str, seed: int) -> PRecRow:
    """Play one method in one setting.

    The votes depend on the setting and the seed. In the world of the adaptive adversary they also
    depend on the method's recommendations.
    """
    loss = 0.0
    joint_loss = 0
    clients = range(game.clients)
    with simulation():
        player = PLAYERS[method](game, seed)
        world = WORLDS[game.world](game, np.random.default_rng(seed))
        recommended: list[int] = []  # by client
        for number in range(game.rounds):
            votes, likes = next(world) if number == 0 else world.send(recommended[0])
            recommended = player.play(votes, dict.fromkeys(clients, likes))
            loss += 1 - float(likes[recommended].mean())
            most_recommended, _ = Counter(recommended).most_common(1)[0]
            if not likes[most_recommended]:
                joint_loss += 1
    stopped_rounds = [player.stopped_round(client) for client in clients]
    is_private = method in PRIVATE and not math.isinf(game.epsilon)
    settings = sound_settings(game) if is_private and method == "p-rec" else None
    return PRecRow(
        method,
        world=game.world,
        rounds=game.rounds,
        objects=game.objects,
        voters=game.voters,
        peers=game.peers,
        diversity=game.diversity,
        radius=game.radius,
        clients=game.clients,
        pattern=game.pattern,
        epsilon=game.epsilon if is_private else None,
        delta=game.delta if is_private else None,
        seed=seed,
        loss=loss,
        joint_loss=joint_loss,
        stopped=_last_stopped_round(stopped_rounds),
        threshold=None if settings is None else settings.plan.threshold,
        loss_bound=loss_bound(game, method),
    )


def _last_stopped_round(stopped_rounds: Sequence[int | None]) -> int | None:
    """Return the last of the rounds in which clients' gates shut; None if a gate never shut."""
    last = 0
    for stopped_round in stopped_rounds:
        if stopped_round is None:
            return None
        last = max(last, stopped_round)
    return last


def runs(
    games: Iterable[Game], methods: Sequence[str], seeds: Iterable[int]
) -> list[tuple[Game, str, int]]:
    """List the runs to play: every setting with every method and every seed.

    Methods that are not private are played once for settings that differ in epsilon alone, with
    epsilon 1.

    Raises:
        ConfigError: A method does not exist.
    """
    unknown = set(methods).difference(METHODS)
    if unknown:
        raise ConfigError(f"A method is one of {', '.join(METHODS)}; got {min(unknown)!r}.")
    settings: dict[tuple[Game, str], None] = {}  # each once, in order
    for game in games:
        for method in methods:
            setting = game if method in PRIVATE else replace(game, epsilon=1.0)
            settings[setting, method] = None
    all_seeds = list(seeds)
    all_runs = []
    for setting, method in settings:
        all_runs += [(setting, method, seed) for seed in all_seeds]
    return all_runs


@dataclass(frozen=True)
class Point:
    """Means of one method in one setting, over the seeds."""

    row: PRecRow
    """Method and setting; fields that differ between seeds are 0 or None."""
    loss: Interval
    """Mean of `PRecRow.loss`, with a 95 % interval."""
    joint: Interval
    """Mean of `PRecRow.joint_loss`, with a 95 % interval."""
    stopped: float
    """Share of the runs in which the gates of all clients shut."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values: the fields of `row` that are equal for all seeds, and the means.

        `loss` and `joint_loss` are [mean, low, high].
        """
        setting = asdict(self.row)
        for name in ("seed", "loss", "joint_loss", "stopped"):
            del setting[name]
        return setting | {
            "loss": list(self.loss),
            "joint_loss": list(self.joint),
            "stopped": self.stopped,
        }


def points(rows: Iterable[PRecRow]) -> list[Point]:
    """Average rows over seeds: a point for each setting and method, in the order of the rows."""
    groups = group_by(rows, _remove_seed_results)
    return [_average(setting, group) for setting, group in groups.items()]


def _remove_seed_results(row: PRecRow) -> PRecRow:
    """Return the row without its seed and results; rows of one method and setting become equal."""
    return replace(row, seed=0, loss=0.0, joint_loss=0, stopped=None)


def _average(setting: PRecRow, rows: Sequence[PRecRow]) -> Point:
    """Average the rows of one method in one setting over the seeds."""
    stopped_rows = [row for row in rows if row.stopped is not None]
    return Point(
        setting,
        loss=mean_interval([row.loss for row in rows], bounds=(0.0, setting.rounds)),
        joint=mean_interval([row.joint_loss for row in rows], bounds=(0.0, setting.rounds)),
        stopped=len(stopped_rows) / len(rows),
    )
