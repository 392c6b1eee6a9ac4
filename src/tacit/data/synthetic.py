"""Generated ratings of people with a binary attribute that affects which items they rate, and how.

Stars    r = m_i + <v_i, x_u> + s_u g_i + noise, rounded to the scale and clipped. m_i is the item's
         mean, v_i its profile, x_u the person's tastes, s_u is +1 for the first value of the
         attribute and -1 for the second, and g_i is half the gap between the two.
         The first latent factor has the same weight on every item: how mildly a person judges.
Who rates what   Each person draws their items without replacement, with weights
         exp(p_i + <k_i, x_u> + s_u l_i / 2). p_i is the item's popularity, k_i how much each taste
         attracts to it, and l_i its gap in log-odds between the two values of the attribute.
Figures  Popularity, activity, the spread of stars and both gaps are as measured on MovieLens 100K;
         so are the numbers in the code that have no name.
Labels   such as genres, are unit vectors d in the space of tastes. An item has the one to three
         labels with the highest scores  c <k_i, d> / sd + sqrt(1 - c^2) normal noise,
         c = LABEL_CORRELATION.
Limits   A result on generated ratings is no evidence about people.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.domains import SEPARATOR
from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.errors import ConfigError

FIVE_STARS = RatingScale(1, 5, 1)
"""Scale in which stars are drawn."""
FEWEST_RATINGS = 20
"""Ratings of the least active person, as in MovieLens."""
LOG_ODDS_GAP = 0.4
"""Standard deviation over items of the gap in log-odds, with the option which=1."""
FACTORS = 10
"""Number of latent factors."""
MEAN = 3.05
"""Mean stars of the average item, over all people, whether they would rate it or not."""
NOISE = 0.82
"""Standard deviation of the noise of a single rating, in stars."""
MILDNESS = 0.42
"""Standard deviation over people of how mildly they judge, in stars."""
ATTRACTION = 0.35
"""Change of an item's log weight per unit of a taste and unit of the item's factor."""
TASTE = 0.6
"""Standard deviation of what all latent tastes but mildness add to a rating, in stars."""
GAP_CORRELATION = 0.95
"""Correlation of the gap in log-odds with the last latent factor of the items."""
MOST_LABELS = 3
"""Largest number of labels of an item."""
LABEL_CORRELATION = 0.8
"""Correlation of labels with tastes: 0 for random labels, 1 for labels that follow tastes."""
_WEIGHTS_AT_ONCE = 2_000_000
"""Number of weights that are in memory at once while items are drawn."""
_LARGEST_SHARE_OF_ITEMS = 0.7
"""Largest share of the items that a person rates, unless the mean share is above half of this."""
_SECONDS_PER_DAY = 86_400
_FIRST_SECOND = 956_703_932
"""Earliest time of a rating: in April 2000, as in MovieLens."""
_PERIOD = 3 * 365 * _SECONDS_PER_DAY
"""Seconds from the earliest to the latest time that a rating may have."""
_STAY = 60 * _SECONDS_PER_DAY
"""Mean length, in seconds, of the period from which the times of a person's ratings are drawn."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def generate(
    *,
    users: int = 1000,
    items: int = 500,
    ratings: int = 60_000,
    share: float = 0.3,
    which: float = 1.0,
    how: float = 0.1,
    scale: RatingScale = FIVE_STARS,
    labels: int = 0,
    seed: int,
) -> Ratings:
    """Generate ratings with times, and the attribute "gender" with the values "F" and "M".

    If there are enough ratings, each person has at least 20, and each item at least one. Ids are 1,
    2, ... With which=0 and how=0, the ratings do not depend on `share`.

    Args:
        users: Number of people.
        items: Number of items.
        ratings: Number of ratings of all people together.
        share: Share of people with the first value of the attribute, 0 to 1.
        which: How much the attribute affects which items are rated: 0 for not at all, 1 for as
            much as in MovieLens 100K.
        how: How much the attribute affects the stars: the standard deviation over items of g_i,
            half the gap, in stars.
        scale: Scale of the ratings. They are drawn in one to five stars and stretched to it.
        labels: Number of different labels in the item metadata "genres"; 0: no such metadata.
            Labels do not change the ratings.
        seed: Seed of all draws.

    Raises:
        ConfigError: A number is out of its range.
    """
    if min(users, items) < 1 or not users <= ratings <= users * items:
        raise ConfigError(
            f"{users} people and {items} items have {users} to {users * items} ratings, one or "
            f"more of each person; got {ratings}."
        )
    if not 0 <= share <= 1:
        raise ConfigError(f"share is a part of the people, from 0 to 1; got {share}.")
    if not (np.isfinite([which, how]).all() and min(which, how, labels) >= 0):
        raise ConfigError("which, how and labels are finite numbers of 0 or more.")
    # One stream of random numbers for each step, so that an option changes only its own draws.
    (
        population_seed,
        activity_seed,
        choice_seed,
        replacement_seed,
        star_seed,
        time_seed,
        label_seed,
    ) = np.random.SeedSequence(seed).spawn(7)
    person_rng, item_rng = map(np.random.default_rng, population_seed.spawn(2))
    tastes = person_rng.standard_normal((users, FACTORS))
    has_first_value = person_rng.permutation(users) < round(share * users)
    signs = np.where(has_first_value, 1.0, -1.0)  # s_u of the module's docstring
    fame, unrelated_gap, esteem = item_rng.standard_normal((3, items))
    item_factors = item_rng.standard_normal((items, FACTORS))
    item_factors[:, 0] = 0  # mildness does not affect which items are rated
    gap = mix_correlated(item_factors[:, -1], unrelated_gap, GAP_CORRELATION)
    liked_factors = mix_correlated(
        item_factors, item_rng.standard_normal((items, FACTORS)), correlation=0.6
    )
    profiles = liked_factors * TASTE / np.sqrt(FACTORS - 1)  # v_i, stars per unit of taste
    profiles[:, 0] = MILDNESS
    half_gaps = how * mix_correlated(gap, item_rng.standard_normal(items), correlation=0.5)  # g_i
    attraction = ATTRACTION * item_factors  # k_i, log weight per unit of taste
    popularity = 1.5 * fame - 0.15 * fame**2  # p_i, log weight
    log_odds = which * LOG_ODDS_GAP * gap  # l_i
    means = MEAN + 0.5 * mix_correlated(fame, esteem, correlation=0.6)  # m_i

    def log_weights(part: slice) -> Floats:
        """Compute p_i + <k_i, x_u> + s_u l_i / 2 for some people u: (people, items)."""
        weights: Floats = tastes[part] @ attraction.T
        weights += popularity + signs[part, None] * log_odds / 2
        return weights

    counts = _draw_activity(users, items, ratings, activity_seed)
    rows = np.repeat(np.arange(users), counts)
    columns = draw_items(log_weights, items, counts, choice_seed)
    columns = _rate_every_item(columns, items, replacement_seed)
    stars = np.random.default_rng(star_seed).normal(scale=NOISE, size=ratings)
    stars += means[columns] + signs[rows] * half_gaps[columns]
    for factor in range(FACTORS):  # one at a time: (ratings, factors) numbers need much memory
        stars += tastes[rows, factor] * profiles[columns, factor]
    stretched = scale.minimum + (stars - FIVE_STARS.minimum) / FIVE_STARS.span * scale.span
    if scale.step:
        steps = np.round((stretched - scale.minimum) / scale.step)
        stretched = scale.minimum + scale.step * steps
    metadata = {"title": {number: f"Item {number}" for number in range(1, items + 1)}}
    if labels:
        texts = label_items(attraction, labels, label_seed)
        metadata["genres"] = dict(enumerate(texts.tolist(), 1))
    genders = np.where(has_first_value, "F", "M").tolist()
    return Ratings.from_arrays(
        rows + 1,
        columns + 1,
        np.clip(stretched, scale.minimum, scale.maximum),
        _draw_times(rows, users, time_seed),
        scale=scale,
        user_attributes={"gender": dict(enumerate(genders, 1))},
        item_metadata=metadata,
    )


