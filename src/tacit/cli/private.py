"""The design `private` on the command line: fit, evaluate, plan."""

from __future__ import annotations

import math
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import numbers, options, output
from tacit.cli.fitted import Out
from tacit.cli.output import JSON

if TYPE_CHECKING:
    from tacit.evaluation.list_runs import Contender

Features = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns of public item metadata, with commas; default: genres, tags, categories, "
        "price, year where there are any; '' for none."
    ),
]
Target = Annotated[
    list[str] | None,
    typer.Option("--target", help="Domains that lists are made in; default: one domain for all."),
]
_PERIODS = ("day", "week", "month", "quarter", "year")


@options.reads_ratings
def fit(
    source: options.Source,
    out: Out,
    epsilon: Annotated[
        float, typer.Option(help="Nats for a person's whole profile; inf: no privacy.")
    ] = 1.0,
    delta: Annotated[float, typer.Option(help="A chance, such as 1e-6.")] = 1e-6,
    features: Features = None,
    from_domain: options.SourceDomains = None,
    to_domain: Target = None,
    mode: Annotated[
        str, typer.Option(help="'auto', by the noisy number of people; 'taste'; 'top-items'.")
    ] = "auto",
    like_at: Annotated[
        float | None, typer.Option(help="Least rating that is a like; default: 70 % of the scale.")
    ] = None,
    stars: Annotated[
        bool, typer.Option("--stars", help="Release means of stars, too: 40 % of the budget.")
    ] = False,
    catalogue: Annotated[
        Path | None,
        typer.Option(help="Public list of items with their metadata. Others are left out."),
    ] = None,
    as_json: JSON = False,
) -> None:
    """Private lists from one file of ratings.

    In one domain or across two.

    What was released, and whether lists are useful, is printed and stated on the card.
    """
    from tacit.designs.private import Private
    from tacit.errors import PrivacyError

    if math.isfinite(epsilon) and source.per_item > 1:
        raise PrivacyError(
            "--per-item leaves items out by how many people rated them: one person can decide "
            "that, and no noise hides it. Leave it out."
        )
    model = Private(
        epsilon,
        delta,
        source=options.names_in(from_domain) if from_domain else None,
        target=options.names_in(to_domain) if to_domain else None,
        features=None if features is None else options.names_in(features),
        mode=mode,  # type: ignore[arg-type]  # checked by the settings
        like_at=like_at,
        stars=stars,
    )
    _ = model.settings  # refuses bad ones before the file is read
    ratings = source.read(catalogue=catalogue)
    with output.progress("Fitting", None, quiet=as_json):
        model.fit(ratings).save(out)
    (card,) = model.guarantees()
    useful = model.released_.usefulness
    result = {
        "recommender": "private",
        "model": str(out),
        "items": len(model.item_ids_),
        "features": list(model.feature_names_),
        "mode": model.released_.mode,
        "lists": model.released_.serves_lists,
        **asdict(useful),
        "worthwhile": useful.worthwhile,
        "missing": useful.missing,
        "epsilon": card.epsilon,
        "delta": card.delta,
        "basis": card.basis.value,
        "first_line": card.first_line,
        "sentence": card.sentence,
    }
    output.emit(result, as_json=as_json, render=_show_fit)


def _show_fit(result: dict[str, Any]) -> None:
    output.console.print(
        f"Fitted private lists of {result['items']:,} items; wrote {result['model']}. "
        f"{result['first_line']} {result['sentence']}",
        soft_wrap=True,
        markup=False,
    )
    output.next_step(
        f"Next:  tacit recommend {result['model']} --history my_ratings.csv --at-device"
    )


