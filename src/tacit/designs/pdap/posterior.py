"""Beliefs about the reward of every arm, computed from released sums and public numbers alone.

Notation   phi are the M features of a context, the constant first. L and V are the released sums
           over an arm's visits: of phi r, with r the reward, and of phi. L_0 and V_0 are their
           entries of the constant. B / epsilon is the scale of the noise on each sum, with B
           `Features.bound`. m is an arm's prior mean reward.
Policy     the visitors' contexts are never released. But the policy is public, so the chance pi
           with which it shows each arm can be estimated for any context: `shares_at_points` does
           so at 512 points p of the cube.
Expected   sums of an arm over an epoch with N arrivals, if contexts were spread evenly and every
           visit got its reward: E = N mean_p pi phi, with E_0 its entry of the constant, and
           H = N mean_p pi phi phi'.
Weights    contexts are not spread evenly, and rewards are missing or late, so the released V
           differs from E. The density w_p = max(1 + phi_p' lambda, 0) corrects for it, with
           lambda = (H / k + nu I)^-1 (V - E) / k, k = max(E_0, 1) and
           nu = 4 (4 (B / epsilon)^2 R / k^2 + 1 / k). Here E, H and V are summed over all releases
           of the arm, and R is the number of these releases. The Gram matrix of the epoch is
           G = N mean_p w pi phi phi'.
Posterior  the mean reward at phi is m + phi' theta. With W = (.2 G + s2 I)^-1, where .2 is the
           variance of a reward and s2 = 2 (B / epsilon)^2 (m^2 + (1 - m)^2) that of the noise,
           P += G W G,  h_L += G W L,  h_V += G W V;  theta ~ N(P^-1 (h_L - m h_V), P^-1).
           At the end of an epoch, older evidence about a neighbour fades first (`FADING`), and all
           older evidence is dropped if rewards have fallen. `_add_evidence` has these formulas for
           rewards in a range other than [0, 1].
Source     Shariff, Sheffet: Differentially private contextual linear bandits (NeurIPS 2018), who
           also release Gram matrices. Here Gram matrices are computed, not released; this is our
           addition.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.features import POINTS, Features, Floats
from tacit.designs.pdap.sums import Release

REWARD_VARIANCE = 0.2
"""Assumed variance of one reward given the arm and the context."""
PRIOR_SPREAD = 0.2
"""Prior standard deviation of two parts of an arm's mean reward: of its constant, and of its terms
of degree 1 in the features. `prior_precision` has the other degrees."""
FADING = 0.5
"""At the end of each epoch, P minus its prior, h_L and h_V of a neighbour are multiplied by this
before new evidence is added, because a neighbour changes."""
EXPLORATION = 0.4
"""Thompson draws use the posterior's standard deviations times this number."""
DRAWS = 16
"""Number of Thompson draws at each public point, from which the policy is estimated."""
PRIOR_VISITS = 100.0
"""Number of imaginary visits, half of them liked, that `Beliefs.own_mean` counts with the real
ones."""
LEAST_MEAN = 0.05
"""Smallest prior mean of a reward."""
LARGEST_MEAN = 0.95
"""Largest prior mean of a reward."""
_TINY = 1e-9
"""Added to a variance, so that it is never zero."""


class ArmSet(NamedTuple):
    """A set of arms that could be shown at some visits of an epoch; public.

    Attributes:
        rows: rows of the arms in the arrays of `Beliefs`.
        arrivals: number of visits of the epoch at which exactly these arms could be shown.
    """

    rows: list[int]
    arrivals: int


@dataclass(frozen=True)
class Ranges:
    """Public ranges of the arms' rewards: [0, 1] for own videos, the agreed range for neighbours.

    Attributes:
        low: (K,) lowest reward.
        width: (K,) highest minus lowest reward.
        is_neighbour: (K,) whether the arm is a neighbour.
    """

    low: Floats
    width: Floats
    is_neighbour: NDArray[np.bool_]


