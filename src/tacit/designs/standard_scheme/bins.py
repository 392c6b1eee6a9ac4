"""A person's value as a disclosure lists it, and bins of a numeric attribute by their labels.

A person may give a number where the disclosure lists bins. Standard library only: the client
imports this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Rational, Real
from typing import Any

LARGEST_EXACT_FLOAT = 2**53
"""Whole floats below this number are written as integers, as in training."""


def listed_value(value: Any, labels: Sequence[str]) -> str:
    """Write a person's value as a disclosure lists it, and a number as the bin that it is in.

    Args:
        value: A person's value, such as a text or a number.
        labels: All values of the attribute.

    Returns:
        One of `labels`; the value's text if it is none of them and in no bin.
    """
    if isinstance(value, str) and value in labels:
        return value
    return bin_of(text_of_value(value), labels)


def text_of_value(value: Any) -> str:
    """Write a person's value as training writes a cell (`text_of_cell`); "" if it is missing.

    Blanks around it are left out, and a float that is a whole number is written as an integer: 1.0
    is "1". None and NaN are missing.
    """
    if value is None:
        return ""
    if isinstance(value, Real) and not isinstance(value, Rational):  # floats, also NumPy's
        number = float(value)
        if math.isnan(number):
            return ""
        if abs(number) < LARGEST_EXACT_FLOAT and number.is_integer():
            return str(int(number))
    return str(value).strip()


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
