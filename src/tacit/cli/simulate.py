"""`tacit simulate`: a design on generated people, before anybody real is asked."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import numbers, output, sketch_settings
from tacit.cli.output import JSON
from tacit.cli.simulate_pdap import pdap
from tacit.cli.simulate_prec import prec
from tacit.cli.sketch_settings import Clusters, Likes, Unit
from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit.designs.sketches.experiment.scaling import Scaling

app = typer.Typer(help="Try a design on generated people.", no_args_is_help=True)

Settings = tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...]]
"""Values of items, rated and epsilon."""
_SEEDS, _GROWN = 5, 20


@app.callback()
def _designs() -> None:
    """One sub-command per design."""


app.command()(prec)
app.command()(pdap)


@app.command()
def sketches(
    items: Annotated[str, typer.Option(help="Items; several numbers with commas.")] = "60",
    rated: Annotated[
        str, typer.Option(help="Items that a person rated; several with commas.")
    ] = "20",
    epsilon: Annotated[
        str, typer.Option(help="Nats for a report; several with commas; inf: no noise.")
    ] = "1",
    method: Annotated[
        list[str] | None,
        typer.Option(help="maxsense, multi-maxsense or pairwise-preference; repeat for several."),
    ] = None,
    users: Annotated[
        str | None, typer.Option(help="Numbers of people, with commas; not with --scaling.")
    ] = None,
    scaling: Annotated[
        bool,
        typer.Option(
            "--scaling",
            help="Grow the population until all labels are right, at each of several --items, "
            "--rated or --epsilon, and fit the slope; with two of --method and one setting, "
            "compare them.",
        ),
    ] = False,
    clusters: Clusters = 2,
    likes: Likes = None,
    unit: Unit = "user",
    theta: Annotated[float | None, typer.Option(help="By default as planned.")] = None,
    questions: Annotated[int | None, typer.Option(help="By default as planned.")] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="How many populations: 5, or 20 with --scaling, if left out."),
    ] = None,
    as_json: JSON = False,
) -> None:
    """Learn item clusters from simulated reports.

    They are compared with the true ones.

    accuracy: share of right labels. ari: adjusted Rand index, 0 for labels at random.
    """
    settings = (
        numbers.integers(items, "--items"),
        numbers.integers(rated, "--rated"),
        numbers.decimals(epsilon, "--epsilon"),
    )
    methods = tuple(dict.fromkeys(method or ("maxsense",)))
    world = sketch_settings.world(likes, clusters)
    if scaling:
        if users is not None or theta is not None or questions is not None or unit != "user":
            raise ConfigError(
                "--scaling finds the people needed, with the plan's theta and questions for the "
                "unit user: leave out --users, --theta, --questions and --unit."
            )
        result = _scaled(settings, methods, seeds or _GROWN, world, quiet=as_json)
        output.emit(result, as_json=as_json, render=_show_scaling)
        return
    if users is None:
        raise ConfigError(
            "Say how many people with --users, such as 1000,10000. "
            "tacit plan sketches  says how many it takes."
        )
    asked = {"blocks": world, "unit": unit, "theta": theta, "questions": questions}
    populations = numbers.integers(users, "--users")
    rows = _simulated(settings, methods, populations, seeds or _SEEDS, asked, quiet=as_json)
    output.emit({"rows": rows}, as_json=as_json, render=_show_rows)


def _simulated(
    settings: Settings,
    methods: tuple[str, ...],
    users: tuple[int, ...],
    seeds: int,
    asked: dict[str, Any],
    *,
    quiet: bool,
) -> list[dict[str, Any]]:
    from tacit.designs.sketches.experiment.simulation import simulate

    runs = list(product(methods, *settings, range(seeds)))
    rows: list[dict[str, Any]] = []
    with output.progress("Simulating", len(runs), quiet=quiet) as advance:
        for name, items, rated, epsilon, seed in runs:
            found = simulate(
                name, items=items, rated=rated, epsilon=epsilon, users=users, seed=seed, **asked
            )
            rows += [row.to_dict() for row in found]
            advance(1)
    return rows


def _scaled(
    settings: Settings, methods: tuple[str, ...], seeds: int, world: Any, *, quiet: bool
) -> dict[str, Any]:
    from tacit.designs.sketches.experiment.scaling import VARIED, scaling

    several = [name for name, values in zip(VARIED, settings, strict=True) if len(values) > 1]
    if not several and len(methods) == 2:
        return _compared(settings, methods, seeds, world, quiet=quiet)
    if len(several) != 1:
        raise ConfigError(
            "--scaling takes several values of exactly one of --items, --rated and --epsilon, "
            "such as --rated 10,20,40; or one of each, and two of --method."
        )
    varied = several[0]
    kept: dict[str, Any] = {
        name: values[0] for name, values in zip(VARIED, settings, strict=True) if name != varied
    }
    values = settings[VARIED.index(varied)]
    found: list[Scaling] = []
    with output.progress("Growing populations", len(methods), quiet=quiet) as advance:
        for name in methods:
            found.append(scaling(name, varied, values, **kept, seeds=seeds, blocks=world))
            advance(1)
    return {
        "rows": [row.to_dict() for one in found for row in one.rows],
        "scaling": [one.to_dict() for one in found],
    }


def _compared(
    settings: Settings, methods: tuple[str, ...], seeds: int, world: Any, *, quiet: bool
) -> dict[str, Any]:
    from tacit.designs.sketches.experiment.scaling import compare

    (items,), (rated,), (epsilon,) = settings
    with output.progress("Growing populations", 1, quiet=quiet) as advance:
        found = compare(
            (methods[0], methods[1]),
            items=items,
            rated=rated,
            epsilon=epsilon,
            seeds=seeds,
            blocks=world,
        )
        advance(1)
    return {
        "rows": [row.to_dict() for row in found.rows],
        "scaling": [],
        "comparison": found.to_dict(),
    }


def _show_rows(result: dict[str, Any]) -> None:
    columns = ("method", "items", "rated", "epsilon", "users")
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in result["rows"]:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    output.table(
        "",
        (*columns, "labels right", "adjusted Rand"),
        [
            (
                *key[:3],
                "inf" if key[3] is None else f"{key[3]:g}",
                f"{key[4]:,}",
                sum(row["accuracy"] for row in rows) / len(rows),
                sum(row["ari"] for row in rows) / len(rows),
            )
            for key, rows in groups.items()
        ],
    )
    output.console.print("Means over seeds; --json prints every one.", style="dim")
    output.next_step("Next:  tacit plan sketches  says how many people it takes.")


def _show_scaling(result: dict[str, Any]) -> None:
    for found in result["scaling"]:
        output.console.print(f"{found['method']}:", markup=False)
        _show_needs(found["varied"], [(f"{need['value']:g}", need) for need in found["needs"]])
        output.console.print(
            f"Slope {found['slope']:.2f} (95 %: {found['low']:.2f} to {found['high']:.2f}): people "
            f"grow as {found['varied']} to this power. By the formula "
            f"{found['formula_slope']:.2f}; the mean population {found['mean_slope']:.2f}.",
            soft_wrap=True,
        )
    if "comparison" in result:
        found = result["comparison"]
        one, other = (need["method"] for need in found["needs"])
        _show_needs("method", [(need["method"], need) for need in found["needs"]])
        output.console.print(
            f"{other} needs {found['ratio']:.2f} times the people of {one} (95 %: "
            f"{found['low']:.2f} to {found['high']:.2f}). By the formula "
            f"{found['formula_ratio']:.2f}.",
            soft_wrap=True,
        )
    output.next_step("Next:  tacit plan sketches --plot out.svg  draws what theory says.")


def _show_needs(named: str, needs: list[tuple[str, dict[str, Any]]]) -> None:
    output.table(
        "people until all labels are right, in nine of ten populations",
        (named, "people", "95 %", "by the formula", "mean", "never"),
        [
            (
                name,
                f"{need['users']:,.0f}",
                f"{need['low']:,.0f} to {need['high']:,.0f}",
                f"{need['users_clt']:,.0f}",
                f"{need['mean']:,.0f}",
                need["unreached"],
            )
            for name, need in needs
        ],
    )
