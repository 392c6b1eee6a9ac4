"""The attack that knows the linear model: linear discriminant analysis in closed form.

Source   the patent names the method in words only; the formulas are derived here.
Model    r_i = m_i + <v_i, x> + x0 g_i + z_i on the rated items only, with x0 in {+1, -1} the
         attribute, P(x0 = +1) = pi, taste x ~ N(0, tau^2 I) in R^d, noise z_i ~ N(0, sigma^2), all
         independent. m_i lies halfway between the two groups' means of item i, g_i is half their
         gap. A mean taste other than 0 is part of m.
Score    Stack the profiles of one person's M rated items in V (M, d), and let e = r - m. Given x0,
         e ~ N(x0 g, C) with C = tau^2 V V' + sigma^2 I, so the log odds of x0 = +1 are
             LLR = ln(pi/(1 - pi)) + 2 g' C^-1 e:
         the determinants of C and the terms without g cancel.
Identity Let kappa = sigma^2 / tau^2 and p = (V'V + kappa I)^-1 V'e, the ridge solution. Then
             C (e - V p) = sigma^2 e + tau^2 V [V'e - (V'V + kappa I) p] = sigma^2 e,
         for the bracket is 0. So C^-1 e = (e - V p) / sigma^2, and
             LLR = ln(pi/(1 - pi)) + (2 / sigma^2) sum_i g_i (e_i - <v_i, p>):
         one d x d solve per person in place of an M x M one, batched in `tacit.engine.ridge`.
Reads    *how* people rate. *Which* items a person rated enters only as the range of the sum over i.
         sigma^2 sets the size of the log odds; their order among people depends on kappa alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar

from tacit.auditing.attacks.base import Floats, Labels, Learner, item_means, replace_data
from tacit.engine.ridge import alternating_ridge, fitted_values, solve

FOLDS = 5
"""Number of parts of the people. Each part judges the shrinkage of gaps learned on the others."""
SHRINKAGES = np.geomspace(0.5, 2000.0, 40)
"""Shrinkages to choose from, in effective ratings. A larger one pulls gaps closer to 0."""


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Parameters of the score, under the letters of the module's text; stars are the unit."""

    prior_log_odds: float
    """ln(pi / (1 - pi)), pi the share of people with label 1."""
    centres: Floats
    """(n_items,) m, mean stars after each rating's +-g is taken out, pulled to the global mean."""
    gaps: Floats
    """(n_items,) g, half of the difference of the two groups' mean stars, pulled to 0."""
    profiles: Floats
    """(n_items, d) V, the items' profiles."""
    variances: Variances
    """Variances of noise and tastes."""

    def log_odds(self, ratings: sparse.csr_array) -> Floats:
        """Return the (n_users,) log odds LLR, by the identity in the module's text."""
        errors = replace_data(ratings, ratings.data - self.centres[ratings.indices])
        tastes = solve(errors, self.profiles, self.variances.kappa)
        unexplained = errors.data - fitted_values(errors, tastes, self.profiles)
        evidence = replace_data(ratings, unexplained * self.gaps[ratings.indices])
        sums: Floats = evidence @ np.ones(ratings.shape[1])
        return self.prior_log_odds + 2.0 / self.variances.noise * sums


