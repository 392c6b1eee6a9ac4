"""`tacit fit`: learn a model from ratings and write it to a file."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import hiding_tables, options, output
from tacit.cli.output import JSON
from tacit.writing import check_writable

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.recommenders.standard_scheme import StandardScheme

app = typer.Typer(
    help="Fit a recommender to ratings and write its model file.", no_args_is_help=True
)


def _writable(out: Path) -> Path:
    check_writable(out)  # before the hours of work, not after
    return out


Out = Annotated[Path, typer.Option("--out", "-o", callback=_writable, help="Model file to write.")]
MEASURING_FOLDS = 5


class Sees(StrEnum):
    """An answer that has to be given."""

    YES = "yes"
    NO = "no"


@app.command("standard-scheme")
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
    factors: Annotated[int, typer.Option(min=1, help="Length of an item profile.")] = 20,
    disclosure_epsilon: Annotated[
        float,
        typer.Option(help="Nats per training person for the public item tables; inf: exact."),
    ] = math.inf,
    contributions: Annotated[
        int, typer.Option(min=1, help="Ratings a person counts with, if that epsilon is finite.")
    ] = 50,
    service_sees_items: Annotated[
        Sees | None,
        typer.Option(
            help="Does the service learn otherwise what people watched, bought, opened or rated?",
        ),
    ] = None,
    measure: Annotated[
        bool, typer.Option(help="Attack the model on its own training people for its card.")
    ] = True,
    seed: options.Seed = 0,
    workers: options.Workers = 0,
    as_json: JSON = False,
) -> None:
    """Hide an attribute of the people who will ask.

    What hides it is what their devices send.
    """
    from tacit.recommenders.standard_scheme import StandardScheme

    model = StandardScheme(
        attributes=attribute,
        variant=variant,  # type: ignore[arg-type]  # checked by the constructor
        release=release,
        mix=mix,
        factors=factors,
        disclosure_epsilon=disclosure_epsilon,
        contributions=contributions,
        service_sees_items=None if service_sees_items is None else service_sees_items == "yes",
        random_state=seed,
    )
    ratings = source.read()
    with output.progress("Fitting", None, quiet=as_json):
        model.fit(ratings)
    if measure and len(attribute) == 1 and mix == 1:
        _measure(model, ratings, seed=seed, workers=workers, quiet=as_json)
    model.save(out)
    result = _summary("standard-scheme", out, ratings) | {
        "attributes": list(model.attributes),
        "values": {name: list(table.values) for name, table in model.tables_.items()},
        "variant": variant,
        "release": release,
        "training_people": model.n_consenting_,
        "measurements": [vars(measured) for measured in model.measurements_],
    }
    output.emit(result, as_json=as_json, render=_show_standard_scheme)


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
    from tacit.errors import PrivacyError
    from tacit.recommenders.xmap import XMap

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
    result = (_summary("x-map", out, ratings) if variant == "published" else {}) | {
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


def _measure(
    model: StandardScheme, ratings: Ratings, *, seed: int, workers: int, quiet: bool
) -> None:
    from tacit.evaluation.hiding import evaluate_hiding, steps

    with output.progress("Attacking", steps(MEASURING_FOLDS), quiet=quiet) as advance:
        table = evaluate_hiding(
            ratings,
            model.attributes[0],
            folds=MEASURING_FOLDS,
            releases=tuple(dict.fromkeys(["none", model.release])),
            variant=model.variant,
            factors=model.factors,
            disclosure_epsilon=model.disclosure_epsilon,
            contributions=model.contributions,
            seed=seed,
            workers=workers,
            progress=advance,
        )
    data = f"{table.people:,} training people in {MEASURING_FOLDS} folds"
    model.measurements_ = table.measurements(model.release, data)


@app.command()
@options.reads_ratings
def popularity(
    source: options.Source,
    out: Out,
    as_json: JSON = False,
) -> None:
    """Recommend what most people rated. No privacy: a yardstick."""
    from tacit.recommenders.baselines import Popularity

    _fit_baseline("popularity", Popularity(), source, out, as_json)


@app.command("item-mean")
@options.reads_ratings
def item_mean(
    source: options.Source,
    out: Out,
    damping: Annotated[float, typer.Option(min=0, help="Pseudo-ratings of the mean.")] = 5.0,
    as_json: JSON = False,
) -> None:
    """Recommend what is rated highly on average. No privacy: a yardstick."""
    from tacit.recommenders.baselines import ItemMean

    _fit_baseline("item-mean", ItemMean(damping=damping), source, out, as_json)


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
    """Factorise centred ratings. No privacy: a yardstick."""
    from tacit.recommenders.baselines import MatrixFactorization

    model = MatrixFactorization(factors=factors, regularization=regularization, random_state=seed)
    _fit_baseline("matrix-factorization", model, source, out, as_json)


@app.command("user-average")
@options.reads_ratings
def user_average(source: options.Source, out: Out, as_json: JSON = False) -> None:
    """Predict everybody's own mean. No privacy: a yardstick."""
    from tacit.recommenders.baselines import UserAverage

    _fit_baseline("user-average", UserAverage(), source, out, as_json)


