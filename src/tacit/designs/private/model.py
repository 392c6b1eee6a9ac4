"""A private recommender for one file of ratings or events, within one domain or across two."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from tacit import container
from tacit.data.stored_ratings import RatingsSource
from tacit.designs.private.next_fit import (
    NextFit,
    check_metadata,
    check_same_choices,
    first_fit,
    later_fit,
    settings_of_plan,
    single_fit,
)
from tacit.designs.private.refits import (
    Account,
    BudgetStatus,
    FitRequest,
    check_lifetime,
    check_plan,
    compute_budget_status,
    earlier_fits,
    merge_fits,
    open_previous,
)
from tacit.profile_sums.catalogue import CatalogueChoices
from tacit.profile_sums.files import fitted_from_parts, fitted_to_parts
from tacit.profile_sums.fits import FITS_IN_PROCESS, Fit, count_fit
from tacit.profile_sums.fitted_lists import FittedLists, PreparedFit, prepare_fit
from tacit.profile_sums.model import PrivateLists
from tacit.profile_sums.settings import DEFAULT_DELTA, DEFAULT_EPSILON, Mode
from tacit.recommenders.inputs import as_ratings_source


class Private(PrivateLists):
    """Lists from four noisy sums over people, also of several fits under one lifetime.

    Args:
        epsilon: For a person's whole profile, added or removed; inf: no privacy.
        delta: Probability that the bound of epsilon fails.
        source: Names of the domains that people have rated in; None: all but the target.
        target: Names of the domains of items in lists; None: all items are one domain.
        domain: Name of the item metadata that names domains.
        features: Names of public item metadata that tastes are made of; None: genres, tags,
            categories, year, price where there are any; (): none.
        mode: "auto": by the noisy counts; "taste"; "top-items".
        like_at: Least rating that is a like; None: 70 % of the way up the scale.
        stars: Whether to release stars, too, with 40 % of mu^2, for `predict`.
        previous: The newest earlier model of the same people, or its file: costs add up.
        lifetime: Epsilon of all fits together, at delta; None: that of `previous`, if any.
        fits: Begin a plan of so many fits, which share what is left of `lifetime` (`epsilon` is not
            used); None: continue the plan of `previous`, or fit once.
        text: Names of item metadata with public texts, of which dense features are made.
        vectors: File of public vectors of items: .parquet with a column "item", or .npy beside a
            file of ids.
        consented: Ids of people who agreed not to be protected. Their likes can be read out of the
            model; everybody else's claim is as without them.

    Attributes:
        budget_status_: What was spent on these people, and what is left.
        releases_: All fits of these people, this one last.
        lifetime_: Epsilon that all fits may cost together; None without a limit.

    The others are those of `PrivateLists`.
    """

    people_parameters = frozenset(("consented",))
    budget_status_: BudgetStatus
    releases_: tuple[Fit, ...]
    lifetime_: float | None

    def __init__(
        self,
        epsilon: float = DEFAULT_EPSILON,
        delta: float = DEFAULT_DELTA,
        *,
        source: str | Sequence[str] | None = None,
        target: str | Sequence[str] | None = None,
        domain: str = "domain",
        features: Sequence[str] | None = None,
        mode: Mode = "auto",
        like_at: float | None = None,
        stars: bool = False,
        previous: Private | str | Path | None = None,
        lifetime: float | None = None,
        fits: int | None = None,
        text: Sequence[str] = (),
        vectors: str | Path | None = None,
        consented: Collection[Any] = (),
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            source=source,
            target=target,
            domain=domain,
            features=features,
            mode=mode,
            like_at=like_at,
            stars=stars,
        )
        self.previous = previous
        self.lifetime = lifetime
        self.fits = fits
        self.text = text
        self.vectors = vectors
        self.consented = consented

    @property
    def choices(self) -> CatalogueChoices:
        """Choices of items and metadata from the catalogue."""
        vectors = None if self.vectors is None else str(self.vectors)
        return replace(super().choices, text=tuple(self.text), vectors=vectors)

    def fit(
        self, ratings: RatingsSource, y: None = None, *, account: Account | None = None
    ) -> Self:
        """Learn from everybody.

        Earlier fits of this object and of equal ratings in this process count: they are in
        `releases_`, on the card and in the lifetime, and an account is charged for those that its
        ledger does not know.

        Args:
            ratings: In memory, in buckets on disk or on a cluster; the sums are the same. A
                data frame is read as `tacit.ratings_from` reads it.
            y: Not used, as scikit-learn has it.
            account: A ledger's budget that pays; `budget_status_` says what is left.

        Raises:
            DataError: the ratings or the catalogue cannot be used.
            ConfigError: the parameters do not fit them.
            PrivacyError: the lifetime of all fits would be passed; nothing was drawn.
        """
        ratings = as_ratings_source(ratings)
        previous = None if self.previous is None else open_previous(self.previous)
        continued = self._plan_to_continue(previous)
        if previous is None and continued is not None:
            previous = self
        earlier, lifetime = earlier_fits(previous, self.lifetime, self.settings.delta)
        own = getattr(self, "releases_", ())  # this object's own fits count, too
        followed = earlier if self.lifetime is None else merge_fits(own, earlier)
        earlier = merge_fits(own, earlier)
        prepared = self._prepare(ratings, continued, lifetime)
        if account is None:
            prepared = self._state_spending(prepared, is_first=not earlier)
            charged = FITS_IN_PROCESS.list_fits(ratings, earlier)
        else:
            earlier = FITS_IN_PROCESS.list_fits(ratings, earlier)
            charged = account.fits_before(earlier, followed)
        next_fit = self._choose_next_fit(prepared, continued, lifetime, charged)
        delta = prepared.settings.delta
        if account is None:

            def check(fits: tuple[Fit, ...]) -> None:
                """Raise PrivacyError where one more fit after these is not allowed."""
                if next_fit.plan is not None:
                    check_plan(fits, next_fit.plan)
                check_lifetime(fits, next_fit.new_fit, delta, lifetime)

            fits = count_fit(ratings, next_fit.new_fit, earlier, check)
            fitted = next_fit.make(fits, lifetime)
            repeated = False
        else:
            fitted, repeated = _fit_on_account(next_fit, earlier, followed, lifetime, account)
            FITS_IN_PROCESS.remember(ratings, fitted.fits)
        self._hold(fitted, prepared.catalogue)
        self.budget_status_ = compute_budget_status(
            fitted.fits,
            delta,
            fitted.lifetime,
            repeated=repeated,
            planned=fitted.planned_fits,
        )
        return self

    def _prepare(
        self, ratings: RatingsSource, continued: FittedLists | None, lifetime: float | None
    ) -> PreparedFit:
        """Check everything that this fit reads. continued: the fit of the same plan before it."""
        settings = self.settings
        if continued is not None:
            check_same_choices(settings, self.choices, continued)
            settings = continued.settings
        elif self.fits is not None:
            settings = settings_of_plan(settings, self.choices, self.fits, lifetime)
        is_planned = continued is not None or self.fits is not None
        return prepare_fit(
            ratings,
            settings,
            self.choices,
            consented=self.consented,
            consented_in_features=not is_planned,
        )

    def _choose_next_fit(
        self,
        prepared: PreparedFit,
        continued: FittedLists | None,
        lifetime: float | None,
        charged: Sequence[Fit],
    ) -> NextFit:
        """Choose between a fit by itself and one of a plan. charged: all fits before it."""
        if continued is not None:
            return later_fit(prepared, continued)
        if self.fits is None or lifetime is None:
            return single_fit(prepared)
        check_metadata(prepared)
        return first_fit(prepared, self.fits, lifetime, charged)

    def _plan_to_continue(self, previous: Private | None) -> FittedLists | None:
        """Find the last fit of the plan that this fit continues; None if it begins anew.

        That is the plan of `previous`, or else of this object, unless another number of `fits` is
        asked for, or its fits are all made and another `lifetime` is asked for.
        """
        model = self if previous is None and hasattr(self, "releases_") else previous
        if model is None or model.fitted_.plan is None:
            return None
        fitted = model.fitted_
        plan = model.fitted_.plan.plan
        is_over = not fitted.planned_fits and self.lifetime not in (None, fitted.lifetime)
        return fitted if self.fits in (None, plan.fits) and not is_over else None

    def _hold(self, fitted: FittedLists, people: Any) -> None:
        super()._hold(fitted, people)
        self.releases_ = fitted.fits
        self.lifetime_ = fitted.lifetime

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Make the model of a checked file from its header and arrays, each of the shape it names.

        Raises:
            ValueError: The parts do not fit together.
        """
        model = super().from_parts(header, arrays)
        model.lifetime = model.lifetime_
        model.text = model.fitted_.choices.text
        model.vectors = model.fitted_.choices.vectors
        return model


