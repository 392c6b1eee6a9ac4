"""Command `tacit simulate prec`: options, runs, tables, page."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.design import Command, Run, option
from tacit.designs.prec.commands import DELTA, DIVERSITY, RADIUS, TOGETHER
from tacit.designs.prec.experiment.game import METHODS, WORLD_NAMES, Game
from tacit.evaluation import REPORT, SEED, WORKERS, Result, Table, describe_run
from tacit.evaluation.runner import Runner

if TYPE_CHECKING:
    from tacit.designs.prec.experiment.leaks import Leak
    from tacit.designs.prec.experiment.simulation import PRecRow


@dataclass(frozen=True)
class SimulateSettings:
    """Options of `tacit simulate prec`."""

    world: str = option(
        f"Who votes for what, and what clients like: {', '.join(WORLD_NAMES)}.", default="planted"
    )
    rounds: tuple[int, ...] = option(
        "Number of rounds; several with commas, the first is the base.", default=(1000,)
    )
    objects: int = option("Number of objects in each round.", default=2, least=2)
    voters: tuple[int, ...] = option("Number of voters; several with commas.", default=(1000,))
    peers: tuple[int, ...] = option(
        "Number of voters who agree with the client; several with commas.", default=(300,)
    )
    diversity: int = option(DIVERSITY, default=0, least=0)
    radius: int = option(RADIUS, default=0, least=0)
    epsilon: tuple[float, ...] = option("Epsilon; several with commas.", default=(1.0,))
    delta: float = option(DELTA, default=1e-6)
    clients: int = option("Number of clients, all with the same taste.", default=1, least=1)
    together: int = option(TOGETHER, default=1, least=1)
    method: tuple[str, ...] = option(
        f"{', '.join(METHODS)}; several with commas; default: all.", default=()
    )
    seeds: int = option("Number of runs of each method in each setting.", default=5, least=1)
    report: Path | None = option(REPORT, default=None, writes=True)
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=0, least=0)

    @property
    def games(self) -> list[Game]:
        """The settings to play: first the base, then those that differ from it in one option.

        The base has the first value of each option. In the world `both-ways` each setting is there
        twice, once for each pattern.
        """
        base = Game(
            rounds=self.rounds[0],
            objects=self.objects,
            voters=self.voters[0],
            peers=self.peers[0],
            diversity=self.diversity,
            radius=self.radius,
            clients=self.clients,
            clients_together=self.together,
            epsilon=self.epsilon[0],
            delta=self.delta,
            world=self.world,
        )
        varied_games = [base]
        varied_games += [replace(base, rounds=rounds) for rounds in self.rounds]
        varied_games += [replace(base, peers=peers) for peers in self.peers]
        varied_games += [replace(base, voters=voters) for voters in self.voters]
        varied_games += [replace(base, epsilon=epsilon) for epsilon in self.epsilon]
        games = list(dict.fromkeys(varied_games))  # without repetitions of the base
        if self.world != "both-ways":
            return games
        games_of_both_patterns = []
        for game in games:
            games_of_both_patterns += [game, replace(game, pattern=2)]
        return games_of_both_patterns

    @property
    def varied_settings(self) -> list[str]:
        """Names of the fields of `Game` that differ between the settings."""
        values = {
            "rounds": self.rounds,
            "peers": self.peers,
            "voters": self.voters,
            "epsilon": self.epsilon,
        }
        varied = [name for name in values if len(values[name]) > 1]
        if self.world == "both-ways":
            varied.append("pattern")
        return varied


def _simulate(settings: SimulateSettings, run: Run) -> Result:
    """Serve clients from generated votes.

    Prints the losses of p-REC, of the exponential mechanism at equal epsilon and delta, and of
    methods without privacy. In the worlds of the lower-bound proofs it also prints how much the
    paper's algorithm leaks. Of --rounds, --voters, --peers and --epsilon one varies at a time,
    while the others have their first value.
    """
    from tacit.designs.prec.experiment import report
    from tacit.designs.prec.experiment.simulation import points, runs

    games = settings.games
    methods = settings.method or METHODS
    tasks = runs(games, methods, range(settings.seed, settings.seed + settings.seeds))
    with (
        run.progress("Simulating", len(tasks)) as advance,
        Runner(None, workers=settings.workers) as runner,
    ):
        rows = runner.run(_play, tasks, advance)
    base = games[0]
    next_command = (
        f"tacit plan prec --objects {base.objects} --rounds {base.rounds} "
        f"--peers {base.peers} --voters {base.voters}  says what theory promises."
    )
    means = points(rows)
    table = report.points_table(means, settings.varied_settings)
    if settings.report is not None:
        manifest = {"seed": settings.seed} | describe_run(run.command, asdict(settings))
        base_points = means[: len(set(methods))]  # those of the base, which is played first
        report.make_page(base, base_points, table, manifest).write(settings.report)
    leaks = _compute_leaks(settings)
    shown: list[Table | str] = [table, report.LEGEND]
    if leaks:
        shown += [report.leak_table(leaks), report.LEAK_LEGEND]
    data = {
        "rows": [asdict(row) for row in rows],
        "points": [point.to_dict() for point in means],
        "leaks": [asdict(leak) for leak in leaks],
    }
    return Result(data, shown, next_command)


def _play(_: None, game: Game, method: str, seed: int) -> PRecRow:
    """Play one run. The first argument is the runner's value for all tasks, which is not used."""
    from tacit.designs.prec.experiment.simulation import play

    return play(game, method, seed)


def _compute_leaks(settings: SimulateSettings) -> list[Leak]:
    """Compute the leak of the base setting for each seed; empty if no proof uses the world."""
    from tacit.designs.prec.experiment.leaks import PAIRS, leak

    if settings.world not in PAIRS:
        return []
    base = settings.games[0]
    return [leak(base, seed) for seed in range(settings.seed, settings.seed + settings.seeds)]


SIMULATE = Command(SimulateSettings, _simulate)
