"""Command `tacit simulate prec`: options, runs, tables, page."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tacit.design import Command, Run, option
from tacit.designs.prec.commands import DELTA, DIVERSITY, RADIUS, TOGETHER
from tacit.designs.prec.experiment.leaks import PAIRS, Leak, leak
from tacit.designs.prec.experiment.methods import METHODS
from tacit.designs.prec.experiment.report import (
    LEAK_LEGEND,
    LEGEND,
    leak_table,
    make_page,
    points_table,
)
from tacit.designs.prec.experiment.simulation import PRecRow, play, points, runs
from tacit.designs.prec.experiment.worlds import WORLDS, Game
from tacit.evaluation import REPORT, SEED, WORKERS, Result, Table, describe_run
from tacit.evaluation.runner import Runner


@dataclass(frozen=True)
class SimulateSettings:
    """Options of `tacit simulate prec`."""

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
        base = Game(
            rounds=self.rounds[0],
            objects=self.objects,
            voters=self.voters[0],
            peers=self.peers[0],
            diversity=self.diversity,
            radius=self.radius,
            clients=self.clients,
            together=self.together,
            epsilon=self.epsilon[0],
            delta=self.delta,
            world=self.world,
        )
        moved = [base]
        moved += [replace(base, rounds=rounds) for rounds in self.rounds]
        moved += [replace(base, peers=peers) for peers in self.peers]
        moved += [replace(base, voters=voters) for voters in self.voters]
        moved += [replace(base, epsilon=epsilon) for epsilon in self.epsilon]
        games = list(dict.fromkeys(moved))
        if self.world != "both-ways":
            return games
        patterns = []
        for game in games:
            patterns += [game, replace(game, pattern=2)]
        return patterns

    @property
    def moved_settings(self) -> list[str]:
        """Names of what moves."""
        values = {
            "rounds": self.rounds,
            "peers": self.peers,
            "voters": self.voters,
            "epsilon": self.epsilon,
        }
        moved = [name for name in values if len(values[name]) > 1]
        if self.world == "both-ways":
            moved.append("pattern")
        return moved


def _simulate(settings: SimulateSettings, run: Run) -> Result:
    """Serve clients from generated votes.

    Losses of p-REC, the exponential mechanism at equal epsilon and delta, and methods in the clear;
    in the worlds of the lower-bound proofs also the leak that they are built for.
    Of --rounds, --voters, --peers and --epsilon one moves at a time; the others stay at their
    first value.
    """
    games = settings.games
    methods = settings.method or METHODS
    tasks = runs(games, methods, range(settings.seed, settings.seed + settings.seeds))
    with (
        run.progress("Simulating", len(tasks)) as advance,
        Runner(None, workers=settings.workers) as runner,
    ):
        rows = runner.run(_play, tasks, advance)
    base = games[0]
    after = (
        f"tacit plan prec --objects {base.objects} --rounds {base.rounds} "
        f"--peers {base.peers} --voters {base.voters}  says what theory promises."
    )
    measured = points(rows)
    table = points_table(measured, settings.moved_settings)
    if settings.report is not None:
        made_with = {"seed": settings.seed} | describe_run(run.command, asdict(settings))
        at_base = measured[: len(set(methods))]  # the base is played first
        make_page(base, at_base, table, made_with).write(settings.report)
    found = _find_leaks(settings)
    shown: list[Table | str] = [table, LEGEND]
    if found:
        shown += [leak_table(found), LEAK_LEGEND]
    data = {
        "rows": [asdict(row) for row in rows],
        "points": [point.to_dict() for point in measured],
        "leaks": [asdict(leak) for leak in found],
    }
    return Result(data, shown, after)


def _play(_: None, game: Game, method: str, seed: int) -> PRecRow:
    return play(game, method, seed)


def _find_leaks(settings: SimulateSettings) -> list[Leak]:
    """Find the leaks of the base's pair of patterns, by seed; none where no proof compares any."""
    if settings.world not in PAIRS:
        return []
    base = settings.games[0]
    return [leak(base, seed) for seed in range(settings.seed, settings.seed + settings.seeds)]


SIMULATE = Command(SimulateSettings, _simulate)
