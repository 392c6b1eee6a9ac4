"""Model files: released and public values, and weights and features from consenting people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.profile_kernels.types import ProfileCentre
from tacit.profile_sums.catalogue import CatalogueChoices
from tacit.profile_sums.events import noise_multipliers
from tacit.profile_sums.features import unit_feature_rows
from tacit.profile_sums.fits import Fit, fits_from_header, fits_to_header
from tacit.profile_sums.fitted_lists import FittedLists
from tacit.profile_sums.own_likes import OwnLikesMap
from tacit.profile_sums.plan_files import state_from_parts, state_to_parts
from tacit.profile_sums.release import ReleasedLists, TasteModel
from tacit.profile_sums.release_stars import StarModel
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.like_pairs import PairVectors
from tacit.profile_sums.sums.top_items import TopItemsModel
from tacit.profile_sums.usefulness import Usefulness
from tacit.recommenders.header_types import check_types, make_from_header
from tacit.recommenders.headers import (
    count_from_header,
    ids_from_header,
    items_to_header,
    names_from_header,
    number_from_header,
    read_array,
    read_floats,
    read_places,
    read_single_floats,
    scale_from_header,
    titles_from_header,
)
from tacit.recommenders.item_details import details_from_parts, details_to_parts
from tacit.recommenders.public_facts import CONDITIONS

Arrays = Mapping[str, NDArray[Any]]
VERSION = 1
"""Version of model files."""
KIND = "private"
"""Name of the recommender in model files."""


def fitted_to_parts(fitted: FittedLists) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header of the model file as JSON values, and its arrays by name."""
    released, scale = fitted.released, fitted.scale
    details, detail_arrays = details_to_parts(fitted.history_ids, fitted.details)
    header = {
        "recommender": KIND,
        "settings": settings_to_header(fitted.settings),
        "parameters": choices_to_header(fitted.choices),
        "releases": fits_to_header(fitted.fits, fitted.lifetime),
        "scale": [scale.minimum, scale.maximum, scale.step],
        "taken": list(fitted.assumed_public),
        "feature_names": list(fitted.feature_names),
        "context": None if fitted.one_domain else list(fitted.context_ids.tolist()),
        "version": VERSION,
        "mode": released.mode,
        "usefulness": asdict(released.usefulness),
        "deviation": released.deviation,
        "dense_columns": fitted.dense_columns,
        "consenting": fitted.n_consenting,
        **items_to_header(fitted.item_ids, fitted.titles),
        "context_titles": _context_titles(fitted),
        "details": details,
    }
    arrays = _released_to_arrays(released, fitted.dense_columns) | detail_arrays
    if fitted.stars is not None:
        arrays |= _stars_to_arrays(fitted.stars)
    header["plan"] = None
    if fitted.plan is not None:
        header["plan"], plan_arrays = state_to_parts(fitted.plan)
        arrays |= plan_arrays
    return header, arrays


def fitted_from_parts(header: Mapping[str, Any], arrays: Arrays) -> FittedLists:
    """Read a fit from the header and the arrays that `fitted_to_parts` makes.

    Raises:
        ValueError or another of `errors.UNUSABLE_CONTENT`: The parts are damaged, contradict each
            other, or are of another version.
    """
    if header["version"] != VERSION:
        raise ValueError("it was written by another version of this design")
    settings = settings_from_header(header["settings"])
    plan_state = None
    if header["plan"] is not None:
        plan_state = state_from_parts(header["plan"], arrays)

    def expected_noises(fits: Sequence[Fit]) -> Sequence[float]:
        """Return the multipliers that the last fit must have, by the plan or by the settings."""
        if plan_state is None:
            return noise_multipliers(settings)
        plan = plan_state.plan
        return plan.noises(plan.count_fits(fits))

    fits, lifetime = fits_from_header(header["releases"], expected_noises)
    item_ids = ids_from_header(header["items"])
    context = header["context"]
    one_domain = context is None
    context_ids = item_ids if one_domain else ids_from_header(context)
    history_ids = item_ids if one_domain else np.union1d(context_ids, item_ids)
    stars = None
    if settings.stars:
        further_items = 0 if one_domain else len(context_ids)
        stars = _stars_from_arrays(arrays, len(item_ids), further_items)
    fitted = FittedLists(
        settings=settings,
        choices=choices_from_header(header["parameters"]),
        fits=fits,
        lifetime=lifetime,
        released=_released_from_parts(header, arrays, len(context_ids), len(item_ids)),
        stars=stars,
        item_ids=item_ids,
        context_ids=context_ids,
        one_domain=one_domain,
        scale=scale_from_header(header["scale"]),
        feature_names=names_from_header(header["feature_names"]),
        titles=titles_from_header(header) | _titles_of_context(header),
        details=details_from_parts(history_ids, header["details"], arrays),
        dense_columns=count_from_header(header["dense_columns"]),
        n_consenting=int(header["consenting"]),
        plan=plan_state,
    )
    if not set(fitted.assumed_public) <= set(CONDITIONS):
        raise ValueError("it assumes a public fact that this version does not know")
    if tuple(header["taken"]) != fitted.assumed_public:
        raise ValueError("the facts that it assumes public differ from those of its fits")
    return fitted


