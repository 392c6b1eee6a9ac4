"""`tacit fit`: learn a model from ratings and write it to a file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import fit_lists, fit_standard_scheme, options, output, private
from tacit.cli.fitted import Out, fit_baseline, summary
from tacit.cli.output import JSON

app = typer.Typer(
    help="Fit a recommender to ratings and write its model file.", no_args_is_help=True
)
app.command("standard-scheme")(fit_standard_scheme.standard_scheme)
app.command("private")(private.fit)
app.command()(fit_lists.ease)
app.command("item-item")(fit_lists.item_item)
app.command()(fit_lists.als)
app.command("private-popularity")(fit_lists.private_popularity)


@app.command("xmap")
@options.reads_ratings
def xmap(
    source: options.Source,
    out: Out,
    to_domain: options.TargetDomains,
    epsilon: Annotated[
        float, typer.Option(help="Nats for a person's whole profile; inf: no privacy.")
    ],
    from_domain: options.SourceDomains = None,
    delta: Annotated[float, typer.Option(help="A chance, such as 1e-6.")] = 1e-6,
    variant: Annotated[
        str, typer.Option(help="'sound'; 'constant'; 'published', whose claims are refuted.")
    ] = "sound",
    epsilon_prime: Annotated[
        float | None, typer.Option(help="Published only: nats of its recommender's step.")
    ] = None,
    recommender: Annotated[
        str, typer.Option(help="'item-based'. User-based models are people: no file holds them.")
    ] = "item-based",
    k: options.K = 50,
    extender_k: Annotated[
        int, typer.Option(min=1, help="Neighbours an item keeps in each layer.")
    ] = 10,
    significance: Annotated[
        int, typer.Option(min=0, help="Co-raters below which a similarity is scaled down.")
    ] = 50,
    alpha: Annotated[
        float, typer.Option(min=0, help="How fast old ratings lose weight; 0: not at all.")
    ] = 0.0,
    catalogue: Annotated[
        Path | None,
        typer.Option(
            help="Public list of items: columns item, domain, title. Others are left out."
        ),
    ] = None,
    as_json: JSON = False,
) -> None:
    """Recommend, privately, in a domain new to a person.

    k, extender-k, significance and alpha are of the paper's mechanisms: published and constant.
    """
    from tacit.designs.xmap import XMap
    from tacit.errors import PrivacyError

    if recommender == "user-based":
        raise PrivacyError(
            "A user-based model is everybody's profile, and a model file holds no people. Use "
            "--recommender item-based; tacit evaluate xmap measures both."
        )
    private = variant in ("sound", "constant") and math.isfinite(epsilon)
    if private and source.per_item > 1:
        raise PrivacyError(
            "--per-item leaves items out by how many people rated them: one person can decide "
            f"that, and no noise hides it. Leave it out; the {variant} variant serves every item."
        )
    model = XMap(
        source=options.names_in(from_domain) if from_domain else None,
        target=options.names_in(to_domain),
        variant=variant,  # type: ignore[arg-type]  # checked by the constructor
        epsilon=epsilon,
        epsilon_prime=epsilon_prime,
        delta=delta,
        recommender=recommender,  # type: ignore[arg-type]  # likewise
        k=k,
        extender_k=extender_k,
        significance=significance,
        alpha=alpha,
    )
    ratings = source.read(catalogue=catalogue)
    with output.progress("Fitting", None, quiet=as_json):
        model.fit(ratings).save(out)
    card = model.guarantees()[0]
    told = {"recommender": "x-map", "model": str(out), "items": len(model.item_ids_)}
    # Exact numbers of people and ratings and the data's digest are in no private release.
    result = (summary("x-map", out, ratings) if variant == "published" else {}) | {
        **told,
        "source": list(model.routes.sources) or None,
        "target": list(model.routes.targets),
        "variant": variant,
        "epsilon": epsilon,
        "delta": delta,
        "basis": card.basis.value,
        "first_line": card.first_line,
        "sentence": card.sentence,
    }
    output.emit(result, as_json=as_json, render=_show_xmap)


@app.command()
@options.reads_ratings
def popularity(
    source: options.Source,
    out: Out,
    as_json: JSON = False,
) -> None:
    """Recommend what most people rated. No privacy: a baseline."""
    from tacit.recommenders.baselines import Popularity

    fit_baseline("popularity", Popularity(), source, out, as_json)


@app.command("item-mean")
@options.reads_ratings
def item_mean(
    source: options.Source,
    out: Out,
    damping: Annotated[float, typer.Option(min=0, help="Pseudo-ratings of the mean.")] = 5.0,
    as_json: JSON = False,
) -> None:
    """Recommend the items with the highest mean rating. No privacy: a baseline."""
    from tacit.recommenders.baselines import ItemMean

    fit_baseline("item-mean", ItemMean(damping=damping), source, out, as_json)


@app.command("matrix-factorization")
@options.reads_ratings
def matrix_factorization(
    source: options.Source,
    out: Out,
    factors: Annotated[int, typer.Option(min=1, help="Length of an item profile.")] = 20,
    regularization: Annotated[float, typer.Option(help="Penalty, in stars.")] = 10.0,
    seed: options.Seed = 0,
    as_json: JSON = False,
) -> None:
    """Factorise centred ratings. No privacy: a baseline."""
    from tacit.recommenders.baselines import MatrixFactorization

    model = MatrixFactorization(factors=factors, regularization=regularization, random_state=seed)
    fit_baseline("matrix-factorization", model, source, out, as_json)


@app.command("user-average")
@options.reads_ratings
def user_average(source: options.Source, out: Out, as_json: JSON = False) -> None:
    """Predict each person's own mean. No privacy: a baseline."""
    from tacit.recommenders.baselines import UserAverage

    fit_baseline("user-average", UserAverage(), source, out, as_json)