def mix_correlated(normal: Floats, other: Floats, correlation: float) -> Floats:
    """Mix two independent standard normal arrays into one with this correlation to `normal`."""
    mixed: Floats = correlation * normal + np.sqrt(1 - correlation**2) * other
    return mixed


def _draw_activity(users: int, items: int, ratings: int, seed: np.random.SeedSequence) -> Ints:
    """Draw the number of items that each person rates: a minimum plus a log-normal number.

    The log-normal numbers are all scaled by one factor and limited, so that the sum over people is
    `ratings`. Nobody rates more than `_LARGEST_SHARE_OF_ITEMS` of the items, unless people rate
    more than half of that share on average.

    Returns:
        (users,) numbers of items.
    """
    fewest = min(FEWEST_RATINGS, ratings // users)
    is_dense = ratings > users * items * _LARGEST_SHARE_OF_ITEMS / 2
    most = items if is_dense else items * _LARGEST_SHARE_OF_ITEMS
    weights = np.random.default_rng(seed).lognormal(sigma=1.25, size=users)
    # The largest number of items that a person may rate above the minimum.
    room = np.full(users, int(most) - fewest, dtype=np.float64)
    room = np.maximum(room, np.ceil(ratings / users) - fewest)
    total = ratings - fewest * users
    # Bisection for the factor at which sum(min(room, factor weights)) is the total.
    low, high = 0.0, 1.0
    while np.minimum(room, high * weights).sum() < total and high < np.inf:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if np.minimum(room, middle * weights).sum() >= total:
            high = middle
        else:
            low = middle
    exact = np.minimum(room, high * weights)
    counts: Ints = np.floor(exact).astype(np.int64)
    # Rounding down leaves some ratings over. They go to the people who lost most by it.
    missing = total - int(counts.sum())
    by_fraction = np.argsort(np.where(counts < room, counts - exact, np.inf), kind="stable")
    counts[by_fraction[:missing]] += 1
    counts += fewest
    return counts


def draw_items(
    log_weights: Callable[[slice], Floats],
    items: int,
    counts: Ints,
    seed: np.random.SeedSequence,
    *,
    in_order: bool = False,
) -> Ints:
    """Draw the items that each person rates, without replacement.

    The k largest of log weight + Gumbel noise are k draws without replacement (Vieira, Gumbel-max
    trick and weighted reservoir sampling, 2014).

    Args:
        log_weights: Computes the (people, items) log weights of a slice of the people; -inf for an
            item that is never drawn. The array that it returns is changed in place.
        items: Number of items.
        counts: (users,) how many items each person rates.
        seed: Seed of the draws.
        in_order: Whether the items of a person are sorted; if not, they are in any order.

    Returns:
        (sum of counts,) numbers of items, one person after the other.
    """
    generator = np.random.default_rng(seed)
    people_at_once = max(1, _WEIGHTS_AT_ONCE // items)
    chosen = []
    for start in range(0, len(counts), people_at_once):
        keys = log_weights(slice(start, start + people_at_once))
        keys -= np.log(generator.standard_exponential(keys.shape))  # adds Gumbel noise
        for row, count in zip(keys, counts[start : start + people_at_once], strict=True):
            largest = np.argpartition(row, items - count)[items - count :]
            chosen.append(np.sort(largest) if in_order else largest)
    return np.concatenate(chosen)


def _rate_every_item(columns: Ints, items: int, seed: np.random.SeedSequence) -> Ints:
    """Give each item that nobody chose one rating, which replaces a rating of an item with several.

    Args:
        columns: (ratings,) the item of each rating, from 0.
        items: Number of items.
        seed: Seed of the choice of replaced ratings.

    Returns:
        (ratings,) the items after the replacements.
    """
    generator = np.random.default_rng(seed)
    counts = np.bincount(columns, minlength=items)
    columns = columns.copy()
    for item in np.flatnonzero(counts == 0):
        replaceable = np.flatnonzero(counts[columns] > 1)
        if not replaceable.size:  # no item has several ratings
            break
        replaced = generator.choice(replaceable)  # no person has rated the new item yet
        counts[columns[replaced]] -= 1
        columns[replaced] = item
        counts[item] = 1
    return columns


def _draw_times(rows: NDArray[np.int64], users: int, seed: np.random.SeedSequence) -> NDArray[Any]:
    """Draw times in seconds since 1970, for each person within a period of their own.

    The period begins at a random time; its length is random, with a mean of `_STAY`.

    Args:
        rows: (ratings,) the person of each rating.
        users: Number of people.
        seed: Seed of the draws.
    """
    generator = np.random.default_rng(seed)
    first_times = generator.uniform(0, _PERIOD, users)
    stays = generator.exponential(_STAY, users)
    elapsed = first_times[rows] + stays[rows] * generator.random(len(rows))
    return (_FIRST_SECOND + np.minimum(elapsed, _PERIOD)).astype(np.int64)


def label_items(attraction: Floats, labels: int, seed: np.random.SeedSequence) -> Column:
    """Draw one to three labels for each item, as the module's docstring says.

    Args:
        attraction: (items, factors) k_i, how much each taste attracts to each item.
        labels: Number of different labels.
        seed: Seed of the draws.

    Returns:
        (items,) texts such as "label 2|label 5", the label with the highest score first.
    """
    generator = np.random.default_rng(seed)
    directions = generator.standard_normal((labels, attraction.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    closeness = attraction @ directions.T
    closeness /= np.maximum(closeness.std(axis=0), 1e-12)
    noise = generator.standard_normal(closeness.shape)
    scores = mix_correlated(closeness, noise, LABEL_CORRELATION)
    order = np.argsort(-scores, axis=1, kind="stable")
    counts = generator.integers(1, min(MOST_LABELS, labels) + 1, len(attraction))
    texts = []
    for row, count in zip(order.tolist(), counts.tolist(), strict=True):
        texts.append(SEPARATOR.join(f"label {label + 1}" for label in row[:count]))
    return np.array(texts, dtype=object)
