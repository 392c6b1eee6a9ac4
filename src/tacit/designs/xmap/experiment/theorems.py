"""Theorems 2 to 4 of the X-Map report, checked on small worlds, exactly and by sampling.

Theorem 2   One person changes a similarity by at most SS. This module counts the random pairs of
            items whose similarity changes by more than SS when one person is left out.
Theorem 3   All k neighbours have a similarity of at least Sim_k - w, except with probability rho.
Theorem 4   All items with a similarity above Sim_k + w are neighbours, except with probability rho.

The symbols are those of `tacit.designs.xmap.theory`.

Theorems 3 and 4 are proved under three conditions: all candidates have one SS, the minimum does not
cut w, and |v| is the number of candidates. The report's definitions meet none of them. `CASES` has
a case that meets all three, and for each condition a case that meets only the other two. For each
case the chance is computed that a list of neighbours breaks the theorem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.empirical import clopper_pearson
from tacit.designs.xmap import theory
from tacit.designs.xmap.private_neighbours import (
    Candidates,
    NeighbourParameters,
    draw_neighbours,
)
from tacit.randomness import Source

Floats = NDArray[np.float64]

EPSILON_PRIME = 0.8
"""The paper's epsilon' for the item-based recommender, in nats."""
CANDIDATES = 1000
"""Number of items that can be neighbours."""
SHORT_VECTOR = 60
"""Number of ratings in the longest rating vector of the case "v printed": fewer than candidates."""
CLEAR_SIMILARITY = 0.9
"""Similarity of the candidate that Theorem 4 says is a neighbour."""
KTH_SIMILARITY = 0.4
"""Sim_k: similarity of the next k - 1 candidates."""
FAR_SIMILARITY = -0.2
"""Similarity of all other candidates."""
WIDTH = 0.3
"""w in the cases in which the minimum does not cut it: below Sim_k, and below
CLEAR_SIMILARITY - KTH_SIMILARITY."""
CASES = {
    "as proved": "one SS, w below Sim_k, |v| counts the candidates",
    "w cut": "one SS, 2, which is a bound, so the minimum cuts w at Sim_k",
    "v printed": f"one SS, |v| the longest rating vector, {SHORT_VECTOR} ratings",
    "SS printed": "each pair has its own SS, 0 where nobody rated both",
}
"""For each case, by its name: what its SS, its w and its |v| are, as far as they matter to it."""
_STARS = (-2.0, -1.0, 1.0, 2.0, np.nan)
"""Values of the random pairs of Theorem 2: centred stars, or unrated."""
_TAIL = 0.025
"""Probability that a 95 % interval fails at one of its ends."""
_ROUNDING = 1e-9
"""A change counts as above SS only if it exceeds SS by more than this: floats are rounded."""


@dataclass(frozen=True)
class TheoremCase:
    """Result for one theorem in one case."""

    theorem: int
    """Number of the theorem, 3 or 4."""
    case: str
    """Name of the case, a key of `CASES`."""
    k: int
    """Number of neighbours."""
    length: int
    """|v| in the formula of w."""
    width: float
    """Width w."""
    allowed: float
    """rho: the chance of a miss that the theorem allows."""
    exact: float
    """The chance of a miss, by numerical integration."""
    share: float
    """Share of the sampled lists of neighbours that break the theorem: each is a miss."""
    low: float
    """Lower end of the 95 % interval of the chance, from the samples."""
    high: float
    """Upper end of the 95 % interval of the chance, from the samples."""

    @property
    def holds(self) -> bool:
        """Whether the exact chance is at most what the theorem allows."""
        return self.exact <= self.allowed


@dataclass(frozen=True)
class SensitivityCount:
    """Number of pairs of items for which SS, as printed in Theorem 2, is not a bound."""

    stars: str
    """`centred` values of either sign, or `positive` stars."""
    removed: str
    """Who may be left out: `anyone`, or a person who `rated both` items."""
    pairs: int
    """Number of random pairs of items."""
    exceeded: int
    """Number of pairs for which leaving out one person changes the similarity by more than SS."""


@dataclass(frozen=True)
class DrawingWorld:
    """Candidates to be neighbours of one item, and PNSA's |v| and w when it draws from them."""

    candidates: Candidates
    """Candidates with their similarities and sensitivities."""
    length: int
    """|v| in the formula of w."""
    width: float
    """Width w."""