@app.command("user-item-mean")
@options.reads_ratings
def user_item_mean(
    source: options.Source,
    out: Out,
    item_damping: Annotated[float, typer.Option(min=0, help="Pseudo-ratings of an item.")] = 25.0,
    user_damping: Annotated[float, typer.Option(min=0, help="Pseudo-ratings of a person.")] = 10.0,
    as_json: JSON = False,
) -> None:
    """Predict from the item's mean and the person's. No privacy: a baseline."""
    from tacit.recommenders.baselines import UserItemMean

    model = UserItemMean(item_damping=item_damping, user_damping=user_damping)
    fit_baseline("user-item-mean", model, source, out, as_json)


@app.command("item-knn")
@options.reads_ratings
def item_knn(
    source: options.Source,
    out: Out,
    k: options.K = 50,
    significance: Annotated[
        int, typer.Option(min=0, help="Co-raters below which a similarity is scaled down.")
    ] = 50,
    of_domain: Annotated[
        str | None, typer.Option("--domain", help="Only this domain; all items if left out.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Predict from similar items, of one domain or of all. No privacy: a baseline."""
    from tacit.recommenders.baselines import ItemKNN

    model = ItemKNN(k=k, significance=significance, domain=of_domain)
    fit_baseline("item-knn", model, source, out, as_json)


@app.command("remote-user")
@options.reads_ratings
def remote_user(
    source: options.Source,
    out: Out,
    from_domain: options.SourceDomain,
    to_domain: options.TargetDomain,
    k: options.K = 50,
    as_json: JSON = False,
) -> None:
    """Predict from similar people in another domain. No privacy: the model file holds ratings."""
    from tacit.recommenders.baselines import RemoteUser

    model = RemoteUser(source=from_domain, target=to_domain, k=k)
    fit_baseline("remote-user", model, source, out, as_json)


def _show_xmap(result: dict[str, Any]) -> None:
    output.console.print(
        f"Fitted X-Map ({result['variant']}) from "
        f"{', '.join(result['source'] or ['every other domain'])} to "
        f"{', '.join(result['target'])}; wrote "
        f"{result['model']}. {result['first_line']} {result['sentence']}",
        soft_wrap=True,
        markup=False,
    )
    output.next_step(
        f"Next:  tacit guarantee {result['model']}   or   tacit recommend {result['model']} "
        "--history my_ratings.csv"
    )
