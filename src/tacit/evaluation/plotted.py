"""What is plotted: rows of numbers that experiments hand to `plots`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MixPoint:
    """Frozen attacks and error when a share of the ratings is obfuscated.

    auc_ranges, rmse_range: ends of the 95 % intervals over folds.
    """

    mix: float
    aucs: dict[str, float]
    rmse: float
    auc_ranges: dict[str, tuple[float, float]]
    rmse_range: tuple[float, float]


@dataclass(frozen=True)
class Needs:
    """What is varied, and people by method; lower bounds are NOBODY_BELOW and FIXED_QUESTIONS.

    Bounds are known for the unit 'user' alone; for others there is no such line. at: the value
    that was planned for. lines: name to (value, people) pairs, infinite ones left out.
    """

    varied: str
    at: float
    lines: dict[str, tuple[tuple[float, float], ...]]
