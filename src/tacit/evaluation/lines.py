"""Data of the lines and points of a plot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tacit.evaluation.intervals import Interval


@dataclass(frozen=True)
class Line:
    """One method's means over a setting that varies, such as epsilon."""

    name: str
    """Name of the method."""
    colour: str
    """CSS colour of the stroke."""
    dash: tuple[int, ...]
    """Lengths of strokes and gaps; () for an unbroken stroke."""
    means: Mapping[float | None, Interval | None]
    """Mean at each value of the setting, None if it was not measured; under the key None, the mean
    of a method that does not depend on the setting."""
    small: str = ""
    """Small print below the name in the table of the same figures."""
    mark: str = ""
    """How the method's row of that table stands out, as `Cell.mark`."""


@dataclass(frozen=True)
class Point:
    """One recommender in a plot of two figures."""

    label: str
    """Short text beside the point."""
    colour: str
    """CSS colour of the mark."""
    x: Interval
    """Figure along the horizontal axis."""
    y: Interval
    """Figure along the vertical axis."""
    shape: str = "circle"
    """Shape of the mark, as Vega-Lite names it."""
