"""Guarantee cards of both variants, with the paper's claims, and the numbers in them."""

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
"""epsilon' of the counterexamples to PNSA and PNCF, in nats: that of the paper's item-based
recommender."""
_NOT_COVERED = (
    "a person's own list, made from their own ratings in the clear, towards anyone who sees it",
    "the platform, which holds everybody's ratings",
    "which items and domains there are, and the scale of stars: they are assumed public",
    "what other people's ratings reveal about a person even if that person's own are left out",
)
"""End of the list of what the published variant's card does not cover."""


def card_of_sound(
    epsilon: float, delta: float, card_of_lists: Guarantee | None = None
) -> Guarantee:
    """Make the card of the sound variant with noise, after a fit or before it.

    The card states the chosen epsilon, or what the released sums cost if that is more, as after
    several fits. If the card counts an earlier fit without noise, it states no epsilon: nobody is
    protected.

    Args:
        epsilon: The epsilon of the settings, in nats.
        delta: Probability by which any event may exceed the bound of epsilon.
        card_of_lists: Card of the fitted lists, which counts what their fits spent. None before a
            fit: then catalogue and scale are assumed to be public.
    """
    settings = profile_settings.Settings(epsilon=epsilon, delta=delta)
    card = card_of_lists or profile_guarantees.card_before_fit(settings)
    stated_epsilon = None
    if card.epsilon is not None:
        stated_epsilon = max(epsilon, card.epsilon)
    return replace(
        card,
        name="X-Map (sound): noisy sums over people",
        epsilon=stated_epsilon,
        sources=(PAPER, *card.sources),
    )


def card_without_noise(variant: Variant) -> Guarantee:
    """Make the card of a variant at epsilon = inf, which guarantees nothing."""
    name = "NX-Map" if variant == "published" else "X-Map (sound)"
    card = profile_guarantees.card_without_noise()
    return replace(card, name=f"{name} without noise", lifetime=LIFETIME, sources=(PAPER,))


