"""What a model of the standard scheme may be asked for, and what is refused before any work."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from tacit.designs.standard_scheme.messages import DAY, MICRO, RELEASES, Rule
from tacit.designs.standard_scheme.refusing import MOST_LEVELS
from tacit.designs.standard_scheme.training import PROFILES
from tacit.errors import ConfigError, PrivacyError

if TYPE_CHECKING:
    from tacit.data.ratings import RatingScale
    from tacit.designs.standard_scheme.recommender import StandardScheme

LEAST_EPSILON = 16
"""Of a disclosure: below, releases tell more than true stars do."""
WHO_MAY_USE_IT = (
    "The standard scheme is only for services that do not otherwise learn what people watched, "
    "bought, opened or rated: from ten items known to be rated the attribute was read with AUC "
    ".94 (MovieLens 100K), and from their number with .93."
)


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
