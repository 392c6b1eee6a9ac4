"""Entries of a comparison: baselines, designs by their names, and a reader's own models."""

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
"""Variant of a reader's own model."""
SAVED = "saved model"
"""Variant of a model that was fitted before: held-out likes may be among what it learned from."""
REFERENCES = ("popularity", "ease", "ridge")
"""Baselines that every comparison has."""
_BASELINES = "tacit.recommenders.baselines"


@dataclass(frozen=True)
class Entrants:
    """Entries of a comparison, and designs that do not fit the ratings."""

    entries: list[ComparisonEntry] = field(default_factory=list)
    """Entries to judge."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Designs that are not compared, and why."""


def baselines(ratings: Ratings, source: str | None, target: str | None) -> list[ComparisonEntry]:
    """List the baselines: recommenders that protect nobody.

    EASE, or a ridge regression between domains, has an entry for each of `PENALTIES`; the best on
    the test people is kept. Recommenders that predict stars are left out where all ratings are
    equal, as those made of events are.

    Args:
        ratings: Ratings that they are fitted to.
        source: Domain that people have rated; None together with `target`: one domain.
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
    """Say whether some ratings differ, so that stars can be predicted."""
    return bool((ratings.values != ratings.values[0]).any())


def _make_baseline(
    name: str, class_name: str, *, stars: bool = False, **settings: Any
) -> ComparisonEntry:
    """Make the entry of one baseline; `stars` says whether its predictions are stars."""
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
    """Ask designs for their entries.

    Args:
        chosen: Names of the designs.
        question: Ratings, epsilons and domains.

    Raises:
        ConfigError: There is no design of a name.
    """
    entrants = Entrants()
    for name in chosen:
        design = design_of(name)
        if "compare" in design.parts:
            answer: Any = design.part("compare")(question)
        else:
            answer = entries_of_any_design(design, question.epsilons)
        if isinstance(answer, str):
            entrants.left_out[design.name] = answer
        else:
            entrants.entries.extend(answer)
    return entrants


def entries_of_any_design(design: Design, epsilons: Sequence[float]) -> list[ComparisonEntry] | str:
    """Make the entries of a design that has a model but no part "compare" of its own.

    Unit and adversary are those of its first card. An epsilon that the card refuses, as some
    refuse infinity, is left out.

    Args:
        design: The design.
        epsilons: Epsilons to compare; not used where the design's cards have no epsilon.

    Returns:
        Entries, or a sentence that says why there are none.
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
    """Make an entry of each of a reader's own models.

    Args:
        models: Objects, classes, functions, or texts that `find_model` reads.
        arguments: For each model that is a text, arguments of the class it names; {} for any other.
            (): none has any.

    Raises:
        ConfigError: A model is of no known kind, and the error names the missing method; there are
            arguments for a model that is no text, or not for as many models as there are.
    """
    arguments_of_models = list(arguments) or [{} for _ in models]
    if len(arguments_of_models) != len(models):
        raise ConfigError(
            f"There are arguments for {len(arguments_of_models)} models, and {len(models)} models. "
            "Give {} for a model without any."
        )
    names_of_models = [name_of_model(model) for model in models]
    entries = []
    for index, (model, settings) in enumerate(zip(models, arguments_of_models, strict=True)):
        name = names_of_models[index]
        if names_of_models.count(name) > 1:
            number_of_name = names_of_models[: index + 1].count(name)
            name = _make_distinct_name(name, settings, number_of_name)
        adapted = OwnModel(model, settings).adapt()
        is_file = isinstance(model, str) and ":" not in model and Path(model).is_file()
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
    """Name one of several models with the same name: by its settings, else by its number."""
    if settings:
        written = ", ".join(f"{key}={json.dumps(value)}" for key, value in settings.items())
        return f"{name}({written})"
    return f"{name} {number}"


def choose_entries(
    models: Sequence[Any] | None, question: Comparison, ratings: Ratings
) -> Entrants:
    """Choose what is compared, from the names and models that a reader gave.

    Args:
        models: Names of designs and baselines, and own models; None for every design and baseline.
        question: Epsilons and domains.
        ratings: Ratings that all are fitted to.

    Returns:
        Entries: references first, then the models in their order.

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
    """Compute a digest of the code of each own model that a text names.

    A resumed comparison runs its tasks again if the code of a model has changed.
    """
    models = [entry.settings.get("model") for entry in entries]
    return [digest_of_code(model) for model in models if isinstance(model, str)]


def refuse_unpicklable(entries: Sequence[ComparisonEntry]) -> None:
    """Refuse own models that cannot be sent to another process.

    Raises:
        ConfigError: A model cannot be pickled.
    """
    for entry in entries:
        try:
            pickle.dumps(dict(entry.settings))
        except Exception as error:
            raise ConfigError(
                f"{entry.design} cannot be sent to another process ({error}). Use workers=1, or "
                "name it as a text, such as mine.py:Model."
            ) from None
