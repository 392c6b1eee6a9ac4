"""Theorem 1, Lemmas 1 and 2 and equation (4) in numbers.

All outcomes of a small world of two dimensions are enumerated. In a larger world with Gaussian
noise, the formulas are compared with simulated people. `linear_world` defines the letters.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.standard_scheme import theory
from tacit.designs.standard_scheme.experiment.linear_world import (
    NOISE_SD,
    SMALL_WORLD,
    SQUARE_WORLD,
    shifted_law,
    show_true_ratings,
    total_variation,
    wrapped_law,
)
from tacit.evaluation import Table

Floats = NDArray[np.float64]
PRIOR_SDS = (0.1, 1.0, 10.0, 100.0, 1000.0)
"""Standard deviations of the priors of Lemma 1."""
RADII = (1.0, 10.0, 100.0)
"""Largest lengths of x over which worst risks are computed."""
PENALTIES = (0.1, 10.0)
"""Ridge penalties: the patent's own, and the sound variant's."""
Z_95 = 1.959963984540054
"""Half width of a 95 % interval in standard errors."""


def compute_statements(
    *, items: int, dimensions: int, sigma: float, draws: int, seed: int
) -> dict[str, Any]:
    """Compute figures for Theorem 1, Lemmas 1 and 2 and equation (4).

    Args:
        items: Items of the Gaussian world.
        dimensions: Length of a profile there.
        sigma: Standard deviation of its noise.
        draws: Simulated people for each attribute value.
        seed: Seed of all draws.

    Returns:
        What was computed for each statement, by JSON key.
    """
    generator = np.random.default_rng(seed)
    profiles = generator.normal(size=(items, dimensions))
    gaps = generator.normal(0.0, 0.3, size=items)
    return {
        "privacy": compute_distances(),
        "enumerated": enumerate_risk(),
        "risk": compute_risk(profiles, gaps, generator, sigma=sigma, draws=draws),
        "lemma_1": compute_lemma_1(profiles, sigma),
        "lemma_2": compute_lemma_2(),
        "disclosure": compute_risk_of_withheld_gaps(profiles, sigma),
        "coarse_disclosure": compute_coarse_disclosure(),
    }


def compute_distances() -> dict[str, Any]:
    """Compute the distance of the releases' distributions for the two attribute values.

    This is part 1 of Theorem 1.

    Returns:
        `outcomes`: number of vectors of ratings that a person with an attribute value can have in
            the enumerated world.
        `distance_of_releases`: total variation distance of the releases of both attribute values.
        `distance_of_true_ratings`: total variation distance of the true ratings of both values.
    """
    world = SMALL_WORLD
    laws_of_release = [world.law(attribute, world.obfuscate) for attribute in (1, -1)]
    laws_of_ratings = [world.law(attribute, show_true_ratings) for attribute in (1, -1)]
    return {
        "outcomes": len(world.outcomes(1)),
        "distance_of_releases": total_variation(*laws_of_release),
        "distance_of_true_ratings": total_variation(*laws_of_ratings),
    }


def enumerate_risk() -> dict[str, Any]:
    """Compute equation (4) and exact risks in the enumerated world, also if x0 is ignored."""
    world = SMALL_WORLD
    return {
        "formula": theory.least_squares_risk(world.profiles, NOISE_SD),
        "risk_plus": world.risk(1, world.obfuscate),
        "risk_minus": world.risk(-1, world.obfuscate),
        "ignoring_attribute": world.risk(1, show_true_ratings),
        "ignoring_attribute_formula": theory.risk_ignoring_attribute(
            world.profiles, world.gaps, NOISE_SD
        ),
    }


def compute_risk(
    profiles: Floats,
    gaps: Floats,
    generator: np.random.Generator,
    *,
    sigma: float,
    draws: int,
) -> dict[str, Any]:
    """Compute what Theorem 1, part 2, compares: the scheme's risk, and risks from true ratings."""
    simulated = {
        name: sample_risk(profiles, gaps, attribute, generator, sigma=sigma, draws=draws)
        for name, attribute in (("simulated_plus", 1), ("simulated_minus", -1))
    }
    formula = theory.least_squares_risk(profiles, sigma)
    return {
        "formula": formula,
        **simulated,
        "attribute_known": formula,
        "attribute_estimated": theory.risk_estimating_attribute(profiles, gaps, sigma),
        "attribute_ignored": theory.risk_ignoring_attribute(profiles, gaps, sigma),
    }


