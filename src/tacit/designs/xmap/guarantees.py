"""Cards of each variant: what it guarantees, to whom, on what evidence. Figures are computed."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np

from tacit.designs.xmap import theory
from tacit.designs.xmap.settings import LIFETIME, PAPER, UNIT, Variant
from tacit.privacy import Basis, Claim, Guarantee, Trust
from tacit.profile_sums import guarantees as profile_guarantees
from tacit.profile_sums import settings as profile_settings

_EXAMPLE = 0.8
"""epsilon' of the counter-examples: the paper's for the item-based recommender."""
_NOT_COVERED = (
    "a person's own list, made from their own ratings in the clear, towards anyone who sees it",
    "the platform, which holds everybody's ratings",
    "which items and domains there are, and the scale of stars: they are assumed public",
    "what others' ratings say about a person without that person's own",
)


def card_of_sound(epsilon: float, delta: float, spent: Guarantee | None = None) -> Guarantee:
    """Say what the sound variant guarantees.

    The card never states less than the events that were spent come to.

    Args:
        epsilon: What a user chose; the events come to it within rounding.
        delta: Probability that the bound of epsilon fails.
        spent: Card of the fitted lists; None before a fit, for a public catalogue and scale.
    """
    settings = profile_settings.Settings(epsilon=epsilon, delta=delta)
    lists = spent or profile_guarantees.card_before_fit(settings)
    assert lists.epsilon is not None
    return replace(
        lists,
        name="X-Map (sound): noisy sums over people",
        epsilon=max(epsilon, lists.epsilon),
        sources=(PAPER, *lists.sources),
    )


def card_without_noise(variant: Variant) -> Guarantee:
    """Say that a variant at epsilon = inf guarantees nothing; the published one is NX-Map."""
    name = "NX-Map" if variant == "published" else "X-Map (sound)"
    card = profile_guarantees.card_without_noise()
    return replace(card, name=f"{name} without noise", lifetime=LIFETIME, sources=(PAPER,))


def card_of_published(epsilon: float, epsilon_prime: float, k: int, images: int) -> Guarantee:
    """Say what the paper claims of the published variant, and why it fails.

    Args:
        epsilon: Claimed for one replaced item.
        epsilon_prime: Claimed for one list of neighbours.
        k: Neighbours of the recommender.
        images: Source items that have an image.
    """
    return Guarantee(
        name="X-Map (published): PRS, PNSA and PNCF as printed",
        sentence=(
            "The paper's claim is refuted: no epsilon holds for a person. This variant is for "
            "reproduction, not for use."
        ),
        protects="nobody reliably: noise is scaled by the private data themselves",
        adjacency=UNIT,
        against="other people, who see their lists",
        trust=Trust.PLATFORM,
        basis=Basis.REFUTED,
        epsilon=None,
        delta=None,
        lifetime=LIFETIME,
        assumptions=(),
        not_covered=(
            "means of items, used without noise",
            "AlterEgos hold a person's stars, times and number of ratings unchanged",
            *_NOT_COVERED,
        ),
        sources=(PAPER,),
        claims=(
            _replacement(epsilon, images),
            _sensitivity(),
            _selection(),
            _noise(epsilon_prime, k),
            _utility(),
        ),
    )


def _replacement(epsilon: float, images: int) -> Claim:
    losses = ", ".join(
        f"{theory.replacement_loss(1.0, candidates):.4g} with {candidates:,} candidates"
        for candidates in (2, 10, 100, 10_000)
    )
    if math.isinf(epsilon):
        claimed = "Theorem 1: a replacement is epsilon-differentially private"
        spent = "drawn without noise: no epsilon"
    else:
        claimed = f"Theorem 1: a replacement is {epsilon:g}-differentially private"
        summed = theory.concentrated_composition(images, epsilon, 1e-6)
        spent = f"{images * epsilon:.4g} nats, or at delta 1e-6 {summed:.3g}"
    return Claim(
        claimed,
        "true for ONE replacement out of a fixed list; a table of images is many, and the list "
        "(items with an X-SIM) is private itself",
        (
            f"exact loss of one replacement at epsilon 1: {losses}",
            f"the {images:,} images of this model: {spent}",
            (
                "a person who is an item's only link gives it a chance that is 0 without them: "
                "epsilon infinite"
            ),
        ),
    )


def _sensitivity() -> Claim:
    i = np.array([-1.0, -2, 2, -2])
    j = np.array([-2.0, 1, -1, 1])
    printed = theory.similarity_sensitivity(i, j)
    true = theory.largest_change(i, j)
    a = np.array([2.0, 1.0, 2.0])
    b = np.array([2.0, 1.0, math.nan])
    return Claim(
        "Theorem 2: no person changes a similarity by more than SS",
        "false: for centred ratings the products may be negative, and a person who rated only one "
        "of two items changes its norm",
        (
            f"people (-1,-2), (-2,1), (2,-1), (-2,1): SS {printed:.3g}, true change {true:.3g}",
            (
                f"without a person who rated one item only, {theory.similarity(a, b):.3g} becomes "
                f"{theory.similarity(a[:2], b[:2]):.3g}"
            ),
        ),
    )


def _selection() -> Claim:
    ratios = ", ".join(
        f"{selection_loss(people):.3g} with {people} people each"
        for people in (10, 30, 60, 100, 300)
    )
    return Claim(
        f"PNSA: neighbours cost epsilon'/2 = {_EXAMPLE / 2:g} at epsilon' {_EXAMPLE:g}",
        "false: SS is computed from the private data and reveals them",
        (
            (
                "as many people rate (t_i, t_1) alike as (t_i, t_2), all mildly, and one rates "
                f"(t_i, t_1) strongly. k = 1, exact log ratio of t_1 with and without it: {ratios}"
            ),
            f"the same with a constant sensitivity: {selection_loss(60, theory.SPREAD):.2g}",
        ),
    )


def _noise(epsilon_prime: float, k: int) -> Claim:
    scales = ", ".join(
        "{:.3g} with that person and {:.3g} without, of {} people each".format(
            *noise_scales(people), people
        )
        for people in (10, 100)
    )
    if math.isinf(epsilon_prime):
        whole = f"the k = {k} similarities of this model are drawn without noise: no epsilon"
    else:
        whole = (
            f"with a constant sensitivity, k = {k} similarities cost k epsilon'/2 = "
            f"{k * epsilon_prime / 2:.3g}"
        )
    return Claim(
        "PNCF: noisy similarities cost epsilon'/2",
        "false: two data sets have noise of two scales, so no pure epsilon exists; and one person "
        "moves all k similarities",
        (f"in the example above the scale of the noise is {scales}", whole),
    )


def _utility() -> Claim:
    bounds = ", ".join(
        f"{theory.truncation(math.inf, k, theory.SPREAD, epsilon, size):.4g} for k = {k}, "
        f"epsilon' = {epsilon:g}, {size:,} candidates"
        for k, epsilon, size in ((50, 0.8, 3000), (5, 1.0, 3000), (1, 8.0, 100))
    )
    return Claim(
        "Theorems 3 and 4: neighbours are within w of the k-th similarity",
        "true with one sensitivity for all candidates, w below the k-th similarity and |v| the "
        "number of candidates; false as printed (tacit simulate xmap)",
        (
            (
                f"w at rho = 0.1 before the minimum, with a sensitivity that holds: {bounds}. All "
                "are above 1, the largest similarity, so the minimum cuts w at the k-th "
                "similarity; then far items are drawn nearly always"
            ),
            (
                "the same where each pair has its own sensitivity; where |v| is the longest rating "
                "vector, 60 for 1,000 candidates, about every second list has a far item"
            ),
        ),
    )


@cache
def selection_loss(people: int, sensitivity: float | None = None) -> float:
    """Compute the log ratio of drawing t_1 with and without one person, k = 1, epsilon' = 0.8.

    `people` rate t_i and t_1 one above their means, as many t_i and t_2; one more rates t_i and
    t_1 two above their own mean, such as 5-5-1-1 among people of 4-4-2-2.

    Args:
        people: How many rate t_i with t_1, and how many with t_2.
        sensitivity: Sensitivity of every candidate; None for the printed SS.
    """
    odds = []  # logarithms of t_1 against t_2
    for present in (True, False):
        i, *others = _columns(people, present)
        similarities = np.array([theory.similarity(i, other) for other in others])
        used = [
            theory.similarity_sensitivity(i, other) if sensitivity is None else sensitivity
            for other in others
        ]
        first, second = theory.neighbour_exponents(similarities, np.array(used), 1, _EXAMPLE, 2)
        odds.append(float(second - first))
    return abs(float(np.logaddexp(0, odds[0]) - np.logaddexp(0, odds[1])))


def noise_scales(people: int) -> tuple[float, float]:
    """Compute the scales of PNCF's noise on one similarity, with one person and without.

    Args:
        people: As in the example of `selection_loss`.
    """
    present, absent = (
        theory.similarity_sensitivity(*_columns(people, there)[:2]) for there in (True, False)
    )
    return present / (_EXAMPLE / 2), absent / (_EXAMPLE / 2)


def _columns(people: int, present: bool) -> tuple[theory.Floats, theory.Floats, theory.Floats]:
    ones = np.ones(people)
    none = np.full(people, np.nan)
    extra = [2.0] if present else []
    missing = [math.nan] if present else []
    return (
        np.concatenate([ones, ones, extra]),
        np.concatenate([ones, none, extra]),
        np.concatenate([none, ones, missing]),
    )
