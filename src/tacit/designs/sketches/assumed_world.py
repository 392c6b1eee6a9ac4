"""The world that a plan or a simulation assumes, read from the command's options."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.data.synthetic_worlds import Blocks, example
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
        likes: Chances of a like, as for `read_likes`; None for those of `example(clusters)`.
        clusters: L, number of item clusters.
        item_shares: Share of the items in each cluster; empty for equal shares.
        people_shares: Share of the people in each class; empty for equal shares.

    Raises:
        ConfigError: There are too few or too many numbers, one is out of range, or shares do not
            add up to 1.
    """
    chances = example(clusters).likes if likes is None else read_likes(likes, clusters)
    people = read_shares("--people-shares", people_shares, len(chances), "classes of people")
    items = read_shares("--item-shares", item_shares, clusters, "item clusters")
    return Blocks(people, items, chances)


def read_likes(likes: str, clusters: int) -> Floats:
    """Read chances of a like (K, L) from a text such as 0.9,0.2/0.3,0.8.

    Args:
        likes: Classes of people, separated by slashes; each has a chance for each item cluster,
            separated by commas.
        clusters: L, number of item clusters.

    Raises:
        ConfigError: A class of people does not have a number for each item cluster.
    """
    rows = []
    for line in likes.split("/"):
        try:
            row = [float(chance) for chance in line.split(",")]
        except ValueError:
            row = []
        if len(row) != clusters:
            raise ConfigError(
                f"--likes has a chance for each of {clusters} item clusters, in every class; got "
                f"{likes!r}. Name another number with --clusters."
            )
        rows.append(row)
    return np.array(rows)


def read_shares(name: str, shares: tuple[float, ...], count: int, groups: str) -> Floats:
    """Return the shares (count,) of an option; equal shares if none are given.

    Args:
        name: Name of the option, for errors.
        shares: Its value.
        count: Number of groups.
        groups: Name of the groups in the plural, for errors.

    Raises:
        ConfigError: There is another number of shares.
    """
    if not shares:
        return np.full(count, 1 / count)
    if len(shares) != count:
        raise ConfigError(f"{name} has a share for each of {count} {groups}; got {len(shares)}.")
    return np.array(shares)
