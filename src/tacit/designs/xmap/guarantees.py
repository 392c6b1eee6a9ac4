"""Guarantee cards of both variants, and the numbers on them."""

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

_EXAMPLE_EPSILON_PRIME = 0.8
"""epsilon' of the counterexamples: that of the paper's item-based recommender."""
_NOT_COVERED = (
    "a person's own list, made from their own ratings in the clear, towards anyone who sees it",
    "the platform, which holds everybody's ratings",
    "which items and domains there are, and the scale of stars: they are assumed public",
    "what others' ratings say about a person without that person's own",
)
"""What no card of X-Map covers."""


def card_of_sound(epsilon: float, delta: float, spent: Guarantee | None = None) -> Guarantee:
    """Make the card of the sound variant.

    It states the chosen epsilon, or what the released sums cost if that is more, as after several
    fits.

    Args:
        epsilon: The epsilon of the settings, in nats.
        delta: Probability that the bound of epsilon fails.
        spent: Card of the fitted lists, which counts what was spent. None before a fit: then
            catalogue and scale are assumed to be public.
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
    """Make the card of a variant at epsilon = inf, which guarantees nothing."""
    name = "NX-Map" if variant == "published" else "X-Map (sound)"
    card = profile_guarantees.card_without_noise()
    return replace(card, name=f"{name} without noise", lifetime=LIFETIME, sources=(PAPER,))


def card_of_published(epsilon: float, epsilon_prime: float, k: int, images: int) -> Guarantee:
    """Make the card of the published variant: the paper's claims, and why each fails.

    Args:
        epsilon: Nats claimed for one replaced item.
        epsilon_prime: Nats claimed for one list of neighbours.
        k: Number of neighbours of the recommender.
        images: Number of source items that have an image, over all targets.
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
            _claim_of_replacement(epsilon, images),
            _claim_of_sensitivity(),
            _claim_of_selection(),
            _claim_of_noise(epsilon_prime, k),
            _claim_of_utility(),
        ),
    )


def _claim_of_replacement(epsilon: float, images: int) -> Claim:
    """Make the claim of Theorem 1, with what one replacement and all images of a model cost."""
    losses = ", ".join(
        f"{theory.replacement_loss(1.0, candidates):.4g} with {candidates:,} candidates"
        for candidates in (2, 10, 100, 10_000)
    )
    if math.isinf(epsilon):
        claim = "Theorem 1: a replacement is epsilon-differentially private"
        spent = "drawn without noise: no epsilon"
    else:
        claim = f"Theorem 1: a replacement is {epsilon:g}-differentially private"
        epsilon_in_zcdp = theory.concentrated_composition(images, epsilon, 1e-6)
        spent = f"{images * epsilon:.4g} nats, or at delta 1e-6 {epsilon_in_zcdp:.3g}"
    return Claim(
        claim,
        "true for ONE replacement drawn from a fixed list; but a table of images has many, and "
        "which items are in the list (those with an X-SIM) depends on private data",
        (
            f"exact loss of one replacement at epsilon 1: {losses}",
            f"the {images:,} images of this model: {spent}",
            (
                "an item that is linked by one person only is drawn with a positive chance, and "
                "without that person with chance 0: epsilon infinite"
            ),
        ),
    )


def _claim_of_sensitivity() -> Claim:
    """Make the claim of Theorem 2, with two counterexamples of three or four people."""
    r_i = np.array([-1.0, -2, 2, -2])
    r_j = np.array([-2.0, 1, -1, 1])
    printed_sensitivity = theory.similarity_sensitivity(r_i, r_j)
    true_change = theory.largest_change(r_i, r_j)
    # The third person rated the first item only.
    first = np.array([2.0, 1.0, 2.0])
    second = np.array([2.0, 1.0, math.nan])
    return Claim(
        "Theorem 2: no person changes a similarity by more than SS",
        "false: for centred ratings the products may be negative, and a person who rated only one "
        "of two items changes its norm",
        (
            (
                f"people (-1,-2), (-2,1), (2,-1), (-2,1): SS {printed_sensitivity:.3g}, "
                f"true change {true_change:.3g}"
            ),
            (
                f"without a person who rated one item only, "
                f"{theory.similarity(first, second):.3g} becomes "
                f"{theory.similarity(first[:2], second[:2]):.3g}"
            ),
        ),
    )


