"""Audit of the private disclosure: noisy sums over training people, with and without one of them.

A private disclosure, which devices fetch, claims an epsilon for every training person; this audit
looks for violations of the claim. What a device sends claims no epsilon: it is measured by attacks,
not audited.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.auditing.bugs import MechanismBug
from tacit.auditing.claims import AuditPlan
from tacit.auditing.pairs import AuditedMechanism, Pair, claim_makers
from tacit.auditing.shipped_noise import laplace_pair
from tacit.designs.standard_scheme.training.people import Statistics, add_noise, sum_statistics

EPSILON = 1.0
"""Epsilon that the audited release claims."""
ITEMS = 3
"""Items of the audited histogram."""
LEVELS = 2
"""Levels of the audited histogram."""
CONTRIBUTIONS = 3
"""Most ratings that one person adds to the sums."""
_OTHERS = 80
"""Count of other people in every cell: so many that noise hardly ever takes a count below 0, where
it would be cut off."""
_VALUES = 2
"""Values of the attribute. The first entries of a vector are the numbers of people with each."""

Numbers = NDArray[np.float64]


def sum_vector(ratings: int) -> Numbers:
    """Sum head counts and histogram of many people and of one person with a number of ratings.

    Args:
        ratings: How many ratings the one person has; 0 if that person is not in the data.

    Returns:
        (_VALUES + _VALUES * ITEMS * LEVELS,) head counts by value, then the histogram.
    """
    rated = np.arange(ITEMS) < ratings
    person = sum_statistics(
        sparse.csr_array(rated[None, :].astype(np.float64)),
        np.array([1]),
        np.array([0]),
        n_values=_VALUES,
        n_levels=LEVELS,
        n_parts=1,
    )
    assert person.histogram is not None
    own_counts = np.concatenate([person.people.ravel(), person.histogram.ravel()])
    if ratings == 0:
        own_counts = np.zeros_like(own_counts)
    return np.asarray(own_counts + _OTHERS)


def release_noisily(vector: Numbers, contributions: int) -> Numbers:
    """Add noise to a vector of head counts and histogram, as a private disclosure does.

    Args:
        vector: As `sum_vector` returns it.
        contributions: How many ratings of one person the noise is calibrated for.
    """
    histogram = vector[_VALUES:].reshape(1, _VALUES, ITEMS, LEVELS)
    people = vector[:_VALUES].reshape(1, _VALUES)
    stars = histogram @ np.arange(LEVELS)
    exact = Statistics(people, histogram.sum(axis=-1), stars, histogram)
    with np.errstate(invalid="ignore"):  # the grey-box audit also calls this with NaN
        noisy = add_noise(exact, epsilon=EPSILON, contributions=contributions)
    assert noisy.histogram is not None
    return np.concatenate([noisy.people.ravel(), noisy.histogram.ravel()])


def pair(ratings: int, contributions: int = CONTRIBUTIONS) -> Pair:
    """Pair the sums with and without one training person.

    Args:
        ratings: How many ratings that person has.
        contributions: How many ratings of one person the noise is calibrated for.
    """
    return laplace_pair(
        f"a person with {ratings} ratings",
        lambda vector: release_noisily(vector, contributions),
        list(sum_vector(ratings)),
        list(sum_vector(0)),
        distance=CONTRIBUTIONS + 1,  # one person's ratings and their head count, in L1
        # The pair gets 1/4 of the samples for a person with the most ratings, 1/100 for others.
        sample_divisor=4 if ratings == CONTRIBUTIONS else 100,
    )


def audited_disclosure() -> AuditedMechanism:
    """Describe the release of the private disclosure's sums, with its pairs."""
    pairs = tuple(pair(ratings) for ratings in (1, 2, CONTRIBUTIONS))
    return AuditedMechanism(
        mechanism="private disclosure",
        unit="training person",
        adjacency="comes or goes",
        epsilon=EPSILON,
        pairs=pairs,
    )


def plant_bug(planted: bool) -> Pair:
    """Make a pair. A planted bug leaves the head count out of the sensitivity of its noise."""
    return pair(CONTRIBUTIONS, CONTRIBUTIONS - 1 if planted else CONTRIBUTIONS)


BUGS = (MechanismBug("the head count left out of the sensitivity", plant_bug, EPSILON),)


def audit() -> AuditPlan:
    """Plan the audit of the private disclosure."""
    return AuditPlan(
        {"": claim_makers([audited_disclosure])},
        BUGS,
        conclusion="No violation of the disclosure's claim was found. That is no proof.",
        next_step=(
            "tacit guarantee standard-scheme  says what is promised about a device's letters."
        ),
    )
