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
    make_plan_settings,
    prepare_first_fit,
    prepare_later_fit,
    prepare_single_fit,
)
from tacit.designs.private.refits import (
    Account,
    BudgetStatus,
    FitRequest,
    check_lifetime,
    check_plan,
    compute_budget_status,
    merge_fits,
    open_previous,
    read_earlier_fits,
)
from tacit.profile_sums.catalogue import CatalogueChoices
from tacit.profile_sums.files import fitted_from_parts, fitted_to_parts
from tacit.profile_sums.fits import FITS_IN_PROCESS, Fit, count_fit
from tacit.profile_sums.fitted_lists import FittedLists, PreparedFit, prepare_fit
from tacit.profile_sums.model import PrivateLists
from tacit.profile_sums.settings import DEFAULT_DELTA, DEFAULT_EPSILON, Mode
from tacit.recommenders.inputs import as_ratings_source


class Private(PrivateLists):
    """Personal lists from four noisy sums over people; several fits can share one epsilon.

    Args:
        epsilon: Epsilon of one fit for a person's whole profile, added or removed; inf: no privacy.
            A plan does not use it.
        delta: Probability by which any event may exceed the bound of epsilon.
        source: Names of the domains that people have rated in; None: all but the target.
        target: Names of the domains of items in lists; None: all items are one domain.
        domain: Name of the item metadata that names domains.
        features: Names of public item metadata that tastes are made of; None: genres, tags,
            categories, year and price, as far as the metadata has them; (): none.
        mode: How lists are made: "taste", from the features of items; "top-items", from weights
            between popular items; "auto" chooses by the noisy counts.
        like_at: Least rating that is a like; None: 70 % of the way up the scale.
        stars: Whether sums of stars are released as well, so that `predict` returns stars. They
            take 40 % of the fit's budget in mu^2, where the fit is mu-GDP.
        previous: The newest earlier model of the same people, or its file; its fits count in the
            total cost. None: there is none.
        lifetime: Largest epsilon that all fits of these people may cost together, at delta; None:
            the lifetime of `previous`. If it has none, the budget of the `account` that is given to
            `fit` is the limit; without an account there is no limit.
        fits: Number of fits, 2 or more, of a plan that begins with this fit. They share what is
            left of `lifetime`. None: continue the plan of `previous` or of this object; without
            one, make a single fit.
        text: Names of item metadata with public texts, of which dense features are made.
        vectors: File of public vectors of items, of which dense features are made: .parquet with a
            column "item", or .npy beside a file of ids. None: no vectors.
        consented: Ids of people who agreed not to be protected. Their likes can be read out of the
            model. The guarantee of all other people is the same with and without them.

    Attributes:
        budget_status_: What was spent on these people, and what is left.
        releases_: All fits of these people, this one last.
        lifetime_: Largest epsilon that all fits may cost together; None: no limit.

    The other attributes are those of `PrivateLists`.
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
        """The choices of items and of metadata that this object was made with."""
        vectors = None if self.vectors is None else str(self.vectors)
        return replace(super().choices, text=tuple(self.text), vectors=vectors)

    def fit(
        self, ratings: RatingsSource, y: None = None, *, account: Account | None = None
    ) -> Self:
        """Fit to the ratings of all people.

        Earlier fits of this object, and of the same ratings object in this process, are counted:
        they are in `releases_` and on the card, and their cost is part of the lifetime. An account
        is charged for those of them that its ledger does not list yet. Ratings that were read again
        are another object: give the earlier model as `previous`, or an account.

        Args:
            ratings: Ratings in memory, on disk or on a cluster; the sums are the same. A data frame
                is read as `tacit.ratings_from` reads it.
            y: Ignored; scikit-learn passes it.
            account: Budget in a ledger that pays for the fit. If the ledger already holds a fit
                with these parameters after the same earlier fits, this object gets the stored
                model, and nothing is charged. So with an account, a second call of `fit` on this
                object is a further fit only if `lifetime` is given or a plan is continued. None: no
                ledger.

        Raises:
            DataError: The ratings or the catalogue cannot be used.
            ConfigError: The parameters do not fit the ratings, or the ledger's budget.
            PrivacyError: The fit would exceed the lifetime, or the plan has no fit left: nothing
                was drawn or charged. Or the fit failed after the account was charged for it.
        """
        ratings = as_ratings_source(ratings)
        previous = None if self.previous is None else open_previous(self.previous)
        continued = self._find_fit_to_continue(previous)
        if previous is None and continued is not None:
            previous = self
        previous_fits, lifetime = read_earlier_fits(previous, self.lifetime, self.settings.delta)
        fits_of_object = getattr(self, "releases_", ())
        earlier = merge_fits(fits_of_object, previous_fits)
        # The fit follows `previous`; with a `lifetime` of its own, also this object's own fits.
        followed = previous_fits if self.lifetime is None else earlier
        prepared = self._prepare(ratings, continued, lifetime)
        if account is None:
            prepared = self._add_unknown_spending(prepared, is_first=not earlier)
            counted = FITS_IN_PROCESS.list_fits(ratings, earlier)
        else:
            earlier = FITS_IN_PROCESS.list_fits(ratings, earlier)
            counted = account.fits_before(earlier, followed)
        next_fit = self._choose_next_fit(prepared, continued, lifetime, counted)
        if account is None:
            fitted = _fit_without_account(next_fit, ratings, earlier, lifetime)
            repeated = False
        else:
            fitted, repeated = _fit_on_account(next_fit, earlier, followed, lifetime, account)
            FITS_IN_PROCESS.remember(ratings, fitted.fits)
        self._hold(fitted, prepared.catalogue)
        self.budget_status_ = compute_budget_status(
            fitted.fits,
            prepared.settings.delta,
            fitted.lifetime,
            repeated=repeated,
            planned=fitted.planned_fits,
        )
        return self

    def _prepare(
        self, ratings: RatingsSource, continued: FittedLists | None, lifetime: float | None
    ) -> PreparedFit:
        """Check everything that this fit reads, before anything is drawn.

        Args:
            ratings: Ratings of all people.
            continued: Result of the plan's previous fit; None if this fit continues no plan.
            lifetime: Largest epsilon of all fits together; None: no limit.
        """
        settings = self.settings
        if continued is not None:
            check_same_choices(settings, self.choices, continued)
            settings = continued.settings
        elif self.fits is not None:
            settings = make_plan_settings(settings, self.choices, self.fits, lifetime)
        is_planned = continued is not None or self.fits is not None
        return prepare_fit(
            ratings,
            settings,
            self.choices,
            consented=self.consented,
            features_of_consenting=not is_planned,
        )

    def _choose_next_fit(
        self,
        prepared: PreparedFit,
        continued: FittedLists | None,
        lifetime: float | None,
        counted: Sequence[Fit],
    ) -> NextFit:
        """Prepare a single fit, the first fit of a plan, or a later one.

        Args:
            prepared: Everything that the fit reads.
            continued: Result of the plan's previous fit; None if this fit continues no plan.
            lifetime: Largest epsilon of all fits together; None: no limit.
            counted: All fits of these people before this one.
        """
        if continued is not None:
            return prepare_later_fit(prepared, continued)
        if self.fits is None or lifetime is None:
            return prepare_single_fit(prepared)
        check_metadata(prepared)
        return prepare_first_fit(prepared, self.fits, lifetime, counted)

    def _find_fit_to_continue(self, previous: Private | None) -> FittedLists | None:
        """Return the result of the last fit of the plan to continue; None if none is continued.

        The plan is that of `previous`; without a `previous`, that of this object. It is not
        continued if `fits` is another number than the plan's, or if all its fits are made and
        `lifetime` is another one than the plan's.
        """
        model = self if previous is None and hasattr(self, "releases_") else previous
        if model is None or model.fitted_.plan is None:
            return None
        fitted = model.fitted_
        if self.fits not in (None, model.fitted_.plan.plan.fits):
            return None
        has_new_lifetime = self.lifetime not in (None, fitted.lifetime)
        if has_new_lifetime and not fitted.planned_fits:
            return None
        return fitted

    def _hold(self, fitted: FittedLists, people: Any) -> None:
        """Set the fitted attributes; the arguments are those of `PrivateLists._hold`."""
        super()._hold(fitted, people)
        self.releases_ = fitted.fits
        self.lifetime_ = fitted.lifetime

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Make the model of a model file from the file's header and arrays.

        Raises:
            ValueError or another of `errors.UNUSABLE_CONTENT`: The parts do not fit together.
        """
        model = super().from_parts(header, arrays)
        model.lifetime = model.lifetime_
        model.text = model.fitted_.choices.text
        model.vectors = model.fitted_.choices.vectors
        return model


