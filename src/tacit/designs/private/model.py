"""A private recommender for one file of ratings or events, within one domain or across two."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from tacit import container
from tacit.data.stored_ratings import RatingsSource
from tacit.designs.private.refits import (
    Account,
    BudgetStatus,
    FitRequest,
    check_lifetime,
    compute_budget_status,
    earlier_fits,
    merge_fits,
)
from tacit.profile_sums.files import (
    choices_to_header,
    fitted_from_parts,
    fitted_to_parts,
    settings_to_header,
)
from tacit.profile_sums.fits import FITS_IN_PROCESS, Fit, count_fit
from tacit.profile_sums.fitted_lists import FittedLists, PreparedFit, fit_lists, prepare_fit
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
        mode: "auto": by the noisy number of people; "taste"; "top-items".
        like_at: Least rating that is a like; None: 70 % of the way up the scale.
        stars: Whether to release stars, too, with 40 % of mu^2, for `predict`.
        previous: The newest earlier model of the same people, or its file: costs add up.
        lifetime: Epsilon of all fits together, at delta; None: that of `previous`, if any.

    Attributes:
        budget_status_: What was spent on these people, and what is left.
        releases_: All fits of these people, this one last.
        lifetime_: Epsilon that all fits may cost together; None without a limit.

    The others are those of `PrivateLists`.
    """

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

    def fit(
        self, ratings: RatingsSource, y: None = None, *, account: Account | None = None
    ) -> Self:
        """Learn from everybody.

        Without an account, earlier fits of this object and of equal ratings in this process count:
        they are in `releases_`, on the card and in the lifetime.

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
        prepared = prepare_fit(ratings, self.settings, self.choices)
        settings = prepared.settings
        earlier, lifetime = earlier_fits(self.previous, self.lifetime, settings.delta)
        if account is None:
            own = getattr(self, "releases_", ())  # this object's own fits count, too
            is_first = not (own or earlier)
            prepared = self._state_spending(prepared, is_first=is_first)
            fits = count_fit(
                ratings,
                Fit.with_random_name(settings, prepared.assumed_public),
                merge_fits(own, earlier),
                check=partial(check_lifetime, settings=settings, lifetime=lifetime),
            )
            fitted, repeated = fit_lists(prepared, fits, lifetime), False
        else:
            if self.lifetime is not None and hasattr(self, "releases_"):
                earlier = merge_fits(self.releases_, earlier)
            fitted, repeated = _fit_on_account(prepared, earlier, lifetime, account)
            FITS_IN_PROCESS.remember(ratings, fitted.fits)
        self._hold(fitted, prepared.catalogue)
        self.budget_status_ = compute_budget_status(
            fitted.fits, settings.delta, fitted.lifetime, repeated=repeated
        )
        return self

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
        return model


def _fit_on_account(
    prepared: PreparedFit,
    earlier: Sequence[Fit],
    lifetime: float | None,
    account: Account,
) -> tuple[FittedLists, bool]:
    """Fit where a ledger pays: charge, noise and model file are one transaction.

    Returns:
        What the fit left, and whether it had been made before.
    """
    settings = prepared.settings
    account_lifetime, _ = account.lifetime(lifetime, settings.delta)

    def fit_to_file(fits: tuple[Fit, ...]) -> bytes:
        return container.pack(*fitted_to_parts(fit_lists(prepared, fits, account_lifetime)))

    request = FitRequest(
        settings=settings,
        earlier=tuple(earlier),
        lifetime=lifetime,
        assumed_public=prepared.assumed_public,
        parameters=settings_to_header(settings) | choices_to_header(prepared.choices),
    )
    file, repeated = account.release(request, fit_to_file)
    return fitted_from_parts(*container.unpack(file)), repeated
