"""A fit before it is made: a single fit, the first fit of a plan, or a later fit of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.errors import ConfigError
from tacit.profile_sums.catalogue import CatalogueChoices
from tacit.profile_sums.events import noise_multipliers
from tacit.profile_sums.files import choices_to_header, settings_to_header
from tacit.profile_sums.fit_plan import MOST_FITS, FitPlan, make_plan
from tacit.profile_sums.fits import Fit
from tacit.profile_sums.fitted_lists import (
    Continuation,
    FittedLists,
    PreparedFit,
    begin_plan,
    continue_plan,
    fit_lists,
    prepare_continuation,
)
from tacit.profile_sums.settings import Settings


@dataclass(frozen=True)
class NextFit:
    """A fit that is about to be charged and made."""

    prepared: PreparedFit
    """Everything that the fit reads, checked."""
    new_fit: Fit
    """The record of the fit: its name and the noise multipliers of its sums."""
    plan: FitPlan | None = None
    """The plan that the fit belongs to; None for a single fit."""
    continued: FittedLists | None = None
    """Result of the plan's previous fit; None for a single fit and for the first fit of a plan."""
    continuation: Continuation | None = None
    """State of the plan, extended by new items, that this fit adds its sums to; None like
    `continued`."""

    def make(self, fits: tuple[Fit, ...], lifetime: float | None) -> FittedLists:
        """Draw the sums of this fit, and compute the lists from them.

        Args:
            fits: All fits of these people, this one last.
            lifetime: Largest epsilon of all fits together; None: no limit. A plan has one.
        """
        if self.continued is not None and self.continuation is not None:
            return continue_plan(self.prepared, self.continued, self.continuation, fits, lifetime)
        if self.plan is not None:
            assert lifetime is not None  # `prepare_first_fit` made the plan from it
            return begin_plan(self.prepared, self.plan, fits, lifetime)
        return fit_lists(self.prepared, fits, lifetime)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Everything that the result depends on, except for the ratings, as JSON values."""
        prepared = self.prepared
        values = settings_to_header(prepared.settings) | choices_to_header(prepared.choices)
        if prepared.consented:
            values["consented"] = list(prepared.consented)
        if self.plan is None:
            return values
        # A plan's name is random, so the first fit is identified by the number of fits instead.
        if self.continued is not None:
            return values | {"continues": self.plan.name}
        return values | {"fits": self.plan.fits}


def prepare_single_fit(prepared: PreparedFit) -> NextFit:
    """Prepare a fit that belongs to no plan."""
    noises = noise_multipliers(prepared.settings)
    return NextFit(prepared, Fit.of_noises(noises, prepared.assumed_public))


def prepare_first_fit(
    prepared: PreparedFit, fits: int, lifetime: float, earlier: Sequence[Fit]
) -> NextFit:
    """Make a plan that shares what earlier fits left of the lifetime, and prepare its first fit.

    Args:
        prepared: Everything that the fit reads.
        fits: Number of fits of the plan.
        lifetime: Largest epsilon of all fits of these people together.
        earlier: Fits of these people before the plan.

    Raises:
        PrivacyError: Earlier fits left too little.
    """
    plan = make_plan(fits, lifetime, prepared.settings, earlier)
    new_fit = Fit.of_noises(plan.noises(1), prepared.assumed_public, plan.name)
    return NextFit(prepared, new_fit, plan)


def prepare_later_fit(prepared: PreparedFit, continued: FittedLists) -> NextFit:
    """Prepare the next fit of a plan. continued: the result of the plan's previous fit.

    Raises:
        ConfigError: The catalogue does not fit the plan.
    """
    assert continued.plan is not None  # the caller continues a plan
    plan = continued.plan.plan
    noises = plan.noises(2)  # fit 2 and all fits after it have the same noise
    new_fit = Fit.of_noises(noises, prepared.assumed_public, plan.name)
    return NextFit(prepared, new_fit, plan, continued, prepare_continuation(prepared, continued))


def make_plan_settings(
    settings: Settings, choices: CatalogueChoices, fits: int, lifetime: float | None
) -> Settings:
    """Check the choices of a plan, and return them with the lifetime as their epsilon.

    Args:
        settings: Choices of each fit; their epsilon is not used.
        choices: Choices of items and metadata.
        fits: Number of fits of the plan.
        lifetime: Largest epsilon of all fits together; None is refused.

    Raises:
        ConfigError: `fits` is no number from 2 to `MOST_FITS`, there is no lifetime, or a plan
            cannot have one of these choices.
    """
    if isinstance(fits, bool) or not isinstance(fits, int) or not 2 <= fits <= MOST_FITS:
        raise ConfigError(f"A plan has 2 to {MOST_FITS:,} fits; got fits={fits!r}.")
    if lifetime is None:
        raise ConfigError("A plan's fits share a lifetime: give --lifetime (Python: lifetime=...).")
    if settings.stars or settings.mode == "top-items":
        raise ConfigError("A plan has neither stars nor top items: leave them out.")
    if choices.has_dense_features:
        raise ConfigError(
            "A plan's features are columns of metadata, which new items have as well: leave out "
            "--text and --vectors."
        )
    return replace(settings, epsilon=lifetime)


def check_same_choices(
    settings: Settings, choices: CatalogueChoices, continued: FittedLists
) -> None:
    """Raise ConfigError if a later fit of a plan has other choices than the fits before it.

    Args:
        settings: Choices of the later fit; their epsilon is not compared.
        choices: Its choices of items and metadata.
        continued: Result of the plan's previous fit.
    """
    same_settings = replace(settings, epsilon=continued.settings.epsilon) == continued.settings
    if not same_settings or choices != continued.choices:
        raise ConfigError(
            "A plan's fits have the options of its first one, except for epsilon, which the "
            "plan divides among them: give the same options, or begin another plan with another "
            "number of --fits."
        )


def check_metadata(prepared: PreparedFit) -> None:
    """Raise ConfigError if item metadata give too few features for a plan."""
    if prepared.features is None:
        raise ConfigError(
            "A plan needs item metadata of two features or more: without them, lists come from "
            "top items, whose sums cannot be added up. Give --items, or fit without --fits."
        )