def card_of_published(epsilon: float, epsilon_prime: float, k: int, images: int) -> Guarantee:
    """Make the card of the published variant with noise: the paper's claims, and where each fails.

    Args:
        epsilon: Nats claimed for one replaced item; infinity if images are chosen without noise.
        epsilon_prime: Nats claimed for one list of neighbours; infinity if they have no noise.
        k: Number of neighbours of the recommender.
        images: Number of images: pairs of a source item and a target domain in which it has one.
    """
    return Guarantee(
        name="X-Map (published): PRS, PNSA and PNCF as printed",
        sentence=(
            "The paper's claim is refuted: no epsilon holds for a person. This variant is for "
            "reproduction, not for use."
        ),
        protects="nobody reliably: the private data decide what can be drawn, and how much noise "
        "there is",
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
            "AlterEgos (people's profiles in the target domain): stars and times without noise",
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
    """Make the claim of Theorem 1, with what one image and all images of a model cost.

    Args:
        epsilon: Nats claimed for one replaced item; infinity if images are chosen without noise.
        images: Number of images of the model.
    """
    losses = ", ".join(
        f"{theory.replacement_loss(1.0, candidates):.4g} with {candidates:,} candidates"
        for candidates in (2, 10, 100, 10_000)
    )
    if math.isinf(epsilon):
        claim = "Theorem 1: a replacement is epsilon-differentially private"
        spent = "chosen without noise: no epsilon"
    else:
        claim = f"Theorem 1: a replacement is {epsilon:g}-differentially private"
        epsilon_at_delta = theory.concentrated_composition(images, epsilon, 1e-6)
        spent = f"{images * epsilon:.4g} nats, or at delta 1e-6 {epsilon_at_delta:.3g}"
    return Claim(
        claim,
        "true for ONE replacement drawn from a fixed list of candidates; but a model has a "
        "replacement for each source item that has candidates, and which items are candidates "
        "(those with an X-SIM, a similarity along paths of items) depends on private data",
        (
            f"exact loss of one replacement at epsilon 1: {losses}",
            f"the {images:,} replacements of this model, even from fixed lists: {spent}",
            (
                "a candidate that has an X-SIM only because of one person is drawn with a positive "
                "chance, and without that person with chance 0: epsilon infinite"
            ),
        ),
    )


def _claim_of_sensitivity() -> Claim:
    """Make the claim of Theorem 2, with one counterexample of four people and one of three."""
    r_i = np.array([-1.0, -2, 2, -2])
    r_j = np.array([-2.0, 1, -1, 1])
    printed_sensitivity = theory.similarity_sensitivity(r_i, r_j)
    true_change = theory.largest_change(r_i, r_j)
    # The third person rated only one of the two items.
    stars_of_one_item = np.array([2.0, 1.0, 2.0])
    stars_of_other_item = np.array([2.0, 1.0, math.nan])
    similarity_of_three = theory.similarity(stars_of_one_item, stars_of_other_item)
    similarity_of_two = theory.similarity(stars_of_one_item[:2], stars_of_other_item[:2])
    return Claim(
        "Theorem 2: no person changes a similarity by more than SS",
        "false: for centred ratings the products may be negative, and a person who rated only one "
        "of two items changes that item's norm",
        (
            (
                "four people with centred stars (-1,-2), (-2,1), (2,-1), (-2,1) of two items: SS "
                f"{printed_sensitivity:.3g}; without one of them the similarity changes by up to "
                f"{true_change:.3g}"
            ),
            (
                "three people with (2,2), (1,1), (2,unrated): without the third, who rated only "
                f"one item, the similarity {similarity_of_three:.3g} becomes "
                f"{similarity_of_two:.3g}"
            ),
        ),
    )


def _claim_of_selection() -> Claim:
    """Make the claim of PNSA, with the counterexample of `selection_loss`."""
    losses = ", ".join(
        f"{selection_loss(people):.3g} for n = {people}" for people in (10, 30, 60, 100, 300)
    )
    claimed = _EXAMPLE_EPSILON_PRIME / 2
    return Claim(
        f"PNSA: neighbours cost epsilon'/2 = {claimed:g} at epsilon' {_EXAMPLE_EPSILON_PRIME:g}",
        "false: SS is computed from the private data and reveals them",
        (
            (
                "n people rate items t_i and t_1 one star above their own means, n others rate t_i "
                "and t_2 so, and one more person rates t_i and t_1 two stars above. PNSA draws one "
                "neighbour of t_i, t_1 or t_2. Exact |log ratio| of the chance of t_1 with and "
                f"without the one person: {losses}"
            ),
            (
                "the same with a constant sensitivity, for n = 60: "
                f"{selection_loss(60, theory.SPREAD):.2g}"
            ),
        ),
    )


def _claim_of_noise(epsilon_prime: float, k: int) -> Claim:
    """Make the claim of PNCF, with the scales of the noise in the example of `selection_loss`.

    Args:
        epsilon_prime: Nats claimed for one list of neighbours; infinity if they have no noise.
        k: Number of neighbours of the recommender.
    """
    scales = []
    for people in (10, 100):
        present, absent = noise_scales(people)
        scales.append(
            f"{present:.3g} with the one person and {absent:.3g} without for n = {people}"
        )
    if math.isinf(epsilon_prime):
        cost_of_list = f"the k = {k} similarities of one list are without noise: no epsilon"
    else:
        cost_of_list = (
            f"even with a constant sensitivity, the k = {k} similarities of one list cost "
            f"k epsilon'/2 = {k * epsilon_prime / 2:.3g}"
        )
    return Claim(
        "PNCF: noisy similarities cost epsilon'/2",
        "false: two data sets have noise of two scales, so no pure epsilon exists; and one person "
        "moves all k similarities",
        (
            (
                "in the example of the claim of PNSA, the scale of the noise on the similarity of "
                f"t_i and t_1 is {', '.join(scales)}"
            ),
            cost_of_list,
        ),
    )


def _claim_of_utility() -> Claim:
    """Make the claim of Theorems 3 and 4, with values of the width w."""
    bounds = ", ".join(
        f"{theory.width_before_minimum(k, theory.SPREAD, epsilon_prime, n_candidates):.4g} for "
        f"k = {k}, epsilon' = {epsilon_prime:g}, {n_candidates:,} candidates"
        for k, epsilon_prime, n_candidates in ((50, 0.8, 3000), (5, 1.0, 3000), (1, 8.0, 100))
    )
    return Claim(
        "Theorems 3 and 4: neighbours are within w of the k-th similarity",
        "true with one sensitivity for all candidates, w below the k-th similarity and |v| the "
        "number of candidates; false as printed (tacit simulate xmap)",
        (
            (
                f"w at rho = {theory.RHO:g} before its minimum with the k-th similarity is taken, "
                f"with a sensitivity that holds: {bounds}. All are above 1, the largest "
                "similarity, so the minimum makes w the k-th similarity itself; then nearly every "
                "list has a far item, one more than w below the k-th similarity"
            ),
            (
                "nearly every list also has a far item if each pair has its own sensitivity; and "
                "about every second list if |v| is the length of the longest rating vector, such "
                "as 60 with 1,000 candidates"
            ),
        ),
    )


@cache
def selection_loss(people: int, sensitivity: float | None = None) -> float:
    """Compute the |log-ratio| of the chance that PNSA draws t_1, with and without one person.

    PNSA draws one neighbour of t_i (k = 1) at epsilon' = _EXAMPLE_EPSILON_PRIME; the candidates are
    t_1 and t_2. `people` people rate t_i and t_1 one star above their means, and as many others
    rate t_i and t_2 one star above. The one person rates t_i and t_1 two stars above their mean.
    Everybody also rates further items below their mean: the one person's stars may be 5, 5, 1 and
    1, and the others' 4, 4, 2 and 2.

    Args:
        people: Number of people who rate t_i and t_1; as many others rate t_i and t_2.
        sensitivity: Sensitivity of both candidates; None for the printed SS of each.
    """
    log_odds = []  # ln(P(t_2) / P(t_1)), with the person and without
    for is_present in (True, False):
        t_i, *candidates = _example_columns(people, is_present)
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
    """Compute the scales of PNCF's noise on the similarity of t_i and t_1 in two data sets.

    The data sets are those of `selection_loss`, with one person and without. The scale is
    SS / (epsilon' / 2).

    Args:
        people: Number of people in each of the two groups of both data sets.

    Returns:
        The scale with the one person, and the scale without.
    """
    with_person = _example_columns(people, is_present=True)
    without_person = _example_columns(people, is_present=False)
    present = theory.similarity_sensitivity(with_person[0], with_person[1])
    absent = theory.similarity_sensitivity(without_person[0], without_person[1])
    return present / (_EXAMPLE_EPSILON_PRIME / 2), absent / (_EXAMPLE_EPSILON_PRIME / 2)


def _example_columns(
    people: int, is_present: bool
) -> tuple[theory.Floats, theory.Floats, theory.Floats]:
    """Make the columns of t_i, t_1 and t_2 in the example of `selection_loss`.

    Args:
        people: Number of people in each of the example's two groups.
        is_present: Whether the example's one person is in the data.

    Returns:
        For each item the centred stars of all people: (2 * people,), or (2 * people + 1,) with the
        one person; NaN for unrated.
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