@dataclass
class Beliefs:
    """Sums and posterior parameters of K arms; rows of all arrays are arms.

    Attributes:
        expected: (K, M) E, summed over epochs.
        expected_gram: (K, M, M) H, summed over epochs.
        visits: (K, M) V, summed over epochs.
        releases: (K,) R, the number of releases that an arm was in.
        precision: (K, M, M) P.
        like_evidence: (K, M) h_L.
        visit_evidence: (K, M) h_V.
        prior_mean: (K,) m, the prior mean reward; theta is the deviation from it.
        likes_of_all: L_0 summed over all releases and own videos, also those that have left.
        visits_of_all: V_0 summed over all releases and own videos, also those that have left.
    """

    expected: Floats
    expected_gram: Floats
    visits: Floats
    releases: Floats
    precision: Floats
    like_evidence: Floats
    visit_evidence: Floats
    prior_mean: Floats
    likes_of_all: float = 0.0
    visits_of_all: float = 0.0

    @classmethod
    def before_data(cls, features: Features, arms: int) -> Beliefs:
        """Return the prior beliefs about `arms` arms, before any release."""
        terms = features.terms
        return cls(
            expected=np.zeros((arms, terms)),
            expected_gram=np.zeros((arms, terms, terms)),
            visits=np.zeros((arms, terms)),
            releases=np.zeros(arms),
            precision=np.repeat(prior_precision(features)[None], arms, axis=0),
            like_evidence=np.zeros((arms, terms)),
            visit_evidence=np.zeros((arms, terms)),
            prior_mean=np.full(arms, 0.5),
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Beliefs:
        """Restore beliefs from the arrays that `arrays` returned.

        The mapping may hold other arrays, too. It does not hold `likes_of_all` and `visits_of_all`,
        which are set to 0.
        """
        return cls(
            expected=arrays["expected"].copy(),
            expected_gram=arrays["expected_gram"].copy(),
            visits=arrays["visits"].copy(),
            releases=arrays["releases"].copy(),
            precision=arrays["precision"].copy(),
            like_evidence=arrays["liked"].copy(),
            visit_evidence=arrays["visited"].copy(),
            prior_mean=arrays["start"].copy(),
        )

    @property
    def own_mean(self) -> float:
        """Prior mean m of own videos: the mean reward of all of them, imaginary visits included.

        It is clipped to [LEAST_MEAN, LARGEST_MEAN].
        """
        likes = PRIOR_VISITS / 2 + self.likes_of_all
        visits = max(PRIOR_VISITS + self.visits_of_all, PRIOR_VISITS)
        return min(max(likes / visits, LEAST_MEAN), LARGEST_MEAN)

    def keep_arms(self, rows: list[int], joining: int, features: Features) -> None:
        """Keep the beliefs of these rows in this order, and append the prior for `joining` arms."""
        new = Beliefs.before_data(features, joining)
        self.expected = np.concatenate([self.expected[rows], new.expected])
        self.expected_gram = np.concatenate([self.expected_gram[rows], new.expected_gram])
        self.visits = np.concatenate([self.visits[rows], new.visits])
        self.releases = np.concatenate([self.releases[rows], new.releases])
        self.precision = np.concatenate([self.precision[rows], new.precision])
        self.like_evidence = np.concatenate([self.like_evidence[rows], new.like_evidence])
        self.visit_evidence = np.concatenate([self.visit_evidence[rows], new.visit_evidence])
        self.prior_mean = np.concatenate([self.prior_mean[rows], new.prior_mean])

    def arrays(self) -> dict[str, Floats]:
        """Return all arrays, under their keys in the stored format."""
        return {
            "expected": self.expected,
            "expected_gram": self.expected_gram,
            "visits": self.visits,
            "releases": self.releases,
            "precision": self.precision,
            "liked": self.like_evidence,
            "visited": self.visit_evidence,
            "start": self.prior_mean,
        }


@dataclass(frozen=True, eq=False)
class Observation:
    """A release, with the public numbers from which its expected sums are computed.

    Attributes:
        release: the noisy sums.
        arrivals: N, visits of the epoch, with or without a reward; for a log, its rows in the
            epoch.
        shares: (POINTS, K) pi, the chance of each arm at each public point.
    """

    release: Release
    arrivals: int
    shares: Floats


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior distributions of all arms' mean rewards, in the form that choices need.

    Attributes:
        prior_mean: (K,) m.
        theta: (K, M) posterior means.
        roots: (M, K, M) square roots of the covariances: root_k = roots[:, k] has
            root_k root_k' = P_k^-1, so the variance of arm k at phi is |phi' root_k|^2.
    """

    prior_mean: Floats
    theta: Floats
    roots: Floats

    @cached_property
    def _product_table(self) -> Floats:
        """(M, K + K M): theta' beside the roots, so that one product with phi computes both."""
        terms, _, _ = self.roots.shape
        return np.concatenate([self.theta.T, self.roots.reshape(terms, -1)], axis=1)

    def evaluate(self, phi: Floats) -> tuple[Floats, Floats]:
        """Compute mean rewards and their standard deviations.

        Args:
            phi: (n, M) features.

        Returns:
            The means and the standard deviations, both (n, K).
        """
        terms, arms, _ = self.roots.shape
        product = phi @ self._product_table  # (n, K + K M)
        means = product[:, :arms] + self.prior_mean
        phi_times_root = product[:, arms:].reshape(len(phi), arms, terms)
        variances = np.einsum("nkm,nkm->nk", phi_times_root, phi_times_root)
        return means, np.sqrt(variances)

    def means(self, phi: Floats) -> Floats:
        """Compute (n, K) mean rewards at (n, M) features."""
        return np.asarray(self.prior_mean + phi @ self.theta.T)


def learn_epoch(
    beliefs: Beliefs,
    observations: Sequence[Observation],
    *,
    features: Features,
    epsilon: float,
    ranges: Ranges,
    forget: bool,
) -> Posterior:
    """Update beliefs with what was released at the end of an epoch.

    Unless `forget`, older evidence about neighbours is first multiplied by FADING. Neighbours are
    updated after own videos, because `mean_of_best_own` computes their prior mean from the updated
    beliefs about own videos.

    Args:
        beliefs: updated in place.
        observations: one for the vendor's own visits, one for the rows of logs, or both of these.
        features: of the contexts.
        epsilon: nats of one visit.
        ranges: of the arms' rewards.
        forget: whether P, h_L and h_V of all arms are set back to the prior before the evidence of
            this epoch is added.

    Returns:
        The new posterior.
    """
    squared_scale = squared_noise_scale(features, epsilon)
    is_neighbour = ranges.is_neighbour
    own_rows = np.flatnonzero(~is_neighbour)
    neighbour_rows = np.flatnonzero(is_neighbour)
    grams: list[Floats] = []
    for observation in observations:
        beliefs.likes_of_all += float(observation.release.likes[own_rows, 0].sum())
        beliefs.visits_of_all += float(observation.release.visits[own_rows, 0].sum())
        grams.append(_add_expected_sums(beliefs, observation, features, squared_scale))
    prior = prior_precision(features)
    if forget:
        beliefs.precision[:] = prior
        beliefs.like_evidence[:] = 0.0
        beliefs.visit_evidence[:] = 0.0
    else:
        evidence = beliefs.precision[is_neighbour] - prior
        beliefs.precision[is_neighbour] = prior + FADING * evidence
        beliefs.like_evidence[is_neighbour] *= FADING
        beliefs.visit_evidence[is_neighbour] *= FADING
    beliefs.prior_mean[own_rows] = beliefs.own_mean
    for observation, gram in zip(observations, grams, strict=True):
        _add_evidence(beliefs, own_rows, observation.release, gram, squared_scale, ranges)
    if len(neighbour_rows):
        beliefs.prior_mean[neighbour_rows] = mean_of_best_own(beliefs, own_rows, features)
        for observation, gram in zip(observations, grams, strict=True):
            _add_evidence(beliefs, neighbour_rows, observation.release, gram, squared_scale, ranges)
    return posterior_of(beliefs)


def squared_noise_scale(features: Features, epsilon: float) -> float:
    """Compute (B / epsilon)^2, half the variance of the noise on one sum; 0 without noise."""
    return 0.0 if math.isinf(epsilon) else (features.bound / epsilon) ** 2


def posterior_of(beliefs: Beliefs) -> Posterior:
    """Compute the posterior theta ~ N(P^-1 (h_L - m h_V), P^-1) of every arm."""
    covariance = np.linalg.inv(beliefs.precision)
    evidence = beliefs.like_evidence - beliefs.prior_mean[:, None] * beliefs.visit_evidence
    theta = np.einsum("kij,kj->ki", covariance, evidence)
    # P^-1 = U diag(values) U', so U diag(values)^(1/2) is a root of it: (K, M, M)
    values, vectors = np.linalg.eigh((covariance + covariance.transpose(0, 2, 1)) / 2)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    return Posterior(
        beliefs.prior_mean.copy(), theta, np.ascontiguousarray(roots.transpose(1, 0, 2))
    )


def prior_precision(features: Features) -> Floats:
    """Compute the prior's precision P (M, M), a diagonal matrix.

    The coefficient of the constant has a standard deviation of .2. The coefficients of all terms of
    degree t share one standard deviation. It is chosen so that their part of the mean reward,
    theta' phi summed over these terms, has a standard deviation of .2 x .5^(t - 1) at an average
    point of the cube.
    """
    phi = features.at_points
    degree_of_term = features.factor_degrees.sum(axis=1)
    mean_squares = (phi**2).mean(axis=0)
    deviations = np.full(features.terms, PRIOR_SPREAD)
    for degree in range(1, features.degree + 1):
        has_degree = degree_of_term == degree
        deviation_of_sum = PRIOR_SPREAD * 0.5 ** (degree - 1)
        deviations[has_degree] = deviation_of_sum / math.sqrt(mean_squares[has_degree].sum())
    return np.diag(deviations**-2)


def shares_at_points(
    posterior: Posterior,
    features: Features,
    sets: Sequence[ArmSet],
    generator: np.random.Generator,
) -> Floats:
    """Estimate the policy: the share of Thompson draws in which each arm is the best of its set.

    Args:
        posterior: from which the choices of the epoch were made.
        features: of the contexts.
        sets: the sets of arms that could be shown in the epoch, at least one.
        generator: of the draws.

    Returns:
        (POINTS, K), rows sum to 1.
    """
    means, deviations = posterior.evaluate(features.at_points)
    deviations *= EXPLORATION
    arms = means.shape[1]
    penalties = np.full((len(sets), arms), -np.inf)  # of arms outside of each set
    for number, arm_set in enumerate(sets):
        penalties[number, arm_set.rows] = 0.0
    if len(sets) == 1:
        means += penalties[0]  # the same set at every point: it needs no draws
    cumulative_chances = _cumulative_chances(sets)
    best = np.empty((DRAWS, POINTS), dtype=np.int64)
    for draw in range(DRAWS):
        drawn_means = generator.standard_normal((POINTS, arms))
        drawn_means *= deviations
        drawn_means += means
        if len(sets) > 1:
            drawn_sets = cumulative_chances.searchsorted(generator.random(POINTS), side="right")
            drawn_means += penalties.take(drawn_sets, axis=0)
        best[draw] = drawn_means.argmax(axis=1)
    cells = best + arms * np.arange(POINTS)
    times_best = np.bincount(cells.ravel(), minlength=POINTS * arms).reshape(POINTS, arms)
    return times_best / DRAWS


def _cumulative_chances(sets: Sequence[ArmSet]) -> Floats:
    """Sum up the sets' chances, which are proportional to their arrivals; the last sum is 1."""
    arrivals = np.array([arm_set.arrivals for arm_set in sets], dtype=np.float64)
    chances = (arrivals / arrivals.sum()).cumsum()
    return np.asarray(chances / chances[-1])


def shares_of_log(release: Release, rows: int) -> Floats:
    """Estimate a log's policy from its release: each arm's share of the log, equal at all points.

    Args:
        release: of the log's sums.
        rows: number of rows of the log.

    Returns:
        (POINTS, K) shares. A share that noise has made negative is set to 0, so the shares of a
        point need not sum to 1.
    """
    shares = np.maximum(release.visits[:, 0], 0.0) / rows
    return np.repeat(shares[None], POINTS, axis=0)


def _add_expected_sums(
    beliefs: Beliefs, observation: Observation, features: Features, squared_scale: float
) -> Floats:
    """Add E, H and V of an observation, and 1 to R; return the Gram matrices G (K, M, M)."""
    phi = features.at_points
    arrivals = observation.arrivals
    # E = N mean_p pi phi, H = N mean_p pi phi phi'
    weights = observation.shares.T / POINTS  # (K, POINTS)
    beliefs.expected += arrivals * (weights @ phi)
    beliefs.expected_gram += arrivals * _gram_matrices(weights, phi)
    beliefs.visits += observation.release.visits
    beliefs.releases += 1
    # lambda = (H / k + nu I)^-1 (V - E) / k, w = max(1 + phi' lambda, 0); k and nu are (K,)
    k = np.maximum(beliefs.expected[:, 0], 1.0)
    nu = 4 * (4 * squared_scale * beliefs.releases / k**2 + 1 / k)
    matrix = beliefs.expected_gram / k[:, None, None] + nu[:, None, None] * np.eye(phi.shape[1])
    difference = (beliefs.visits - beliefs.expected) / k[:, None]
    lambdas = np.linalg.solve(matrix, difference[:, :, None])[:, :, 0]  # (K, M)
    density = np.maximum(1 + lambdas @ phi.T, 0.0)  # w: (K, POINTS)
    return arrivals * _gram_matrices(density * weights, phi)


def _gram_matrices(weights: Floats, phi: Floats) -> Floats:
    """Sum weight phi phi' over points for each arm.

    Args:
        weights: (K, POINTS).
        phi: (POINTS, M).

    Returns:
        (K, M, M).
    """
    grams = np.empty((len(weights), phi.shape[1], phi.shape[1]))
    for arm, weight in enumerate(weights):
        grams[arm] = (phi * weight[:, None]).T @ phi
    return grams


def _add_evidence(
    beliefs: Beliefs,
    rows: NDArray[np.int64],
    release: Release,
    grams: Floats,
    squared_scale: float,
    ranges: Ranges,
) -> None:
    """Add G W G, G W L and G W V of one release to the beliefs about some arms.

    Released likes sum up rewards scaled to [0, 1]; they are converted to each arm's own range.

    Args:
        beliefs: updated in place.
        rows: (n_rows,) rows of these arms.
        release: of all arms.
        grams: (K, M, M) G of all arms.
        squared_scale: (B / epsilon)^2.
        ranges: of all arms' rewards.
    """
    low = ranges.low[rows]
    width = ranges.width[rows]
    scaled_mean = (beliefs.prior_mean[rows] - low) / width
    noise_variance = 2 * squared_scale * (scaled_mean**2 + (1 - scaled_mean) ** 2)
    # G = U diag(g) U', so G W G = U diag(g^2 / d) U' and G W = U diag(g / d) U', where
    # d = width^2 (.2 g + s2), for each of these arms: (n_rows, M, M).
    values, vectors = np.linalg.eigh(grams[rows])
    values = np.maximum(values, 0.0)
    reward_variance = width**2 * REWARD_VARIANCE
    denominator = reward_variance[:, None] * values + (width**2 * noise_variance + _TINY)[:, None]
    left_of_gwg = vectors * (values**2 / denominator)[:, None, :]
    left_of_gw = vectors * (values / denominator)[:, None, :]
    transposed = vectors.transpose(0, 2, 1)
    visits = release.visits[rows]
    likes = low[:, None] * visits + width[:, None] * release.likes[rows]
    beliefs.precision[rows] += left_of_gwg @ transposed
    beliefs.like_evidence[rows] += (left_of_gw @ (transposed @ likes[:, :, None]))[:, :, 0]
    beliefs.visit_evidence[rows] += (left_of_gw @ (transposed @ visits[:, :, None]))[:, :, 0]


def mean_of_best_own(beliefs: Beliefs, own_rows: NDArray[np.int64], features: Features) -> float:
    """Compute the prior mean of a neighbour from the posterior of own videos.

    At each public point, the largest posterior mean of an own video is taken; the result is the
    mean over all points, clipped to [LEAST_MEAN, LARGEST_MEAN]. It is .5 without own videos.

    Args:
        beliefs: about all arms.
        own_rows: rows of own videos.
        features: of the contexts.
    """
    if len(own_rows) == 0:
        return 0.5
    means = posterior_of(beliefs).means(features.at_points)[:, own_rows]
    return float(np.clip(means.max(axis=1).mean(), LEAST_MEAN, LARGEST_MEAN))
