"""p-REC on generated voters: losses of every method, setting by setting and seed by seed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tacit.design import Tour
from tacit.designs.prec import theory
from tacit.designs.prec.client_session import failure
from tacit.designs.prec.experiment.methods import METHODS, PRIVATE, Budget, player, sound_settings
from tacit.designs.prec.experiment.worlds import WORLDS, Game
from tacit.errors import ConfigError
from tacit.evaluation import Interval, grouped, mean_interval
from tacit.evaluation.parallel import Pool, Progress
from tacit.randomness import simulation

VARIED = ("rounds", "peers", "voters", "epsilon")
PROMISED = ("planted", "opposed", "adaptive", "search", "stubborn", "both-ways", "sybils")
"""Worlds in which P voters are peers, so that the bound on the loss holds."""
UNCREDITED = ("adaptive", "search", "one-round", "sybils", "opposed", "victim")
"""Worlds for diversity 0 and radius 0."""
_TOURED = Game(rounds=300, objects=2, voters=600, peers=300)
_SPENT = Budget(1.0, 1e-6)


@dataclass(frozen=True)
class PRecRow:
    """One method in one run.

    epsilon, delta: None where nothing is promised. loss: disliked recommendations of one client, a
    mean over clients; joint_loss: the same of what most of them were given. stopped: the round from
    which all is uniform for all. threshold: of the gate, in voters. loss_bound: of the expected
    loss, proved for p-REC.
    """

    method: str
    world: str
    rounds: int
    objects: int
    voters: int
    peers: int
    diversity: int
    radius: int
    clients: int
    epsilon: float | None
    delta: float | None
    seed: int
    loss: float
    joint_loss: int
    stopped: int | None
    threshold: int | None
    loss_bound: float | None


@dataclass(frozen=True)
class Setting:
    """One world, one budget. budget.epsilon is also of the methods without privacy: a place."""

    world: str
    game: Game
    budget: Budget

    def moved(self, name: str, value: float) -> Setting:
        """The same with one thing changed."""
        if name == "epsilon":
            return replace(self, budget=replace(self.budget, epsilon=value))
        return replace(self, game=replace(self.game, **{name: int(value)}))


def play(setting: Setting, method: str, seed: int) -> PRecRow:
    """One run: the same voters for every method, unless they are the adaptive adversary's."""
    _check(setting, method)
    game, budget = setting.game, setting.budget
    with simulation():
        ours = player(method, game, budget, seed)
        run = WORLDS[setting.world](game, np.random.default_rng(seed))
        votes, likes = next(run)
        loss, joint, everybody = 0.0, 0, range(budget.clients)
        while True:
            given = ours.choose(votes, everybody)
            ours.learn(votes, everybody, given, [bool(likes[chosen]) for chosen in given])
            loss += 1 - float(likes[given].mean())
            joint += not likes[Counter(given).most_common(1)[0][0]]
            try:
                votes, likes = run.send(given[0])
            except StopIteration:
                break
    stops = [ours.stopped(client) for client in everybody]
    promised = method in PRIVATE and not math.isinf(budget.epsilon)
    settings = sound_settings(game, budget) if promised and method == "p-rec" else None
    return PRecRow(
        method=method,
        world=setting.world,
        **asdict(game),
        clients=budget.clients,
        epsilon=budget.epsilon if promised else None,
        delta=budget.delta if promised else None,
        seed=seed,
        loss=loss,
        joint_loss=joint,
        stopped=None if None in stops else max(stop or 0 for stop in stops),
        threshold=None if settings is None else settings.plan.threshold,
        loss_bound=_bound(setting, method),
    )


def _bound(setting: Setting, method: str) -> float | None:
    """On the expected loss; None for other methods, and where nobody keeps the promise.

    With a gate, rounds after it shut are added. Peers alone keep it (D + R + 1) P credits above 0;
    it shuts in a given round with the chance that the noise bridges what lies between them and its
    threshold.
    """
    game, proved = setting.game, setting.game.loss_bound
    if not method.startswith("p-rec") or setting.world not in PROMISED or proved is None:
        return None
    if method == "p-rec-no-gate" or math.isinf(setting.budget.epsilon):
        return proved
    settings, lost = sound_settings(game, setting.budget), game.rounds * (1 - 1 / game.objects)
    if settings is None:
        return lost
    kept = theory.credit_floor(game.diversity, game.radius, game.peers) // settings.credit
    between = kept - settings.plan.threshold
    chance = game.rounds * failure(settings.plan.gate, between - 2) if between > 0 else 1.0
    return proved + lost * min(1.0, chance)


