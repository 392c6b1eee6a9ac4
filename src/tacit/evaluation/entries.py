"""Entries of a comparison: baselines, designs by their names, and the caller's own models."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tacit.auditing.attacks.any_model.named_models import digest_of_code
from tacit.data.ratings import Ratings
from tacit.design import Comparison, ComparisonEntry, Design, model_class, names, options_of
from tacit.design import design as design_of
from tacit.errors import ConfigError, TacitError
from tacit.evaluation.lists import PENALTIES
from tacit.evaluation.own_models import (
    WHOLE_ADJACENCY,
    WHOLE_PROFILE,
    OwnModel,
    name_of_model,
)
from tacit.evaluation.result import group_by

NOBODY = "nobody is protected"
"""Unit of recommenders that claim no epsilon."""
OWN = "own model"
"""Variant of a caller's own model."""
SAVED = "saved model"
"""Variant of a caller's model that was fitted before, perhaps to likes that are held out here."""
REFERENCES = ("popularity", "ease", "ridge")
"""Baselines of every comparison: popularity, and EASE in one domain or ridge between two."""
_BASELINES = "tacit.recommenders.baselines"
"""Module with the classes of baselines."""


@dataclass(frozen=True)
class Entrants:
    """Entries of a comparison, and designs that have none."""

    entries: list[ComparisonEntry] = field(default_factory=list)
    """Entries to judge."""
    left_out: dict[str, str] = field(default_factory=dict)
    """For each design that is not compared, by its name, the reason."""


def baselines(ratings: Ratings, source: str | None, target: str | None) -> list[ComparisonEntry]:
    """Make the entries of the baselines, which protect nobody.

    EASE in one domain, or a ridge regression between two, has an entry for each of `PENALTIES`; the
    comparison keeps the best one on the test people. ALS needs the package `implicit`. Baselines
    that predict stars are left out if all ratings are equal, as ratings made of events are.

    Args:
        ratings: Ratings that the baselines are fitted to.
        source: Domain that people have rated; None, like `target`, if there is one domain.
        target: Domain that lists are made in.
    """
    entries = [_make_baseline("popularity", "Popularity", likes=True)]
    if source is None:
        entries += [_make_baseline("ease", "EASE", penalty=penalty) for penalty in PENALTIES]
    else:
        for penalty in PENALTIES:
            ridge = _make_baseline("ridge", "Ridge", penalty=penalty, source=source, target=target)
            entries.append(ridge)
    entries.append(_make_baseline("item-item", "ItemItem"))
    if find_spec("implicit"):
        entries.append(_make_baseline("als", "ALS"))
    if has_stars(ratings):
        entries.append(_make_baseline("item-mean", "ItemMean", stars=True))
        entries.append(_make_baseline("matrix-factorization", "MatrixFactorization", stars=True))
    return entries


def has_stars(ratings: Ratings) -> bool:
    """Return whether some ratings differ, so that predicting stars means something."""
    return bool((ratings.values != ratings.values[0]).any())


def _make_baseline(
    name: str, class_name: str, *, stars: bool = False, **settings: Any
) -> ComparisonEntry:
    """Make the entry of one baseline.

    Args:
        name: Name of the baseline in the comparison.
        class_name: Its class in `_BASELINES`.
        stars: Whether its predictions are stars.
        **settings: Arguments of the class.
    """
    return ComparisonEntry(
        design=name,
        variant="baseline",
        epsilon=None,
        unit=NOBODY,
        against="–",
        maker=f"{_BASELINES}:{class_name}",
        settings=settings,
        stars=stars,
    )


def entries_of_designs(chosen: Sequence[str], question: Comparison) -> Entrants:
    """Collect the entries of designs.

    Args:
        chosen: Names of the designs.
        question: Ratings, epsilons and domains of the comparison.

    Raises:
        ConfigError: There is no design of some name.
    """
    entrants = Entrants()
    for name in chosen:
        design = design_of(name)
        if "compare" in design.parts:
            entries_or_reason: Any = design.part("compare")(question)
        else:
            entries_or_reason = entries_of_any_design(design, question.epsilons)
        if isinstance(entries_or_reason, str):
            entrants.left_out[design.name] = entries_or_reason
        else:
            entrants.entries.extend(entries_or_reason)
    return entrants


def entries_of_any_design(design: Design, epsilons: Sequence[float]) -> list[ComparisonEntry] | str:
    """Make the entries of a design that has no part "compare" of its own.

    Unit and adversary are those of the design's first card. An epsilon that the card refuses, as
    some cards refuse infinity, has no entry.

    Args:
        design: The design.
        epsilons: Epsilons to compare; not used if the design's card settings have no epsilon.

    Returns:
        The entries, or the reason why there are none, as a text.
    """
    kind = next(iter(design.models), None)
    model_type = None if kind is None else model_class(kind)
    if model_type is None:
        return "it does not say how it is compared"
    maker = f"{model_type.__module__}:{model_type.__qualname__}"
    compared_settings: list[dict[str, Any]] = [{}]
    if "epsilon" in options_of(design.card_settings):
        compared_settings = [{"epsilon": epsilon} for epsilon in epsilons]
    entries = []
    for settings in compared_settings:
        try:
            card = design.cards(design.card_settings(**settings))[0]
        except TacitError:
            continue
        adjacency = str(card.adjacency)
        entries.append(
            ComparisonEntry(
                design=design.name,
                variant="sound",
                epsilon=settings.get("epsilon"),
                unit=WHOLE_PROFILE if adjacency == WHOLE_ADJACENCY else adjacency,
                against=card.against,
                maker=maker,
                settings=settings,
            )
        )
    if not entries:
        return "its card refuses all these epsilons"
    return entries


