"""One person's tastes in the space of public features, on which sums 2a, 2b and 3 build."""

from __future__ import annotations

from typing import Any

import numba

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _mean_features(people: Any, u: int, damping: Any, features: Any, shares: Any) -> float:
    """Fill shares (f,) with the weighted mean of the features F of the person's context items.

    With w_i = (1 if liked, else `other_weight`) * damping_i and W = sum_i w_i:

        shares = sum_i w_i F_i / W

    Returns:
        W; at 0 the shares are 0.
    """
    shares[:] = 0.0
    total = 0.0
    for j in range(people.offsets[u], people.offsets[u + 1]):
        item = people.items[j]
        weight = (1.0 if people.liked[j] else people.other_weight) * damping[item]
        total += weight
        for q in range(features.offsets[item], features.offsets[item + 1]):
            shares[features.columns[q]] += weight * features.values[q]
    if total > 0.0:
        for c in range(len(shares)):
            shares[c] /= total
    return total


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def fill_tastes(people: Any, centre: Any, features: Any, everybody: bool, rows: Any) -> None:
    """Fill rows (people, f) with tastes z = shares - mean, 0 for a person who has none.

    Args:
        people: `Profiles`.
        centre: `ProfileCentre` with the mean profile.
        features: `SparseRows` of the context items.
        everybody: Whether people without likes in another domain have tastes, too.
        rows: Changed in place.
    """
    for u in range(len(people.offsets) - 1):
        total = _mean_features(people, u, centre.damping, features, rows[u])
        absent = people.like_offsets[u + 1] == people.like_offsets[u] and not people.one_domain
        if total > 0.0 and (everybody or not absent):
            for c in range(features.width):
                rows[u, c] -= centre.mean[c]
        else:
            rows[u, :] = 0.0


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def map_person(
    people: Any, u: int, damping: Any, context: Any, taste_map: Any, shares: Any, image: Any
) -> float:
    """Fill image (d,) with `shares @ matrix` of ONE person.

    Returns:
        W, the sum of the person's weights; 0 for a person who adds nothing.
    """
    total = _mean_features(people, u, damping, context, shares)
    if people.like_offsets[u] == people.like_offsets[u + 1] and not people.one_domain:
        return 0.0
    image[:] = 0.0
    for c in range(len(shares)):
        if shares[c] != 0.0:
            for d in range(len(image)):
                image[d] += shares[c] * taste_map.matrix[c, d]
    return total


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def weight_beside_rest(people: Any, j: int, total: float, damping: Any, least: float) -> float:
    """Weigh like number j against the person's other items: r = w / (W - w).

    With r the tastes without the like are `image + r * (image - image of the like)`.

    Returns:
        r; 0 between domains, where no like is among the context items; -1 where W - w is at most
        `least`: the like is then left out.
    """
    if not people.one_domain:
        return 0.0
    weight = damping[people.likes[j]]
    return weight / (total - weight) if total - weight > least else -1.0