def _fit_on_account(
    next_fit: NextFit,
    earlier: Sequence[Fit],
    followed: Sequence[Fit],
    lifetime: float | None,
    account: Account,
) -> tuple[FittedLists, bool]:
    """Fit where a ledger pays: charge, noise and model file are one transaction.

    Args:
        next_fit: The fit.
        earlier: All fits of these people that are known here; the ledger is charged for those
            that it does not know.
        followed: Fits of the model that this one goes on from: the same request again follows
            the same ones.
        lifetime: Epsilon of all fits together; None: that of the ledger's open budget.
        account: Pays.

    Returns:
        What the fit left, and whether it had been made before.
    """
    delta = next_fit.prepared.settings.delta
    account_lifetime, _ = account.lifetime(lifetime, delta)

    def fit_to_file(fits: tuple[Fit, ...]) -> bytes:
        return container.pack(*fitted_to_parts(next_fit.make(fits, account_lifetime)))

    request = FitRequest(
        new_fit=next_fit.new_fit,
        delta=delta,
        earlier=tuple(earlier),
        followed=tuple(followed),
        lifetime=lifetime,
        plan=next_fit.plan,
        parameters=next_fit.parameters,
    )
    file, repeated = account.release(request, fit_to_file)
    return fitted_from_parts(*container.unpack(file)), repeated