def make_world(case: str, k: int) -> DrawingWorld:
    """Make the candidates of a case.

    One has CLEAR_SIMILARITY, k - 1 have KTH_SIMILARITY, and all others have FAR_SIMILARITY.

    Args:
        case: A key of `CASES`.
        k: Number of neighbours, 2 or more.
    """
    similarities = np.full(CANDIDATES, FAR_SIMILARITY)
    similarities[:k] = KTH_SIMILARITY
    similarities[0] = CLEAR_SIMILARITY
    length = SHORT_VECTOR if case == "v printed" else CANDIDATES
    shared_sensitivity = theory.SPREAD
    if case != "w cut":  # w is proportional to SS: choose the SS for which w is WIDTH
        shared_sensitivity = WIDTH / theory.width_before_minimum(k, 1.0, EPSILON_PRIME, length)
    sensitivities = np.full(CANDIDATES, shared_sensitivity)
    if case == "SS printed":
        sensitivities[k:] = 0.0
    sim_k = theory.kth_largest(similarities, k)
    width = theory.truncation(sim_k, k, shared_sensitivity, EPSILON_PRIME, length)
    numbers = np.arange(CANDIDATES, dtype=np.int32)
    return DrawingWorld(Candidates(numbers, similarities, sensitivities), length, width)


def check_theorems(k: int, samples: int, source: Source) -> Iterator[TheoremCase]:
    """Yield the results for Theorems 3 and 4 in every case.

    Args:
        k: Number of neighbours, 2 or more.
        samples: Number of lists of neighbours that are drawn by `draw_neighbours` in each case.
        source: Where draws come from.
    """
    for case in CASES:
        world = make_world(case, k)
        similarities = world.candidates.similarities
        sensitivities = world.candidates.sensitivities
        exponents = theory.neighbour_exponents(
            similarities, sensitivities, k, EPSILON_PRIME, world.length
        )
        pnsa = NeighbourParameters(k, EPSILON_PRIME, "printed")
        drawn, _ = draw_neighbours([world.candidates] * samples, pnsa, world.length, source)
        is_too_far = similarities < KTH_SIMILARITY - world.width
        is_clear = similarities > KTH_SIMILARITY + world.width
        chance_of_miss = {
            3: theory.chance_of_any(exponents, is_too_far, k),
            4: theory.chance_of_a_gap(exponents, is_clear, k),
        }
        lists_with_far_item = is_too_far[drawn].any(axis=1)
        lists_without_clear_item = is_clear[drawn].sum(axis=1) < is_clear.sum()
        n_misses = {3: int(lists_with_far_item.sum()), 4: int(lists_without_clear_item.sum())}
        for theorem, chance in chance_of_miss.items():
            low, high = clopper_pearson(n_misses[theorem], samples, _TAIL)
            yield TheoremCase(
                theorem=theorem,
                case=case,
                k=k,
                length=world.length,
                width=world.width,
                allowed=theory.RHO,
                exact=chance,
                share=n_misses[theorem] / samples,
                low=float(low),
                high=float(high),
            )


def count_exceeded_sensitivities(pairs: int, seed: int) -> list[SensitivityCount]:
    """Count the random pairs of items for which one person changes the similarity by more than SS.

    A pair has 3 to 6 people; each person's value of each item is drawn from _STARS. Positive stars
    are the absolute values.

    Args:
        pairs: Number of pairs to draw; those for which SS has no term are not counted.
        seed: Seed of the draws.

    Returns:
        Four counts: for centred and for positive stars, each first if anyone may be left out, and
        then if only people who rated both items may be left out.
    """
    generator = np.random.default_rng(seed)
    drawn_pairs = [generator.choice(_STARS, (2, generator.integers(3, 7))) for _ in range(pairs)]
    pairs_with_ss = [pair for pair in drawn_pairs if _has_terms(pair)]
    counts = []
    for stars in ("centred", "positive"):
        for removed in ("anyone", "rated both"):
            exceeded = [pair for pair in pairs_with_ss if _is_exceeded(pair, stars, removed)]
            counts.append(SensitivityCount(stars, removed, len(pairs_with_ss), len(exceeded)))
    return counts


def _has_terms(pair: Floats) -> bool:
    """Return whether SS of a (2, people) pair of items has a term; without one it is -inf."""
    r_i, r_j = pair
    return theory.similarity_sensitivity(r_i, r_j) > -np.inf


def _is_exceeded(pair: Floats, stars: str, removed: str) -> bool:
    """Return whether leaving out one person changes the similarity of a pair by more than SS.

    Args:
        pair: (2, people) centred stars of two items, NaN for unrated.
        stars: `centred` to take the values as they are, `positive` to take their absolute values.
        removed: Who may be left out: `anyone`, or a person who `rated both` items.
    """
    r_i, r_j = np.abs(pair) if stars == "positive" else pair
    people = None
    if removed == "rated both":
        people = ~(np.isnan(r_i) | np.isnan(r_j))
    change = theory.largest_change(r_i, r_j, people=people)
    return change > theory.similarity_sensitivity(r_i, r_j) + _ROUNDING
