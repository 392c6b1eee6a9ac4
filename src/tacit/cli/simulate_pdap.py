"""`tacit simulate pdap`: vendors that learn together, on generated clicks or replayed ratings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import numbers, options, output
from tacit.cli.output import JSON
from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit.data.contexts import Log
    from tacit.designs.pdap.experiment.policies import World
    from tacit.designs.pdap.experiment.simulation import Row

_POLICIES = "cap,dup,dap,p-dap,gp-dap,sound-joint,uniform"


def pdap(
    ratings: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RATINGS]",
            help="Ratings whose people and stars are replayed; left out: generated clicks.",
        ),
    ] = None,
    vendors: Annotated[int, typer.Option(min=1, help="Vendors.")] = 4,
    videos: Annotated[int, typer.Option(min=1, help="Videos of each vendor.")] = 5,
    arrivals: Annotated[int, typer.Option(min=2, help="Visits of each vendor's users.")] = 5_000,
    dimensions: Annotated[int, typer.Option(min=1, help="Features of a context.")] = 2,
    epsilon: Annotated[
        str, typer.Option(help="Nats for a visit; several with commas; inf: no noise.")
    ] = "1",
    policies: Annotated[
        str,
        typer.Option(
            help="With commas: cap, solo, dup, dap, p-dap, gp-dap, sound-context, sound-joint, "
            "private-linucb, uniform."
        ),
    ] = _POLICIES,
    seeds: Annotated[int, typer.Option(min=1, help="Worlds, one after the other.")] = 3,
    lipschitz: Annotated[
        float,
        typer.Option(help="L: how steeply clicks change with the context; policies know it."),
    ] = 1.0,
    groups: Annotated[
        int,
        typer.Option(
            min=0, help="Clusters that contexts are drawn from, of unequal size; 0: uniform."
        ),
    ] = 0,
    test: Annotated[
        int, typer.Option(min=0, help="Visits after learning, of which nothing is learned.")
    ] = 0,
    gamma: Annotated[
        str, typer.Option(help="Of p-dap and gp-dap: 'printed', Lemma 5's, or a number of visits.")
    ] = "printed",
    split_after: Annotated[
        float | None, typer.Option(help="Published policies: A; by default from the setting.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page with curves and tables.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Simulate vendors that learn from clicks: accuracy and regret.

    Vendors forward visitors to one another by messages. What the published policies (cap to gp-dap)
    claim about privacy does not hold.
    """
    from tacit.designs.pdap.experiment.policies import NAMES, World

    names = options.names_in([policies])
    if not names:
        raise ConfigError(f"--policies names one or more of {', '.join(NAMES)}.")
    if unknown := [name for name in names if name not in NAMES]:
        raise ConfigError(f"There is no policy '{unknown[0]}'. Policies: {', '.join(NAMES)}.")
    if report is not None:
        from tacit.writing import check_writable

        check_writable(report)
    world = World(
        vendors=vendors,
        videos=videos,
        dimension=dimensions,
        arrivals=arrivals,
        published={"lipschitz": lipschitz, "split_after": split_after},
        private={"gamma": _gamma(gamma)},
    )
    log, data = _log(ratings, world)
    if log is not None and (groups or test):
        raise ConfigError("--groups and --test are for generated clicks: leave out the ratings.")
    epsilons = numbers.decimals(epsilon, "--epsilon")
    generated = {"lipschitz": lipschitz, "groups": groups, "test": test}
    rows = _simulated(names, epsilons, world, log, generated, seeds, quiet=as_json)
    manifest = _manifest(world, names, epsilons, seeds, generated, data)
    if report is not None:
        from tacit.designs.pdap.experiment.report import write_report

        write_report(rows, world, manifest, report)
    result = _result(rows, world) | {"manifest": manifest, "report": report}
    output.emit(result, as_json=as_json, render=_show)


def _gamma(text: str) -> float | None:
    if text == "printed":
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (number >= 0 and math.isfinite(number)):
        raise ConfigError(f"--gamma is 'printed' or a number of visits; got {text!r}.")
    return number


def _log(path: Path | None, world: World) -> tuple[Log | None, dict[str, Any]]:
    if path is None:
        return None, {"generated": "clicks of tacit.data.synthetic_rewards"}
    from tacit.data import load
    from tacit.data.contexts import log_of

    ratings = load(path)
    log = log_of(ratings, videos=world.vendors * world.videos, dimension=world.dimension)
    return log, {
        "sha256": ratings.digest,
        "users": ratings.n_users,
        "items": len(log.videos),
        "ratings": len(log),
    }


