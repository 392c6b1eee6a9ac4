"""`tacit fit` of what designs are compared with: a command for each baseline, from its settings."""

from __future__ import annotations

from dataclasses import make_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tacit.design import Command, Run, option, private_summary, promised, summary
from tacit.evaluation import OUT, SEED, Result

_K = (int, option("How many neighbours.", default=50, least=1))
_ALL = "Only this domain; all items if left out."
_DOMAIN = (str | None, option(_ALL, default=None, flag="--domain"))
_FACTORS = "Length of an item profile."
_SIGNIFICANCE = "Co-raters below which a similarity is scaled down."
_SEED = (int, option(SEED, default=0, least=0))
_NAMES = {
    "of_domain": "domain",
    "from_domain": "source",
    "to_domain": "target",
    "seed": "random_state",
}
"""Options whose names are not those of the constructors."""


def _baseline(name: str, kind: str, about: str, **settings: tuple[Any, Any]) -> Command:
    """kind: a class of `tacit.recommenders.baselines`. settings: its parameters."""

    def run(asked: Any, terminal: Run) -> Result:
        model = _made(kind, asked)
        ratings = terminal.read()
        with terminal.progress("Fitting", None):
            model.fit(ratings).save(asked.out)
        data = summary(name, asked.out, ratings)
        said = (
            f"Fitted {data['recommender']} to {len(ratings):,} ratings of {ratings.n_users:,} "
            "people. It promises no privacy."
        )
        return Result(data, (said,), f"tacit recommend {asked.out} --history my_ratings.csv")

    run.__doc__ = about
    return Command(_settings(kind, settings), run, ratings=True)


def _settings(kind: str, given: dict[str, tuple[Any, Any]]) -> type[Any]:
    out = ("out", Path, option(OUT, flag="--out -o", writes=True))
    fields = [out, *((name, *kept) for name, kept in given.items())]
    return make_dataclass(f"{kind}Settings", fields, frozen=True)


def _made(kind: str, asked: Any) -> Any:
    given = {_NAMES.get(name, name): value for name, value in vars(asked).items()}
    del given["out"]
    return getattr(import_module("tacit.recommenders.baselines"), kind)(
        **{name: value for name, value in given.items() if name != "catalogue"}
    )


def _private_popularity(asked: Any, run: Run) -> Result:
    """Recommend popular items, with differential privacy.

    One noisy count of the likes of each item: the same list for everyone.
    """
    model = _made("PrivatePopularity", asked)
    ratings = run.read(catalogue=asked.catalogue, domains=asked.of_domain is not None)
    with run.progress("Fitting", None):
        model.fit(ratings).save(asked.out)
    (card,) = model.guarantees()
    items = len(model.item_ids_)
    data = private_summary("private-popularity", asked.out, items) | {
        "epsilon": asked.epsilon,
        "delta": asked.delta,
        **promised(card),
    }
    said = f"Fitted private popularity to {items:,} items. {card.first_line} {card.sentence}"
    return Result(data, (said,), f"tacit guarantee {asked.out}")


FITS = {
    "ease": _baseline(
        "ease",
        "EASE",
        "Make lists by ridge regressions.\n\n"
        "Item-item weights in closed form (EASE), on likes. No privacy.",
        penalty=(float, option("Penalty of the ridge regressions, in likes.", default=300.0)),
    ),
    "item-item": _baseline(
        "item-item",
        "ItemItem",
        "Make lists by similar items.\n\n"
        "Scores an item by its similarity to the items that a person likes. No privacy.",
        k=(int, option("How many neighbours.", default=200, least=1)),
    ),
    "private-popularity": Command(
        _settings(
            "PrivatePopularity",
            {
                "epsilon": (
                    float,
                    option("Epsilon for a person's whole profile; inf: no privacy."),
                ),
                "delta": (
                    float,
                    option(
                        "Probability that the bound of epsilon fails, such as 1e-6.", default=1e-6
                    ),
                ),
                "of_domain": _DOMAIN,
                "catalogue": (
                    Path | None,
                    option("Public list of items. Others are left out.", default=None),
                ),
            },
        ),
        _private_popularity,
        ratings=True,
    ),
    "popularity": _baseline(
        "popularity", "Popularity", "Recommend what most people rated. No privacy: a baseline."
    ),
    "item-mean": _baseline(
        "item-mean",
        "ItemMean",
        "Recommend the items with the highest mean rating. No privacy: a baseline.",
        damping=(
            float,
            option("Pseudo-ratings with the mean, added to each item.", default=5.0, least=0),
        ),
    ),
    "matrix-factorization": _baseline(
        "matrix-factorization",
        "MatrixFactorization",
        "Factorise centred ratings. No privacy: a baseline.",
        factors=(int, option(_FACTORS, default=20, least=1)),
        regularization=(float, option("Penalty, in stars.", default=10.0)),
        seed=_SEED,
    ),
    "item-knn": _baseline(
        "item-knn",
        "ItemKNN",
        "Predict from similar items, of one domain or of all. No privacy: a baseline.",
        k=_K,
        significance=(int, option(_SIGNIFICANCE, default=50, least=0)),
        of_domain=_DOMAIN,
    ),
    "remote-user": _baseline(
        "remote-user",
        "RemoteUser",
        "Predict from similar people in another domain. No privacy: the model file holds ratings.",
        from_domain=(str, option("Domain that people have rated in.", flag="--source")),
        to_domain=(str, option("Domain to recommend from.", flag="--target")),
        k=_K,
    ),
}
"""What `tacit fit NAME` fits besides the designs."""
