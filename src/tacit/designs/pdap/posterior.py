"""Beliefs about every arm, made of released sums and public numbers alone.

Policy     the visitors' contexts are never released. How often an arm is shown where follows from
           the policy, which is public: `shares_at_points` draws it at 512 points of the cube.
Expected   of an epoch with N arrivals: E = N mean_p pi phi, H = N mean_p pi phi phi'.
Weights    contexts are not spread evenly, and answers fail or come late, so what was learned
           differs from E. The density w_p = max(1 + phi_p' lambda, 0) makes up for it, with
           lambda = (H / k + nu I)^-1 (V - E) / k, k = max(E_0, 1) and
           nu = 4 (4 (B / epsilon)^2 R / k^2 + 1 / k), where E, H, V are sums over all epochs of the
           arm and R is their number. The Gram matrix of the epoch is G = N mean_p w pi phi phi'.
Posterior  a reward lies around m + phi' theta. With W = (.2 G + s2 I)^-1, .2 the variance of a
           reward and s2 = 2 (B / epsilon)^2 (m^2 + (1 - m)^2) that of the noise,
           P += G W G,  h_L += G W L,  h_V += G W V;  theta ~ N(P^-1 (h_L - m h_V), P^-1).
Source     Shariff, Sheffet: Differentially private contextual linear bandits (NeurIPS 2018), who
           release Gram matrices as well; that these need no release is ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.features import POINTS, Features, Floats
from tacit.designs.pdap.sums import Release

REWARD_VARIANCE = 0.2
SPREAD_BETWEEN_ARMS = 0.2
"""Standard deviation of rewards between arms, and of one arm's between places, before all data."""
FADING = 0.5
"""What is known of a neighbour is worth this share one release later, for it learns too."""
EXPLORATION = 0.4
"""Thompson draws have this share of the standard deviation."""
DRAWS = 16
"""Draws at each public point, from which the policy is known."""
FIRST_VISITS = 100.0
"""Visits that the mean reward of all starts with, half of them liked."""
LEAST_MEAN, LARGEST_MEAN = 0.05, 0.95
_TINY = 1e-9


@dataclass(frozen=True)
class Ranges:
    """Public ranges of rewards (K,): 0 and 1 of own videos, the agreed one of neighbours."""

    low: Floats
    width: Floats
    is_neighbour: NDArray[np.bool_]