def _check(setting: Setting, method: str) -> None:
    if method not in METHODS:
        raise ConfigError(f"A method is one of {', '.join(METHODS)}; got {method!r}.")
    if setting.world not in WORLDS:
        raise ConfigError(f"A world is one of {', '.join(WORLDS)}; got {setting.world!r}.")
    if setting.world in UNCREDITED and (setting.game.diversity or setting.game.radius):
        raise ConfigError(f"The world '{setting.world}' is for diversity 0 and radius 0.")
    budget = setting.budget
    if not 1 <= budget.together <= budget.clients:
        raise ConfigError(
            f"Of {budget.clients} clients, 1 to all are priced together; got {budget.together}."
        )


def settings_of(base: Setting, varied: dict[str, Sequence[float]]) -> list[Setting]:
    """The base, and every setting with one thing moved from it."""
    found = {base: None}
    for name, values in varied.items():
        found |= {base.moved(name, value): None for value in values}
    return list(found)


def simulate(
    settings: Iterable[Setting],
    methods: Sequence[str],
    seeds: Iterable[int],
    *,
    workers: int = 0,
    progress: Progress = lambda _: None,
) -> list[PRecRow]:
    """Every method, setting and seed. Methods that no epsilon moves are played once for all."""
    settings, seeds = list(settings), list(seeds)
    for setting in settings:
        for method in methods:
            _check(setting, method)
    runs = [(setting, method, seed) for setting in settings for method in methods for seed in seeds]
    wanted = {_key(*run): run for run in runs}
    with Pool(None, workers=workers) as pool:
        played = pool.run(_play, list(wanted.values()), progress)
    by_key = dict(zip(wanted, played, strict=True))
    return [by_key[key] for key in dict.fromkeys(_key(*run) for run in runs)]


def runs(settings: Sequence[Setting], methods: Sequence[str], seeds: int) -> int:
    """How many steps `simulate` takes."""
    return seeds * len({_key(setting, method, 0) for setting in settings for method in methods})


def _play(_: None, *run: Any) -> PRecRow:
    return play(*run)


def _key(setting: Setting, method: str, seed: int) -> tuple[Setting, str, int]:
    if method in PRIVATE:
        return setting, method, seed
    return setting.moved("epsilon", 1.0), method, seed


@dataclass(frozen=True)
class Point:
    """One method in one setting over the seeds."""

    row: PRecRow
    loss: Interval
    joint_loss: Interval
    stopped: float
    """Share of the runs in which all became uniform."""


def points(rows: Iterable[PRecRow]) -> list[Point]:
    """Means over seeds with 95 % intervals, in the order of the rows."""
    groups = grouped(rows, lambda row: replace(row, seed=0, loss=0.0, joint_loss=0, stopped=None))
    found = []
    for key, group in groups.items():
        bounds = 0.0, float(key.rounds)
        losses = mean_interval([row.loss for row in group], bounds=bounds)
        joint = mean_interval([row.joint_loss for row in group], bounds=bounds)
        stopped = sum(row.stopped is not None for row in group) / len(group)
        found.append(Point(key, losses, joint, stopped))
    return found


def tour() -> Tour:
    """A client with many peers, and a client who hunts one voter."""
    game, seed = _TOURED, 1
    rows = {
        name: play(Setting("planted", game, _SPENT), name, seed)
        for name in ("p-rec", "exponential", "uniform")
    }
    kind = {name: row.loss for name, row in rows.items()}
    hunted = {
        name: game.rounds - play(Setting("victim", game, _SPENT), name, seed).loss
        for name in ("p-rec-no-gate", "p-rec")
    }
    threshold = rows["p-rec"].threshold
    return Tour(
        asked=f"{game.voters} generated voters vote on two objects in {game.rounds} rounds; "
        f"{game.peers} of them like what the client likes. The client asks for one object in each "
        "round.",
        left="To the client: one recommendation a round, drawn from the votes of the voters who "
        "agreed with the client so far. The platform sees all votes and must be trusted.",
        learned="A client who likes exactly what one voter votes for learns that vote in "
        f"{hunted['p-rec-no-gate']:.0f} of {game.rounds} rounds by the paper's algorithm. The "
        f"private gate stops that: {hunted['p-rec']:.0f} rounds, where guessing gives "
        f"{game.rounds // 2}.",
        cost=f"Epsilon {_SPENT.epsilon:g}, delta {_SPENT.delta:g}, for a voter's whole history "
        f"and one client. The client with {game.peers} peers disliked {kind['p-rec']:.0f} of "
        f"{game.rounds} recommendations, with any object {kind['uniform']:.0f}. With fewer than "
        f"{threshold} peers the gate shuts, and lists are any object.",
        read_on="docs/prec.md",
        figures={"disliked": kind, "votes_learned": hunted, "threshold": threshold},
    )
