"""One person's tastes in the space of public features, on which sums 2a, 2b and 3 build."""

from __future__ import annotations

from typing import Any

import numba

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def _mean_features(people: Any, u: int, damping: Any, features: Any, shares: Any) -> float:
    """Fill shares (f,) with the weighted mean of the features F of person u's context items.

    With w_i = (1 if liked, else `other_weight`) * damping_i and W = sum_i w_i:

        shares = sum_i w_i F_i / W

    Returns:
        W. If it is 0, all shares are 0.
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
    """Fill rows (people, f) with tastes z = shares - mean; zeros for a person without tastes.

    The shares are those of `_mean_features`. A person has no tastes if their weights add up to 0.
    Between two domains, a person without likes among the target items has no tastes either, unless
    `everybody`.

    Args:
        people: `Profiles`.
        centre: `ProfileCentre` with the mean profile.
        features: `SparseRows` of the context items.
        everybody: Whether, between two domains, people without likes among the target items have
            tastes, too.
        rows: Changed in place.
    """
    for u in range(len(people.offsets) - 1):
        total = _mean_features(people, u, centre.damping, features, rows[u])
        is_without_target_likes = (
            people.like_offsets[u + 1] == people.like_offsets[u] and not people.one_domain
        )
        if total > 0.0 and (everybody or not is_without_target_likes):
            for c in range(features.width):
                rows[u, c] -= centre.mean[c]
        else:
            rows[u, :] = 0.0


@_jit  # type: ignore[untyped-decorator, unused-ignore]
def map_person(
    people: Any, u: int, damping: Any, context: Any, taste_map: Any, shares: Any, image: Any
) -> float:
    """Fill shares (f,) as `_mean_features` does, and image (d,) with `shares @ taste_map.matrix`.

    Returns:
        W, the sum of the person's weights; 0 for a person without tastes. A person has no tastes if
        the weights add up to 0, or if there are two domains and the person likes no target item.
        The `image` then has no meaning.
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
def relative_weight_of_like(people: Any, j: int, total: float, damping: Any, least: float) -> float:
    """Compute r = w / (W - w), the weight of like number j relative to the person's other items.

    The tastes without the like are `image + r * (image - image of the like)`.

    Args:
        people: `Profiles`.
        j: Index of the like in `people.likes`.
        total: W, the sum of the person's weights.
        damping: (context items,) weights of items by their frequency.
        least: If W - w is at most this, the person counts as having no other items.

    Returns:
        r. It is 0 between two domains, where no like is a context item, and -1 if W - w is at most
        `least`, so that the person has no tastes without the like.
    """
    if not people.one_domain:
        return 0.0
    weight = damping[people.likes[j]]
    return weight / (total - weight) if total - weight > least else -1.0
