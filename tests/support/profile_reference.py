"""What ONE person adds to each sum, readable: compiled kernels are compared with it."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.profile_kernels.types import (
    ProfileCentre,
    Profiles,
    StarRows,
    StarTable,
    TasteMap,
)
from tacit.profile_sums.features import FeatureTables
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.counts import (
    Counts,
    make_counts,
    norm_of_items,
    release_count_table,
)
from tacit.profile_sums.sums.item_tastes import ItemQuery
from tacit.profile_sums.sums.taste_maps import LEAST_REST, map_features

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def exact_counts(people: Profiles, context: int, targets: int, settings: Settings) -> Counts:
    """Sum 1 without noise, as shares of people."""
    return make_counts(release_count_table(people, context, targets, 0.0, settings), settings)


def shares(person: Profiles, damping: Floats, features: sparse.csr_array) -> tuple[Floats, float]:
    """(f,) mean features of ONE person's context items, and the sum of their weights."""
    mean, weights = np.zeros(features.shape[1]), 0.0
    for item, liked in zip(person.items, person.liked, strict=True):
        weight = (1.0 if liked else person.other_weight) * damping[item]
        weights += weight
        row = slice(features.indptr[item], features.indptr[item + 1])
        mean[features.indices[row]] += weight * features.data[row]
    return (mean / weights if weights > 0 else mean), weights


def contributes(person: Profiles) -> bool:
    """Whether ONE person adds to the sums after the first: decided by their own rows."""
    return bool(len(person.items)) and (person.one_domain or bool(len(person.likes)))


def taste(person: Profiles, at: ProfileCentre, features: sparse.csr_array) -> Floats:
    """(f,) z of ONE person: their contribution to 2a, before clipping."""
    mean, weights = shares(person, at.damping, features)
    return mean - at.mean if weights > 0 and contributes(person) else np.zeros(len(mean))


def without(person: Profiles, like: int, weights: float, at: ProfileCentre) -> float | None:
    """r: the weight of a like relative to all others of ONE person; None: the like is left out."""
    if not person.one_domain:
        return 0.0
    own = at.damping[like]
    return own / (weights - own) if weights - own > LEAST_REST else None


def left_out(
    person: Profiles, at: ProfileCentre, features: sparse.csr_array, onto: TasteMap
) -> tuple[Floats, list[tuple[int, Floats]]]:
    """ONE person's mapped tastes, and for each like that stays, its item and the tastes without it
    divided by the norm of all likes."""
    mean, weights = shares(person, at.damping, features)
    image = map_features(mean, onto.matrix)
    rows = []
    for like in person.likes:
        rest = without(person, like, weights, at)
        if rest is not None:
            rows.append((int(like), image - onto.mean + rest * (image - onto.targets[like])))
    return image - onto.mean, rows


def product(
    person: Profiles, at: ProfileCentre, features: FeatureTables, onto: TasteMap, usual: Floats
) -> Floats:
    """(f, f) ONE person's contribution to 2b. usual: (f,) mean features of likes."""
    table = np.zeros((features.width, features.width))
    if not contributes(person):
        return table
    own, likes = left_out(person, at, features.context, onto)
    table = -usual[:, None] * own
    rows = features.targets
    for like, tastes_without in likes:
        for q in range(rows.indptr[like], rows.indptr[like + 1]):
            table[rows.indices[q]] += rows.data[q] / math.sqrt(len(person.likes)) * tastes_without
    return table


def limit_tastes(tastes: Floats, norm: float) -> Floats:
    """ONE person's tastes, all rows together, scaled to the norm at most."""
    largest = float(np.abs(tastes).max(initial=0.0))
    if largest == 0:
        return tastes
    units = tastes / largest
    length = math.sqrt(np.add.accumulate((units * units).ravel())[-1])
    return units * min(largest, norm / max(length, 1.0))


def table(
    person: Profiles,
    at: ProfileCentre,
    features: FeatureTables,
    onto: TasteMap,
    query: ItemQuery,
    settings: Settings,
    *,
    limited: bool = True,
) -> Floats:
    """(head + 1, width) ONE person's contribution. limited: as with noise."""
    k = onto.matrix.shape[1]
    values = np.zeros((len(query.items) + 1, query.width))
    if not contributes(person):
        return values
    place_of = {item: place for place, item in enumerate(query.items.tolist())}
    inside = [like for like in person.likes.tolist() if like in place_of]
    own, likes = left_out(person, at, features.context, onto)
    for like, tastes_without in likes:
        if like in place_of:
            values[place_of[like], :k] = tastes_without / math.sqrt(len(inside))
    values[-1, :k] = settings.mean_row * own
    if limited:
        values[:, :k] = limit_tastes(values[:, :k], query.tastes_norm)
    if query.count_weight:
        for like in inside:
            values[place_of[like], k] = query.count_weight / math.sqrt(len(inside))
    return values


