"""p-REC on generated voters: losses of every method, setting by setting and seed by seed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.design import Command, Run, Tour, option
from tacit.designs.prec.commands import DELTA, DIVERSITY, RADIUS, TOGETHER
from tacit.designs.prec.experiment.leaks import PAIRS, Leak, leak
from tacit.designs.prec.experiment.methods import (
    METHODS,
    PLAYERS,
    PRIVATE,
    loss_bound,
    sound_settings,
)
from tacit.designs.prec.experiment.worlds import WORLDS, Game
from tacit.errors import ConfigError
from tacit.evaluation import (
    REPORT,
    SEED,
    WORKERS,
    Interval,
    Result,
    Table,
    Verdict,
    describe_run,
    group_by,
    mean_interval,
)
from tacit.evaluation.page import Page, Section
from tacit.evaluation.runner import Runner
from tacit.randomness import simulation

_VARIED = ("rounds", "peers", "voters", "epsilon")
_SIZES = (
    "world",
    "rounds",
    "objects",
    "voters",
    "peers",
    "diversity",
    "radius",
    "clients",
    "pattern",
)
_LEAD = (
    "World: {world}. {about} {rounds:,} rounds of {objects} objects, {voters:,} voters, {peers:,} "
    "of them peers, diversity {diversity}, radius {radius}; clients: {clients}. Private methods "
    "spend epsilon {epsilon:g} and delta {delta:g} on one voter’s whole history, for what "
    "{together} of the clients see together."
)
_LIMITS = (
    "Generated voters agree with the client as configured; on real ratings peers are rare. A "
    "simulation finds no epsilon: tacit plan prec computes it, audits look for violations. Only "
    "the gate’s noise is the system’s; all other draws repeat with the seed."
)
_LEGEND = (
    "Disliked recommendations, means over runs. Bound: on the expected number for p-rec, if the "
    "client has peers as assumed. Shut: runs whose gate closed, after which recommendations were "
    "uniform."
)


_LEAK_LEGEND = (
    "Log-ratio of the recommendations under the two voting patterns of the proof, of the paper's "
    "algorithm without a gate: of one run, the largest of any sequence, the mean. Steps: voters "
    "added or removed from one pattern to the other. At most: proven for a step; anybody: no "
    "algorithm with p-REC's loss bound has an epsilon below. –: too many voters to follow, or "
    "nothing is proven."
)


@dataclass(frozen=True)
class PRecRow:
    """One method in one run.

    pattern: 1 or 2 of `both-ways`, 1 elsewhere. epsilon, delta: None where nothing is promised.
    loss: disliked recommendations of one client, a mean over clients; joint_loss: the same of what
    most of them were given. stopped: the round from which all is uniform for all. threshold: of the
    gate, in voters. loss_bound: of the expected loss, proved for p-REC.
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
    pattern: int
    epsilon: float | None
    delta: float | None
    seed: int
    loss: float
    joint_loss: int
    stopped: int | None
    threshold: int | None
    loss_bound: float | None


def play(game: Game, method: str, seed: int) -> PRecRow:
    """One run: the same voters for every method, but for the adaptive adversary's."""
    loss, joint, everybody = 0.0, 0, range(game.clients)
    with simulation():
        ours = PLAYERS[method](game, seed)
        world = WORLDS[game.world](game, np.random.default_rng(seed))
        given: list[int] = []
        for _ in range(game.rounds):
            votes, likes = world.send(given[0]) if given else next(world)
            given = ours.play(votes, dict.fromkeys(everybody, likes))
            loss += 1 - float(likes[given].mean())
            joint += not likes[Counter(given).most_common(1)[0][0]]
    stops = [ours.stopped(client) for client in everybody]
    promised = method in PRIVATE and not math.isinf(game.epsilon)
    settings = sound_settings(game) if promised and method == "p-rec" else None
    return PRecRow(
        method,
        **{name: getattr(game, name) for name in _SIZES},
        epsilon=game.epsilon if promised else None,
        delta=game.delta if promised else None,
        seed=seed,
        loss=loss,
        joint_loss=joint,
        stopped=None if None in stops else max(stop or 0 for stop in stops),
        threshold=None if settings is None else settings.plan.threshold,
        loss_bound=loss_bound(game, method),
    )


def runs(
    games: Iterable[Game], methods: Sequence[str], seeds: Iterable[int]
) -> list[tuple[Game, str, int]]:
    """Every method, setting and seed. Methods that no epsilon moves are played once for all."""
    if unknown := set(methods).difference(METHODS):
        raise ConfigError(f"A method is one of {', '.join(METHODS)}; got {min(unknown)!r}.")
    played = dict.fromkeys(
        (game if method in PRIVATE else replace(game, epsilon=1.0), method)
        for game in games
        for method in methods
    )
    return [(*one, seed) for one in played for seed in seeds]


def _play(_: None, *run: Any) -> PRecRow:
    return play(*run)


