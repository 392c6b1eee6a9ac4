"""`tacit fit BASELINE`: a command for each baseline that designs are compared with."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, asdict, make_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from tacit.cli.baseline_names import BASELINES
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
    "weight": {"help": "Confidence of a like; other items have 1."},
    "random_state": {"help": SEED, "least": 0, "flag": "--seed"},
    "damping": {"help": "Pseudo-ratings with the mean, added to each item.", "least": 0},
    "item_damping": {"help": "Pseudo-ratings that shrink an item's mean.", "least": 0},
    "user_damping": {"help": "Pseudo-ratings that shrink a person's mean.", "least": 0},
    "significance": {
        "help": "A similarity is scaled down if fewer people than this rated both items.",
        "least": 0,
    },
    "domain": {"help": "Only this domain; all items if left out.", "flag": "--domain"},
    "source": {"help": "Domain that people have rated in.", "flag": "--source"},
    "target": {"help": "Domain to recommend from.", "flag": "--target"},
    "epsilon": {"help": "Epsilon for a person's whole profile; inf: no privacy."},
    "delta": {
        "help": "Probability by which any event may exceed the bound of epsilon, such as 1e-6."
    },
}
"""Parameters of baselines' constructors that are options, with arguments of `option`. In settings
classes "source" and "domain" are fields `of_source` and `of_domain`, since the options that name
the ratings have these names, too."""
_OUT = ("out", Path, option(OUT, flag="--out -o", writes=True))
"""Name, type and field of an option of all baselines."""
_CATALOGUE = (
    "catalogue",
    Path | None,
    option("Public list of items. Others are left out.", default=None),
)
"""Name, type and field of an option of private popularity."""


def _make_settings_class(baseline: type[Any], *further: tuple[str, Any, Any]) -> type[Any]:
    """Make a dataclass of the options of the command that fits a baseline.

    Args:
        baseline: A class of `tacit.recommenders.baselines`.
        further: Name, type and field of each option, besides --out, that is no parameter of the
            baseline's constructor.
    """
    hints = get_type_hints(baseline.__init__)
    parameters = inspect.signature(baseline).parameters
    fields = [_OUT]
    for name in _OPTIONS:
        if name not in parameters:
            continue
        default = parameters[name].default
        if default is inspect.Parameter.empty:
            default = MISSING
        field = f"of_{name}" if name in ("source", "domain") else name
        fields.append((field, hints[name], option(**_OPTIONS[name], default=default)))
    return make_dataclass(
        f"{baseline.__name__}Settings", [*fields, *further], frozen=True, kw_only=True
    )


def _fit_and_save(baseline: type[Any], options: Any, run: Run, **reading: Any) -> tuple[Any, Any]:
    """Fit a baseline and save it.

    Args:
        baseline: Class of the baseline.
        options: The typed options, an instance of a class that `_make_settings_class` made.
        run: The command that is run, which reads ratings and shows progress.
        reading: Arguments of `run.read_ratings`.

    Returns:
        The model, and the ratings that it was fitted to.
    """
    value_by_name = {name.removeprefix("of_"): value for name, value in asdict(options).items()}
    arguments = {name: value_by_name[name] for name in _OPTIONS if name in value_by_name}
    model = baseline(**arguments)
    ratings = run.read_ratings(**reading)
    with run.progress("Fitting", None):
        model.fit(ratings).save(options.out)
    return model, ratings


def _make_fit_command(name: str, baseline: type[Any]) -> Command:
    """Make the command that fits a baseline without privacy.

    Args:
        name: Name of the baseline in `tacit fit NAME`.
        baseline: A class of `tacit.recommenders.baselines`.
    """

    def fit(options: Any, run: Run) -> Result:
        _, ratings = _fit_and_save(baseline, options, run)
        data = fit_summary(name, options.out, ratings)
        sentence = (
            f"Fitted {data['recommender']} to {len(ratings):,} ratings of {ratings.n_users:,} "
            "people. It promises no privacy."
        )
        return Result(data, (sentence,), guarantee_command(options.out))

    fit.__doc__ = f"{BASELINES[name]}\n\nNo privacy: a baseline."
    return Command(_make_settings_class(baseline), fit, ratings=True)


def _fit_private_popularity(options: Any, run: Run) -> Result:
    """Recommend popular items, with differential privacy.

    One noisy count of the likes of each item: the same list for everyone.
    """
    reading = {"catalogue": options.catalogue, "domains": options.of_domain is not None}
    model, _ = _fit_and_save(baselines.PrivatePopularity, options, run, **reading)
    (card,) = model.guarantees()
    items = len(model.item_ids_)
    data = private_fit_summary("private-popularity", options.out, items) | {
        "epsilon": options.epsilon,
        "delta": options.delta,
        **card_summary(card),
    }
    sentence = f"Fitted private popularity to {items:,} items. {card.first_line} {card.sentence}"
    return Result(data, (sentence,), guarantee_command(options.out))


_CLASSES: Mapping[str, type[Any]] = {
    "ease": baselines.EASE,
    "item-item": baselines.ItemItem,
    "als": baselines.ALS,
    "popularity": baselines.Popularity,
    "item-mean": baselines.ItemMean,
    "matrix-factorization": baselines.MatrixFactorization,
    "user-average": baselines.UserAverage,
    "user-item-mean": baselines.UserItemMean,
    "item-knn": baselines.ItemKNN,
    "remote-user": baselines.RemoteUser,
}
"""Classes of the baselines that promise no privacy, by name."""


def make_command(name: str) -> Command:
    """Make the command `tacit fit NAME` for the name of one of `BASELINES`."""
    if name == "private-popularity":
        settings = _make_settings_class(baselines.PrivatePopularity, _CATALOGUE)
        return Command(settings, _fit_private_popularity, ratings=True)
    return _make_fit_command(name, _CLASSES[name])