def sample_risk(
    profiles: Floats,
    gaps: Floats,
    attribute: int,
    generator: np.random.Generator,
    *,
    sigma: float,
    draws: int,
) -> dict[str, float]:
    """Compute the scheme's mean squared error over simulated people, with its 95 % interval."""
    tastes = generator.normal(size=(draws, profiles.shape[1]))
    noise = generator.normal(0.0, sigma, size=(draws, len(profiles)))
    ratings = tastes @ profiles.T + attribute * gaps + noise
    released = ratings - attribute * gaps
    estimates = released @ np.linalg.pinv(profiles).T
    errors = ((estimates - tastes) ** 2).sum(axis=1)
    half_width = Z_95 * float(errors.std(ddof=1)) / math.sqrt(draws)
    mean = float(errors.mean())
    return {"mean": mean, "low": mean - half_width, "high": mean + half_width}


def compute_lemma_1(profiles: Floats, sigma: float) -> dict[str, Any]:
    """Compute Lemma 1's lower bounds on any estimator's worst risk, and ridge's worst risks.

    Ridge's worst risks are over all x up to a largest length.
    """
    bounds = [
        {"prior_sd": prior_sd, "risk_at_least": theory.bayes_risk(profiles, sigma, prior_sd)}
        for prior_sd in PRIOR_SDS
    ]
    estimators = []
    for radius in RADII:
        for penalty in (0.0, *PENALTIES):
            risk = theory.worst_ridge_risk(profiles, sigma, penalty, radius)
            estimators.append({"ridge": penalty, "radius": radius, "worst_risk": risk})
    return {
        "least_squares": theory.least_squares_risk(profiles, sigma),
        "bounds": bounds,
        "estimators": estimators,
    }


def compute_lemma_2() -> dict[str, Any]:
    """Compute total variation distances of the laws of Lemma 2.

    Returns:
        `distance`: from Z_+(s) to Z_-(s - 2 v_0), which the lemma says are equal.
        `distance_without_shift`: from Z_+(s) to Z_-(s).
    """
    world = SQUARE_WORLD
    mean = np.array([1.5, -0.5])
    law = shifted_law(world, mean, 1)
    return {
        "distance": total_variation(law, shifted_law(world, mean - 2 * world.gaps, -1)),
        "distance_without_shift": total_variation(law, shifted_law(world, mean, -1)),
    }


def compute_risk_of_withheld_gaps(profiles: Floats, sigma: float) -> list[dict[str, Any]]:
    """Compute, for Theorem 1, part 3, the risk if the gaps of some items are not disclosed.

    Ratings of these items cannot be sent; the risk is that of an estimate from the others.

    Returns:
        Rows of `withheld` and `risk`: the gaps of the first `withheld` items are not disclosed.
        `risk` is None if fewer items than dimensions are left, because then no estimator has a
        finite worst risk.
    """
    rows = []
    for withheld in range(len(profiles)):
        risk = theory.least_squares_risk(profiles[withheld:], sigma)
        rows.append({"withheld": withheld, "risk": risk if math.isfinite(risk) else None})
    return rows