def entries_of_models(
    models: Sequence[Any], arguments: Sequence[Mapping[str, Any]] = ()
) -> list[ComparisonEntry]:
    """Make an entry for each of the caller's own models.

    Args:
        models: Objects, classes, functions, or texts that `find_model` reads.
        arguments: For each model the keyword arguments of the class that its text names, and {} for
            a model that is no text; or (), if no model has arguments.

    Raises:
        ConfigError: A model is of no known kind (the error names the missing method), a model that
            is no text has arguments, or `models` and `arguments` differ in length.
    """
    arguments_of_models = list(arguments) or [{} for _ in models]
    if len(arguments_of_models) != len(models):
        raise ConfigError(
            f"Arguments are one mapping for each model: got {len(arguments_of_models)} mappings "
            f"for {len(models)} models. Give {{}} for a model without arguments."
        )
    names_of_models = [name_of_model(model) for model in models]
    entries = []
    for index, (model, settings) in enumerate(zip(models, arguments_of_models, strict=True)):
        name = names_of_models[index]
        if names_of_models.count(name) > 1:
            number_of_name = names_of_models[: index + 1].count(name)
            name = _make_distinct_name(name, settings, number_of_name)
        adapted = OwnModel(model, settings).adapt()
        is_file = isinstance(model, str) and Path(model).is_file()
        entries.append(
            ComparisonEntry(
                design=name,
                variant=SAVED if is_file or adapted.trained else OWN,
                epsilon=None,
                unit=NOBODY,
                against="–",
                maker="tacit.evaluation.own_models:OwnModel",
                settings={"model": model, "arguments": settings},
                attacked=adapted.answers_histories and not adapted.fixed,
            )
        )
    return entries


def _make_distinct_name(name: str, settings: Mapping[str, Any], number: int) -> str:
    """Return a distinct name for one of several models with the same name.

    Args:
        name: The name.
        settings: Arguments of the model, which are written after the name if there are any.
        number: Number of the model among those of the name, from 1; written after the name if there
            are no arguments.
    """
    if settings:
        written = ", ".join(f"{key}={json.dumps(value)}" for key, value in settings.items())
        return f"{name}({written})"
    return f"{name} {number}"


def choose_entries(
    models: Sequence[Any] | None, question: Comparison, ratings: Ratings
) -> Entrants:
    """Make the entries of the models that the caller names.

    Args:
        models: Names of designs and baselines, and own models; None for every design and baseline.
        question: Epsilons and domains of the comparison.
        ratings: Ratings that all models are fitted to.

    Returns:
        For named models, the entries of the references, then of the named designs and baselines,
        then of own models; for None, those of all baselines, then of all designs.

    Raises:
        ConfigError: A model is of no known kind.
    """
    all_baselines = baselines(ratings, question.source, question.target)
    if models is None:
        entrants = entries_of_designs(names(), question)
        return Entrants([*all_baselines, *entrants.entries], entrants.left_out)
    baselines_by_name = group_by(all_baselines, lambda entry: entry.design)
    entries = [entry for entry in all_baselines if entry.design in REFERENCES]
    left_out: dict[str, str] = {}
    own_models = []
    for model in models:
        if isinstance(model, str) and model in baselines_by_name:
            if model not in REFERENCES:  # these are among the entries already
                entries += baselines_by_name[model]
        elif isinstance(model, str) and model in names():
            entrants = entries_of_designs([model], question)
            entries += entrants.entries
            left_out |= entrants.left_out
        else:
            own_models.append(model)
    return Entrants([*entries, *entries_of_models(own_models)], left_out)


def digests_of_code(entries: Sequence[ComparisonEntry]) -> list[str]:
    """Return the digest of the file of each own model that a text names; "" for one without a file.

    With it a resumed comparison notices that this file has changed, but not that code which the
    file imports has.
    """
    models = [entry.settings.get("model") for entry in entries]
    return [digest_of_code(model) for model in models if isinstance(model, str)]


def refuse_unpicklable(entries: Sequence[ComparisonEntry]) -> None:
    """Raise ConfigError if an own model cannot be pickled, as sending it to a process needs."""
    for entry in entries:
        try:
            pickle.dumps(dict(entry.settings))
        except Exception as error:
            raise ConfigError(
                f"{entry.design} cannot be sent to another process ({error}). Use workers=1, or "
                "name it as a text, such as mine.py:Model."
            ) from None
