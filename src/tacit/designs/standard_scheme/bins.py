"""Bins of a numeric attribute, by their labels in a disclosure.

A person may give a number where the disclosure lists bins. Standard library only: the client
imports this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def bin_of(text: str, labels: Sequence[str]) -> str:
    """Return the label of the bin that a number is in.

    Args:
        text: A person's value.
        labels: All values of the attribute, which are labels of bins if it is cut at edges.

    Returns:
        The label; the text itself if it is one of `labels`, is no number, or is in no bin.
    """
    number = number_of(text)
    if number is None or text in labels:
        return text
    for label in labels:
        low, high = bin_ends(label)
        if low <= number < high:
            return label
    return text


def bin_ends(label: str) -> tuple[float, float]:
    """Return the lower and the upper end of a bin, by its label as `bin_labels` makes it.

    The bin contains its lower end and not its upper one. Both are NaN for a text that is no such
    label.
    """
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
    """Return the finite number that a text spells; None if it spells none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
