"""`tacit fit` of what designs are compared with: a command for each baseline, from its class."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, asdict, make_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from tacit.design import (
    Command,
    Run,
    card_summary,
    fit_summary,
    guarantee_command,
    option,
    private_fit_summary,
)
from tacit.evaluation import OUT, SEED, Result
from tacit.recommenders import baselines

_OPTIONS: dict[str, dict[str, Any]] = {
    "k": {"help": "How many neighbours.", "least": 1},
    "weighting": {"help": "'cosine' or 'bm25'."},
    "penalty": {"help": "Penalty of the ridge regressions, in likes."},
    "factors": {"help": "Length of an item profile.", "least": 1},
    "regularization": {"help": "Penalty of the profiles, in likes or stars."},
    "weight": {"help": "Confidence of a like; others have 1."},
    "random_state": {"help": SEED, "least": 0, "flag": "--seed"},
    "damping": {"help": "Pseudo-ratings with the mean, added to each item.", "least": 0},
    "item_damping": {"help": "Pseudo-ratings that shrink an item's mean.", "least": 0},
    "user_damping": {"help": "Pseudo-ratings that shrink a person's mean.", "least": 0},
    "significance": {"help": "Co-raters below which a similarity is scaled down.", "least": 0},
    "domain": {"help": "Only this domain; all items if left out.", "flag": "--domain"},
    "source": {"help": "Domain that people have rated in.", "flag": "--source"},
    "target": {"help": "Domain to recommend from.", "flag": "--target"},
    "epsilon": {"help": "Epsilon for a person's whole profile; inf: no privacy."},
    "delta": {"help": "Probability that the bound of epsilon fails, such as 1e-6."},
}
"""Parameters of constructors that are options; a name of the source file's options has `of_`."""
_OUT = ("out", Path, option(OUT, flag="--out -o", writes=True))
_CATALOGUE = (
    "catalogue",
    Path | None,
    option("Public list of items. Others are left out.", default=None),
)


def _settings(baseline: type[Any], *more: tuple[str, Any, Any]) -> type[Any]:
    """Make a dataclass of the options of a class of `tacit.recommenders.baselines`."""
    hints = get_type_hints(baseline.__init__)
    parameters = inspect.signature(baseline).parameters
    fields = [_OUT]
    for name in [name for name in _OPTIONS if name in parameters]:
        default = parameters[name].default
        if default is inspect.Parameter.empty:
            default = MISSING
        field = f"of_{name}" if name in ("source", "domain") else name
        fields.append((field, hints[name], option(**_OPTIONS[name], default=default)))
    return make_dataclass(
        f"{baseline.__name__}Settings", [*fields, *more], frozen=True, kw_only=True
    )


def _fit_and_save(baseline: type[Any], asked: Any, run: Run, **reading: Any) -> tuple[Any, Any]:
    """Fit a baseline and save it; return the model and the ratings that it was fitted to."""
    typed = {name.removeprefix("of_"): value for name, value in asdict(asked).items()}
    arguments = {name: typed[name] for name in _OPTIONS if name in typed}
    model = baseline(**arguments)
    ratings = run.read(**reading)
    with run.progress("Fitting", None):
        model.fit(ratings).save(asked.out)
    return model, ratings


def _baseline(name: str, baseline: type[Any], about: str) -> Command:
    """Make the command that fits a class of `tacit.recommenders.baselines`."""

    def run(asked: Any, terminal: Run) -> Result:
        _, ratings = _fit_and_save(baseline, asked, terminal)
        data = fit_summary(name, asked.out, ratings)
        sentence = (
            f"Fitted {data['recommender']} to {len(ratings):,} ratings of {ratings.n_users:,} "
            "people. It promises no privacy."
        )
        return Result(data, (sentence,), guarantee_command(asked.out))

    run.__doc__ = f"{about}\n\nNo privacy: a baseline."
    return Command(_settings(baseline), run, ratings=True)


def _private_popularity(asked: Any, run: Run) -> Result:
    """Recommend popular items, with differential privacy.

    One noisy count of the likes of each item: the same list for everyone.
    """
    reading = {"catalogue": asked.catalogue, "domains": asked.of_domain is not None}
    model, _ = _fit_and_save(baselines.PrivatePopularity, asked, run, **reading)
    (card,) = model.guarantees()
    items = len(model.item_ids_)
    data = private_fit_summary("private-popularity", asked.out, items) | {
        "epsilon": asked.epsilon,
        "delta": asked.delta,
        **card_summary(card),
    }
    sentence = f"Fitted private popularity to {items:,} items. {card.first_line} {card.sentence}"
    return Result(data, (sentence,), guarantee_command(asked.out))


_KINDS = {
    "ease": (baselines.EASE, "Make lists by ridge regressions."),
    "item-item": (baselines.ItemItem, "Make lists by similar items."),
    "als": (baselines.ALS, "Make lists by implicit factors (extra 'als')."),
    "popularity": (baselines.Popularity, "Recommend what most people rated."),
    "item-mean": (baselines.ItemMean, "Recommend the items with the highest mean rating."),
    "matrix-factorization": (baselines.MatrixFactorization, "Factorise centred ratings."),
    "user-average": (baselines.UserAverage, "Predict each person's own mean."),
    "user-item-mean": (baselines.UserItemMean, "Predict from means of items and people."),
    "item-knn": (baselines.ItemKNN, "Predict from similar items, also of one domain."),
    "remote-user": (baselines.RemoteUser, "Predict from similar people in another domain."),
}
FITS = {name: _baseline(name, kind, about) for name, (kind, about) in _KINDS.items()}
FITS["private-popularity"] = Command(
    _settings(baselines.PrivatePopularity, _CATALOGUE), _private_popularity, ratings=True
)
"""Commands of `tacit fit NAME` besides those of the designs."""
