"""Settings of a model of the standard scheme, checked when they are made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tacit.data.ratings import RatingScale
from tacit.designs.standard_scheme.disclosure import MOST_LEVELS, RELEASES, Rule
from tacit.designs.standard_scheme.messages import DAY, WEEK
from tacit.designs.standard_scheme.training.attributes import Edges, check_edges
from tacit.designs.standard_scheme.training.profiles import PROFILE_KINDS, ProfileKind
from tacit.errors import ConfigError, PrivacyError

Variant = Literal["sound", "published"]

MOST_WHOLE_LEVELS = 10_000
"""Largest number of levels of a scale with steps: a model holds a weight for each level."""

LEAST_EPSILON = 16
"""Smallest epsilon of a private disclosure. With less, releases may reveal the attribute better
than true stars do, because devices subtract offsets from stars, and so also the offsets' noise."""
CONDITION_OF_USE = (
    "The standard scheme is only for services that do not otherwise learn what people watched, "
    "bought, opened or rated: from ten items known to be rated the attribute was read with AUC "
    ".94 (MovieLens 100K), and from how many items a person rated with .93."
)
"""Sentence for errors: which services may use the scheme, and why."""
KNOWN_NAMES = {
    "variant": ("sound", "published"),
    "release": tuple(RELEASES),
    "profiles": PROFILE_KINDS,
}
"""For each of these settings, the names that it can have."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a model. The fields are documented in `StandardScheme`.

    Raises:
        ConfigError: A setting has an unknown name or a number out of range, or two settings
            contradict each other.
        PrivacyError: The settings would reveal the attribute.
    """

    attributes: tuple[str, ...] = ("gender",)
    variant: Variant = "sound"
    release: str = "scheme+selection+rounding"
    profiles: ProfileKind = "latent"
    factors: int = 20
    disclosure_epsilon: float = math.inf
    contributions: int = 50
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    edges: Mapping[str, Edges] = field(default_factory=dict)
    service_sees_items: bool | None = None
    item_table: bool = False
    epoch_length: int = WEEK
    aliases: Mapping[Any, Any] = field(default_factory=dict)
    random_state: int = 0

    def __post_init__(self) -> None:
        """Check all settings, as the class says."""
        check_names(variant=self.variant, release=self.release, profiles=self.profiles)
        self._check_attributes()
        self._check_numbers()
        self._check_private_disclosure()
        if not self.is_published and RELEASES[self.release].transform == "none":
            raise PrivacyError(
                f"'{self.release}' sends true stars. Use 'scheme+selection+rounding', or "
                "variant='published' to measure what true stars give away."
            )

    @property
    def is_published(self) -> bool:
        """Whether the model is the paper's, as printed."""
        return self.variant == "published"

    @property
    def has_private_disclosure(self) -> bool:
        """Whether the public tables have an epsilon for the consenting people."""
        return not math.isinf(self.disclosure_epsilon)

    def _check_attributes(self) -> None:
        """Raise ConfigError for wrong attributes, or for wrong public values or edges of them.

        At least one attribute is hidden, and each is named once. Values, two or more and each named
        once, or edges can be given for a hidden attribute only, and not both for the same one.
        """
        names = self.attributes
        if not names or len(set(names)) < len(names):
            raise ConfigError("Name at least one attribute to hide, each once.")
        for name, values in self.values.items():
            if name not in names or not len(values) == len(set(values)) > 1:
                raise ConfigError(
                    "values lists two or more different values of a hidden attribute, each once, "
                    f"such as gender=F,M; got {dict(self.values)}."
                )
        for name, edges in self.edges.items():
            check_edges(name, edges)
            if name not in names or name in self.values:
                raise ConfigError(
                    "edges are for hidden attributes with numbers, for which values are not "
                    f"listed; got '{name}', and attributes {', '.join(names)}."
                )

    def _check_numbers(self) -> None:
        """Raise ConfigError for a number out of its range."""
        if self.epoch_length < DAY:
            raise ConfigError(f"An epoch is {DAY} seconds long or more; got {self.epoch_length}.")
        has_epsilon = self.disclosure_epsilon > 0  # false for NaN
        if self.factors < 1 or self.contributions < 1 or not has_epsilon:
            raise ConfigError(
                "factors and contributions must be 1 or more, and disclosure_epsilon above 0; got "
                f"{self.factors}, {self.contributions} and {self.disclosure_epsilon}."
            )

    def _check_private_disclosure(self) -> None:
        """Check the settings of a private disclosure; nothing is checked for an exact one.

        Raises:
            ConfigError: It is combined with the published variant, several attributes or an item
                table.
            PrivacyError: Its epsilon is below LEAST_EPSILON.
        """
        if not self.has_private_disclosure:
            return
        if self.is_published or len(self.attributes) > 1:
            raise ConfigError("A private disclosure needs the sound variant and one attribute.")
        if self.item_table:
            raise ConfigError(
                "An item table has no epsilon: publish it without disclosure_epsilon, of people "
                "who agreed to it, or leave item_table out."
            )
        if self.disclosure_epsilon < LEAST_EPSILON:
            raise PrivacyError(
                f"A disclosure_epsilon below {LEAST_EPSILON} is refused: on 6,040 people of "
                "MovieLens 1M an attacker of releases reached AUC .886 at epsilon 1, where true "
                "stars give .863, because the public noise is subtracted with the value's sign. "
                "Use exact tables of people who agreed to them."
            )

    def check_service(self) -> None:
        """Check that `service_sees_items` is False, which the sound variant needs.

        Raises:
            PrivacyError: The variant is sound, and `service_sees_items` is True or None.
        """
        if not self.is_published and self.service_sees_items is not False:
            raise PrivacyError(
                f"{CONDITION_OF_USE} Say service_sees_items=False (--service-sees-items no) if "
                "your service does not."
            )

    def rule_on(self, scale: RatingScale) -> Rule:
        """Return the rule that devices follow with stars on this scale.

        Raises:
            ConfigError: The release needs whole stars and the scale is continuous, or the scale has
                more than MOST_WHOLE_LEVELS levels.
            PrivacyError: The release would reveal the attribute.
        """
        rule = RELEASES[self.release]
        if scale.levels > MOST_WHOLE_LEVELS:
            raise ConfigError(
                f"The scale {scale} has {scale.levels} levels; a model has at most "
                f"{MOST_WHOLE_LEVELS:,}. Declare a continuous scale or a larger step."
            )
        if not scale.discrete and rule.transform == "coupling":
            raise ConfigError(
                f"'{self.release}' needs a scale of whole stars; this one is {scale}. "
                "Use 'scheme+selection+rounding', which rounds to quarters of the scale."
            )
        if self.is_published or rule.transform != "scheme":
            return rule
        if not rule.rounding:
            raise PrivacyError(
                f"'{self.release}' reveals the attribute exactly: people give stars of a digit or "
                "two, and of the released value plus and minus the public offset only the true "
                "star has so few digits. Use 'scheme+selection+rounding', or variant='published' "
                "to reproduce the leak."
            )
        if scale.levels > MOST_LEVELS:
            raise PrivacyError(
                f"The scale {scale} has {scale.levels} levels. With more than {MOST_LEVELS}, "
                "people give round numbers, and a released star beside one shows the attribute. "
                f"Bring the stars to at most {MOST_LEVELS} levels first."
            )
        return rule


def check_names(**chosen_names: str) -> None:
    """Raise ConfigError for a name that is not in KNOWN_NAMES.

    Args:
        chosen_names: The name that was chosen for each of `variant`, `release` and `profiles`.
    """
    for setting, name in chosen_names.items():
        known_names = KNOWN_NAMES[setting]
        if name not in known_names:
            raise ConfigError(f"No {setting} '{name}'. Known: {', '.join(known_names)}.")