@dataclass(frozen=True)
class Point:
    """One method in one setting over the seeds; joint: the mean of joint_loss; stopped: share of
    the runs that became uniform."""

    row: PRecRow
    loss: Interval
    joint: Interval
    stopped: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the setting; loss and joint_loss as [mean, low, high]; stopped."""
        setting = asdict(self.row)
        for name in ("seed", "loss", "joint_loss", "stopped"):
            del setting[name]
        measured = {"loss": [*self.loss], "joint_loss": [*self.joint], "stopped": self.stopped}
        return setting | measured


def points(rows: Iterable[PRecRow]) -> list[Point]:
    """Means over seeds with 95 % intervals, in the order of the rows."""
    groups = group_by(rows, lambda row: replace(row, seed=0, loss=0.0, joint_loss=0, stopped=None))
    return [
        Point(
            key,
            mean_interval([row.loss for row in group], bounds=(0.0, key.rounds)),
            mean_interval([row.joint_loss for row in group], bounds=(0.0, key.rounds)),
            sum(row.stopped is not None for row in group) / len(group),
        )
        for key, group in groups.items()
    ]


@dataclass(frozen=True)
class SimulateSettings:
    world: str = option(f"{', '.join(WORLDS)}: who votes for what.", default="planted")
    rounds: tuple[int, ...] = option("Several with commas: the first is the base.", default=(1000,))
    objects: int = option("Objects of each round.", default=2, least=2)
    voters: tuple[int, ...] = option("Several with commas.", default=(1000,))
    peers: tuple[int, ...] = option(
        "Voters who agree with the client; several with commas.", default=(300,)
    )
    diversity: int = option(DIVERSITY, default=0, least=0)
    radius: int = option(RADIUS, default=0, least=0)
    epsilon: tuple[float, ...] = option("Epsilon; several with commas.", default=(1.0,))
    delta: float = option(DELTA, default=1e-6)
    clients: int = option("Clients with the same taste.", default=1, least=1)
    together: int = option(TOGETHER, default=1, least=1)
    method: tuple[str, ...] = option(
        f"{', '.join(METHODS)}; several with commas; default: all.", default=()
    )
    seeds: int = option("How many runs of each.", default=5, least=1)
    report: Path | None = option(REPORT, default=None, writes=True)
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=0, least=0)

    @property
    def games(self) -> list[Game]:
        """The base, and every setting with one thing moved from it."""
        asked = {one.name: getattr(self, one.name) for one in fields(Game) if one.name != "pattern"}
        base = Game(**asked | {name: asked[name][0] for name in _VARIED})
        moved = [replace(base, **{name: x}) for name in _VARIED for x in asked[name]]
        games = list(dict.fromkeys([base, *moved]))
        if self.world != "both-ways":
            return games
        return [replace(game, pattern=pattern) for game in games for pattern in (1, 2)]


def _simulate(settings: SimulateSettings, run: Run) -> Result:
    """Serve clients from generated votes.

    Losses of p-REC, the exponential mechanism at equal epsilon and delta, and methods in the clear;
    in the worlds of the lower-bound proofs also the leak that they are built for.
    Of --rounds, --voters, --peers and --epsilon one moves at a time; the others stay at their
    first value.
    """
    games, methods = settings.games, settings.method or METHODS
    tasks = runs(games, methods, range(settings.seed, settings.seed + settings.seeds))
    with (
        run.progress("Simulating", len(tasks)) as advance,
        Runner(None, workers=settings.workers) as runner,
    ):
        rows = runner.run(_play, tasks, advance)
    moved = [name for name in _VARIED if len(getattr(settings, name)) > 1]
    if settings.world == "both-ways":
        moved.append("pattern")
    columns: dict[str, Callable[[Point], object]] = {
        name: lambda point, name=name: _written(getattr(point.row, name))  # type: ignore[misc]
        for name in moved
    }
    columns |= {
        "method": lambda point: point.row.method,
        "disliked": lambda point: f"{point.loss.mean:.1f}",
        "95 %": _ends,
        "bound": lambda point: point.row.loss_bound and f"{point.row.loss_bound:.1f}",
        "shut": lambda point: f"{point.stopped:.0%}",
    }
    base = games[0]
    after = (
        f"tacit plan prec --objects {base.objects} --rounds {base.rounds} "
        f"--peers {base.peers} --voters {base.voters}  says what theory promises."
    )
    measured = points(rows)
    table = Table.from_rows("", columns, measured)
    if settings.report is not None:
        made = {"seed": settings.seed} | describe_run(run.command, asdict(settings))
        judged = measured[: len(set(methods))]  # of the base, which is played first
        _page(base, judged, table, made).write(settings.report)
    found = _leaks(settings)
    shown: list[Table | str] = [table, _LEGEND]
    if found:
        shown += [_leak_table(found), _LEAK_LEGEND]
    data = {
        "rows": [asdict(row) for row in rows],
        "points": [point.to_dict() for point in measured],
        "leaks": [asdict(each) for each in found],
    }
    return Result(data, shown, after)


def _leaks(settings: SimulateSettings) -> list[Leak]:
    """Leaks of the base's pair of patterns, by seed; none in worlds that no proof compares."""
    if settings.world not in PAIRS:
        return []
    base = settings.games[0]
    return [leak(base, seed) for seed in range(settings.seed, settings.seed + settings.seeds)]


