"""From settings, which are checked, and consenting people's ratings to all that a model holds.

Runs at     the recommender.
Sees        the consenting people's ratings and attributes in the clear.
Guarantee   none for them, but for the tables if these are estimated privately.

Two models that differ by few people show, by their difference, what these people like. So a model
keeps a keyed hash of each consenting person with all their ratings, and the next fit is refused
where some changed, but fewer than FEWEST_CHANGED. A hash shows anyone who has the file whether a
guess of all of a person's ratings is right: the file stays with the recommender.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings, RatingScale
from tacit.designs.standard_scheme.disclosure import MOST_LEVELS, RELEASES, Rule
from tacit.designs.standard_scheme.messages import DAY, MICRO
from tacit.designs.standard_scheme.server import Profiles
from tacit.designs.standard_scheme.training.disclosure import Tables
from tacit.designs.standard_scheme.training.ease import Ease, fit_ease
from tacit.designs.standard_scheme.training.people import (
    Consenting,
    Ints,
    consenting,
    estimate,
    estimate_privately,
    unit,
)
from tacit.designs.standard_scheme.training.population import release
from tacit.designs.standard_scheme.training.profiles import (
    PROFILES,
    factorization,
    of_kind,
    train_profiles,
)
from tacit.designs.standard_scheme.training.taste import with_taste
from tacit.errors import ConfigError, PrivacyError
from tacit.randomness import replay, secure, simulation

if TYPE_CHECKING:
    from tacit.designs.standard_scheme.recommender import StandardScheme

LEAST_EPSILON = 16
"""Of a disclosure: below, releases tell more than true stars do."""
WHO_MAY_USE_IT = (
    "The standard scheme is only for services that do not otherwise learn what people watched, "
    "bought, opened or rated: from ten items known to be rated the attribute was read with AUC "
    ".94 (MovieLens 100K), and from their number with .93."
)
Hashes = NDArray[np.uint64]

FEWEST_CHANGED = 50
KEY_BYTES = 16


@dataclass(frozen=True)
class People:
    """Keyed hashes of people with their ratings. key: drawn by the first fit, and kept since.

    hashes: (people,) in ascending order.
    """

    key: bytes
    hashes: Hashes


@dataclass(frozen=True)
class Fitted:
    """What is learned, beside the items and their scale."""

    n_consenting: int
    tables: dict[str, Tables]
    profiles: Profiles
    ease: Ease
    people: People | None


def fit(model: StandardScheme, ratings: Ratings, rule: Rule, former: People | None) -> Fitted:
    """Learn with the settings of a model, for devices that follow this rule.

    former: the people of the fit before.
    """
    people, numbers = consenting(ratings, model.attributes, model.values)
    known = people_of(ratings, numbers, former)
    tables = _tables(model, people, coupling=rule.transform == "coupling")
    if model.second_order == "taste":
        tables = with_taste(people, tables, seed=model.random_state)
    seed, factors = model.random_state, model.factors
    how = factorization(people.n_levels, variant=model.variant, factors=factors, seed=seed)
    given: dict[str, Any] = {
        name: getattr(model, name)
        for name in ("regularization", "ridge", "sweeps")
        if getattr(model, name) is not None
    }
    profiles = train_profiles(
        people.levels,
        people.labels,
        list(tables.values()),
        of_kind(model.profiles, replace(how, **given), ratings),
        lowest=ratings.scale.minimum / unit(ratings.scale),
    )
    ease = _ease(people, tables, rule, model.random_state)
    return Fitted(people.n_people, tables, profiles, ease, known)


def _tables(model: StandardScheme, people: Consenting, *, coupling: bool) -> dict[str, Tables]:
    if math.isinf(model.disclosure_epsilon):
        shrink = model.variant == "sound"
        return estimate(people, shrink=shrink, coupling=coupling, seed=model.random_state)
    return estimate_privately(
        people,
        secure(),
        epsilon=model.disclosure_epsilon,
        contributions=model.contributions,
        coupling=coupling,
    )


def _ease(people: Consenting, tables: dict[str, Tables], rule: Rule, seed: int) -> Ease:
    def simulate(levels: sparse.csr_array, who: Ints) -> sparse.csr_array:
        with simulation():
            return release(
                levels,
                people.labels[who],
                list(tables.values()),
                rule,
                n_levels=people.n_levels,
                source=replay(seed),
            )

    return fit_ease(people.levels, people.n_levels, simulate, seed=seed)


def people_of(ratings: Ratings, numbers: NDArray[np.int64], former: People | None) -> People:
    """The people with these numbers; ConfigError where too few of them are other than before."""
    key = secrets.token_bytes(KEY_BYTES) if former is None else former.key
    found = People(key, np.sort(_hashes(key, ratings)[numbers]))
    if former is not None:
        _check(former.hashes, found.hashes)
    return found


def _check(before: Hashes, now: Hashes) -> None:
    changed = max(len(np.setdiff1d(now, before)), len(np.setdiff1d(before, now)))
    if 0 < changed < FEWEST_CHANGED:
        raise ConfigError(
            f"Only {changed} of the training people changed since the model before was fitted, and "
            "the difference of two models shows what so few people like. Keep that model, or fit "
            f"again when {FEWEST_CHANGED} changed."
        )


def _hashes(key: bytes, ratings: Ratings) -> Hashes:
    """(people,) of a person's id and of the sum over the ratings of item hash times stars' hash."""
    items = _hash_each(key, b"item", ratings.item_ids)[ratings.items]
    distinct, which = np.unique(ratings.values, return_inverse=True)
    rated = items * (_hash_each(key, b"stars", distinct)[which] | np.uint64(1))
    sums = np.zeros(ratings.n_users, dtype=np.uint64)
    np.add.at(sums, ratings.users, rated)
    return _hash_each(key, b"person", zip(ratings.user_ids.tolist(), sums.tolist(), strict=True))


def _hash_each(key: bytes, kind: bytes, values: Any) -> Hashes:
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    made = (blake2b(repr(one).encode(), digest_size=8, key=key, person=kind) for one in listed)
    return np.array([int.from_bytes(each.digest(), "big") for each in made], dtype=np.uint64)


def check_use(model: StandardScheme) -> None:
    """PrivacyError unless it is stated that the service learns nothing of this otherwise."""
    if model.variant == "sound" and model.service_sees_items is not False:
        raise PrivacyError(
            f"{WHO_MAY_USE_IT} Say service_sees_items=False (--service-sees-items no) if it does "
            "not."
        )


def check_settings(model: StandardScheme) -> None:
    """ConfigError for what cannot be, PrivacyError for what would tell the attribute."""
    _check_release(model)
    _check_mix_and_epochs(model)
    _check_factorization(model)
    _check_epsilon(model)
    _check_publishing(model)
    _check_second_order(model)


def checked_rule(model: StandardScheme, scale: RatingScale) -> Rule:
    """What devices are asked to do on this scale; PrivacyError for what tells the attribute."""
    rule = replace(RELEASES[model.release], mix=round(model.mix * MICRO))
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


def _check_release(model: StandardScheme) -> None:
    if not model.attributes or len(set(model.attributes)) < len(model.attributes):
        raise ConfigError("Name at least one attribute to hide, each once.")
    if model.variant not in ("sound", "published"):
        raise ConfigError(f"The variant is 'sound' or 'published'; got {model.variant!r}.")
    if model.release not in RELEASES:
        raise ConfigError(f"No release '{model.release}'. Known: {', '.join(RELEASES)}.")
    if model.variant == "sound" and model.release in ("none", "selection"):
        raise PrivacyError(
            f"'{model.release}' sends true stars. Use 'scheme+selection+rounding', or "
            "variant='published' to measure what true stars give away."
        )


def _check_mix_and_epochs(model: StandardScheme) -> None:
    if not 0 <= model.mix <= 1:
        raise ConfigError(f"The mix is a chance from 0 to 1; got {model.mix}.")
    if model.variant == "sound" and round(model.mix * MICRO) < MICRO:
        raise PrivacyError(
            "A mix below 1 sends some true stars, which breaks the equality that hides the "
            "attribute. Use 1, or variant='published'."
        )
    if model.epoch_length < DAY:
        raise ConfigError(f"An epoch is {DAY} seconds long or more; got {model.epoch_length}.")


def _check_factorization(model: StandardScheme) -> None:
    if model.factors < 1 or (model.sweeps is not None and model.sweeps < 1):
        raise ConfigError("Factors and sweeps are at least 1.")
    for penalty in (model.regularization, model.ridge):
        if penalty is not None and not 0 < penalty < math.inf:
            raise ConfigError(f"A penalty is a finite number above 0; got {penalty}.")


def _check_epsilon(model: StandardScheme) -> None:
    if not model.disclosure_epsilon > 0:
        raise ConfigError(f"An epsilon is above 0; got {model.disclosure_epsilon}.")
    if model.variant == "sound" and model.disclosure_epsilon < LEAST_EPSILON:
        raise PrivacyError(
            f"A disclosure_epsilon below {LEAST_EPSILON} is refused: on 6,040 people of "
            "MovieLens 1M an attacker of releases reached AUC .886 at epsilon 1, where true "
            "stars give .863, because the public noise is subtracted with the value's sign. "
            "Use exact tables of people who agreed to them."
        )
    if model.contributions < 1:
        raise ConfigError(f"A person contributes at least 1 rating; got {model.contributions}.")
    if not math.isinf(model.disclosure_epsilon) and (
        model.variant == "published" or len(model.attributes) > 1
    ):
        raise ConfigError("A private disclosure needs the sound variant and one attribute.")


def _check_publishing(model: StandardScheme) -> None:
    for name, values in model.values.items():
        if name not in model.attributes or len(set(values)) < 2:
            raise ConfigError(
                "values are two or more, each once, of an attribute that is hidden, such as "
                f"gender=F,M; got {len(values)} for '{name}'."
            )
    if model.profiles not in PROFILES:
        raise ConfigError(f"Profiles are one of {', '.join(PROFILES)}; got {model.profiles!r}.")
    if model.item_table and not math.isinf(model.disclosure_epsilon):
        raise ConfigError(
            "An item table has no epsilon: publish it without disclosure_epsilon, of people who "
            "agreed to it, or leave item_table out."
        )


def _check_second_order(model: StandardScheme) -> None:
    if model.second_order not in ("off", "taste"):
        raise ConfigError(f"second_order is 'off' or 'taste'; got {model.second_order!r}.")
    if model.second_order == "taste" and (
        model.variant == "published"
        or len(model.attributes) > 1
        or not math.isinf(model.disclosure_epsilon)
        or not RELEASES[model.release].selection
    ):
        raise ConfigError(
            "second_order='taste' needs the sound variant, one attribute, exact tables and a "
            "release with selection."
        )
