"""Values of hidden attributes, and the bins of numeric ones.

A person is hidden only among the people with other values, and an item is shown only if people with
every value rate it. With many values there are few people with each. So a numeric attribute with
many values, such as age, is cut into a few bins at public edges.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tacit.data.ratings import Ratings
from tacit.data.tables.cell_texts import text_of_cell
from tacit.designs.standard_scheme.bins import number_of
from tacit.errors import ConfigError, DataError

Edges = tuple[float, ...]
"""Numbers between neighbouring bins, ascending. A number equal to an edge is in the upper bin."""

MANY_NUMBERS = 8
"""A numeric attribute with more different values than this is cut into bins."""
DEFAULT_EDGES: Mapping[str, Edges] = {"age": (25.0, 45.0)}
"""Public edges of attributes, by name in lower case, for which the user gives none."""


def attribute_values(
    ratings: Ratings,
    name: str,
    public_edges: Edges | None,
    *,
    leave_out_unreadable: bool = False,
) -> tuple[list[str | None], tuple[str, ...] | None]:
    """Read one attribute of all people, and cut it into bins if it has edges.

    Args:
        ratings: Ratings of all people, with the attribute.
        name: Name of the attribute.
        public_edges: Edges at which it is cut; None or empty: the `default_edges`, if it has any.
        leave_out_unreadable: Whether a value that is not a number counts as unknown where the
            attribute is cut; False: it is an error.

    Returns:
        Each person's value: the label of its bin if the attribute is cut; None if it is unknown.
        And the labels of all bins, the lowest first; None if the attribute is not cut.

    Raises:
        DataError: The attribute does not exist, or is cut and a person's value is not a number.
        ConfigError: It has more than `MANY_NUMBERS` different numbers, and no edges.
    """
    texts = attribute_texts(ratings, name)
    edges = public_edges or default_edges(name, texts)
    if edges is None:
        return texts, None
    labels = bin_labels(edges)
    binned: list[str | None] = []
    for text in texts:
        number = None if text is None else number_of(text)
        if text is not None and number is None and not leave_out_unreadable:
            raise DataError(
                f"attribute '{name}' is cut at edges, and a value is not a number",
                found=text,
                expected="numbers",
                fix="Name its values in place of edges, or correct the file.",
            )
        binned.append(None if number is None else labels[bisect_right(edges, number)])
    return binned, labels


def attribute_texts(ratings: Ratings, name: str) -> list[str | None]:
    """Return each person's value of an attribute as text, by `text_of_cell`; None if unknown.

    Raises:
        DataError: The attribute does not exist.
    """
    return [text_of_cell(value) for value in ratings.attribute(name)]


def default_edges(name: str, texts: Sequence[str | None]) -> Edges | None:
    """Return the default edges of an attribute with more than `MANY_NUMBERS` different numbers.

    Args:
        name: Name of the attribute; upper and lower case are the same.
        texts: Each person's value; None if it is unknown.

    Returns:
        The edges; None for an attribute with `MANY_NUMBERS` values or fewer, or with a value that
        is not a number.

    Raises:
        ConfigError: The attribute has more numbers than that, and no default edges.
    """
    distinct = {text for text in texts if text is not None}
    is_numeric = all(number_of(text) is not None for text in distinct)
    if len(distinct) <= MANY_NUMBERS or not is_numeric:
        return None
    if name.lower() not in DEFAULT_EDGES:
        raise ConfigError(
            f"Attribute '{name}' has {len(distinct)} different numbers, and hides nobody among so "
            f"few people each. Name public edges that cut it into a few bins, such as "
            f"edges={{'{name}': (10, 20)}} (--edges {name}=10,20)."
        )
    return DEFAULT_EDGES[name.lower()]


def bin_labels(edges: Edges) -> tuple[str, ...]:
    """Label the bins between edges, the lowest first: "below 25", "25 to 45", "45 and above"."""
    texts = [edge_text(edge) for edge in edges]
    middle_labels = [f"{low} to {high}" for low, high in pairwise(texts)]
    return (f"below {texts[0]}", *middle_labels, f"{texts[-1]} and above")


def edge_text(edge: float) -> str:
    """Write an edge with as few digits as possible, so that the text is exactly this number.

    The label is all that a device knows of a bin, so its edge must be the one that training uses.
    """
    short = f"{edge:g}"
    return short if float(short) == edge else repr(float(edge)).removesuffix(".0")


def check_edges(name: str, edges: Edges) -> None:
    """Raise ConfigError unless there is at least one edge, and all are finite and ascend.

    Args:
        name: Name of the attribute, for the message.
        edges: Its edges.
    """
    is_ascending = all(low < high for low, high in pairwise(edges))
    if not edges or not is_ascending or not all(map(math.isfinite, edges)):
        raise ConfigError(
            f"Edges are ascending numbers, such as {name}=25,45; got "
            f"{', '.join(map(edge_text, edges)) or 'none'}."
        )


def read_edges(name: str, edges: Any) -> Edges:
    """Return the edges of an attribute as floats.

    Raises:
        ConfigError: They are no list of numbers.
    """
    try:
        if isinstance(edges, str):
            raise TypeError  # a text is no list of its digits
        return tuple(float(edge) for edge in edges)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(
            f"Edges are ascending numbers, such as edges={{'{name}': (25, 45)}}; got {edges!r}."
        ) from None


def read_values(name: str, values: Any) -> tuple[str, ...]:
    """Return the public values of an attribute, without blanks around them, sorted.

    Raises:
        ConfigError: They are no list of texts.
    """
    is_list = isinstance(values, Iterable) and not isinstance(values, str)
    listed: tuple[Any, ...] = tuple(values) if is_list else (None,)
    if not all(isinstance(value, str) for value in listed):
        raise ConfigError(
            f"values lists the values of an attribute as texts, such as "
            f"values={{'{name}': ('F', 'M')}}; got {values!r}."
        )
    return tuple(sorted(value.strip() for value in listed))
