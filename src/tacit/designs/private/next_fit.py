"""A fit before it is made: one by itself, the first of a plan, or a later one of it."""

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
    """What it reads."""
    new_fit: Fit
    """It, as a fact."""
    plan: FitPlan | None = None
    """The plan that it is of; None: of none."""
    continued: FittedLists | None = None
    """The fit of the same plan before it; None: it is the first."""
    continuation: Continuation | None = None
    """The plan as this fit goes on with it; None: it is the first."""

    def make(self, fits: tuple[Fit, ...], lifetime: float | None) -> FittedLists:
        """Draw its sums. fits: all fits of these people, this one last."""
        if self.continued is not None and self.continuation is not None:
            return continue_plan(self.prepared, self.continued, self.continuation, fits, lifetime)
        if self.plan is not None:
            assert lifetime is not None  # a plan was made from it
            return begin_plan(self.prepared, self.plan, fits, lifetime)
        return fit_lists(self.prepared, fits, lifetime)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON values of all that it depends on, without the ratings."""
        prepared = self.prepared
        values = settings_to_header(prepared.settings) | choices_to_header(prepared.choices)
        if prepared.consented:
            values["consented"] = list(prepared.consented)
        if self.plan is None:
            return values
        if self.continued is not None:
            return values | {"continues": self.plan.name}
        return values | {"fits": self.plan.fits}


def single_fit(prepared: PreparedFit) -> NextFit:
    """A fit of no plan."""
    noises = noise_multipliers(prepared.settings)
    return NextFit(prepared, Fit.of_noises(noises, prepared.assumed_public))


def first_fit(prepared: PreparedFit, fits: int, lifetime: float, earlier: Sequence[Fit]) -> NextFit:
    """Prepare the first fit of a plan; it spends all that earlier fits left of the lifetime."""
    plan = make_plan(fits, lifetime, prepared.settings, earlier)
    new_fit = Fit.of_noises(plan.noises(1), prepared.assumed_public, plan.name)
    return NextFit(prepared, new_fit, plan)


def later_fit(prepared: PreparedFit, continued: FittedLists) -> NextFit:
    """Prepare the fit that goes on with the plan of an earlier one.

    Raises:
        ConfigError: the catalogue does not fit the plan.
    """
    assert continued.plan is not None  # the caller continues a plan
    plan = continued.plan.plan
    new_fit = Fit.of_noises(plan.noises(2), prepared.assumed_public, plan.name)
    return NextFit(prepared, new_fit, plan, continued, prepare_continuation(prepared, continued))


def settings_of_plan(
    settings: Settings, choices: CatalogueChoices, fits: int, lifetime: float | None
) -> Settings:
    """Settings of a plan's fits: its epsilon is the lifetime.

    Raises:
        ConfigError: there is no lifetime, or the settings have no place in a plan.
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
    """Raise ConfigError where a later fit of a plan asks for other choices than the first had."""
    same_settings = replace(settings, epsilon=continued.settings.epsilon) == continued.settings
    if not same_settings or choices != continued.choices:
        raise ConfigError(
            "A plan's fits have the options of its first one, but for epsilon, which the plan "
            "shares out: give the same ones, or begin another plan with another number of --fits."
        )


def check_metadata(prepared: PreparedFit) -> None:
    """Raise ConfigError where a plan would need top items."""
    if prepared.features is None:
        raise ConfigError(
            "A plan needs item metadata of two features or more: without, lists come from top "
            "items, whose sums cannot be added up. Give --items, or fit without --fits."
        )
