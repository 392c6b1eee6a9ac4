"""The private disclosure on the audit's bench: sums over training people, with one more or less.

What a device sends hides an attribute without an epsilon: attacks measure that, and no audit. The
disclosure, which devices fetch, claims one for every training person.
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
ITEMS = 3
LEVELS = 2
CONTRIBUTIONS = 3
"""Most ratings of a person that count."""
_OTHERS = 80  # in every cell: no noise takes a count below 0, where it would be cut off
_HEADS = 2  # of a vector: people with either value

Numbers = NDArray[np.float64]


def sum_vector(ratings: int) -> Numbers:
    """Head counts and histogram of many people, and of one with so many ratings; 0: not there."""
    person = sum_statistics(
        sparse.csr_array(np.ones((1, ITEMS)) * (np.arange(ITEMS) < ratings)),
        np.array([1]),
        np.array([0]),
        n_values=_HEADS,
        n_levels=LEVELS,
        n_parts=1,
    )
    assert person.histogram is not None
    own = np.concatenate([person.people.ravel(), person.histogram.ravel()])
    return np.asarray(own * (ratings > 0) + _OTHERS)


def release_noisily(vector: Numbers, contributions: int) -> Numbers:
    """Release head counts and histogram of a vector, with noise for so many contributions."""
    histogram = vector[_HEADS:].reshape(1, _HEADS, ITEMS, LEVELS)
    people = vector[:_HEADS].reshape(1, _HEADS)
    stars = histogram @ np.arange(LEVELS)
    given = Statistics(people, histogram.sum(axis=-1), stars, histogram)
    with np.errstate(invalid="ignore"):  # the grey box spoils numbers
        noisy = add_noise(given, epsilon=EPSILON, contributions=contributions)
    assert noisy.histogram is not None
    return np.concatenate([noisy.people.ravel(), noisy.histogram.ravel()])


def pair(ratings: int, contributions: int = CONTRIBUTIONS) -> Pair:
    """Pair the sums with and without a training person with so many ratings."""
    return laplace_pair(
        f"a person with {ratings} ratings",
        lambda vector: release_noisily(vector, contributions),
        list(sum_vector(ratings)),
        list(sum_vector(0)),
        distance=CONTRIBUTIONS + 1,
        share=4 if ratings == CONTRIBUTIONS else 100,
    )


def audited_disclosure() -> AuditedMechanism:
    """Describe the release of the private disclosure's sums, with its pairs."""
    pairs = tuple(pair(ratings) for ratings in (1, 2, CONTRIBUTIONS))
    return AuditedMechanism(
        "private disclosure", "training person", "comes or goes", EPSILON, pairs
    )


def plant_bug(bug: bool) -> Pair:
    """Make a pair whose noise leaves the head count out of the sensitivity, if a bug is planted."""
    return pair(CONTRIBUTIONS, CONTRIBUTIONS - bug)


BUGS = (MechanismBug("the head count left out of the sensitivity", plant_bug, EPSILON),)


def audit() -> AuditPlan:
    """Plan the audit of the private disclosure."""
    return AuditPlan(
        {"": claim_makers([audited_disclosure])},
        BUGS,
        conclusion="No violation of the disclosure's claim was found. That is no proof.",
        next_step=(
            "tacit guarantee standard-scheme  reads what letters promise, and what they do not."
        ),
    )