def _leak_table(found: Sequence[Leak]) -> Table:
    """Log-ratios of a pair of patterns, beside what is proven for one voter."""
    columns: dict[str, Callable[[Leak], object]] = {
        "seed": lambda one: one.seed,
        "played": lambda one: f"{one.played:.4g}",
        "worst": lambda one: None if one.worst is None else f"{one.worst:.4g}",
        "mean": lambda one: None if one.mean is None else f"{one.mean:.4g}",
        "steps": lambda one: one.steps,
        "a step": lambda one: f"{one.per_step:.4g}",
        "at most": lambda one: None if one.proven is None else f"{one.proven:.4g}",
        "anybody": lambda one: None if one.lower_bound is None else f"{one.lower_bound:.4g}",
    }
    return Table.from_rows("", columns, found)


def _written(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _ends(point: Point) -> str | None:
    low, high = point.loss.low, point.loss.high
    return None if (low, high) == (0, point.row.rounds) else f"{low:.1f} to {high:.1f}"


SIMULATE = Command(SimulateSettings, _simulate)


def _page(base: Game, judged: Sequence[Point], table: Table, manifest: dict[str, Any]) -> Page:
    """judged: every method at the base, which the verdict is about."""
    about = " ".join((WORLDS[base.world].__doc__ or "").partition("\n\n")[0].split())
    return Page(
        "p-REC, simulated",
        [Section("Side by side", [table], notes=[_LEGEND, _LIMITS])],
        manifest,
        verdict(judged),
        lead=_LEAD.format(about=about, **vars(base)),
        design="p-REC",
    )


def verdict(judged: Sequence[Point]) -> Verdict:
    """p-REC against the exponential mechanism; in the victim's world, whether votes are read."""
    by_method = {point.row.method: point for point in reversed(judged)}
    ours, other = by_method.get("p-rec"), by_method.get("exponential")
    if ours is None:
        best = min(judged, key=lambda point: point.loss.mean)
        text = f"{best.loss.mean:.1f} of {best.row.rounds:,} recommendations were disliked. "
        text += "No gate hides the votes."
        return Verdict("none", f"{best.row.method} errs least", text)
    if ours.row.world == "victim":
        return _of_the_victim(ours, by_method.get("p-rec-no-gate"))
    text = f"{ours.loss.mean:.1f} of {ours.row.rounds:,} recommendations were disliked"
    if ours.stopped > 0.5:
        least = ours.row.threshold
        opens = f"from about {least:,} survivors on" if least else "for more voters than there are"
        text += f". The gate is open {opens}; it shut in {ours.stopped:.0%} of the runs."
        return Verdict("open", "Too few voters agree with the client", text)
    if (bound := ours.row.loss_bound) is not None:
        side = "within" if ours.loss.mean <= bound else "above"
        text += f", {side} the bound of {bound:.1f}"
    if other is None:
        return Verdict("none", "p-REC by itself", f"{text}.")
    text += f"; with the exponential mechanism, at equal epsilon and delta, {other.loss.mean:.1f}."
    if ours.loss.high < other.loss.low:
        return Verdict("hidden", "p-REC errs less than the exponential mechanism", text)
    if other.loss.high < ours.loss.low:
        return Verdict("open", "The exponential mechanism errs less", text)
    return Verdict("weakened", "The two cannot be distinguished", text)


def _of_the_victim(ours: Point, bare: Point | None) -> Verdict:
    """The client likes what one voter votes for: what most clients are given is a guess of it."""
    share, chance = 1 - ours.joint.mean / ours.row.rounds, 1 / ours.row.objects
    text = f"With the gate {share:.0%} of what most clients are given is the victim’s vote"
    if bare is not None:
        text += f"; without it {1 - bare.joint.mean / bare.row.rounds:.0%}"
    text += f"; a guess would be right in {chance:.0%}."
    if share < chance + 0.05:
        return Verdict("hidden", "The victim’s votes stay hidden", text)
    return Verdict("open", "The victim’s votes are read", text)


def tour() -> Tour:
    """A client with many peers, and a client who hunts one voter."""
    game, seed = Game(rounds=300, objects=2, voters=600, peers=300), 1
    rows = {name: play(game, name, seed) for name in ("p-rec", "exponential", "uniform")}
    kind = {name: row.loss for name, row in rows.items()}
    hunted = {
        name: game.rounds - play(replace(game, world="victim"), name, seed).loss
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
        cost=f"Epsilon {game.epsilon:g}, delta {game.delta:g}, for a voter's whole history "
        f"and one client. The client with {game.peers} peers disliked {kind['p-rec']:.0f} of "
        f"{game.rounds} recommendations, with any object {kind['uniform']:.0f}. With fewer than "
        f"{threshold} peers the gate shuts, and lists are any object.",
        read_on="docs/prec.md",
        figures={"disliked": kind, "votes_learned": hunted, "threshold": threshold},
    )