@options.reads_ratings
def evaluate(
    source: options.Source,
    epsilon: Annotated[
        str, typer.Option(help="Nats for a person's whole profile, with commas; inf: no noise.")
    ] = "0.5,1,3,inf",
    delta: Annotated[float, typer.Option(help="A chance, such as 1e-6.")] = 1e-6,
    features: Features = None,
    from_domain: Annotated[
        str | None, typer.Option("--source", help="Domain that people are known from.")
    ] = None,
    to_domain: Annotated[
        str | None, typer.Option("--target", help="Domain that lists are made in.")
    ] = None,
    mode: Annotated[str, typer.Option(help="'auto', 'taste' or 'top-items'.")] = "auto",
    stars: Annotated[
        bool, typer.Option("--stars", help="Release means of stars, too; RMSE between domains.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="How many splits, each with new noise.")] = 6,
    seed: options.Seed = 0,
    workers: options.Workers = 1,
    as_json: JSON = False,
) -> None:
    """Find held-out likes, privately and not.

    'kept' is a contender's share of the gain over popularity that the best plain method has: EASE
    in one domain, a ridge regression between two, its penalty chosen on the test people.
    """
    from tacit.evaluation.list_runs import evaluate_lists
    from tacit.evaluation.manifest import manifest

    epsilons = numbers.decimals(epsilon, "--epsilon")
    given = {
        "delta": delta,
        "features": None if features is None else options.names_in(features),
        "mode": mode,
        "stars": stars,
        "source": from_domain,
        "target": to_domain,
    }
    contenders = _contenders(epsilons, given)
    ratings = source.read()
    total = (len(contenders) + 2) * seeds
    with output.progress("Evaluating", total, quiet=as_json) as advance:
        rows = evaluate_lists(
            ratings,
            contenders,
            source=from_domain,
            target=to_domain,
            seeds=range(seed, seed + seeds),
            workers=workers,
            progress=advance,
        )
    told = [row.to_dict() | {"epsilon": _written(row.epsilon)} for row in rows]
    made_with = manifest(
        ratings, seed=seed, command=output.command_line(), epsilon=epsilon, seeds=seeds, **given
    )
    output.emit({"rows": told, "manifest": made_with}, as_json=as_json, render=_show_rows)


def _contenders(epsilons: tuple[float, ...], given: dict[str, Any]) -> list[Contender]:
    """Private lists and private popularity at each epsilon, and the usual methods without."""
    from tacit.designs.private import Private
    from tacit.evaluation.list_runs import Contender

    for epsilon in epsilons:
        _ = Private(epsilon, **given).settings  # refuses bad ones before anything is read
    # In one domain likes alone are held out, and an error of them says nothing about stars.
    judged = given["stars"] and given["target"] is not None
    found = [
        Contender("private", given | {"epsilon": each}, each, stars=judged) for each in epsilons
    ]
    popular = [each for each in epsilons if math.isfinite(each)]
    of_popularity = {"delta": given["delta"], "domain": given["target"]}
    found += [
        Contender("private-popularity", of_popularity | {"epsilon": each}, each) for each in popular
    ]
    plain = ["ease", "item-item", *(["als"] if find_spec("implicit") else [])]
    return [*found, *map(Contender, plain)]


def _written(epsilon: float | None) -> float | str | None:
    return "inf" if epsilon is not None and math.isinf(epsilon) else epsilon


def _show_rows(result: dict[str, Any]) -> None:
    output.table(
        "Lists of ten",
        ("model", "epsilon", "NDCG", "95 % interval", "recall", "kept"),
        [
            (
                row["model"],
                row["epsilon"],
                f"{row['ndcg']:.3f}",
                f"{row['low']:.3f} to {row['high']:.3f}",
                f"{row['recall']:.3f}",
                None if row["kept"] is None else f"{row['kept']:.2f}",
            )
            for row in result["rows"]
        ],
    )
    output.next_step("Next:  tacit plan private --help  says how many people it takes.")


def plan(
    users: Annotated[int, typer.Option(min=2, help="People with rows.")],
    items: Annotated[int, typer.Option(min=2, help="Items that lists are made of.")],
    epsilon: Annotated[
        float, typer.Option(help="Nats for a person's whole profile, all releases together.")
    ] = 1.0,
    delta: Annotated[float, typer.Option(help="A chance, such as 1e-6.")] = 1e-6,
    across: Annotated[
        bool, typer.Option("--across", help="Lists in one domain from rows in another.")
    ] = False,
    every: Annotated[
        str | None, typer.Option(help=f"A fit every {', '.join(_PERIODS)}; needs --for.")
    ] = None,
    times: Annotated[
        int | None, typer.Option("--for", min=1, help="How many of them share epsilon.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Compute whether private lists would be useful.

    A rule fitted on films: lists beat popularity from 55 sqrt(2 ln items) sigma people on, 1.6
    times as many across domains. With --every and --for, epsilon is for all fits together, and
    what each may take is printed.
    """
    from tacit.designs.private.usefulness import plan as planned
    from tacit.errors import ConfigError

    if (every is None) != (times is None) or (every is not None and every not in _PERIODS):
        raise ConfigError(f"--every is one of {', '.join(_PERIODS)} and goes with --for NUMBER.")
    found = planned(users, items, epsilon, delta=delta, releases=times or 1, across=across)
    result = asdict(found) | {"every": every, "worthwhile": found.worthwhile}
    result["missing"] = found.missing
    output.emit(result, as_json=as_json, render=_show_plan)


def _show_plan(result: dict[str, Any]) -> None:
    many = result["releases"] > 1
    each = f"One fit a {result['every']}, {result['releases']} of them: each may take epsilon "
    found = "are" if result["worthwhile"] else "are NOT"
    lacking = f": {result['missing']:,} more are needed" if result["missing"] else ""
    output.console.print(
        (f"{each}{result['epsilon']:.3g}. " if many else "")
        + f"Effective population {result['effective']:,.0f}. Lists {found} expected to beat "
        f"popularity; that takes {result['needed']:,} people{lacking}. "
        "It presumes that people choose by taste.",
        soft_wrap=True,
    )
    output.next_step(
        f"Next:  tacit fit private RATINGS --epsilon {result['epsilon']:.3g} -o m.tacit"
    )
