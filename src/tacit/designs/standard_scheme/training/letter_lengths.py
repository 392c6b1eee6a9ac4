"""How many items letters show, by attribute value: equally many, or their number tells the value.

Runs at     the recommender.
Why         An item is shown with the chance CAP * min_c p_c / p_own, where p_c is the chance that a
            person with value c rates it. So letters of people with each value show equally many
            items in the mean, if the p_c are right. The counts from which they are estimated are
            rounded, so that they hardly depend on a single rater, or have noise. For a value that
            few people have, this makes the p_c far too small or too large for all items at once,
            and then the number of items in a letter tells the value, even if everybody rates alike.
Not found   a difference between the training people with a value and others who have it: where
            80 people have a value, how much such people rate is known only to several percent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.people import (
    ConsentingPeople,
    Floats,
    Statistics,
    clip_noisy_sums,
    entry_people,
)
from tacit.designs.standard_scheme.training.tables import Tables, estimate_chances_to_show

LARGEST_RATIO = 1.1
"""A fit is refused if letters of people with one value show more items than those of people with
another value by more than this factor."""
SIMULATIONS = 9
"""Number of simulated worlds over which a ratio is averaged."""


def expected_items_shown(
    people: ConsentingPeople, tables: Mapping[str, Tables]
) -> dict[str, Floats]:
    """Compute how many items letters of the training people with each value show in the mean.

    Args:
        people: The training people.
        tables: The tables of each attribute, which were estimated from them.

    Returns:
        (values,) expected numbers of shown items for each attribute, by its name; NaN for a value
        that nobody has.
    """
    rows = entry_people(people.levels)
    chances = np.ones(people.levels.nnz)
    for position, name in enumerate(people.names):
        value_of_rating = people.labels[rows, position]
        chances *= tables[name].keep[value_of_rating, people.levels.indices] / MICRO
    shown = np.bincount(rows, chances, minlength=people.n_people)
    means = {}
    for position, name in enumerate(people.names):
        labels = people.labels[:, position]
        n_values = len(people.values[position])
        sizes = np.bincount(labels, minlength=n_values).astype(float)
        sums = np.bincount(labels, shown, minlength=n_values)
        means[name] = np.divide(sums, sizes, out=np.full(n_values, math.nan), where=sizes > 0)
    return means


def simulate_exact_ratio(people: ConsentingPeople, position: int, *, seed: int = 0) -> float:
    """Simulate how unequal letters become because counts of few people are rounded.

    Unlike `expected_items_shown`, it does not depend on how much the few people with a value rate.

    Args:
        people: The training people, of whom the numbers with each value and the number of raters of
            each item are used.
        position: Position of the attribute in `people.names`.
        seed: Seed of the simulation.

    Returns:
        The ratio that `_simulate_ratio` returns.
    """
    sizes = np.bincount(people.labels[:, position], minlength=len(people.values[position]))
    raters = np.bincount(people.levels.indices, minlength=people.levels.shape[1])
    chances = raters[:, None] / people.n_people
    return _simulate_ratio(sizes[None].astype(float), chances, math.inf, seed)


def simulate_noisy_ratio(
    noisy: Statistics, *, epsilon: float, contributions: int, seed: int = 0
) -> float:
    """Simulate how unequal letters become by the noise and the rounding of a private release.

    The result is post-processing of the release.

    Args:
        noisy: The release.
        epsilon: Its epsilon, in nats.
        contributions: Largest number of ratings of a person.
        seed: Seed of the simulation.

    Returns:
        The ratio that `_simulate_ratio` returns.
    """
    assert noisy.histogram is not None  # a private release needs whole stars
    chances = noisy.histogram.sum(axis=(0, 1)) / noisy.people.sum()
    return _simulate_ratio(noisy.people, chances, epsilon / (contributions + 1), seed)


def _simulate_ratio(people: Floats, chances: Floats, noise_rate: float, seed: int) -> float:
    """Simulate the chances to show an item in a world where people with all values rate alike.

    Args:
        people: (parts, values) numbers of people.
        chances: (items, levels) chance that a person rates an item at a level.
        noise_rate: 1 / scale of the noise on each number; infinity for none.
        seed: Seed of the simulation.

    Returns:
        The largest share of ratings that people with a value show, divided by the smallest one: the
        mean over `SIMULATIONS`. It is infinite if in one simulation only some values show nothing.
    """
    generator = np.random.default_rng(seed)
    rated = chances.sum(axis=-1)
    ratios = []
    for _ in range(SIMULATIONS):
        ratings = generator.poisson(people[:, :, None, None] * chances)
        simulated = clip_noisy_sums(
            people + _draw_noise(generator, people.shape, noise_rate),
            ratings + _draw_noise(generator, ratings.shape, noise_rate),
        )
        raters = simulated.counts.sum(axis=(0, 1))
        ratios.append(largest_ratio(estimate_chances_to_show(simulated, raters) @ rated))
    return float(np.mean(ratios))


def largest_ratio(shown: Floats) -> float:
    """Divide the largest of (values,) numbers of shown items by the smallest; 1 if all are 0."""
    if shown.max() == 0:
        return 1.0
    return float(shown.max() / shown.min()) if shown.min() > 0 else math.inf


def _draw_noise(
    generator: np.random.Generator, shape: tuple[int, ...], noise_rate: float
) -> Floats:
    """Draw discrete Laplace noise for a simulation; it protects nobody.

    Args:
        generator: Source of the draws.
        shape: Shape of the noise.
        noise_rate: 1 / scale of the noise; infinity for zeros.
    """
    if math.isinf(noise_rate):
        return np.zeros(shape)
    stop = -math.expm1(-noise_rate)
    return np.asarray(
        generator.geometric(stop, shape) - generator.geometric(stop, shape), dtype=float
    )
