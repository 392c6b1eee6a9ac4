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

NOBODY = "nobody is protected"
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
    """List the recommenders that protect nobody, and private popularity's rivals.

    They are the same methods as single commands. EASE, or a ridge regression between domains, takes
    the best penalty on the test people. Where all ratings are equal, as events are, nothing that
    predicts stars is compared.

    Args:
        ratings: Ratings that they are fitted to.
        source: Domain that people have rated; None together with `target`: one domain.
        target: Domain that lists are made in.
    """
    entries = [_baseline("popularity", "Popularity", likes=True)]
    if source is None:
        entries += [_baseline("ease", "EASE", penalty=penalty) for penalty in PENALTIES]
    else:
        routes: dict[str, Any] = {"source": source, "target": target}
        entries += [_baseline("ridge", "Ridge", penalty=each, **routes) for each in PENALTIES]
    entries.append(_baseline("item-item", "ItemItem"))
    if find_spec("implicit"):
        entries.append(_baseline("als", "ALS"))
    if has_stars(ratings):
        entries.append(_baseline("item-mean", "ItemMean", stars=True))
        entries.append(_baseline("matrix-factorization", "MatrixFactorization", stars=True))
    return entries


def has_stars(ratings: Ratings) -> bool:
    """Say whether ratings differ, so that there is something to predict."""
    return bool((ratings.values != ratings.values[0]).any())


def _baseline(name: str, kind: str, *, stars: bool = False, **settings: Any) -> ComparisonEntry:
    maker = f"{_BASELINES}:{kind}"
    return ComparisonEntry(name, "baseline", None, NOBODY, "–", maker, settings, stars)


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
    """Make entries of a design that names a model and does not say how it is compared.

    Unit and adversary are those of its first card. An epsilon that its card refuses, as it may
    refuse infinity, is left out.

    Args:
        design: The design.
        epsilons: Epsilons, if its card has one.

    Returns:
        Entries, or a sentence that says why there are none.
    """
    kind = next(iter(design.models), None)
    make_model = None if kind is None else model_class(kind)
    if make_model is None:
        return "it does not say how it is compared"
    maker = f"{make_model.__module__}:{make_model.__qualname__}"
    settings: list[dict[str, Any]] = [{}]
    if "epsilon" in options_of(design.card_settings):
        settings = [{"epsilon": epsilon} for epsilon in epsilons]
    entries = []
    for each in settings:
        try:
            card = design.cards(design.card_settings(**each))[0]
        except TacitError:
            continue
        unit = WHOLE_PROFILE if str(card.adjacency) == WHOLE_ADJACENCY else str(card.adjacency)
        entries.append(
            ComparisonEntry(
                design.name, "sound", each.get("epsilon"), unit, card.against, maker, each
            )
        )
    return entries or "its card refuses all these epsilons"


def entries_of_models(
    models: Sequence[Any], arguments: Sequence[Mapping[str, Any]] = ()
) -> list[ComparisonEntry]:
    """Make an entry of each of a reader's own models.

    Args:
        models: Objects, classes, functions, or texts that `find_model` reads.
        arguments: Arguments of each model's class; () for none.

    Raises:
        ConfigError: A model is of no known kind; the error names the missing method.
    """
    own_arguments = list(arguments) or [{} for _ in models]
    labels = [name_of_model(model) for model in models]
    entries = []
    for number, (model, settings) in enumerate(zip(models, own_arguments, strict=True)):
        label = labels[number]
        if labels.count(label) > 1:
            label = _tell_apart(label, settings, labels[: number + 1].count(label))
        adapted = OwnModel(model, settings).adapt()
        is_file = isinstance(model, str) and ":" not in model and Path(model).is_file()
        entries.append(
            ComparisonEntry(
                label,
                SAVED if is_file or adapted.trained else OWN,
                None,
                NOBODY,
                "–",
                "tacit.evaluation.own_models:OwnModel",
                {"model": model, "arguments": settings},
                attacked=adapted.answers_histories and not adapted.fixed,
            )
        )
    return entries


def _tell_apart(label: str, settings: Mapping[str, Any], number: int) -> str:
    """Name one of several models of the same class: by its settings, or by its number."""
    if settings:
        written = ", ".join(f"{key}={json.dumps(value)}" for key, value in settings.items())
        return f"{label}({written})"
    return f"{label} {number}"


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
    known = baselines(ratings, question.source, question.target)
    if models is None:
        entrants = entries_of_designs(names(), question)
        return Entrants([*known, *entrants.entries], entrants.left_out)
    by_name: dict[str, list[ComparisonEntry]] = {}
    for entry in known:
        by_name.setdefault(entry.design, []).append(entry)
    entries = [entry for entry in known if entry.design in REFERENCES]
    left_out: dict[str, str] = {}
    own = []
    for model in models:
        if not isinstance(model, str) or (model not in by_name and model not in names()):
            own.append(model)
        elif model in by_name and model not in REFERENCES:
            entries += by_name[model]
        elif model in names():
            entrants = entries_of_designs([model], question)
            entries += entrants.entries
            left_out |= entrants.left_out
    return Entrants([*entries, *entries_of_models(own)], left_out)


def digests_of_code(entries: Sequence[ComparisonEntry]) -> list[str]:
    """Digest the files that own models come from: with other code they are other models."""
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
                f"{entry.design} cannot be sent to another process ({error}). Take workers=1, or "
                "name it as a text, such as mine.py:Model."
            ) from None
