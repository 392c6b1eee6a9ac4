"""The world (who likes what) that a plan or a simulation assumes, read from options of commands."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.data.synthetic_worlds import Blocks, example_blocks
from tacit.errors import ConfigError

Floats = NDArray[np.float64]


def read_world(
    likes: str | None,
    clusters: int,
    item_shares: tuple[float, ...] = (),
    people_shares: tuple[float, ...] = (),
) -> Blocks:
    """Read who likes what from `--likes`, `--item-shares` and `--people-shares`.

    Args:
        likes: Chances of a like, as for `read_likes`; None for those of `example_blocks(clusters)`.
        clusters: L, number of item clusters.
        item_shares: Share of the items in each cluster; empty for equal shares.
        people_shares: Share of the people in each class; empty for equal shares.

    Raises:
        ConfigError: There are too few or too many numbers, a chance is no number or out of range, a
            share is not above 0, or the shares of an option do not add up to 1. Without `likes`:
            there are fewer than two clusters.
    """
    chances = example_blocks(clusters).likes if likes is None else read_likes(likes, clusters)
    people = read_shares("--people-shares", people_shares, len(chances), "classes of people")
    items = read_shares("--item-shares", item_shares, clusters, "item clusters")
    return Blocks(people, items, chances)


def read_likes(likes: str, clusters: int) -> Floats:
    """Read chances of a like from a text such as 0.9,0.2/0.3,0.8.

    Args:
        likes: Classes of people, separated by slashes; each has a chance for each item cluster,
            separated by commas.
        clusters: L, number of item clusters.

    Returns:
        (K, L) chances, one row for each of the K classes of people. They may be out of range.

    Raises:
        ConfigError: A class has more or fewer than L chances, or one of them is no number.
    """
    rows = []
    for line in likes.split("/"):
        try:
            row = [float(chance) for chance in line.split(",")]
        except ValueError:
            row = []
        if len(row) != clusters:
            raise ConfigError(
                f"--likes has {clusters} numbers in every class of people, the chance of a like "
                f"for each item cluster; got {likes!r}. --clusters sets the number of clusters."
            )
        rows.append(row)
    return np.array(rows)


def read_shares(name: str, shares: tuple[float, ...], count: int, groups: str) -> Floats:
    """Return the shares of groups as an option states them, or equal shares: (count,).

    Args:
        name: Name of the option, for errors.
        shares: Value of the option; empty for equal shares.
        count: Number of groups.
        groups: Name of the groups in the plural, for errors.

    Raises:
        ConfigError: There are shares, but not one for each group.
    """
    if not shares:
        return np.full(count, 1 / count)
    if len(shares) != count:
        raise ConfigError(f"{name} has a share for each of {count} {groups}; got {len(shares)}.")
    return np.array(shares)
