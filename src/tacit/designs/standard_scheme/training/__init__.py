"""From checked settings and consenting people's ratings to all that a model holds, and its file.

Runs at     the recommender.
Sees        the consenting people's ratings and attributes in the clear.
Guarantee   none for them, but for the tables if these are estimated privately.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from tacit import container
from tacit.data.ratings import Ratings, RatingScale
from tacit.designs.standard_scheme.disclosure import MOST_LEVELS, RELEASES, Rule
from tacit.designs.standard_scheme.messages import DAY
from tacit.designs.standard_scheme.server import UNIT, Ease, Profiles
from tacit.designs.standard_scheme.training.people import Ints, People, consenting, people_of, unit
from tacit.designs.standard_scheme.training.population import release
from tacit.designs.standard_scheme.training.profiles import fit_ease, train_profiles
from tacit.designs.standard_scheme.training.tables import Tables, estimate
from tacit.errors import ConfigError, PrivacyError
from tacit.privacy import Measurement
from tacit.randomness import replay, simulation
from tacit.recommenders import inputs

if TYPE_CHECKING:
    from tacit.designs.standard_scheme.recommender import StandardScheme

LEAST_EPSILON = 16
"""Of a disclosure: below, releases tell more than true stars do."""
WHO_MAY_USE_IT = (
    "The standard scheme is only for services that do not otherwise learn what people watched, "
    "bought, opened or rated: from ten items known to be rated the attribute was read with AUC "
    ".94 (MovieLens 100K), and from their number with .93."
)
_NAMES = {"variant": ("sound", "published"), "release": tuple(RELEASES)}
FORMAT = 2
"""Of the tables in a model file."""
REMOVED = ("second_order", "mix", "profiles", "regularization", "ridge", "sweeps")
"""Settings of earlier versions. The arrays of a file hold what the last four made."""


def fit(model: StandardScheme, ratings: Ratings, former: People | None) -> None:
    """Learn with the settings of a model. former: the people of the fit before. PrivacyError unless
    it is stated that the service learns nothing of what is rated otherwise."""
    if model.variant == "sound" and model.service_sees_items is not False:
        raise PrivacyError(
            f"{WHO_MAY_USE_IT} Say service_sees_items=False (--service-sees-items no) if it does "
            "not."
        )
    rule, seed = checked_rule(model, ratings.scale), model.random_state
    people, numbers = consenting(ratings, model.attributes, model.values)
    known = people_of(ratings, numbers, former)
    tables = estimate(
        people,
        epsilon=model.disclosure_epsilon,
        contributions=model.contributions,
        shrink=model.variant == "sound",
        coupling=rule.transform == "coupling",
        seed=seed,
    )
    of_attributes, n_levels = list(tables.values()), people.n_levels
    profiles = train_profiles(
        people.levels,
        people.labels,
        of_attributes,
        n_levels,
        lowest=ratings.scale.minimum / unit(ratings.scale),
        published=model.variant == "published",
        factors=model.factors,
        seed=seed,
    )

    def simulate(levels: sparse.csr_array, who: Ints) -> sparse.csr_array:
        labels = people.labels[who]
        with simulation():
            source = replay(seed)
            return release(levels, labels, of_attributes, rule, n_levels=n_levels, source=source)

    model.hold(
        item_ids=ratings.item_ids,
        titles=inputs.titles_of(ratings),
        scale=ratings.scale,
        n_consenting=people.n_people,
        people=known,
        tables=tables,
        profiles=profiles,
        ease=fit_ease(people.levels, n_levels, simulate, seed=seed),
    )


def check_names(**given: str) -> None:
    """ConfigError for a variant or release that there is not."""
    for setting, name in given.items():
        if name not in _NAMES[setting]:
            raise ConfigError(f"No {setting} '{name}'. Known: {', '.join(_NAMES[setting])}.")


def check_settings(model: StandardScheme) -> None:
    """ConfigError for what cannot be, PrivacyError for what would tell the attribute."""
    check_names(variant=model.variant, release=model.release)
    names, epsilon = model.attributes, model.disclosure_epsilon
    sound, private = model.variant == "sound", not math.isinf(epsilon)
    if not names or len(set(names)) < len(names):
        raise ConfigError("Name at least one attribute to hide, each once.")
    if model.epoch_length < DAY:
        raise ConfigError(f"An epoch is {DAY} seconds long or more; got {model.epoch_length}.")
    if model.factors < 1 or model.contributions < 1 or not epsilon > 0:
        raise ConfigError(
            "Factors and contributions are 1 or more, and an epsilon is above 0; got "
            f"{model.factors}, {model.contributions} and {epsilon}."
        )
    if private and (not sound or len(names) > 1):
        raise ConfigError("A private disclosure needs the sound variant and one attribute.")
    if private and model.item_table:
        raise ConfigError(
            "An item table has no epsilon: publish it without disclosure_epsilon, of people who "
            "agreed to it, or leave item_table out."
        )
    if any(name not in names or len(set(known)) < 2 for name, known in model.values.items()):
        raise ConfigError(
            "values are two or more, each once, of an attribute that is hidden, such as "
            f"gender=F,M; got {model.values}."
        )
    if sound and model.release in ("none", "selection"):
        raise PrivacyError(
            f"'{model.release}' sends true stars. Use 'scheme+selection+rounding', or "
            "variant='published' to measure what true stars give away."
        )
    if sound and epsilon < LEAST_EPSILON:
        raise PrivacyError(
            f"A disclosure_epsilon below {LEAST_EPSILON} is refused: on 6,040 people of "
            "MovieLens 1M an attacker of releases reached AUC .886 at epsilon 1, where true "
            "stars give .863, because the public noise is subtracted with the value's sign. "
            "Use exact tables of people who agreed to them."
        )


def checked_rule(model: StandardScheme, scale: RatingScale) -> Rule:
    """What devices are asked to do on this scale; PrivacyError for what tells the attribute."""
    rule = RELEASES[model.release]
    if not scale.discrete and rule.transform == "coupling":
        raise ConfigError(
            f"'{model.release}' needs a scale of whole stars; this one is {scale}. "
            "Use 'scheme+selection+rounding', which rounds to quarters of the scale."
        )
    if model.variant == "sound" and rule.transform == "scheme" and not rule.rounding:
        raise PrivacyError(
            f"'{model.release}' tells the attribute exactly: the stars people give end after a "
            "digit or two, and the released value plus or minus the public offset does for the "
            "true value only. Use 'scheme+selection+rounding', or variant='published' to "
            "reproduce the leak."
        )
    if model.variant == "sound" and rule.transform == "scheme" and scale.levels > MOST_LEVELS:
        raise PrivacyError(
            f"The scale {scale} has {scale.levels} levels. On more than {MOST_LEVELS} people give "
            "round numbers, and a released star beside one shows the attribute. Bring the stars to "
            f"at most {MOST_LEVELS} levels first."
        )
    return rule


def write(model: StandardScheme, path: str | Path) -> None:
    epsilon = model.disclosure_epsilon
    header = {
        "recommender": "standard-scheme",
        "format": FORMAT,
        "settings": {each.name: getattr(model, each.name) for each in fields(model)}
        | {
            "disclosure_epsilon": None if math.isinf(epsilon) else epsilon,
            "aliases": list(model.aliases.items()),
        },
        **inputs.items_to_header(model.item_ids_, model.titles_),
        "scale": [model.scale_.minimum, model.scale_.maximum, model.scale_.step],
        "values": {name: list(table.values) for name, table in model.tables_.items()},
        "ridge": model.profiles_.ridge,
        "levels": model.ease_.n_levels,
        "unit": UNIT,
        "key": "" if model.people_ is None else model.people_.key.hex(),
        "people": model.n_consenting_,
        "taken": list(model.taken_),
        "measurements": [vars(measured) for measured in model.measurements_],
    }
    weights = model.ease_.weights
    arrays = {
        "intercepts": model.profiles_.intercepts,
        "factors": model.profiles_.factors,
        "popularity": model.ease_.popularity,
        "weights": weights.data.astype(np.int32),
        "rows": weights.indices.astype(np.int32),
        "columns": weights.indptr.astype(np.int64),
    }
    if model.people_ is not None:
        arrays["hashes"] = model.people_.hashes.view(np.int64)
    for position, table in enumerate(model.tables_.values()):
        for name, array in vars(table).items():
            if isinstance(array, np.ndarray):
                arrays[f"{position}.{name}"] = array
    container.write(path, header, arrays)


def settings_of(header: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in a file's header; ValueError if an earlier version wrote it."""
    if header.get("format") != FORMAT:
        raise ValueError("an earlier version wrote it, and its public tables are other ones")
    settings = dict(header["settings"])
    if settings.get("second_order", "off") != "off" or settings.get("mix", 1) != 1:
        raise ValueError("it has chances by taste or a mix, which this version no longer fits")
    settings = {name: value for name, value in settings.items() if name not in REMOVED}
    settings["aliases"] = dict(settings["aliases"])
    settings["disclosure_epsilon"] = settings["disclosure_epsilon"] or math.inf
    return settings