def _context_titles(fitted: FittedLists) -> list[str | None] | None:
    """List the titles of context items, None for an item without one.

    None is returned in one domain, where `FittedLists.item_ids` has the same items, and if no item
    has a title.
    """
    if fitted.one_domain or not fitted.titles:
        return None
    return [fitted.titles.get(item) for item in fitted.context_ids.tolist()]


def _titles_of_context(header: Mapping[str, Any]) -> dict[Any, str]:
    """Read the titles that `_context_titles` listed, by item id; empty if it returned None."""
    if header["context_titles"] is None:
        return {}
    return titles_from_header({"items": header["context"], "titles": header["context_titles"]})


def settings_to_header(settings: Settings) -> dict[str, Any]:
    """Return the settings as JSON values; an infinite epsilon is the text "inf"."""
    epsilon = settings.epsilon if settings.is_private else "inf"
    return asdict(settings) | {"epsilon": epsilon, "shares": list(settings.shares)}


def settings_from_header(header: Mapping[str, Any]) -> Settings:
    """Read settings from the values of `settings_to_header`.

    Raises:
        ValueError, KeyError, TypeError, ConfigError: The values are no settings.
    """
    # `epsilon` may be the text "inf"; `Settings` checks it.
    check_types(Settings, {**header, "epsilon": 1.0})
    values = dict(header)
    values["shares"] = tuple(header["shares"])
    if header["epsilon"] == "inf":
        values["epsilon"] = math.inf
    return Settings(**values)


def choices_to_header(choices: CatalogueChoices) -> dict[str, Any]:
    """Return the choices as JSON values.

    The file of vectors is written without its folder, which is private to the operator.
    """
    return {
        "source": _plain_names(choices.source),
        "target": _plain_names(choices.target),
        "domain": _plain_names(choices.domain),
        "features": _plain_names(choices.features),
        "text": list(choices.text),
        "vectors": None if choices.vectors is None else Path(choices.vectors).name,
    }


def choices_from_header(header: Mapping[str, Any]) -> CatalogueChoices:
    """Read choices from the values of `choices_to_header`."""
    choices = make_from_header(CatalogueChoices, header)
    return replace(choices, text=tuple(choices.text))


def _plain_names(names: str | Sequence[str] | None) -> str | list[str] | None:
    """Return a text or None unchanged, and any other sequence as a list, as JSON needs it."""
    return names if names is None or isinstance(names, str) else list(names)