def _fit_without_account(
    next_fit: NextFit, ratings: RatingsSource, earlier: Sequence[Fit], lifetime: float | None
) -> FittedLists:
    """Make a fit that no ledger pays for, and count it among the fits of this process.

    Args:
        next_fit: The fit.
        ratings: Ratings of all people.
        earlier: Earlier fits of these people that the recommender itself knows of.
        lifetime: Largest epsilon of all fits together; None: no limit.

    Raises:
        PrivacyError: The fit would exceed the lifetime, or the plan has no fit left; nothing was
            drawn.
    """

    def check(fits: tuple[Fit, ...]) -> None:
        """Raise PrivacyError if the new fit may not be made after these fits."""
        if next_fit.plan is not None:
            check_plan(fits, next_fit.plan)
        check_lifetime(fits, next_fit.new_fit, next_fit.prepared.settings.delta, lifetime)

    fits = count_fit(ratings, next_fit.new_fit, earlier, check)
    return next_fit.make(fits, lifetime)


def _fit_on_account(
    next_fit: NextFit,
    earlier: Sequence[Fit],
    followed: Sequence[Fit],
    lifetime: float | None,
    account: Account,
) -> tuple[FittedLists, bool]:
    """Make a fit that a ledger pays for: charge, noise and model file are one transaction.

    Args:
        next_fit: The fit.
        earlier: All earlier fits of these people that this process knows of; the ledger is charged
            for those that it does not list yet.
        followed: Fits of the model that the new fit follows. The ledger recognises a repeated
            request by them.
        lifetime: Largest epsilon of all fits together; None: that of the ledger's open budget.
        account: Budget that pays.

    Returns:
        The result of the fit, and whether the ledger already held it.
    """
    delta = next_fit.prepared.settings.delta
    account_lifetime, _ = account.lifetime(lifetime, delta)

    def fit_to_file(fits: tuple[Fit, ...]) -> bytes:
        """Draw the noise and return the model file. fits: all fits, the new one last."""
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
