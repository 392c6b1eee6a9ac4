"""`tacit fit ease|item-item|als|private-popularity`: recommenders of lists, to compare with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import options, output
from tacit.cli.fitted import Out, fit_baseline
from tacit.cli.output import JSON


@options.reads_ratings
def ease(
    source: options.Source,
    out: Out,
    penalty: Annotated[float, typer.Option(help="Of the ridge regressions, in likes.")] = 300.0,
    as_json: JSON = False,
) -> None:
    """Lists by ridge regressions.

    Item-item weights in closed form (EASE), on likes. No privacy.
    """
    from tacit.recommenders.baselines import EASE

    fit_baseline("ease", EASE(penalty=penalty), source, out, as_json)


@options.reads_ratings
def item_item(
    source: options.Source,
    out: Out,
    k: options.K = 200,
    weighting: Annotated[str, typer.Option(help="'cosine' or 'bm25'.")] = "cosine",
    as_json: JSON = False,
) -> None:
    """Lists by votes of similar items.

    What a person likes votes for what is liked together with it. No privacy.
    """
    from tacit.recommenders.baselines import ItemItem

    fit_baseline("item-item", ItemItem(k=k, weighting=weighting), source, out, as_json)


@options.reads_ratings
def als(
    source: options.Source,
    out: Out,
    factors: Annotated[int, typer.Option(min=1, help="Length of an item profile.")] = 64,
    regularization: Annotated[float, typer.Option(help="Penalty, in likes.")] = 30.0,
    weight: Annotated[float, typer.Option(help="Confidence of a like; others have 1.")] = 5.0,
    seed: options.Seed = 0,
    as_json: JSON = False,
) -> None:
    """Lists by implicit factors.

    Alternating least squares on likes, by the package of the extra 'als'. No privacy.
    """
    from tacit.recommenders.baselines import ALS

    model = ALS(factors=factors, regularization=regularization, weight=weight, random_state=seed)
    fit_baseline("als", model, source, out, as_json)


@options.reads_ratings
def private_popularity(
    source: options.Source,
    out: Out,
    epsilon: Annotated[
        float, typer.Option(help="Nats for a person's whole profile; inf: no privacy.")
    ],
    delta: Annotated[float, typer.Option(help="A chance, such as 1e-6.")] = 1e-6,
    of_domain: Annotated[
        str | None, typer.Option("--domain", help="Only this domain; all items if left out.")
    ] = None,
    catalogue: Annotated[
        Path | None, typer.Option(help="Public list of items. Others are left out.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Recommend popular items, with differential privacy.

    One noisy count of the likes of each item: the same list for everybody.
    """
    from tacit.recommenders.baselines import PrivatePopularity

    model = PrivatePopularity(epsilon=epsilon, delta=delta, domain=of_domain)
    ratings = source.read(catalogue=catalogue, domains=of_domain is not None)
    with output.progress("Fitting", None, quiet=as_json):
        model.fit(ratings).save(out)
    card = model.guarantees()[0]
    # Exact numbers of people and ratings and the data's digest are in no private release.
    result = {
        "recommender": "private-popularity",
        "model": str(out),
        "items": len(model.item_ids_),
        "epsilon": epsilon,
        "delta": delta,
        "basis": card.basis.value,
        "first_line": card.first_line,
        "sentence": card.sentence,
    }
    output.emit(result, as_json=as_json, render=_show)


def _show(result: dict[str, Any]) -> None:
    output.console.print(
        f"Fitted private popularity to {result['items']:,} items; wrote {result['model']}. "
        f"{result['first_line']} {result['sentence']}",
        soft_wrap=True,
        markup=False,
    )
    output.next_step(f"Next:  tacit guarantee {result['model']}")
