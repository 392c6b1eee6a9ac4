"""What the paper printed of vendors that learn together, beside what an experiment found.

Tables II, III and IV are as the paper lays them out, its figures beside ours: accuracies in %, on
data that are not public, with settings that it does not give. Levels cannot be compared; orderings
can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tacit.designs.pdap import theory
from tacit.designs.pdap.experiment.policies import World
from tacit.designs.pdap.experiment.simulation import Row
from tacit.evaluation.result import Interval, mean_interval

Column = tuple[str, float]
"""A policy, and its epsilon: inf for those without."""
DAP = ("dap", math.inf)

_HERE = (5000, 10000, 20000, 50000)
PAPER: Mapping[str, tuple[str, tuple[int, ...], Mapping[Column, tuple[float, ...]]]] = {
    "II": (
        "without privacy",
        _HERE,
        {
            ("cap", math.inf): (70.32, 75.36, 76.88, 77.34),
            ("dup", math.inf): (73.32, 74.52, 74.78, 75.08),
            DAP: (87.34, 90.21, 91.02, 92.17),
        },
    ),
    "III": (
        "P-DAP",
        _HERE,
        {
            ("p-dap", 0.01): (77.54, 78.75, 79.92, 80.12),
            ("p-dap", 0.1): (77.78, 79.35, 80.34, 81.16),
            ("p-dap", 1.0): (78.96, 79.24, 81.06, 82.12),
            DAP: (86.84, 89.28, 90.23, 91.56),
        },
    ),
    "IV": (
        "GP-DAP",
        (5000, 10000, 15000, 20000, 25000, 30000),
        {
            ("gp-dap", 0.01): (82.44, 84.36, 85.23, 86.74, 87.33, 88.17),
            ("p-dap", 0.01): (77.31, 77.87, 78.42, 79.14, 80.06, 81.64),
        },
    ),
}
"""Title, visits of the rows, and the column of each policy, in %."""
ORDERINGS: tuple[tuple[str, str], ...] = (
    ("dap", "cap"),
    ("dap", "dup"),
    ("gp-dap", "p-dap"),
    ("dap", "gp-dap"),
    ("p-dap", "cap"),
    ("p-dap", "dup"),
)
"""The first is above the second in the paper, at each epsilon."""
_LEVELS = (
    "Levels depend on how often people click at all, which the paper does not tell: compare the "
    "order of the columns."
)
Outcome = Literal["holds", "not distinguished", "the reverse", "one seed only"]


class Beside(NamedTuple):
    """paper: in %; ours: an Interval of accuracy over seeds, None where it was not run."""

    paper: float
    ours: Interval | None


@dataclass(frozen=True)
class PaperTable:
    """One table. lines: arrivals to cells, by column. why: what keeps it from being reproduced."""

    number: str
    title: str
    columns: tuple[Column, ...]
    lines: Mapping[int, tuple[Beside, ...]]
    why: tuple[str, ...]


@dataclass(frozen=True)
class Ordering:
    """Paired over seeds, at the last visit: accuracy of `above` minus that of `below`."""

    above: str
    below: str
    epsilon: float
    difference: Interval
    verdict: Outcome


def tables(rows: Sequence[Row], world: World) -> list[PaperTable]:
    """Those of which at least one column was run; figures are means over seeds."""
    found = []
    for number, (title, arrivals, paper) in PAPER.items():
        columns = tuple(paper)
        lines = {
            n: tuple(Beside(paper[one][row], level(rows, one, "accuracy", n)) for one in columns)
            for row, n in enumerate(arrivals)
        }
        if any(cell.ours for line in lines.values() for cell in line):
            found.append(PaperTable(number, title, columns, lines, _why(number, columns, world)))
    return found


def orderings(rows: Sequence[Row]) -> list[Ordering]:
    """Those between policies that were run."""
    last = max(row.arrivals for row in rows)
    ended = {
        (row.policy, row.epsilon, row.seed): row.accuracy for row in rows if row.arrivals == last
    }
    epsilons = sorted({epsilon for _, epsilon, _ in ended if not math.isinf(epsilon)})
    found = []
    for above, below in ORDERINGS:
        private = above.endswith("p-dap") or below.endswith("p-dap")
        for epsilon in epsilons if private else [math.inf]:
            seeds = [seed for name, _, seed in ended if name == above]
            pairs = [
                (_of(ended, above, epsilon, seed), _of(ended, below, epsilon, seed))
                for seed in dict.fromkeys(seeds)
            ]
            gaps = [one - other for one, other in pairs if one is not None and other is not None]
            if gaps and not any(math.isnan(gap) for gap in gaps):
                difference = mean_interval(gaps)
                found.append(Ordering(above, below, epsilon, difference, verdict_of(difference)))
    return found


def level(rows: Sequence[Row], column: Column, field: str, arrivals: int) -> Interval | None:
    """A figure of the rows, with its interval over seeds; None where there is none."""
    values = [
        getattr(row, field)
        for row in rows
        if (row.policy, row.epsilon, row.arrivals) == (*column, arrivals)
    ]
    known = [value for value in values if value is not None and math.isfinite(value)]
    return mean_interval(known) if known else None


def columns_of(rows: Sequence[Row]) -> list[Column]:
    """Policies and their epsilons, in the order they were run."""
    return list(dict.fromkeys((row.policy, row.epsilon) for row in rows))


def _of(
    ended: Mapping[tuple[str, float, int], float], name: str, epsilon: float, seed: int
) -> float | None:
    return ended.get((name, epsilon, seed), ended.get((name, math.inf, seed)))


def verdict_of(difference: Interval) -> Outcome:
    """Whether the first is better, by the interval of the difference."""
    if math.isinf(difference.low):
        return "one seed only"
    if difference.low > 0:
        return "holds"
    return "the reverse" if difference.high < 0 else "not distinguished"


def _why(number: str, columns: Sequence[Column], world: World) -> tuple[str, ...]:
    """Why the printed levels cannot come from the printed mechanisms at these epsilons."""
    if number == "II":
        return (_LEVELS,)
    s = world.setting
    said = []
    for name, epsilon in columns:
        if math.isinf(epsilon) or (name, number) == ("p-dap", "IV"):
            continue
        scale = theory.noise_scale("tree", s.horizon, s.neighbours + 1, s.videos, epsilon)
        share = math.exp(epsilon / (2 * theory.spread(s.lipschitz, s.slices, s.smoothness, 0)))
        said.append(
            f"{name} at epsilon {epsilon:g}: in the whole cube the best own video is at most "
            f"{share:.4g} times as likely as the worst, and the noise of one node of a tree has "
            f"scale {scale:,.0f} where clicks are 0 or 1. " + _waits(epsilon, world)
        )
    said.append(
        "So the printed figures can come only from videos that are clicked often whichever is "
        "shown, or from a Delta u far below what protects anybody."
    )
    return tuple(said)


def _waits(epsilon: float, world: World) -> str:
    s = world.setting
    if s.neighbours == 0:
        return "Here nobody has neighbours: own videos are all there is."
    asked = theory.gamma(s.horizon, s.neighbours + 1, epsilon, 0.05) / 4
    reach = "more than there are" if asked > s.horizon else f"of {s.horizon:,}"
    said = f"Lemma 5 asks {asked:,.0f} visits of each neighbour before it is exploited, {reach}"
    gamma = world.private.get("gamma")
    return f"{said}." if gamma is None else f"{said}; Gamma was set to {gamma:g} here."