def compute_coarse_disclosure() -> dict[str, Any]:
    """Bound the risk of a disclosure that does not say which of two gaps is true, from below.

    This is the example of the proof of Theorem 1, part 3. The release is item 0's rating, minus x0
    times one of the two gaps, modulo twice their difference, the period. It is private whichever
    gap is true, and it has the same law for two tastes that differ by a multiple of the period.
    """
    gaps = (0.5, 0.25)
    period = 2 * (gaps[0] - gaps[1])
    distances = []
    for true_gap in gaps:
        world = replace(SQUARE_WORLD, gaps=np.array([true_gap, 0.0]))
        laws = [wrapped_law(world, attribute, gaps[0], period) for attribute in (1, -1)]
        distances.append(total_variation(*laws))
    world = replace(SQUARE_WORLD, gaps=np.array([gaps[0], 0.0]))
    moved_world = replace(world, taste=world.taste + np.array([7 * period, 0.0]))
    distance_of_tastes = total_variation(
        wrapped_law(world, 1, gaps[0], period), wrapped_law(moved_world, 1, gaps[0], period)
    )
    risks = [
        {
            "radius": radius,
            "risk_at_least": theory.least_risk_of_coarse_disclosure(gaps[0] - gaps[1], 1.0, radius),
            "standard_scheme": theory.least_squares_risk(np.array([[1.0]]), NOISE_SD),
        }
        for radius in RADII
    ]
    return {
        "private_under_both_gaps": max(distances) == 0.0,
        "distance_of_attributes": max(distances),
        "distance_of_tastes_seven_periods_apart": distance_of_tastes,
        "risks": risks,
    }


def describe(data: dict[str, Any]) -> list[Table | str]:
    """Tabulate each statement of the patent with what was computed for it."""
    withheld = [
        (row["withheld"], "unbounded" if row["risk"] is None else f"{row['risk']:.4f}")
        for row in data["disclosure"]
    ]
    statements = [
        ("Theorem 1.1: the release has one law for both values", describe_privacy(data)),
        ("Equation (4): the risk is sigma^2 tr[(sum v v^T)^-1]", describe_formula(data)),
        ("Theorem 1.2: no private scheme has less risk", describe_risk(data)),
        ("Lemma 1: no worst risk is below that of least squares", describe_bound(data)),
        ("Lemma 2: Z_+(s) and Z_-(s - 2 v_0) have one law", describe_shift(data)),
        ("Theorem 1.3: less disclosure costs risk without bound", describe_disclosure(data)),
    ]
    title = "The patent's statements, and what was computed"
    return [
        Table(title, ("statement", "computed"), statements),
        Table(
            "Risk where gaps are withheld",
            ("gaps withheld", "risk of an estimate from the others"),
            withheld,
        ),
    ]


def describe_privacy(data: dict[str, Any]) -> str:
    """State the distances of the laws under both values."""
    results = data["privacy"]
    return (
        f"distance {results['distance_of_releases']:g} over {results['outcomes']} outcomes; true "
        f"ratings {results['distance_of_true_ratings']:.3f}"
    )


def describe_formula(data: dict[str, Any]) -> str:
    """State the trace formula and the enumerated risks."""
    results = data["enumerated"]
    return (
        f"formula {results['formula']:.6f}; enumerated {results['risk_plus']:.6f} and "
        f"{results['risk_minus']:.6f}"
    )


def describe_risk(data: dict[str, Any]) -> str:
    """State the scheme's risk, and the risks from true ratings."""
    results = data["risk"]
    return (
        f"scheme {results['formula']:.4f}, simulated {results['simulated_plus']['mean']:.4f} and "
        f"{results['simulated_minus']['mean']:.4f}; with the attribute known "
        f"{results['attribute_known']:.4f}, estimated {results['attribute_estimated']:.4f}, "
        f"ignored {results['attribute_ignored']:.4f}"
    )


def describe_bound(data: dict[str, Any]) -> str:
    """State the bound of the widest prior and the risk of least squares."""
    results = data["lemma_1"]
    widest = results["bounds"][-1]
    return (
        f"at least {widest['risk_at_least']:.4f} by a prior of sd {widest['prior_sd']:g}; least "
        f"squares {results['least_squares']:.4f}"
    )


def describe_shift(data: dict[str, Any]) -> str:
    """State the distances with and without Lemma 2's shift."""
    results = data["lemma_2"]
    return (
        f"distance {results['distance']:g}; without the shift "
        f"{results['distance_without_shift']:.3f}"
    )


def describe_disclosure(data: dict[str, Any]) -> str:
    """State the least risk at the largest radius, if a disclosure leaves open which gap is true."""
    longest = data["coarse_disclosure"]["risks"][-1]
    return (
        f"two gaps not distinguished: at least {longest['risk_at_least']:,.0f} for |x| <= "
        f"{longest['radius']:g}; the scheme {longest['standard_scheme']:.2f}"
    )
