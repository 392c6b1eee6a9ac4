"""A generated population of raters, with a binary attribute that shows in what they rate and how.

Model    r = m_i + <v_i, x_u> + x0 g_i + noise, rounded to the scale and clipped, where x0 is +1 for
         the first of the two values, -1 for the second, and g_i is half the gap between the two.
         The first latent factor weighs the same on every item: how mild a person judges.
Who rates what   Each person draws their items without replacement, an item's weight being
         exp(popularity + taste + x0 l_i / 2): l_i is the item's gap in log-odds.
Figures  Popularity, activity, the spread of stars and both gaps are as measured on MovieLens 100K.
Labels   such as genres: unit directions in the space of tastes. An item carries the one to three
         with the highest scores TELLING <k_i, direction> / sd + sqrt(1 - TELLING^2) normal, k_i
         being why people choose the item.
A result on generated ratings is no evidence about people.
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
FEWEST = 20  # ratings of the least active person, as MovieLens keeps it
LOG_ODDS_GAP = 0.4  # sd over items at which=1
FACTORS = 10  # latent
MEAN, NOISE = 3.05, 0.82  # of an item before selection; sd of a single rating: stars
PULL = 0.35  # change of an item's log-odds per unit of taste times profile, for each latent factor
TASTE = 0.6  # sd of what all latent tastes but mildness add to a rating, stars
ALONG_TASTE = 0.95  # correlation of the gap in log-odds with what one latent taste prefers
MOST_OF_AN_ITEM, TELLING = 3, 0.8  # labels; how much they say of tastes, from 0 to 1
_CELLS = 2_000_000  # weights held at once while drawing
_SHARE_OF_ITEMS = 0.7  # the most active person rates at most this share, if room is left
_START, _SPAN = 956_703_932, 3 * 365 * 86_400  # first second and length of the period, in seconds

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
    """Exactly `ratings` ratings, at least 20 a person where there are enough, and times.

    share      of people with the first of the attribute's two values, "F" and "M", 0 to 1
    which      0: the attribute has no say in which items are rated; 1: as much as in MovieLens 100K
    how        sd over items of half the gap in stars; 0: the attribute has no say in the stars
    scale      stars are drawn on a five-star scale and stretched to this one
    labels     item metadata "genres", as in `generate_domains`; they change nothing else
    The ids are 1, 2, ...; every item is rated at least once where there are enough ratings. With
    which=how=0 the ratings do not depend on `share`. ConfigError for numbers out of range.
    """
    if min(users, items) < 1 or not users <= ratings <= users * items:
        raise ConfigError(
            f"{users} people and {items} items can share {users} to {users * items} ratings, one "
            f"or more each; got {ratings}."
        )
    if not 0 <= share <= 1:
        raise ConfigError(f"share is a part of the people, from 0 to 1; got {share}.")
    if not (np.isfinite([which, how]).all() and min(which, how, labels) >= 0):
        raise ConfigError("which, how and labels are finite numbers of 0 or more.")
    of_world, *streams, of_stars, of_times, of_labels = np.random.SeedSequence(seed).spawn(7)
    of_activity, of_choices, of_cover = streams
    person, item = map(np.random.default_rng, of_world.spawn(2))
    tastes = person.standard_normal((users, FACTORS))
    first = person.permutation(users) < round(share * users)  # who has the first value
    signs = np.where(first, 1.0, -1.0)
    fame, own, esteem = item.standard_normal((3, items))
    kinds = item.standard_normal((items, FACTORS))
    kinds[:, 0] = 0  # mildness has no say in what is rated
    gap = ALONG_TASTE * kinds[:, -1] + np.sqrt(1 - ALONG_TASTE**2) * own
    liked = 0.6 * kinds + 0.8 * item.standard_normal((items, FACTORS))
    profiles = liked * TASTE / np.sqrt(FACTORS - 1)  # stars per unit of taste
    profiles[:, 0] = 0.42
    half_gaps = how * (0.5 * gap + np.sqrt(0.75) * item.standard_normal(items))  # stars
    pulls = PULL * kinds  # log weight per unit of taste
    popularity = 1.5 * fame - 0.15 * fame**2  # log weight
    log_odds = which * LOG_ODDS_GAP * gap

    def keys(part: slice) -> Floats:
        weights: Floats = tastes[part] @ pulls.T
        weights += popularity + signs[part, None] * log_odds / 2
        return weights

    counts = _activity(users, items, ratings, of_activity)
    rows = np.repeat(np.arange(users), counts)
    columns = _cover(draw_items(keys, items, counts, of_choices), items, of_cover)
    stars = np.random.default_rng(of_stars).normal(scale=NOISE, size=ratings)
    stars += (MEAN + 0.5 * (0.6 * fame + 0.8 * esteem))[columns] + signs[rows] * half_gaps[columns]
    for factor in range(FACTORS):  # one at a time: (ratings, factors) would be big
        stars += tastes[rows, factor] * profiles[columns, factor]
    stretched = scale.minimum + (stars - 1) / 4 * scale.span
    if scale.step:
        steps = np.round((stretched - scale.minimum) / scale.step)
        stretched = scale.minimum + scale.step * steps
    metadata = {"title": {number: f"Item {number}" for number in range(1, items + 1)}}
    if labels:
        texts = label_items(pulls, labels, of_labels)
        metadata["genres"] = dict(enumerate(texts.tolist(), 1))
    return Ratings.from_arrays(
        rows + 1,
        columns + 1,
        np.clip(stretched, scale.minimum, scale.maximum),
        _times(rows, users, of_times),
        scale=scale,
        user_attributes={"gender": dict(enumerate(np.where(first, "F", "M").tolist(), 1))},
        item_metadata=metadata,
    )


def _activity(users: int, items: int, ratings: int, seed: np.random.SeedSequence) -> Ints:
    """Draw how many items each person rates: log-normal above the fewest, `ratings` in total."""
    fewest = min(FEWEST, ratings // users)
    most = items if ratings > users * items * _SHARE_OF_ITEMS / 2 else items * _SHARE_OF_ITEMS
    weights = np.random.default_rng(seed).lognormal(sigma=1.25, size=users)
    room = np.full(users, int(most) - fewest, dtype=np.float64)
    room = np.maximum(room, np.ceil(ratings / users) - fewest)
    low, high = 0.0, 1.0
    while np.minimum(room, high * weights).sum() < ratings - fewest * users and high < np.inf:
        high *= 2
    for _ in range(100):  # the one factor that gives the total, people at their limit left there
        middle = (low + high) / 2
        enough = np.minimum(room, middle * weights).sum() >= ratings - fewest * users
        low, high = (low, middle) if enough else (middle, high)
    exact = np.minimum(room, high * weights)
    counts: Ints = np.floor(exact).astype(np.int64)
    missing = ratings - fewest * users - int(counts.sum())
    largest = np.argsort(np.where(counts < room, counts - exact, np.inf), kind="stable")
    counts[largest[:missing]] += 1
    counts += fewest
    return counts


def draw_items(
    weights: Callable[[slice], Floats],
    items: int,
    counts: Ints,
    seed: np.random.SeedSequence,
    *,
    in_order: bool = False,
) -> Ints:
    """Items that each person rates, one person after the other; in_order: sorted within a person.

    weights: (people, items) log weights of a slice of the people. counts: (users,) how many.
    The k largest of weight + Gumbel noise are k draws without replacement (Vieira, Gumbel-max trick
    and weighted reservoir sampling, 2014).
    """
    generator = np.random.default_rng(seed)
    block = max(1, _CELLS // items)
    chosen = []
    for start in range(0, len(counts), block):
        keys = weights(slice(start, start + block))
        keys -= np.log(generator.standard_exponential(keys.shape))
        for row, count in zip(keys, counts[start : start + block], strict=True):
            best = np.argpartition(row, items - count)[items - count :]
            chosen.append(np.sort(best) if in_order else best)
    return np.concatenate(chosen)


def _cover(columns: Ints, items: int, seed: np.random.SeedSequence) -> Ints:
    """Give every item that nobody chose one rating, in place of one of an item with several."""
    generator = np.random.default_rng(seed)
    counts = np.bincount(columns, minlength=items)
    columns = columns.copy()
    for item in np.flatnonzero(counts == 0):
        spare = np.flatnonzero(counts[columns] > 1)
        if not spare.size:
            break
        place = generator.choice(spare)  # its person has not rated this item: nobody has
        counts[columns[place]] -= 1
        columns[place] = item
        counts[item] = 1
    return columns


def _times(rows: NDArray[np.int64], users: int, seed: np.random.SeedSequence) -> NDArray[Any]:
    """Draw times: each person comes at some time and rates for some weeks."""
    generator = np.random.default_rng(seed)
    start = generator.uniform(0, _SPAN, users)
    stay = generator.exponential(60 * 86_400, users)
    passed = start[rows] + stay[rows] * generator.random(len(rows))
    return (_START + np.minimum(passed, _SPAN)).astype(np.int64)


def label_items(kinds: Floats, labels: int, seed: np.random.SeedSequence) -> Column:
    """(items,) texts such as "label 2|label 5", from (items, factors) kinds."""
    generator = np.random.default_rng(seed)
    directions = generator.standard_normal((labels, kinds.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    closeness = kinds @ directions.T
    closeness /= np.maximum(closeness.std(axis=0), 1e-12)
    noise = generator.standard_normal(closeness.shape)
    order = np.argsort(
        -(TELLING * closeness + np.sqrt(1 - TELLING**2) * noise), axis=1, kind="stable"
    )
    counts = generator.integers(1, min(MOST_OF_AN_ITEM, labels) + 1, len(kinds))
    texts = []
    for row, count in zip(order.tolist(), counts.tolist(), strict=True):
        texts.append(SEPARATOR.join(f"label {label + 1}" for label in row[:count]))
    return np.array(texts, dtype=object)
