"""What `tacit simulate prec` asks, does and shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from tacit.design import Command, Run, option
from tacit.designs.prec.commands import DELTA, DIVERSITY, RADIUS, TOGETHER
from tacit.designs.prec.experiment import Point, points, runs
from tacit.designs.prec.experiment import simulate as simulated
from tacit.designs.prec.experiment.methods import METHODS
from tacit.designs.prec.experiment.worlds import WORLDS, Game
from tacit.evaluation import SEED, WORKERS, Result, Table

_VARIED = ("rounds", "peers", "voters", "epsilon")
_LEGEND = (
    "Disliked recommendations, means over runs. Bound: on the expected number for p-rec, if the "
    "client has peers as assumed. Shut: runs whose gate closed, after which recommendations were "
    "uniform."
)


@dataclass(frozen=True)
class SimulateSettings:
    """Of `tacit simulate prec`."""

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
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=0, least=0)

    @property
    def games(self) -> list[Game]:
        """The base, and every setting with one thing moved from it."""
        names = ("objects", "diversity", "radius", "delta", "clients", "together", "world")
        fixed: dict[str, Any] = {name: getattr(self, name) for name in names}
        base = Game(**fixed, **{name: getattr(self, name)[0] for name in _VARIED})
        moved = [replace(base, **{name: x}) for name in _VARIED for x in getattr(self, name)]
        return list(dict.fromkeys([base, *moved]))


def simulate(settings: SimulateSettings, run: Run) -> Result:
    """Serve clients from generated votes.

    Losses of p-REC, the exponential mechanism at equal epsilon and delta, and methods in the clear.
    Of --rounds, --voters, --peers and --epsilon one moves at a time; the others stay at their
    first value.
    """
    games, methods = settings.games, settings.method or METHODS
    seeds = range(settings.seed, settings.seed + settings.seeds)
    with run.progress("Simulating", len(runs(games, methods, seeds))) as advance:
        rows = simulated(games, methods, seeds, workers=settings.workers, progress=advance)
    moved = [name for name in _VARIED if len(getattr(settings, name)) > 1]
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
    shown = (Table.of("", columns, points(rows)), _LEGEND)
    return Result({"rows": [asdict(row) for row in rows]}, shown, after)


def _written(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _ends(point: Point) -> str | None:
    low, high = point.loss.low, point.loss.high
    return None if (low, high) == (0, point.row.rounds) else f"{low:.1f} to {high:.1f}"


SIMULATE = Command(SimulateSettings, simulate)
