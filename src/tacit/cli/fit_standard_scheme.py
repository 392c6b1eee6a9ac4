"""`tacit fit standard-scheme`: learn from people who agreed, and attack what was learned."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import hiding_tables, options, output
from tacit.cli.fitted import Out, summary
from tacit.cli.output import JSON
from tacit.errors import ConfigError, TacitError

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.designs.standard_scheme import StandardScheme


class Sees(StrEnum):
    """An answer that has to be given."""

    YES = "yes"
    NO = "no"


@options.reads_ratings
def standard_scheme(
    source: options.Source,
    out: Out,
    attribute: Annotated[
        list[str], typer.Option(help="User attribute to hide; repeat for several.")
    ] = ["gender"],  # noqa: B006  # typer copies it
    variant: options.Variant = "sound",
    release: Annotated[
        str, typer.Option(help="What devices send, such as coupling+selection.")
    ] = "scheme+selection+rounding",
    mix: Annotated[float, typer.Option(help="Share of the ratings to obfuscate, 0 to 1.")] = 1.0,
    profiles: Annotated[
        str, typer.Option(help="What describes an item: latent, features (genres, year) or both.")
    ] = "latent",
    factors: Annotated[int, typer.Option(min=1, help="Length of an item profile.")] = 20,
    disclosure_epsilon: Annotated[
        float,
        typer.Option(help="Nats per training person for the public item tables; inf: exact."),
    ] = math.inf,
    contributions: Annotated[
        int, typer.Option(min=1, help="Ratings a person counts with, if that epsilon is finite.")
    ] = 50,
    catalogue: Annotated[
        Path | None,
        typer.Option(
            help="Public list of items: columns item, perhaps title. Others are left out."
        ),
    ] = None,
    values: Annotated[
        list[str],
        typer.Option(help="Public values of an attribute, such as gender=F,M."),
    ] = [],  # noqa: B006  # typer copies it
    service_sees_items: Annotated[
        Sees | None,
        typer.Option(
            help="Does the service learn otherwise what people watched, bought, opened or rated?",
        ),
    ] = None,
    item_table: Annotated[
        bool,
        typer.Option(
            "--item-table",
            help=(
                "The training people agreed that the item table is published, for lists on devices."
            ),
        ),
    ] = False,
    previous: Annotated[
        Path | None,
        typer.Option(help="The model that this one replaces; by default what lies at --out."),
    ] = None,
    second_order: Annotated[
        str, typer.Option(help="'off', or 'taste': experimental chances that depend on taste.")
    ] = "off",
    measure: Annotated[
        bool, typer.Option(help="Attack the model on its own training people for its card.")
    ] = True,
    panel: options.Panel = "quick",
    folds: options.Folds = 5,
    seed: options.Seed = 0,
    workers: options.Workers = 0,
    as_json: JSON = False,
) -> None:
    """Hide an attribute of the people who will ask.

    What hides it is what their devices send.
    """
    from tacit.designs.standard_scheme import StandardScheme
    from tacit.privacy import figure

    model = StandardScheme(
        attributes=attribute,
        variant=variant,  # type: ignore[arg-type]  # checked by the constructor
        release=release,
        mix=mix,
        profiles=profiles,  # type: ignore[arg-type]  # likewise
        factors=factors,
        disclosure_epsilon=disclosure_epsilon,
        contributions=contributions,
        values=_values(values),
        service_sees_items=None if service_sees_items is None else service_sees_items == "yes",
        item_table=item_table,
        second_order=second_order,
        random_state=seed,
    )
    ratings = source.read(catalogue=catalogue, domains=False)
    with output.progress("Fitting", None, quiet=as_json):
        model.fit(ratings, previous=_previous(previous, out))
    if measure and len(attribute) == 1 and mix == 1:
        _measure(model, ratings, panel, folds=folds, seed=seed, workers=workers, quiet=as_json)
    model.save(out)
    result = summary("standard-scheme", out, ratings) | {
        "attributes": list(model.attributes),
        "values": {name: list(table.values) for name, table in model.tables_.items()},
        "variant": variant,
        "release": release,
        "training_people": model.n_consenting_,
        "item_table": model.item_table,
        "figure": figure(model.measurements_),
        "measurements": [vars(measured) for measured in model.measurements_],
    }
    output.emit(result, as_json=as_json, render=_show)


def _previous(named: Path | None, out: Path) -> StandardScheme | None:
    """The named model, or what is to be replaced if that is such a model."""
    from tacit.designs.standard_scheme import StandardScheme
    from tacit.recommenders.files import load_model

    try:
        found = load_model(named or out)
    except TacitError:
        if named is not None:
            raise
        return None
    if isinstance(found, StandardScheme):
        return found
    if named is not None:
        raise ConfigError(f"--previous {named}: holds another recommender than a StandardScheme.")
    return None


def _values(given: list[str]) -> dict[str, list[str]]:
    """From words such as gender=F,M."""
    named = [word.partition("=") for word in given]
    if any(not (name and sign and listed) for name, sign, listed in named):
        raise ConfigError("--values names an attribute and its values, such as gender=F,M.")
    return {name: [value.strip() for value in listed.split(",")] for name, _, listed in named}


def _measure(
    model: StandardScheme,
    ratings: Ratings,
    panel: str,
    *,
    folds: int,
    seed: int,
    workers: int,
    quiet: bool,
) -> None:
    """As `tacit evaluate standard-scheme` with the same panel, folds and seed: equal figures."""
    from tacit.designs.standard_scheme.experiment.hiding import evaluate_hiding, steps

    with output.progress("Attacking", steps(folds), quiet=quiet) as advance:
        table = evaluate_hiding(
            ratings,
            model.attributes[0],
            folds=folds,
            releases=tuple(dict.fromkeys(["none", model.release])),
            panel=panel,
            variant=model.variant,
            factors=model.factors,
            disclosure_epsilon=model.disclosure_epsilon,
            contributions=model.contributions,
            second_order=model.second_order,
            seed=seed,
            workers=workers,
            progress=advance,
        )
    data = f"{table.people:,} training people in {folds} folds"
    model.measurements_ = table.measurements(model.release, data)


def _show(result: dict[str, Any]) -> None:
    hidden = " and ".join(result["attributes"])
    output.console.print(
        f"Fitted the standard scheme ({result['variant']}, {result['release']}) to hide {hidden}, "
        f"on {result['training_people']:,} people and {result['items']:,} items; wrote "
        f"{result['model']}.",
        soft_wrap=True,
        markup=False,
    )
    if result["measurements"]:
        output.console.print(f"How well attackers guess {hidden} of these people:")
        output.console.print(result["figure"], soft_wrap=True, markup=False)
        hiding_tables.intervals(result["measurements"])
    name, values = next(iter(result["values"].items()))
    how = "--at-device" if result["item_table"] else f"--about {name}={values[0]}"
    output.next_step(
        f"Next:  tacit guarantee {result['model']}   or   tacit recommend {result['model']} "
        f"--history my_ratings.csv {how}"
    )