def _simulated(
    names: tuple[str, ...],
    epsilons: tuple[float, ...],
    world: World,
    log: Log | None,
    generated: dict[str, Any],
    seeds: int,
    *,
    quiet: bool,
) -> list[Row]:
    from tacit.designs.pdap.experiment.policies import WITH_EPSILON
    from tacit.designs.pdap.experiment.simulation import checkpoints, simulate

    def one(name: str, each: float, seed: int) -> Iterator[Row]:
        if log is None:
            return simulate(name, each, world, seed=seed, **generated)
        from tacit.designs.pdap.experiment.replay import replay_log

        return replay_log(name, each, world, log, seed=seed)

    runs = [
        (name, each, seed)
        for seed in range(seeds)
        for name in names
        for each in (epsilons if name in WITH_EPSILON else (math.inf,))
    ]
    rows: list[Row] = []
    total = len(runs) * len(checkpoints(world.arrivals))
    with output.progress("Simulating", total, quiet=quiet) as advance:
        for run in runs:
            for row in one(*run):
                rows.append(row)
                advance(1)
    return rows


def _manifest(
    world: World,
    names: tuple[str, ...],
    epsilons: tuple[float, ...],
    seeds: int,
    generated: dict[str, Any],
    data: dict[str, Any],
) -> dict[str, Any]:
    from tacit.designs.pdap.experiment.report import manifest_of

    return manifest_of(
        "tacit simulate pdap",
        data,
        vendors=world.vendors,
        videos=world.videos,
        arrivals=world.arrivals,
        dimensions=world.dimension,
        policies=",".join(names),
        epsilon=",".join(f"{each:g}" for each in epsilons),
        seeds=seeds,
        **generated,
        gamma="printed" if world.private["gamma"] is None else world.private["gamma"],
        split_after=world.setting.first_split,
        **({"delta": world.delta} if "private-linucb" in names else {}),
    )


def _result(rows: list[Row], world: World) -> dict[str, Any]:
    from tacit.designs.pdap.experiment.tables import orderings, tables

    return {
        "rows": [row.to_dict() for row in rows],
        "orderings": orderings(rows),
        "tables": [
            {
                "table": table.number,
                "title": table.title,
                "rows": [
                    {
                        "arrivals": arrivals,
                        "policy": column[0],
                        "epsilon": column[1],
                        "paper": cell.paper,
                        "here": cell.ours,
                    }
                    for arrivals, cells in table.lines.items()
                    for column, cell in zip(table.columns, cells, strict=True)
                ],
                "why": table.why,
            }
            for table in tables(rows, world)
        ],
    }


def _show(result: dict[str, Any]) -> None:
    rows = result["rows"]
    last = max(row["arrivals"] for row in rows)
    groups: dict[tuple[str, float | None], list[dict[str, Any]]] = {}
    for row in rows:
        if row["arrivals"] == last:
            groups.setdefault((row["policy"], row["epsilon"]), []).append(row)
    output.table(
        f"after {last:,} visits of each vendor",
        (
            "policy",
            "epsilon",
            "accuracy",
            "tested",
            "average regret",
            "forwarded",
            "spent per visit",
        ),
        [
            (
                name,
                "–" if epsilon is None else f"{epsilon:g}",
                _mean(found, "accuracy"),
                _mean(found, "test_accuracy"),
                _mean(found, "average_regret"),
                _mean(found, "forwarded"),
                "nothing holds"
                if (spent := found[0]["epsilon_spent_per_visit"]) is None
                else f"{spent:.3g}",
            )
            for (name, epsilon), found in groups.items()
        ],
    )
    for one in result["orderings"]:
        each = "" if math.isinf(one.epsilon) else f" at epsilon {one.epsilon:g}"
        output.console.print(
            f"{one.above} above {one.below}{each}: {one.verdict} "
            f"({100 * one.difference.mean:+.2f} points)",
            markup=False,
        )
    for table in result["tables"]:
        if table["table"] != "II":
            output.console.print(f"Table {table['table']} of the paper: {table['why'][-1]}")
    if result["report"] is None:
        output.next_step("Next:  --report out.html  writes curves, and the paper's tables.")
    else:
        output.next_step(f"Wrote {result['report']}.")


def _mean(rows: list[dict[str, Any]], field: str) -> float | None:
    values = [row[field] for row in rows if row[field] is not None]
    return sum(values) / len(values) if values else None