def restore(model: StandardScheme, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """What a checked file holds, into a model with its settings."""
    model.taken_ = tuple(name for name in inputs.TAKEN if name in header.get("taken", inputs.TAKEN))
    items = inputs.ids_from_header(header["items"])
    tables = {}
    for position, name in enumerate(model.attributes):
        prefix, values = f"{position}.", header["values"][name]
        own = {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}
        tables[name] = Tables(tuple(values), **({"coupling": None} | own))
        inputs.shaped(arrays, f"{prefix}item_means", len(items))
        inputs.shaped(arrays, f"{prefix}means", len(values), len(items))
    profiles = Profiles(
        inputs.shaped(arrays, "intercepts", len(items)),
        inputs.shaped(arrays, "factors", len(items), None),
        header["ridge"],
    )
    people = None
    if header.get("key"):  # a file of an earlier version has none
        hashes = inputs.shaped(arrays, "hashes", header["people"]).view(np.uint64)
        people = People(bytes.fromhex(header["key"]), hashes)
    model.hold(
        item_ids=items,
        titles=inputs.titles_from_header(header),
        scale=RatingScale(*header["scale"]),
        n_consenting=header["people"],
        people=people,
        tables=tables,
        profiles=profiles,
        ease=_stored_ease(arrays, len(items), header),
        measurements=tuple(Measurement(**entry) for entry in header["measurements"]),
    )


def _stored_ease(arrays: Mapping[str, Any], n_items: int, header: Mapping[str, Any]) -> Ease:
    """Weights of an earlier version, which were finer, are rounded."""
    finer = header.get("unit", 100_000) // UNIT
    weights = sparse.csc_array(
        (
            np.rint(inputs.shaped(arrays, "weights", None) / finer).astype(np.int64),
            inputs.shaped(arrays, "rows", None),
            inputs.shaped(arrays, "columns", n_items + 1),
        ),
        shape=(n_items, n_items),
        copy=True,
    )
    weights.check_format(full_check=True)
    weights.eliminate_zeros()
    return Ease(weights, inputs.shaped(arrays, "popularity", n_items), header["levels"])