def _claim_of_selection() -> Claim:
    """Make the claim of PNSA, with the counterexample of `selection_loss`."""
    ratios = ", ".join(
        f"{selection_loss(people):.3g} with {people} people each"
        for people in (10, 30, 60, 100, 300)
    )
    claimed = _EXAMPLE_EPSILON_PRIME / 2
    return Claim(
        f"PNSA: neighbours cost epsilon'/2 = {claimed:g} at epsilon' {_EXAMPLE_EPSILON_PRIME:g}",
        "false: SS is computed from the private data and reveals them",
        (
            (
                "as many people rate (t_i, t_1) alike as (t_i, t_2), all mildly, and one rates "
                f"(t_i, t_1) strongly. k = 1, exact log ratio of t_1 with and without it: {ratios}"
            ),
            f"the same with a constant sensitivity: {selection_loss(60, theory.SPREAD):.2g}",
        ),
    )


def _claim_of_noise(epsilon_prime: float, k: int) -> Claim:
    """Make the claim of PNCF, with the scales of the noise in the example of `selection_loss`."""
    scales = []
    for people in (10, 100):
        present, absent = noise_scales(people)
        scales.append(
            f"{present:.3g} with that person and {absent:.3g} without, of {people} people each"
        )
    if math.isinf(epsilon_prime):
        cost_of_list = f"the k = {k} similarities of this model are drawn without noise: no epsilon"
    else:
        cost_of_list = (
            f"with a constant sensitivity, k = {k} similarities cost k epsilon'/2 = "
            f"{k * epsilon_prime / 2:.3g}"
        )
    return Claim(
        "PNCF: noisy similarities cost epsilon'/2",
        "false: two data sets have noise of two scales, so no pure epsilon exists; and one person "
        "moves all k similarities",
        (f"in the example above the scale of the noise is {', '.join(scales)}", cost_of_list),
    )


def _claim_of_utility() -> Claim:
    """Make the claim of Theorems 3 and 4, with values of the width w."""
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
                "far items are also drawn nearly always if each pair has its own sensitivity; if "
                "|v| is the length of the longest rating vector, 60 with 1,000 candidates, about "
                "every second list has a far item"
            ),
        ),
    )


@cache
def selection_loss(people: int, sensitivity: float | None = None) -> float:
    """Compute the |log-ratio| of the chance that PNSA draws t_1, with and without one person.

    PNSA draws one neighbour of t_i (k = 1) at epsilon' = 0.8; the candidates are t_1 and t_2.
    `people` people rate t_i and t_1 one star above their means, and as many rate t_i and t_2 so.
    The one person rates t_i and t_1 two stars above their own mean, such as 5-5-1-1 among people of
    4-4-2-2.

    Args:
        people: Number of people who rate t_i and t_1, and number of those who rate t_i and t_2.
        sensitivity: Sensitivity of both candidates; None for the printed SS of each.
    """
    log_odds = []  # ln(P(t_2) / P(t_1)), with the person and without
    for is_present in (True, False):
        t_i, *candidates = _columns(people, is_present)
        similarities = np.array([theory.similarity(t_i, t_j) for t_j in candidates])
        if sensitivity is None:
            sensitivities = [theory.similarity_sensitivity(t_i, t_j) for t_j in candidates]
        else:
            sensitivities = [sensitivity] * len(candidates)
        exponents = theory.neighbour_exponents(
            similarities, np.array(sensitivities), 1, _EXAMPLE_EPSILON_PRIME, len(candidates)
        )
        log_odds.append(float(exponents[1] - exponents[0]))
    # ln P(t_1) = -ln(1 + e^log_odds)
    return abs(float(np.logaddexp(0, log_odds[0]) - np.logaddexp(0, log_odds[1])))


def noise_scales(people: int) -> tuple[float, float]:
    """Compute the scales of PNCF's noise on one similarity, with one person and without.

    The scale is SS / (epsilon' / 2).

    Args:
        people: Number of people in each group of the example of `selection_loss`.

    Returns:
        The scale with the person, and the scale without.
    """
    with_person = _columns(people, is_present=True)
    without_person = _columns(people, is_present=False)
    present = theory.similarity_sensitivity(with_person[0], with_person[1])
    absent = theory.similarity_sensitivity(without_person[0], without_person[1])
    return present / (_EXAMPLE_EPSILON_PRIME / 2), absent / (_EXAMPLE_EPSILON_PRIME / 2)


def _columns(people: int, is_present: bool) -> tuple[theory.Floats, theory.Floats, theory.Floats]:
    """Make the columns of t_i, t_1 and t_2 in the example of `selection_loss`.

    Returns:
        For each, centred stars of all people, NaN for unrated.
    """
    mild = np.ones(people)
    unrated = np.full(people, np.nan)
    strong = [2.0] if is_present else []
    strong_unrated = [math.nan] if is_present else []
    return (
        np.concatenate([mild, mild, strong]),
        np.concatenate([mild, unrated, strong]),
        np.concatenate([unrated, mild, strong_unrated]),
    )