def _released_to_arrays(released: ReleasedLists, dense_columns: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of the released lists, by their names in the file."""
    arrays: dict[str, NDArray[Any]] = {"means": released.means}
    if released.consented is not None:
        weights = released.consented
        arrays["consented_offsets"] = weights.indptr.astype(np.int64)
        arrays["consented_columns"] = weights.indices.astype(np.int32)
        arrays["consented_values"] = weights.data
    model = released.personal
    if isinstance(model, TopItemsModel):
        arrays["context"] = model.context
        arrays["targets"] = model.targets
        arrays["weights"] = model.weights
    if isinstance(model, TasteModel):
        arrays["damping"] = model.centre.damping
        arrays["mean"] = model.centre.mean
        arrays["directions"] = model.directions
        arrays["items"] = model.items.astype(np.float32)
        arrays["deviation"] = np.array([model.deviation])
        arrays["head"] = np.array([model.head])
        arrays["count_weight"] = np.array([model.count_weight])
        arrays["released_pairs"] = np.array([model.released_pairs], np.uint8)
        if model.own_likes is not None:
            arrays["own_likes"] = model.own_likes.matrix
            arrays["own_likes_mean"] = model.own_likes.mean
        if model.pairs is not None:
            pair_items = model.pairs.items
            integer_type = np.int16 if pair_items.max() < 2**15 else np.int32
            arrays["pair_items"] = pair_items.astype(integer_type)
            arrays["pairs"] = model.pairs.vectors.astype(np.float32)
            arrays["pairs_mean"] = model.pairs.mean
        arrays |= _features_to_arrays(model.features, dense_columns)
    return arrays


def _features_to_arrays(rows: sparse.csr_array, dense_columns: int) -> dict[str, NDArray[Any]]:
    """Return the number of features of each item, and their columns, item after item.

    Values are stored only if there are dense columns; otherwise the number of an item's features
    determines them.
    """
    arrays: dict[str, NDArray[Any]] = {
        "feature_lengths": np.diff(rows.indptr).astype(np.uint8),
        "feature_columns": rows.indices.astype(np.uint8),
    }
    if dense_columns:
        arrays["feature_values"] = rows.data
    return arrays


def _features_from_arrays(
    arrays: Arrays, items: int, width: int, dense_columns: int
) -> sparse.csr_array:
    """Read the features (items, width) from the arrays of `_features_to_arrays`.

    Args:
        arrays: Arrays of the model file.
        items: Number of context items.
        width: Number of features.
        dense_columns: Number of dense features; if there are none, values are not stored.

    Raises:
        ValueError, KeyError: An array is missing, or does not fit the numbers of items and columns.
    """
    lengths = read_array(arrays, "feature_lengths", items)
    columns = read_array(arrays, "feature_columns", None)
    are_bytes = lengths.dtype == columns.dtype == np.uint8
    if not are_bytes or lengths.sum() != len(columns) or columns.max(initial=0) >= max(width, 1):
        raise ValueError("the features do not fit the list of items")
    rows = unit_feature_rows(lengths.astype(np.int64), columns.astype(np.int32), width)
    if dense_columns:
        rows.data = read_floats(arrays, "feature_values", len(columns))
    return rows


def _released_from_parts(
    header: Mapping[str, Any], arrays: Arrays, context: int, targets: int
) -> ReleasedLists:
    """Read the released lists.

    Args:
        header: Header of the model file.
        arrays: Arrays of the model file.
        context: Number of context items.
        targets: Number of target items.

    Raises:
        ValueError, KeyError, TypeError: The parts are damaged or contradict each other.
    """
    means = read_floats(arrays, "means", targets)
    usefulness = make_from_header(Usefulness, header["usefulness"])
    deviation = number_from_header(header["deviation"])
    mode = header["mode"]
    if usefulness.worthwhile != (mode != "popularity"):
        raise ValueError("its mode contradicts 'worthwhile', by which lists are personal or not")
    if mode == "popularity":
        return ReleasedLists(means, deviation, None, usefulness)
    if mode == "top-items":
        top_items = _top_items_from_arrays(arrays, context, targets)
        return ReleasedLists(means, deviation, top_items, usefulness)
    if mode == "taste":
        one_domain = header["context"] is None
        dense_columns = count_from_header(header["dense_columns"])
        tastes = _tastes_from_arrays(arrays, context, targets, dense_columns, one_domain=one_domain)
        tastes = replace(tastes, released_pairs=_has_released_pairs(header, arrays))
        consented = _consented_from_arrays(arrays, targets) if one_domain else None
        return ReleasedLists(means, deviation, tastes, usefulness, consented)
    raise ValueError(f"its mode '{mode}' is not known")


def _has_released_pairs(header: Mapping[str, Any], arrays: Arrays) -> bool:
    """Read whether pairs of likes were released.

    A release in which no pair stood out from the noise has no vectors of pairs in the file.

    Raises:
        ValueError: The file has vectors of pairs and says that none were released, or it says that
            they were, although no fit with its settings releases them.
    """
    (flag,) = read_places(arrays, "released_pairs", 2).tolist()
    if "pairs" in arrays and not flag:
        raise ValueError("it has pairs of likes, and says that none were released")
    one_domain = header["context"] is None
    is_mode_auto = header["settings"]["mode"] == "auto"
    is_without_plan_or_consent = header["plan"] is None and not header["consenting"]
    if flag and not (one_domain and is_mode_auto and is_without_plan_or_consent):
        raise ValueError(
            "it says that pairs of likes were released, which no fit with its settings does"
        )
    return bool(flag)


def _top_items_from_arrays(arrays: Arrays, context: int, targets: int) -> TopItemsModel:
    """Read the weights between top items.

    Args:
        arrays: Arrays of the model file.
        context: Number of all context items.
        targets: Number of all target items.
    """
    rows = read_places(arrays, "context", context)
    columns = read_places(arrays, "targets", targets)
    return TopItemsModel(rows, columns, read_floats(arrays, "weights", len(rows), len(columns)))


def _tastes_from_arrays(
    arrays: Arrays, context: int, targets: int, dense_columns: int, *, one_domain: bool
) -> TasteModel:
    """Read the released tastes; `released_pairs` of the result is left at its default.

    Args:
        arrays: Arrays of the model file.
        context: Number of context items.
        targets: Number of target items.
        dense_columns: Number of dense features.
        one_domain: Whether context and target items are the same.
    """
    mean = read_floats(arrays, "mean", None)
    directions = read_floats(arrays, "directions", len(mean), None)
    items = read_single_floats(arrays, "items", targets, directions.shape[1])
    features = _features_from_arrays(arrays, context, len(mean), dense_columns)
    centre = ProfileCentre(read_floats(arrays, "damping", context), mean)
    own_likes, pairs = None, None
    if "pairs" in arrays:  # `_has_released_pairs` refuses pairs across domains
        pairs = _pairs_from_arrays(arrays, targets)
    elif one_domain:
        k = directions.shape[1]
        matrix = read_floats(arrays, "own_likes", k, k)
        own_likes = OwnLikesMap(matrix, read_floats(arrays, "own_likes_mean", k))
    return TasteModel(
        features=features,
        centre=centre,
        directions=directions,
        items=items,
        deviation=float(read_floats(arrays, "deviation", 1)[0]),
        own_likes=own_likes,
        head=int(read_array(arrays, "head", 1)[0]),
        count_weight=float(read_floats(arrays, "count_weight", 1)[0]),
        pairs=pairs,
    )


def _pairs_from_arrays(arrays: Arrays, targets: int) -> PairVectors:
    """Read the vectors of items that were made from pairs of likes.

    Raises:
        ValueError, KeyError: An array is missing, has another shape or is empty, or the items do
            not ascend.
    """
    items = read_places(arrays, "pair_items", targets)
    mean = read_floats(arrays, "pairs_mean", None)
    if not len(items) or not len(mean):
        raise ValueError("'pair_items' or 'pairs_mean' is empty")
    if (np.diff(items) <= 0).any():
        raise ValueError("'pair_items' do not ascend")
    return PairVectors(items, read_single_floats(arrays, "pairs", len(items), len(mean)), mean)


def _consented_from_arrays(arrays: Arrays, items: int) -> sparse.csr_array | None:
    """Read the weights (items, items) learned from consenting people; None if there are none."""
    if "consented_offsets" not in arrays:
        return None
    offsets = read_array(arrays, "consented_offsets", items + 1).astype(np.int64)
    columns = read_places(arrays, "consented_columns", items).astype(np.int32)
    values = read_floats(arrays, "consented_values", len(columns))
    if offsets[0] != 0 or offsets[-1] != len(columns) or (np.diff(offsets) < 0).any():
        raise ValueError("the consenting people's weights do not fit the list of items")
    return sparse.csr_array((values, columns, offsets), shape=(items, items))


def _stars_to_arrays(stars: StarModel) -> dict[str, NDArray[Any]]:
    """Return the arrays of the released stars, by their names in the file."""
    return {
        "star_mean": np.array([stars.mean]),
        "star_effects": stars.effects,
        "star_loadings": stars.loadings,
        "star_variances": stars.variances,
    }


def _stars_from_arrays(arrays: Arrays, targets: int, further_items: int) -> StarModel:
    """Read the released stars.

    Args:
        arrays: Arrays of the model file.
        targets: Number of target items.
        further_items: Number of context items of other domains. The arrays have them after the
            target items if there were enough people for factors, and otherwise not.
    """
    mean = float(read_floats(arrays, "star_mean", 1)[0])
    effects = read_floats(arrays, "star_effects", None)
    items = len(effects)
    if items not in (targets, targets + further_items):
        raise ValueError("'star_effects' does not fit the list of items")
    variances = read_floats(arrays, "star_variances", items)
    if (variances <= 0).any():
        raise ValueError("'star_variances' has numbers that are not above 0")
    return StarModel(mean, effects, read_floats(arrays, "star_loadings", items, None), variances)