@dataclass
class Beliefs:
    """Sums and posterior parameters of K arms; rows of all arrays are arms.

    Attributes:
        expected: (K, M) E, summed over epochs.
        expected_gram: (K, M, M) H, likewise.
        visits: (K, M) V, likewise.
        releases: (K,) R.
        precision: (K, M, M) P.
        liked: (K, M) h_L.
        visited: (K, M) h_V.
        start: (K,) m, around which theta is counted.
        likes_of_all: sum of L_0 over own videos and releases, those that left included.
        visits_of_all: sum of V_0, likewise.
    """

    expected: Floats
    expected_gram: Floats
    visits: Floats
    releases: Floats
    precision: Floats
    liked: Floats
    visited: Floats
    start: Floats
    likes_of_all: float = 0.0
    visits_of_all: float = 0.0

    @classmethod
    def before_data(cls, features: Features, arms: int) -> Beliefs:
        """Beliefs of arms of which nothing was released."""
        terms = features.terms
        return cls(
            expected=np.zeros((arms, terms)),
            expected_gram=np.zeros((arms, terms, terms)),
            visits=np.zeros((arms, terms)),
            releases=np.zeros(arms),
            precision=np.repeat(prior_precision(features)[None], arms, axis=0),
            liked=np.zeros((arms, terms)),
            visited=np.zeros((arms, terms)),
            start=np.full(arms, 0.5),
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Beliefs:
        """Read what `arrays` gave; others are ignored."""
        return cls(
            expected=arrays["expected"].copy(),
            expected_gram=arrays["expected_gram"].copy(),
            visits=arrays["visits"].copy(),
            releases=arrays["releases"].copy(),
            precision=arrays["precision"].copy(),
            liked=arrays["liked"].copy(),
            visited=arrays["visited"].copy(),
            start=arrays["start"].copy(),
        )

    @property
    def own_mean(self) -> float:
        """Mean reward m of own videos, kept within [LEAST_MEAN, LARGEST_MEAN]."""
        likes = FIRST_VISITS / 2 + self.likes_of_all
        visits = max(FIRST_VISITS + self.visits_of_all, FIRST_VISITS)
        return min(max(likes / visits, LEAST_MEAN), LARGEST_MEAN)

    def keep_arms(self, rows: list[int], joining: int, features: Features) -> None:
        """Go on with these rows, and so many new ones after them."""
        new = Beliefs.before_data(features, joining)
        self.expected = np.concatenate([self.expected[rows], new.expected])
        self.expected_gram = np.concatenate([self.expected_gram[rows], new.expected_gram])
        self.visits = np.concatenate([self.visits[rows], new.visits])
        self.releases = np.concatenate([self.releases[rows], new.releases])
        self.precision = np.concatenate([self.precision[rows], new.precision])
        self.liked = np.concatenate([self.liked[rows], new.liked])
        self.visited = np.concatenate([self.visited[rows], new.visited])
        self.start = np.concatenate([self.start[rows], new.start])

    def arrays(self) -> dict[str, Floats]:
        """All arrays by name, to be stored."""
        return {
            "expected": self.expected,
            "expected_gram": self.expected_gram,
            "visits": self.visits,
            "releases": self.releases,
            "precision": self.precision,
            "liked": self.liked,
            "visited": self.visited,
            "start": self.start,
        }


@dataclass(frozen=True, eq=False)
class Observation:
    """A release, with what the public policy lets expect of it.

    Attributes:
        release: the noisy sums.
        arrivals: N, of the epoch.
        shares: (POINTS, K) pi, the chance of each arm at each public point.
    """

    release: Release
    arrivals: int
    shares: Floats


@dataclass(frozen=True, eq=False)
class Posterior:
    """The means and spreads of all arms, ready for choices.

    Attributes:
        start: (K,) m.
        theta: (K, M).
        roots: (M, K, M); the variance at phi is the squared length of phi' times it.
    """

    start: Floats
    theta: Floats
    roots: Floats

    @cached_property
    def _product_table(self) -> Floats:
        """(M, K + K M) theta and roots side by side: one product for both."""
        terms, _, _ = self.roots.shape
        return np.concatenate([self.theta.T, self.roots.reshape(terms, -1)], axis=1)

    def evaluate(self, phi: Floats) -> tuple[Floats, Floats]:
        """Compute mean rewards and their standard deviations.

        Args:
            phi: (n, M) features.

        Returns:
            Two arrays (n, K).
        """
        terms, arms, _ = self.roots.shape
        product = phi @ self._product_table
        means = product[:, :arms] + self.start
        lengths = product[:, arms:].reshape(len(phi), arms, terms)
        return means, np.sqrt(np.einsum("nkm,nkm->nk", lengths, lengths))

    def means(self, phi: Floats) -> Floats:
        """(n, K) mean rewards at (n, M) features."""
        return np.asarray(self.start + phi @ self.theta.T)


def learn_epoch(
    beliefs: Beliefs,
    observations: Sequence[Observation],
    *,
    features: Features,
    epsilon: float,
    ranges: Ranges,
    forget: bool,
) -> Posterior:
    """Add what was released at the end of an epoch.

    Args:
        beliefs: they are changed.
        observations: of one's own visits, of a log, or of both.
        features: of the contexts.
        epsilon: nats of one visit.
        ranges: of the arms' rewards.
        forget: whether P and h start anew, with this epoch alone.
    """
    noise = 0.0 if math.isinf(epsilon) else (features.bound / epsilon) ** 2
    grams: list[Floats] = []
    for observation in observations:
        own = ~ranges.is_neighbour
        beliefs.likes_of_all += float(observation.release.likes[own, 0].sum())
        beliefs.visits_of_all += float(observation.release.visits[own, 0].sum())
        grams.append(_expect_and_weigh(beliefs, observation, features, noise))
    prior = prior_precision(features)
    if forget:
        beliefs.precision[:] = prior
        beliefs.liked[:] = 0.0
        beliefs.visited[:] = 0.0
    else:
        theirs = ranges.is_neighbour
        beliefs.precision[theirs] = prior + FADING * (beliefs.precision[theirs] - prior)
        beliefs.liked[theirs] *= FADING
        beliefs.visited[theirs] *= FADING
    own_rows = np.flatnonzero(~ranges.is_neighbour)
    beliefs.start[own_rows] = beliefs.own_mean
    for observation, gram in zip(observations, grams, strict=True):
        _add_evidence(beliefs, own_rows, observation.release, gram, noise, ranges)
    neighbour_rows = np.flatnonzero(ranges.is_neighbour)
    if len(neighbour_rows):
        beliefs.start[neighbour_rows] = mean_of_best_own(beliefs, own_rows, features)
        for observation, gram in zip(observations, grams, strict=True):
            _add_evidence(beliefs, neighbour_rows, observation.release, gram, noise, ranges)
    return posterior_of(beliefs)


def posterior_of(beliefs: Beliefs) -> Posterior:
    """Compute means and spreads from P and h."""
    inverse = np.linalg.inv(beliefs.precision)
    evidence = beliefs.liked - beliefs.start[:, None] * beliefs.visited
    theta = np.einsum("kij,kj->ki", inverse, evidence)
    values, vectors = np.linalg.eigh((inverse + inverse.transpose(0, 2, 1)) / 2)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    return Posterior(beliefs.start.copy(), theta, np.ascontiguousarray(roots.transpose(1, 0, 2)))


def prior_precision(features: Features) -> Floats:
    """P0 (M, M): sd .2 for the constant; .2 x .5^(t - 1) for all terms of degree t together."""
    phi = features.at_points
    totals = features.exponents.sum(axis=1)
    squares = (phi**2).mean(axis=0)
    spreads = np.full(features.terms, SPREAD_BETWEEN_ARMS)
    for degree in range(1, features.degree + 1):
        terms = totals == degree
        spread = SPREAD_BETWEEN_ARMS * 0.5 ** (degree - 1)
        spreads[terms] = spread / math.sqrt(squares[terms].sum())
    return np.diag(spreads**-2)


def shares_at_points(
    posterior: Posterior,
    features: Features,
    sets: Sequence[tuple[list[int], int]],
    normal: np.random.Generator,
) -> Floats:
    """Compute the policy: the share of Thompson draws in which each arm is the best of its set.

    Args:
        posterior: that choices of the epoch were made with.
        features: of the contexts.
        sets: rows of the arms that could be shown, and how many arrivals had this set; public.
        normal: draws.

    Returns:
        (POINTS, K), rows sum to 1.
    """
    means, spreads = posterior.evaluate(features.at_points)
    spreads *= EXPLORATION
    arms = means.shape[1]
    allowed = np.zeros((len(sets), arms), dtype=np.bool_)
    for number, (rows, _) in enumerate(sets):
        allowed[number, rows] = True
    arrivals = np.array([count for _, count in sets], dtype=np.float64)
    chosen = np.zeros((POINTS, arms))
    places = np.arange(POINTS)
    for _ in range(DRAWS):
        drawn = means + spreads * normal.standard_normal((POINTS, arms))
        if len(sets) == 1:
            closed = ~allowed[0]
        else:
            closed = ~allowed[normal.choice(len(sets), POINTS, p=arrivals / arrivals.sum())]
        best = np.where(closed, -np.inf, drawn).argmax(axis=1)
        chosen[places, best] += 1
    return chosen / DRAWS


def shares_of_log(release: Release, rows: int) -> Floats:
    """Read a log's own policy from the release: each arm's share of the rows, alike everywhere."""
    shares = np.maximum(release.visits[:, 0], 0.0) / rows
    return np.repeat(shares[None], POINTS, axis=0)


def _expect_and_weigh(
    beliefs: Beliefs, observation: Observation, features: Features, noise: float
) -> Floats:
    """Add E, H, V and R of an epoch, and return its Gram matrices (K, M, M)."""
    phi = features.at_points
    arrivals = observation.arrivals
    weights = observation.shares.T / POINTS  # (K, POINTS)
    beliefs.expected += arrivals * (weights @ phi)
    beliefs.expected_gram += arrivals * _grams(weights, phi)
    beliefs.visits += observation.release.visits
    beliefs.releases += 1
    size = np.maximum(beliefs.expected[:, 0], 1.0)
    nu = 4 * (4 * noise * beliefs.releases / size**2 + 1 / size)
    inner = beliefs.expected_gram / size[:, None, None] + nu[:, None, None] * np.eye(phi.shape[1])
    gap = (beliefs.visits - beliefs.expected) / size[:, None]
    slopes = np.linalg.solve(inner, gap[:, :, None])[:, :, 0]
    density = np.maximum(1 + slopes @ phi.T, 0.0)  # (K, POINTS)
    return arrivals * _grams(density * weights, phi)


def _grams(weights: Floats, phi: Floats) -> Floats:
    """(K, M, M) sums over points of weight phi phi'. weights: (K, POINTS)."""
    grams = np.empty((len(weights), phi.shape[1], phi.shape[1]))
    for arm, weight in enumerate(weights):
        grams[arm] = (phi * weight[:, None]).T @ phi
    return grams


def _add_evidence(
    beliefs: Beliefs,
    rows: NDArray[np.int64],
    release: Release,
    grams: Floats,
    noise: float,
    ranges: Ranges,
) -> None:
    """Add G W G, G W L and G W V of one release for some arms, in units of their rewards."""
    low, width = ranges.low[rows], ranges.width[rows]
    share = (beliefs.start[rows] - low) / width
    of_noise = 2 * noise * (share**2 + (1 - share) ** 2)
    values, vectors = np.linalg.eigh(grams[rows])
    values = np.maximum(values, 0.0)
    variance = width**2 * REWARD_VARIANCE
    total = variance[:, None] * values + (width**2 * of_noise + _TINY)[:, None]
    squared = vectors * (values**2 / total)[:, None, :]
    weight = vectors * (values / total)[:, None, :]
    turned = vectors.transpose(0, 2, 1)
    liked = low[:, None] * release.visits[rows] + width[:, None] * release.likes[rows]
    beliefs.precision[rows] += squared @ turned
    beliefs.liked[rows] += (weight @ (turned @ liked[:, :, None]))[:, :, 0]
    beliefs.visited[rows] += (weight @ (turned @ release.visits[rows][:, :, None]))[:, :, 0]


def mean_of_best_own(beliefs: Beliefs, own_rows: NDArray[np.int64], features: Features) -> float:
    """The mean over the cube of the best own video's mean: what a neighbour starts with."""
    if len(own_rows) == 0:
        return 0.5
    means = posterior_of(beliefs).means(features.at_points)[:, own_rows]
    return float(np.clip(means.max(axis=1).mean(), LEAST_MEAN, LARGEST_MEAN))
