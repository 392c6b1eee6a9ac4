"""p-REC on generated voters: losses of every method, setting by setting and seed by seed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tacit.designs.prec.experiment.methods import (
    METHODS,
    PLAYERS,
    PRIVATE,
    loss_bound,
    sound_settings,
)
from tacit.designs.prec.experiment.worlds import WORLDS, Game
from tacit.errors import ConfigError
from tacit.evaluation import Interval, group_by, mean_interval
from tacit.randomness import simulation


@dataclass(frozen=True)
class PRecRow:
    """One method in one run."""

    method: str
    """A key of `PLAYERS`."""
    world: str
    """A key of `WORLDS`; it and the sizes are those of the `Game`."""
    rounds: int
    """T."""
    objects: int
    """m."""
    voters: int
    """n."""
    peers: int
    """P."""
    diversity: int
    """D."""
    radius: int
    """R."""
    clients: int
    """Clients with the same taste."""
    pattern: int
    """1 or 2 of `both-ways`, 1 elsewhere."""
    epsilon: float | None
    """Nats; None where nothing is promised."""
    delta: float | None
    """Chance beside epsilon; None where nothing is promised."""
    seed: int
    """Seed of the voters and of the draws."""
    loss: float
    """Disliked recommendations of one client, a mean over clients."""
    joint_loss: int
    """Rounds in which the object that most clients were given was disliked."""
    stopped: int | None
    """The round from which all is uniform for all; None for never."""
    threshold: int | None
    """The gate's threshold, in voters."""
    loss_bound: float | None
    """Bound of the expected loss, proved for p-REC."""


def play(game: Game, method: str, seed: int) -> PRecRow:
    """Play one run: the same voters for every method, but for the adaptive adversary's."""
    loss = 0.0
    joint_loss = 0
    everybody = range(game.clients)
    with simulation():
        ours = PLAYERS[method](game, seed)
        world = WORLDS[game.world](game, np.random.default_rng(seed))
        given: list[int] = []
        for _ in range(game.rounds):
            votes, likes = world.send(given[0]) if given else next(world)
            given = ours.play(votes, dict.fromkeys(everybody, likes))
            loss += 1 - float(likes[given].mean())
            joint_loss += not likes[Counter(given).most_common(1)[0][0]]
    stops = [ours.stopped_round(client) for client in everybody]
    promised = method in PRIVATE and not math.isinf(game.epsilon)
    settings = sound_settings(game) if promised and method == "p-rec" else None
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
        epsilon=game.epsilon if promised else None,
        delta=game.delta if promised else None,
        seed=seed,
        loss=loss,
        joint_loss=joint_loss,
        stopped=None if None in stops else max(stop or 0 for stop in stops),
        threshold=None if settings is None else settings.plan.threshold,
        loss_bound=loss_bound(game, method),
    )


def runs(
    games: Iterable[Game], methods: Sequence[str], seeds: Iterable[int]
) -> list[tuple[Game, str, int]]:
    """List every method, setting and seed. Methods that no epsilon moves are played once for all.

    Raises:
        ConfigError: There is no such method.
    """
    unknown = set(methods).difference(METHODS)
    if unknown:
        raise ConfigError(f"A method is one of {', '.join(METHODS)}; got {min(unknown)!r}.")
    played: dict[tuple[Game, str], None] = {}
    for game in games:
        for method in methods:
            setting = game if method in PRIVATE else replace(game, epsilon=1.0)
            played[setting, method] = None
    seeded = list(seeds)
    listed = []
    for setting, method in played:
        listed += [(setting, method, seed) for seed in seeded]
    return listed


@dataclass(frozen=True)
class Point:
    """One method in one setting over the seeds."""

    row: PRecRow
    """The setting; what differs between seeds is 0 or None."""
    loss: Interval
    """Mean of `PRecRow.loss`."""
    joint: Interval
    """Mean of `PRecRow.joint_loss`."""
    stopped: float
    """Share of the runs that became uniform."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON: the setting; loss and joint_loss as [mean, low, high]; stopped."""
        setting = asdict(self.row)
        for name in ("seed", "loss", "joint_loss", "stopped"):
            del setting[name]
        return setting | {
            "loss": list(self.loss),
            "joint_loss": list(self.joint),
            "stopped": self.stopped,
        }


def points(rows: Iterable[PRecRow]) -> list[Point]:
    """Average over seeds with 95 % intervals, in the order of the rows."""
    groups = group_by(rows, lambda row: replace(row, seed=0, loss=0.0, joint_loss=0, stopped=None))
    return [_average(setting, group) for setting, group in groups.items()]


def _average(setting: PRecRow, rows: Sequence[PRecRow]) -> Point:
    """Average the rows of one setting over its seeds."""
    return Point(
        setting,
        loss=mean_interval([row.loss for row in rows], bounds=(0.0, setting.rounds)),
        joint=mean_interval([row.joint_loss for row in rows], bounds=(0.0, setting.rounds)),
        stopped=sum(row.stopped is not None for row in rows) / len(rows),
    )