def popular_vector(person: Profiles, head: Ints) -> Floats:
    """(head,) ONE person's contribution in popularity mode."""
    vector = np.isin(head, person.likes).astype(float)
    likes = vector.sum()
    return vector / math.sqrt(likes) if likes else vector


def pair_triangle(person: Profiles, head: Ints) -> Floats:
    """(head * (head - 1) / 2,) ONE person's contribution to pairs of likes, row by row."""
    inside = np.isin(head, person.likes)
    likes = int(inside.sum())
    pairs = [
        1 / likes if inside[first] and inside[second] else 0.0
        for first, second in itertools.combinations(range(len(head)), 2)
    ]
    return np.array(pairs)


def contribution(person: Profiles, context: int, targets: int, settings: Settings) -> Floats:
    """(context + targets + 1,) of ONE person. context: 0 in one domain."""
    items_norm = norm_of_items(settings, one_domain=person.one_domain)
    vector = np.zeros(context + targets + 1)
    if context and len(person.items):
        weights = np.where(person.liked, 1.0, person.other_weight)
        length = math.sqrt(np.add.accumulate(weights * weights)[-1])
        vector[person.items] = items_norm * (weights / length)
    if len(person.likes):
        vector[context + person.likes] = items_norm / math.sqrt(len(person.likes))
    vector[-1] = settings.presence
    return vector


def star_table(rows: StarRows, u: int, known: StarTable) -> tuple[Floats, Ints]:
    """Values (rows, k) and their places of what ONE person adds, before clipping: the bits that
    the compiled sum is held to, by the same additions in the same order."""
    k = known.loadings.shape[1]
    width = k + 1
    left, rests = np.zeros((width, 2 * width)), np.zeros(width)
    row, turned, tastes = np.zeros(width), np.zeros(width), np.zeros(width)
    moment = np.zeros((k, k))
    count = int(rows.offsets[u + 1] - rows.offsets[u]) + k
    values, places = np.zeros(count * k), np.zeros(count, np.int64)
    row[0] = 1.0
    for a in range(width):
        left[a, a] = 1.0 if a else known.level_precision
        left[a, width + a] = 1.0
    inside = 0
    for j in range(rows.offsets[u], rows.offsets[u + 1]):
        place = rows.places[j]
        inside += place >= 0
        variance = known.variances[place] if place >= 0 else 1.0
        for a in range(1, width):
            row[a] = known.loadings[place, a - 1] if place >= 0 else 0.0
        for a in range(width):
            rests[a] += row[a] / variance * rows.deviations[j]
            for b in range(width):
                left[a, b] += row[a] / variance * row[b]
    for a in range(width):  # Gauss and Jordan: of a positive definite matrix without pivots
        pivot = left[a, a]
        for b in range(2 * width):
            left[a, b] /= pivot
        for c in range(width):
            factor = left[c, a]
            if c != a and factor != 0.0:
                for b in range(2 * width):
                    left[c, b] -= factor * left[a, b]
    size = 0
    for j in range(rows.offsets[u], rows.offsets[u + 1]):
        place = rows.places[j]
        if place < 0:
            continue
        for a in range(1, width):
            row[a] = known.loadings[place, a - 1]
        leverage, misfit = 0.0, rows.deviations[j]
        for a in range(width):
            turned[a], tastes[a] = 0.0, 0.0
            for b in range(width):
                turned[a] += left[a, width + b] * row[b]
                tastes[a] += left[a, width + b] * rests[b]
            leverage += turned[a] * row[a]
            misfit -= tastes[a] * row[a]
        variance = known.variances[place]
        misfit /= max(variance - leverage, 1e-3 * variance)
        weight = 1.0 / math.sqrt(inside)
        for a in range(width):
            tastes[a] -= turned[a] * misfit
        for a in range(k):
            values[size * k + a] = weight * (rows.deviations[j] - tastes[0]) * tastes[a + 1]
            for b in range(k):
                moment[a, b] += weight * tastes[a + 1] * tastes[b + 1]
        places[size] = place
        size += 1
    if size:
        for a in range(k):
            for b in range(k):
                values[size * k + b] = known.moment_weight * moment[a, b]
            places[size] = len(known.variances) + a
            size += 1
    return values[: size * k].reshape(size, k), places[:size]