class LinearDiscriminant(Learner):
    """The log odds of the linear model, whose parameters are estimated from the training people.

    Args:
        factors: Length d of an item's profile.
        penalty: Penalty of the factorization, for residuals of standard deviation 1; `fit`
            multiplies it by the residuals' standard deviation. It scales like a residual and not
            like its square because both profiles and tastes are penalised.
        sweeps: Rounds of the factorization.
        seed: Seed of the factorization, of the fifths that choose the shrinkage, and of the people
            held out to estimate variances.
    """

    name = "lda"

    def __init__(
        self, *, factors: int = 20, penalty: float = 10.0, sweeps: int = 10, seed: int = 0
    ) -> None:
        self.factors = factors
        self.penalty = penalty
        self.sweeps = sweeps
        self.seed = seed
        self.model: LinearModel | None = None

    def fit(self, ratings: sparse.csr_array, labels: Labels) -> Self:
        """Learn from (people, items) ratings and (people,) labels of 0 and 1."""
        checked_labels = self._check_training(ratings, labels)
        signs = 2.0 * checked_labels - 1.0
        gaps = group_gaps(ratings, checked_labels, seed=self.seed) / 2
        by_group = np.repeat(signs, np.diff(ratings.indptr)) * gaps[ratings.indices]
        without_group = replace_data(ratings, ratings.data - by_group)
        centres = item_means(without_group)
        residuals = replace_data(ratings, without_group.data - centres[ratings.indices])
        profiles, variances = self._fit_profiles(residuals)
        n_ones = checked_labels.sum()
        prior_log_odds = float(np.log(n_ones / (len(checked_labels) - n_ones)))
        self.model = LinearModel(prior_log_odds, centres, gaps, profiles, variances)
        return self

    def score(self, ratings: sparse.csr_array) -> Floats:
        """Return the (people,) log odds of label 1; raise NotFittedError before `fit`."""
        self._check_scored(ratings)
        assert self.model is not None
        return self.model.log_odds(ratings)

    def _fit_profiles(self, residuals: sparse.csr_array) -> tuple[Floats, Variances]:
        """Fit profiles to nine people in ten, and the variances to the other tenth.

        A factorization also explains noise of the people it is fitted to, so that the variance of
        the noise would be underestimated on them.

        Args:
            residuals: (n_users, n_items) stars less item means and group gaps.

        Returns:
            (n_items, d) profiles, and the variances. If all residuals are 0, but for rounding, the
            profiles are zeros and both variances 1.
        """
        spread = float(np.sqrt(np.mean(residuals.data**2))) if residuals.nnz else 0.0
        if spread < 1e-9:  # every rating equals its item's mean, but for rounding
            return np.zeros((residuals.shape[1], self.factors)), Variances(1.0, 1.0)
        order = np.random.default_rng(self.seed).permutation(residuals.shape[0])
        held_out = order[: max(1, len(order) // 10)]
        _, profiles = alternating_ridge(
            residuals[np.sort(order[len(held_out) :])],
            factors=self.factors,
            penalty=self.penalty * spread,
            sweeps=self.sweeps,
            seed=self.seed,
        )
        return profiles, estimate_variances(residuals[np.sort(held_out)], profiles)


def group_gaps(ratings: sparse.csr_array, labels: Labels, *, seed: int) -> Floats:
    """Return (n_items,) mean stars of label 1 minus mean stars of label 0, pulled to 0.

    The raw gap of an item with n0 and n1 ratings of the two groups is multiplied by
    n / (n + shrinkage), where 1/n = 1/n0 + 1/n1. It is 0 if a group did not rate the item. All
    items have the same shrinkage, the one with the smallest loss. For the loss, each fifth of the
    people is left out in turn: gaps learned on the others are compared with the raw gaps of this
    fifth, and the squared differences, weighted by n, are summed over items and fifths.

    Args:
        ratings: (n_users, n_items) CSR of stars.
        labels: (n_users,) 0 or 1.
        seed: Seed of the division into fifths.
    """
    folds = np.random.default_rng(seed).permutation(len(labels)) % FOLDS
    counts, sums = _sum_by_group_and_fold(ratings, labels, folds)
    loss = np.zeros(len(SHRINKAGES))
    for fold in range(FOLDS):
        other_folds = np.arange(FOLDS) != fold
        learned, n_learned = _raw_gaps(
            counts[:, other_folds].sum(axis=1), sums[:, other_folds].sum(axis=1)
        )
        judged, n_judged = _raw_gaps(counts[:, fold], sums[:, fold])
        # (shrinkages, n_items)
        shrunk = learned * n_learned / (n_learned + SHRINKAGES[:, None])
        loss += (judged - shrunk) ** 2 @ n_judged
    gaps, n = _raw_gaps(counts.sum(axis=1), sums.sum(axis=1))
    chosen: Floats = gaps * n / (n + SHRINKAGES[np.argmin(loss)])
    # A gap that is rounding error is set to 0: it would still rank people.
    largest = np.abs(ratings.data).max(initial=0.0)
    return np.where(np.abs(gaps) > 1e-9 * largest, chosen, 0.0)


def _sum_by_group_and_fold(
    ratings: sparse.csr_array, labels: Labels, folds: Labels
) -> tuple[Floats, Floats]:
    """Return the numbers and the sums of ratings, two (2, FOLDS, n_items) arrays.

    The axes are label, fold and item.

    Args:
        ratings: (n_users, n_items) CSR of stars.
        labels: (n_users,) 0 or 1.
        folds: (n_users,) fold of each person.
    """
    n_users, n_items = ratings.shape
    cell_of_user = labels * FOLDS + folds
    # (cells, n_users): 1 where the person belongs to the cell of a label and a fold.
    member = sparse.csr_array(
        (np.ones(n_users), (cell_of_user, np.arange(n_users))), shape=(2 * FOLDS, n_users)
    )
    rated = sparse.csr_array(
        (np.ones(ratings.nnz), ratings.indices, ratings.indptr), shape=ratings.shape
    )
    shape = (2, FOLDS, n_items)
    return (member @ rated).toarray().reshape(shape), (member @ ratings).toarray().reshape(shape)


def _raw_gaps(counts: Floats, sums: Floats) -> tuple[Floats, Floats]:
    """Return (items,) gaps between the groups' means, and (items,) effective numbers of ratings.

    The effective number is n of `group_gaps`. Both are 0 for an item that a group did not rate.

    Args:
        counts: (2, items) number of ratings of each group.
        sums: (2, items) sum of their stars.
    """
    in_both_groups = (counts > 0).all(axis=0)
    safe = np.where(in_both_groups, counts, 1.0)
    means = sums / safe
    return (
        np.where(in_both_groups, means[1] - means[0], 0.0),
        np.where(in_both_groups, safe[0] * safe[1] / (safe[0] + safe[1]), 0.0),
    )


@dataclass(frozen=True, slots=True)
class Variances:
    """Variances of noise and tastes."""

    noise: float
    """sigma^2, the variance of the noise, in squared stars."""
    kappa: float
    """sigma^2 / tau^2, with tau^2 the variance of each taste."""


def estimate_variances(residuals: sparse.csr_array, profiles: Floats) -> Variances:
    """Return the maximum-likelihood variances, from people to whom `profiles` were not fitted.

    Each person's residuals are e ~ N(0, sigma^2 (I + V V' / kappa)). With V'V = Q diag(l) Q' and
    b = Q'V'e, minus twice the log likelihood of all N residuals is
        N ln sigma^2 + sum ln(1 + l / kappa) + [sum e^2 - sum b^2 / (l + kappa)] / sigma^2.
    At a given kappa the best sigma^2 is the bracket over N, so only kappa is searched. Where the
    data do not determine them, sigma^2 and kappa are 1: both if all residuals are 0, kappa if all
    these people's items have zero profiles.

    Args:
        residuals: (n_users, n_items) CSR: the e of each person.
        profiles: (n_items, d) V.
    """
    total = float(residuals.data @ residuals.data)
    count = int(residuals.nnz)
    if total == 0.0:
        return Variances(1.0, 1.0)
    scales, projections = _project_on_directions(residuals, profiles)
    scale = float(scales.mean())
    if scale == 0.0:  # no profile reaches these people
        return Variances(total / count, 1.0)

    def noise(kappa: float) -> float:
        """Return the best sigma^2 at this kappa."""
        explained = float(np.sum(projections**2 / (scales + kappa)))
        return max(total - explained, 1e-9 * total) / count

    def loss(log_kappa: float) -> float:
        """Return minus twice the log likelihood, up to a constant, at the best sigma^2."""
        kappa = float(np.exp(log_kappa))
        return float(count * np.log(noise(kappa)) + np.sum(np.log1p(scales / kappa)))

    centre = np.log(scale)
    # Kappa is searched within a factor of e^7 of the mean l.
    best = minimize_scalar(loss, bounds=(centre - 7, centre + 7), method="bounded")
    kappa = float(np.exp(best.x))
    return Variances(noise(kappa), kappa)


def _project_on_directions(residuals: sparse.csr_array, profiles: Floats) -> tuple[Floats, Floats]:
    """Return l and b of `estimate_variances`, each (n_users, d)."""
    grams = np.stack(
        [
            profiles[rated].T @ profiles[rated]
            for rated in np.split(residuals.indices, residuals.indptr[1:-1])
        ]
    )
    scales, directions = np.linalg.eigh(grams)
    projections: Floats = np.einsum("ud,ude->ue", residuals @ profiles, directions)
    return np.maximum(scales, 0.0), projections
