"""Figures of a page: a plot with a table of the same figures."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from tacit.errors import MissingExtra
from tacit.evaluation.lines import Line
from tacit.evaluation.page import Cell, Figure, Plot, interval_cell
from tacit.evaluation.result import Table


def check_plots() -> None:
    """Check that plots can be drawn; called before a report's measurements, which may take long.

    Raises:
        MissingExtra: A package of the extra `plots` is not installed.
    """
    for package in ("altair", "vl_convert"):
        if find_spec(package) is None:
            raise MissingExtra(package, "plots")


def figure_over_setting(
    title: str,
    lines: Sequence[Line],
    *,
    axis: str,
    unit: str,
    caption: str,
    intervals: bool,
    ends: bool,
) -> Figure | None:
    """Draw lines over a setting that varies, with a table of the same figures.

    Args:
        title: Title of the figure.
        lines: One line for each method.
        axis: Title of the horizontal axis, which names the setting.
        unit: Title of the vertical axis, which names what is measured.
        caption: Sentence below the plot.
        intervals: Whether intervals are drawn.
        ends: Whether the table has the ends of intervals.

    Returns:
        The figure; None if the setting has fewer than two values.
    """
    from tacit.evaluation.plots import curves

    values_of_lines: set[float] = set()
    for line in lines:
        values_of_lines |= {value for value in line.means if value is not None}
    settings = sorted(values_of_lines)
    if len(settings) < 2:
        return None
    rows = []
    for line in lines:
        mean_at_every_value = line.means.get(None)
        means = [line.means.get(value, mean_at_every_value) for value in settings]
        cells = [interval_cell(mean, ends=ends) for mean in means]
        rows.append((Cell(line.name, line.small, mark=line.mark), *cells))
    plot = curves(lines, x_title=axis, y_title=unit, intervals=intervals)
    headings = [f"{value:g}" for value in settings]
    columns = ("method", *headings)
    alt = f"Line plot: {title}; the table below holds the same figures."
    return Figure(title, alt, [Plot(plot)], caption, table=Table("", columns, rows))
