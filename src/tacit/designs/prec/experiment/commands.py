"""What `tacit simulate prec` and `tacit evaluate prec` ask, do and show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tacit.design import Command, Run, option
from tacit.designs.prec.commands import DELTA, DIVERSITY, RADIUS, TOGETHER
from tacit.designs.prec.experiment import (
    VARIED,
    Point,
    Setting,
    points,
    runs,
    settings_of,
)
from tacit.designs.prec.experiment import simulate as simulated
from tacit.designs.prec.experiment.methods import METHODS, Budget
from tacit.designs.prec.experiment.worlds import Game
from tacit.evaluation import REPORT, SEED, WORKERS, Result, Table, generated, manifest

METHOD = (
    "p-rec, p-rec-no-gate, exponential, majority, weighted-majority or uniform; several with "
    "commas; default: all."
)
_LEGEND = (
    "Disliked recommendations, means over runs. Bound: on the expected number for p-rec, if the "
    "client has peers as assumed. Shut: runs whose gate closed, after which recommendations were "
    "uniform."
)
_HEADS = {
    "p-rec-no-gate": "no gate",
    "exponential": "exp.",
    "majority": "most",
    "weighted-majority": "weights",
    "uniform": "any",
}


@dataclass(frozen=True)
class SimulateSettings:
    """Of `tacit simulate prec`."""

    world: str = option(
        "planted, opposed, adaptive, search, stubborn, one-round, both-ways, sybils or victim: who "
        "votes for what.",
        default="planted",
    )
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
    method: tuple[str, ...] = option(METHOD, default=())
    seeds: int = option("How many runs of each.", default=5, least=1)
    report: Path | None = option(REPORT, default=None, writes=True)
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=0, least=0)


def simulate(settings: SimulateSettings, run: Run) -> Result:
    """Serve clients from generated votes.

    Losses of p-REC, the exponential mechanism at equal epsilon and delta, and methods in the clear.
    Of --rounds, --voters, --peers and --epsilon one moves at a time; the others stay at their
    first value.
    """
    values: dict[str, Any] = {name: getattr(settings, name) for name in VARIED}
    first = {name: values[name][0] for name in VARIED}
    game = Game(
        first["rounds"],
        settings.objects,
        first["voters"],
        first["peers"],
        settings.diversity,
        settings.radius,
    )
    budget = Budget(first["epsilon"], settings.delta, settings.clients, settings.together)
    base = Setting(settings.world, game, budget)
    made, methods = settings_of(base, values), settings.method or METHODS
    seeds = range(settings.seed, settings.seed + settings.seeds)
    with run.progress("Simulating", runs(made, methods, settings.seeds)) as advance:
        rows = simulated(made, methods, seeds, workers=settings.workers, progress=advance)
    found = points(rows)
    if settings.report is not None:
        from tacit.designs.prec.experiment.report import page_of

        made_with = generated(seed=settings.seed, command=run.command, seeds=settings.seeds)
        page_of(base, found, made_with).write(settings.report)
    moved = [name for name in VARIED if len(_values(found, name)) > 1]
    some = found[0].row
    shown = (_moved(found, moved) if moved else _methods(found), _LEGEND)
    after = (
        f"tacit plan prec --objects {some.objects} --rounds {some.rounds} "
        f"--peers {some.peers} --voters {some.voters}  says what theory promises."
    )
    return Result({"rows": [asdict(row) for row in rows]}, shown, after)


def _methods(found: Sequence[Point]) -> Table:
    columns = {
        "method": lambda point: point.row.method,
        "disliked": lambda point: f"{point.loss.mean:.1f}",
        "95 %": _ends,
        "bound": lambda point: point.row.loss_bound and f"{point.row.loss_bound:.1f}",
        "shut": lambda point: f"{point.stopped:.0%}",
    }
    return Table.of("", columns, found)


def _moved(found: Sequence[Point], moved: list[str]) -> Table:
    """A row for each setting. Methods without privacy stand in those of every epsilon."""
    methods = list(dict.fromkeys(point.row.method for point in found))
    places = {
        (point.row.method, *(getattr(point.row, name) for name in moved)): point for point in found
    }
    spent = "epsilon" in moved
    settings = dict.fromkeys(
        place[1:] for place in places if not spent or place[1 + moved.index("epsilon")] is not None
    )
    rows = []
    for setting in settings:
        anywhere = tuple(
            None if name == "epsilon" else value for name, value in zip(moved, setting, strict=True)
        )
        here = {
            method: places.get((method, *setting)) or places.get((method, *anywhere))
            for method in methods
        }
        ours = here.get("p-rec")
        rows.append(
            (
                *(f"{value:g}" for value in setting),
                *(None if point is None else f"{point.loss.mean:.1f}" for point in here.values()),
                ours and ours.row.loss_bound and f"{ours.row.loss_bound:.1f}",
                ours and f"{ours.stopped:.0%}",
            )
        )
    heads = (_HEADS.get(method, method) for method in methods)
    return Table("", (*moved, *heads, "bound", "shut"), rows)


def _values(found: Sequence[Point], name: str) -> set[float]:
    return {value for point in found if (value := getattr(point.row, name)) is not None}


def _ends(point: Point) -> str | None:
    low, high = point.loss.low, point.loss.high
    return None if (low, high) == (0, point.row.rounds) else f"{low:.1f} to {high:.1f}"


@dataclass(frozen=True)
class EvaluateSettings:
    """Of `tacit evaluate prec`."""

    objects: int = option("Items of each round.", default=2, least=2)
    rated_by: int = option("Only items with at least this many ratings.", default=50, least=1)
    liked_from: float = option("This many stars or more are a like.", default=4.0)
    clients: int = option("People served, who do not vote.", default=64, least=1)
    epsilon: float = option("Epsilon for each client's view.", default=1.0)
    delta: float = option(DELTA, default=1e-6)
    diversity: int = option(DIVERSITY, default=0, least=0)
    radius: tuple[int, ...] = option("Disliked objects a peer votes for; commas.", default=(0,))
    method: tuple[str, ...] = option(METHOD, default=())
    seeds: int = option("How many draws of clients.", default=5, least=1)
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=0, least=0)


def evaluate(settings: EvaluateSettings, run: Run) -> Result:
    """Recommend from other people's votes.

    Rounds are made of items in order of time; each voter votes for the item to which they gave most
    stars. Clients take part where they rated all items of a round, and liked some but not all.
    """
    from tacit.designs.prec.experiment.stream import evaluate_stream, steps, stream_points

    asked: dict[str, Any] = {
        "methods": settings.method or METHODS,
        "objects": settings.objects,
        "per_item": settings.rated_by,
        "liked_from": settings.liked_from,
        "clients": settings.clients,
        "epsilon": settings.epsilon,
        "delta": settings.delta,
        "diversity": settings.diversity,
        "radius": settings.radius,
        "seeds": range(settings.seed, settings.seed + settings.seeds),
    }
    ratings = run.read()
    total = steps(asked["methods"], settings.radius, settings.seeds)
    with run.progress("Evaluating", total) as advance:
        rows = evaluate_stream(ratings, **asked, workers=settings.workers, progress=advance)
    found = stream_points(rows)
    data = {
        "rows": [asdict(row) for row in rows],
        "points": [
            {"method": row.method, "radius": row.radius, "loss": list(loss), "stopped": stopped}
            for row, loss, stopped in found
        ],
        "manifest": manifest(ratings, seed=settings.seed, command=run.command, **asked),
    }
    some = found[0][0]
    table = Table(
        "",
        ("method", "radius", "disliked", "95 %", "gate shut"),
        [
            (
                row.method,
                row.radius,
                f"{loss.mean:.1%}",
                None if (loss.low, loss.high) == (0, 1) else f"{loss.low:.1%} to {loss.high:.1%}",
                f"{stopped:.0%}",
            )
            for row, loss, stopped in found
        ],
    )
    said = (
        f"{some.rounds:,} rounds of {some.objects} items, {some.voters:,} voters, "
        f"{some.clients} clients. Abstainers' votes: {some.abstained:.0%}."
    )
    after = "tacit simulate prec  shows what it takes: voters who agree with the client."
    return Result(data, (said, table), after)


SIMULATE = Command(SimulateSettings, simulate)
EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
