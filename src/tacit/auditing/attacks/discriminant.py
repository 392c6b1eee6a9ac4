"""The attack that knows the linear model: linear discriminant analysis in closed form.

Source   the patent names the method in words only; the formulas are derived here.

Model    r_i = m_i + <v_i, x> + x0 g_i + z_i on the rated items only, with x0 in {+1, -1} the
         attribute, P(x0 = +1) = pi, taste x ~ N(0, tau^2 I) in R^d, noise z_i ~ N(0, sigma^2), all
         independent. m_i lies halfway between the two groups' means of item i, g_i is half their
         gap. A mean taste other than 0 is part of m.

Score    Stack the profiles of one person's M rated items in V (M, d), and let e = r - m. Given x0,
         e ~ N(x0 g, C) with C = tau^2 V V' + sigma^2 I, so the log odds of x0 = +1 are
             LLR = ln(pi/(1 - pi)) - (e - g)' C^-1 (e - g) / 2 + (e + g)' C^-1 (e + g) / 2
                 = ln(pi/(1 - pi)) + 2 g' C^-1 e,
         where the determinants of C and the terms without g cancel.

Identity Let kappa = sigma^2 / tau^2 and p = (V'V + kappa I)^-1 V'e, the ridge solution. Then
             C (e - V p) = tau^2 V V'e + sigma^2 e - tau^2 V (V'V) p - sigma^2 V p
                         = sigma^2 e + tau^2 V [V'e - (V'V + kappa I) p] = sigma^2 e,
         for the bracket is 0. So C^-1 e = (e - V p) / sigma^2, and
             LLR = ln(pi/(1 - pi)) + (2 / sigma^2) sum_i g_i (e_i - <v_i, p>):
         one d x d solve per person in place of an M x M one, batched in `tacit.engine.ridge`.

The attack sees which items were rated only through the sum: it reads *how* people rate. Of the
noise, sigma^2 sets how sure it is and kappa alone how it ranks people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy import sparse

from tacit.auditing.attacks.base import (
    Floats,
    Labels,
    check_ratings,
    check_training,
    not_fitted,
)
from tacit.auditing.attacks.group_gaps import group_gaps
from tacit.auditing.attacks.variances import Variances, estimate_variances
from tacit.engine.ridge import alternating_ridge, fitted, solve

PSEUDO_RATINGS = 5
"""An item's mean is pulled to the global mean as if so many ratings had been exactly that."""


@dataclass(frozen=True, slots=True)
class LinearModel:
    """What the score needs: all in stars, items as rows."""

    prior_odds: float  # ln(pi / (1 - pi))
    centres: Floats  # (n_items,) m
    gaps: Floats  # (n_items,) g
    profiles: Floats  # (n_items, d) V
    variances: Variances

    def log_odds(self, ratings: sparse.csr_array) -> Floats:
        """(n_users,) LLR by the identity of this module's text."""
        errors = _with_data(ratings, ratings.data - self.centres[ratings.indices])
        tastes = solve(errors, self.profiles, self.variances.kappa)
        unexplained = errors.data - fitted(errors, tastes, self.profiles)
        explained_by_group = _with_data(ratings, unexplained * self.gaps[ratings.indices])
        sums: Floats = explained_by_group @ np.ones(ratings.shape[1])
        return self.prior_odds + 2.0 / self.variances.noise * sums


class LinearDiscriminant:
    """The log odds of the linear model, everything in it estimated from the training people.

    factors: d. penalty: of the factorization, for residuals of standard deviation 1 (with profiles
    and tastes both penalised, it scales like a residual, not like its square).
    """

    name: ClassVar[str] = "lda"

    def __init__(
        self, *, factors: int = 20, penalty: float = 10.0, sweeps: int = 10, seed: int = 0
    ) -> None:
        self.factors = factors
        self.penalty = penalty
        self.sweeps = sweeps
        self.seed = seed
        self.model: LinearModel | None = None

    def fit(self, ratings: sparse.csr_array, labels: Labels) -> Self:
        told = check_training(ratings, labels)
        signs = 2.0 * told - 1.0
        gaps = group_gaps(ratings, told, seed=self.seed) / 2
        by_group = np.repeat(signs, np.diff(ratings.indptr)) * gaps[ratings.indices]
        without_group = _with_data(ratings, ratings.data - by_group)
        centres = _item_means(without_group)
        residuals = _with_data(ratings, without_group.data - centres[ratings.indices])
        profiles, variances = self._taste(residuals)
        odds = float(np.log(told.sum() / (len(told) - told.sum())))
        self.model = LinearModel(odds, centres, gaps, profiles, variances)
        return self

    def score(self, ratings: sparse.csr_array) -> Floats:
        """Log odds of 1."""
        if self.model is None:
            raise not_fitted(self.name)
        check_ratings(ratings, len(self.model.centres))
        return self.model.log_odds(ratings)

    def _taste(self, residuals: sparse.csr_array) -> tuple[Floats, Variances]:
        """Profiles from nine people in ten, variances from the tenth.

        On the people it was fitted to, a factorization explains noise too: the noise left over
        would come out too small.
        """
        spread = float(np.sqrt(np.mean(residuals.data**2))) if residuals.nnz else 0.0
        if spread < 1e-9:  # every rating is its item's mean: there is no taste to find
            return np.zeros((residuals.shape[1], self.factors)), Variances(1.0, 1.0)
        order = np.random.default_rng(self.seed).permutation(residuals.shape[0])
        aside = order[: max(1, len(order) // 10)]
        _, profiles = alternating_ridge(
            residuals[np.sort(order[len(aside) :])],
            factors=self.factors,
            penalty=self.penalty * spread,
            sweeps=self.sweeps,
            seed=self.seed,
        )
        return profiles, estimate_variances(residuals[np.sort(aside)], profiles)


def _item_means(ratings: sparse.csr_array) -> Floats:
    """(n_items,) means, pulled to the global mean; the global mean where nobody rated."""
    n_items = ratings.shape[1]
    overall = float(ratings.data.mean()) if ratings.nnz else 0.0
    counts = np.bincount(ratings.indices, minlength=n_items)
    sums = np.bincount(ratings.indices, weights=ratings.data, minlength=n_items)
    means: Floats = (sums + PSEUDO_RATINGS * overall) / (counts + PSEUDO_RATINGS)
    return means


def _with_data(ratings: sparse.csr_array, data: Floats) -> sparse.csr_array:
    return sparse.csr_array((data, ratings.indices, ratings.indptr), shape=ratings.shape)