@app.command("user-item-mean")
@options.reads_ratings
def user_item_mean(
    source: options.Source,
    out: Out,
    item_damping: Annotated[float, typer.Option(min=0, help="Pseudo-ratings of an item.")] = 25.0,
    user_damping: Annotated[float, typer.Option(min=0, help="Pseudo-ratings of a person.")] = 10.0,
    as_json: JSON = False,
) -> None:
    """Predict from the item's mean and the person's. No privacy: a yardstick."""
    from tacit.recommenders.baselines import UserItemMean

    model = UserItemMean(item_damping=item_damping, user_damping=user_damping)
    _fit_baseline("user-item-mean", model, source, out, as_json)


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
    """Predict from similar items, of one domain or of all. No privacy: a yardstick."""
    from tacit.recommenders.baselines import ItemKNN

    model = ItemKNN(k=k, significance=significance, domain=of_domain)
    _fit_baseline("item-knn", model, source, out, as_json)


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
    """Ask people alike in one domain about another. No privacy: the model file holds ratings."""
    from tacit.recommenders.baselines import RemoteUser

    model = RemoteUser(source=from_domain, target=to_domain, k=k)
    _fit_baseline("remote-user", model, source, out, as_json)


def _fit_baseline(name: str, model: Any, source: options.Source, out: Path, as_json: bool) -> None:
    ratings = source.read()
    with output.progress("Fitting", None, quiet=as_json):
        model.fit(ratings).save(out)
    output.emit(_summary(name, out, ratings), as_json=as_json, render=_show_baseline)


def _summary(name: str, out: Path, ratings: Ratings) -> dict[str, Any]:
    return {
        "recommender": name,
        "model": str(out),
        "people": ratings.n_users,
        "items": ratings.n_items,
        "ratings": len(ratings),
        "data": ratings.digest,
    }


def _show_baseline(result: dict[str, Any]) -> None:
    output.console.print(
        f"Fitted {result['recommender']} to {result['ratings']:,} ratings of {result['people']:,} "
        f"people; wrote {result['model']}. It promises no privacy.",
        soft_wrap=True,
        markup=False,
    )
    output.next_step(f"Next:  tacit recommend {result['model']} --history my_ratings.csv")


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


def _show_standard_scheme(result: dict[str, Any]) -> None:
    hidden = " and ".join(result["attributes"])
    output.console.print(
        f"Fitted the standard scheme ({result['variant']}, {result['release']}) to hide {hidden}, "
        f"on {result['training_people']:,} people and {result['items']:,} items; wrote "
        f"{result['model']}.",
        soft_wrap=True,
        markup=False,
    )
    if result["measurements"]:
        output.console.print(f"How well attackers guess {hidden} of these people, fold by fold:")
        hiding_tables.intervals(result["measurements"])
    name, values = next(iter(result["values"].items()))
    output.next_step(
        f"Next:  tacit guarantee {result['model']}   or   tacit recommend {result['model']} "
        f"--history my_ratings.csv --about {name}={values[0]}"
    )
