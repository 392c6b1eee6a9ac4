"""Theorems 2 to 4 of the X-Map report, checked on small worlds by exact sums and by shipped draws.

Theorem 2   SS bounds what one person can change a similarity by. Random pairs of items are counted
            on which leaving out one person changes the similarity by more than SS.
Theorem 3   All k neighbours have a similarity above Sim_k - w, except with probability rho.
Theorem 4   All items with a similarity above Sim_k + w are neighbours, except with probability rho.

Theorems 3 and 4 are proved with one SS for all candidates, with the w that the proof needs and with
|v| the number of candidates. What is printed departs from each of the three; one case for each
departure shows what becomes of the chance.
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
    PrivateNeighbours,
    draw_neighbours,
)
from tacit.randomness import Source

Floats = NDArray[np.float64]

EPSILON_PRIME = 0.8
"""The paper's epsilon' for the item-based recommender."""
CANDIDATES = 1000
"""Items that can be neighbours."""
SHORT_VECTOR = 60
"""Ratings of the longest rating vector, where |v| is smaller than the number of candidates."""
CLEAR = 0.9
"""Similarity of the one clear neighbour."""
KTH = 0.4
"""Similarity of the next k - 1 items, Sim_k."""
FAR = -0.2
"""Similarity of all other items."""
WIDTH = 0.3
"""w where the minimum leaves it alone: below Sim_k, and below CLEAR - KTH."""
CASES = {
    "as proved": "one SS, w below Sim_k, |v| counts the candidates",
    "w cut": "one SS that holds (2), so the minimum cuts w at Sim_k",
    "v printed": f"one SS, |v| the longest rating vector, {SHORT_VECTOR} ratings",
    "SS printed": "each pair has its own SS, 0 where nobody rated both",
}
_STARS = (-2.0, -1.0, 1.0, 2.0, np.nan)
_TAIL = 0.025


@dataclass(frozen=True)
class TheoremCase:
    """One theorem in one case."""

    theorem: int
    """Number of the theorem, 3 or 4."""
    case: str
    """Name of the case, a key of `CASES`."""
    k: int
    """Number of neighbours."""
    length: int
    """Number of candidates |v|."""
    width: float
    """Width w."""
    allowed: float
    """Chance of a miss that the theorem allows, rho."""
    exact: float
    """Chance of a miss, by numerical integration."""
    share: float
    """Share of the sampled lists with a miss."""
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
    """Count of pairs for which SS, as Theorem 2 prints it, is no bound."""

    stars: str
    """`centred` values of either sign, or `positive` stars."""
    removed: str
    """Who may be left out: `anyone`, or a person who `rated both` items."""
    pairs: int
    """Random pairs of items looked at."""
    exceeded: int
    """Pairs on which leaving out one person changes the similarity by more than SS."""


@dataclass(frozen=True)
class DrawingWorld:
    """Candidates of one item, and the w and |v| with which PNSA draws among them."""

    candidates: Candidates
    """Candidates with their similarities and sensitivities."""
    length: int
    """|v|."""
    width: float
    """w."""


def make_world(case: str, k: int) -> DrawingWorld:
    """Make the candidates of one case: one clear neighbour, k - 1 at Sim_k, all others far."""
    similarities = np.full(CANDIDATES, FAR)
    similarities[:k] = KTH
    similarities[0] = CLEAR
    length = SHORT_VECTOR if case == "v printed" else CANDIDATES
    shared_sensitivity = theory.SPREAD
    if case != "w cut":  # w is proportional to SS: choose the SS that makes it WIDTH
        shared_sensitivity = WIDTH / theory.uncut_truncation(k, 1.0, EPSILON_PRIME, length)
    sensitivities = np.full(CANDIDATES, shared_sensitivity)
    if case == "SS printed":
        sensitivities[k:] = 0.0
    sim_k = theory.kth_largest(similarities, k)
    width = theory.truncation(sim_k, k, shared_sensitivity, EPSILON_PRIME, length)
    numbers = np.arange(CANDIDATES, dtype=np.int32)
    return DrawingWorld(Candidates(numbers, similarities, sensitivities), length, width)


def check_theorems(k: int, samples: int, source: Source) -> Iterator[TheoremCase]:
    """Check Theorems 3 and 4 in every case.

    Args:
        k: Number of neighbours, 2 or more.
        samples: Lists of neighbours that are drawn with the shipped PNSA.
        source: Where draws come from.
    """
    for case in CASES:
        world = make_world(case, k)
        similarities = world.candidates.similarities
        exponents = theory.neighbour_exponents(
            *world.candidates[1:], k, EPSILON_PRIME, world.length
        )
        pnsa = PrivateNeighbours(k, EPSILON_PRIME, "printed")
        drawn, _ = draw_neighbours([world.candidates] * samples, pnsa, world.length, source)
        too_far = similarities < KTH - world.width
        clear = similarities > KTH + world.width
        chances = {
            3: theory.chance_of_any(exponents, too_far, k),
            4: theory.chance_of_a_gap(exponents, clear, k),
        }
        missed = {
            3: int(too_far[drawn].any(axis=1).sum()),
            4: int((clear[drawn].sum(axis=1) < clear.sum()).sum()),
        }
        for theorem, exact in chances.items():
            low, high = clopper_pearson(missed[theorem], samples, _TAIL)
            yield TheoremCase(
                theorem,
                case,
                k,
                world.length,
                world.width,
                theory.RHO,
                exact,
                missed[theorem] / samples,
                float(low),
                float(high),
            )


def count_exceeded_sensitivities(pairs: int, seed: int) -> list[SensitivityCount]:
    """Count on how many random pairs of items one person changes a similarity by more than SS.

    Each pair has 3 to 6 people, each with one of two values of either sign, or no rating, of both
    items; positive stars are the absolute values.
    """
    generator = np.random.default_rng(seed)
    instances = [generator.choice(_STARS, (2, generator.integers(3, 7))) for _ in range(pairs)]
    defined = [rows for rows in instances if _has_terms(rows)]
    counts = []
    for stars in ("centred", "positive"):
        for removed in ("anyone", "rated both"):
            exceeded = sum(_is_exceeded(rows, stars, removed) for rows in defined)
            counts.append(SensitivityCount(stars, removed, len(defined), exceeded))
    return counts


def _has_terms(rows: Floats) -> bool:
    """Whether SS has a term: a person rated both items and leaves no norm of 0."""
    return theory.similarity_sensitivity(*rows) > -np.inf


def _is_exceeded(rows: Floats, stars: str, removed: str) -> bool:
    values = np.abs(rows) if stars == "positive" else rows
    r_i, r_j = values
    people = None
    if removed == "rated both":
        people = ~(np.isnan(r_i) | np.isnan(r_j))
    change = theory.largest_change(r_i, r_j, people=people)
    return change > theory.similarity_sensitivity(r_i, r_j) + 1e-9
