"""Values of hidden attributes, and the bins of numeric ones.

A person whose value is shared by few is hidden among few, and an item is shown only if people with
every value rate it. So a numeric attribute, such as age, is cut into a few bins at public edges.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise

from tacit.data.ratings import Ratings
from tacit.errors import ConfigError, DataError

Edges = tuple[float, ...]
"""Where bins end, ascending: a number at an edge lies in the bin above it."""

MANY_NUMBERS = 8
"""A numeric attribute with more different values than these is cut into bins."""
DEFAULT_EDGES: Mapping[str, Edges] = {"age": (25.0, 45.0)}
"""Public edges of attributes for which none are named."""


def attribute_values(
    ratings: Ratings, name: str, public_edges: Edges | None
) -> tuple[list[str | None], tuple[str, ...] | None]:
    """Read one attribute of everybody, in bins if it is a number with many values.

    Args:
        ratings: Whose people have the attribute.
        name: Name of the attribute.
        public_edges: Where to cut it; None if nothing is said.

    Returns:
        Each person's value, None if unknown, and the names of all bins if there are any.

    Raises:
        DataError: Edges are named for an attribute that is no number.
        ConfigError: There are many numbers, and no edges.
    """
    texts = [None if value is None else str(value) for value in ratings.attribute(name)]
    edges = public_edges or default_edges(name, texts)
    if edges is None:
        return texts, None
    labels = bin_labels(edges)
    binned: list[str | None] = []
    for text in texts:
        number = None if text is None else number_of(text)
        if text is not None and number is None:
            raise DataError(
                f"attribute '{name}' is cut at edges, and a value is not a number",
                found=text,
                expected="numbers",
                fix="Name its values in place of edges, or correct the file.",
            )
        binned.append(None if number is None else labels[bisect_right(edges, number)])
    return binned, labels


def default_edges(name: str, texts: Sequence[str | None]) -> Edges | None:
    """Edges of a numeric attribute with many values; None for any other attribute.

    Raises:
        ConfigError: No public edges are known for it.
    """
    distinct = {text for text in texts if text is not None}
    numeric = all(number_of(text) is not None for text in distinct)
    if len(distinct) <= MANY_NUMBERS or not numeric:
        return None
    if name.lower() not in DEFAULT_EDGES:
        raise ConfigError(
            f"Attribute '{name}' has {len(distinct)} different numbers, and hides nobody among so "
            f"few people each. Name public edges that cut it into a few bins, such as "
            f"edges={{'{name}': (10, 20)}} (--edges {name}=10,20)."
        )
    return DEFAULT_EDGES[name.lower()]


def bin_labels(edges: Edges) -> tuple[str, ...]:
    """Names of the bins between edges, from the lowest: "below 25", "25 to 45", "45 and above"."""
    between = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
    return (f"below {edges[0]:g}", *between, f"{edges[-1]:g} and above")


def bin_of(text: str, labels: Sequence[str]) -> str:
    """The label of the bin that a number lies in; the text itself if it is none, or names a bin."""
    number = number_of(text)
    if number is None or text in labels:
        return text
    for label in labels:
        low, high = bin_ends(label)
        if low <= number < high:
            return label
    return text


def bin_ends(label: str) -> tuple[float, float]:
    """The two ends of a bin, of which the lower one belongs to it; NaN for other labels."""
    low: float | None = None
    high: float | None = None
    match label.split():
        case ["below", end]:
            low = -math.inf
            high = number_of(end)
        case [start, "to", end]:
            low = number_of(start)
            high = number_of(end)
        case [start, "and", "above"]:
            low = number_of(start)
            high = math.inf
    if low is None or high is None:
        return math.nan, math.nan
    return low, high


def number_of(text: str) -> float | None:
    """The finite number that a text spells; None if it spells none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def check_edges(name: str, edges: Edges) -> None:
    """Raise ConfigError unless edges are finite and ascending, one at least."""
    ascending = all(low < high for low, high in pairwise(edges))
    if not edges or not ascending or not all(map(math.isfinite, edges)):
        raise ConfigError(
            f"Edges are ascending numbers, such as {name}=25,45; got "
            f"{', '.join(format(edge, 'g') for edge in edges) or 'none'}."
        )
