"""Lists of private sums beside the figures that they have to reach, and beside private popularity.

    python benchmarks/private_acceptance.py table FOLDER/ml-100k [--draws 6] [--only WORD] [--json]
    python benchmarks/private_acceptance.py cells FOLDER/ml-100k [--draws 5] [--first 0] [--json]

table   NDCG@10 of kinds of data at epsilon 0.5, 1, 3 and, for some, without noise, beside the
        figures of `TABLE`. A draw is a fit with new noise; draws take turns on the splits of the
        row. A cell holds if its mean is at most .015 below the figure.
cells   10 populations, with their features as they are and shuffled over items, at epsilon 0.5, 1
        and 3: 60 cells. Each draw has people, split and noise of its own; --first is the seed of
        the first draw. A cell holds if the mean NDCG@10 of `private` less that of
        `private-popularity` is at least -.015. At most 400 people are judged in a draw.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit import Private
from tacit.data import generate
from tacit.data.domains import with_domains
from tacit.data.ratings import Ratings
from tacit.data.synthetic_worlds import films
from tacit.evaluation import mean_interval
from tacit.evaluation.lists import ListTrial, judge_lists, list_trial
from tacit.recommenders.baselines import PrivatePopularity

TOLERANCE = 0.015
"""NDCG by which a cell may be below its figure."""
MOST_JUDGED = 400
"""Most people judged in a draw of a cell."""
CELL_EPSILONS = (0.5, 1.0, 3.0)
ACROSS = {"source": "A", "target": "B"}


@dataclass(frozen=True)
class TableRow:
    """One kind of data, and the figures of a prototype, which the package has to reach."""

    name: str
    ratings: Callable[[Path], Ratings]
    """From the folder of MovieLens 100K."""
    figures: Mapping[float, float]
    """NDCG@10 by epsilon."""
    splits: tuple[int, ...] = (0,)
    """Seeds of the splits."""
    domains: Mapping[str, str] = field(default_factory=dict)
    """Names of the source and the target; empty for one domain."""


@dataclass(frozen=True)
class Cell:
    """What was measured of one kind of data at one epsilon."""

    data: str
    """Name of the data."""
    epsilon: float | str
    """Epsilon of the fits; "inf" without noise."""
    mode: str
    """Modes that the fits chose, with commas."""
    ndcg: float
    """Mean NDCG@10 over draws; of `cells`, less that of private popularity."""
    low: float
    """Lower end of the 95 % interval over draws."""
    high: float
    """Upper end of it."""
    beside: float
    """The figure to reach; 0 in `cells`."""
    holds: bool


def shuffle_features(ratings: Ratings, seed: int = 0) -> Ratings:
    """Give each item the metadata of another, drawn by the seed."""
    order = np.random.default_rng((seed, 5)).permutation(ratings.n_items)
    shuffled = {name: values[order] for name, values in ratings.item_metadata.items()}
    return replace(ratings, item_metadata=shuffled)


def halve_items(ratings: Ratings) -> Ratings:
    """Make two domains, A and B, of random halves of the items."""
    ids = ratings.item_ids.tolist()
    order = np.random.default_rng(0).permutation(len(ids))
    return with_domains(ratings, {ids[place]: "AB"[rank % 2] for rank, place in enumerate(order)})


def load_generated(_: Path) -> Ratings:
    """Generate the world of the table: 6,000 people, 3,000 items."""
    return generate(users=6000, items=3000, ratings=600_000, labels=18, seed=1)


TABLE = (
    TableRow("ML-100K", tacit.load, {0.5: 0.166, 1: 0.247, 3: 0.318, math.inf: 0.375}, (0, 1)),
    TableRow(
        "ML-100K, features shuffled",
        lambda folder: shuffle_features(tacit.load(folder)),
        {0.5: 0.165, 1: 0.175, 3: 0.239},
    ),
    TableRow(
        "ML-100K, events",
        lambda folder: tacit.load(folder).as_events(),
        {0.5: 0.186, 1: 0.286, 3: 0.351},
    ),
    TableRow(
        "ML-100K, a random half of items to the other",
        lambda folder: halve_items(tacit.load(folder)),
        {0.5: 0.338, 1: 0.426, 3: 0.493},
        (0, 1),
        ACROSS,
    ),
    TableRow(
        "ML-100K, no metadata",
        lambda folder: replace(tacit.load(folder), item_metadata={}),
        {0.5: 0.165, 1: 0.214, 3: 0.280},
    ),
    TableRow("generated", load_generated, {0.5: 0.099, 1: 0.124, 3: 0.150, math.inf: 0.169}),
    TableRow(
        "generated, features shuffled",
        lambda folder: shuffle_features(load_generated(folder)),
        {0.5: 0.068, 1: 0.070, 3: 0.075},
    ),
)


def measure_table(folder: Path, draws: int, only: str) -> Iterator[Cell]:
    """Measure each row of the table at each epsilon that has a figure."""
    for row in TABLE:
        if only not in row.name:
            continue
        ratings = row.ratings(folder)
        trials = [list_trial(ratings, **row.domains, seed=seed) for seed in row.splits]
        for epsilon, figure in row.figures.items():
            figures, modes = [], set()
            for draw in range(draws):
                model = Private(epsilon, **row.domains)
                figures.append(judge_lists(model, trials[draw % len(trials)]).ndcg)
                modes.add(model.released_.mode)
            yield _make_cell(row.name, epsilon, modes, figures, figure)


def measure_cells(folder: Path, draws: range, only: str) -> Iterator[Cell]:
    """Measure private lists less private popularity on small and shuffled data.

    Args:
        folder: Of MovieLens 100K.
        draws: Seeds of the draws.
        only: Populations whose name has this word.
    """
    movielens = tacit.load(folder)
    generated = generate(users=6000, items=1500, ratings=360_000, labels=18, seed=11)
    cinema = films(6000, seed=12)
    sets = {"ML-100K": movielens, "ML-100K, events": movielens.as_events()}
    sets |= {"generated": generated, "films": cinema}
    for name, ratings in sets.items():
        sizes = (300, 943) if ratings.n_users < 1000 else (300, 1000, 2500)
        for size in sizes:
            for shuffled in (False, True):
                population = f"{name}, {size} people"
                if shuffled:
                    population += ", features shuffled"
                if only not in population:
                    continue
                for epsilon in CELL_EPSILONS:
                    yield _measure_cell(
                        population, ratings, size, epsilon, draws, shuffled=shuffled
                    )


def _measure_cell(
    name: str, ratings: Ratings, size: int, epsilon: float, draws: range, *, shuffled: bool
) -> Cell:
    """Measure private lists less private popularity; each draw has other people and noise."""
    differences, modes = [], set()
    for draw in draws:
        people = np.random.default_rng((draw, 6)).permutation(ratings.n_users)[:size]
        part = ratings.of_users(people)
        if shuffled:
            part = shuffle_features(part, seed=draw)
        trial = _judge_fewer(list_trial(part, seed=draw))
        model = Private(epsilon)
        ours = judge_lists(model, trial).ndcg
        differences.append(ours - judge_lists(PrivatePopularity(epsilon=epsilon), trial).ndcg)
        modes.add(model.released_.mode)
    return _make_cell(name, epsilon, modes, differences, 0.0)


def _judge_fewer(trial: ListTrial) -> ListTrial:
    """Keep only the first `MOST_JUDGED` people, who are as good as random ones."""
    return replace(trial, people=trial.people[:MOST_JUDGED])


def _make_cell(
    name: str, epsilon: float, modes: set[str], figures: Sequence[float], figure: float
) -> Cell:
    """Return a cell from the figures of its draws; it holds if their mean reaches `figure`."""
    interval = mean_interval(figures, bounds=(-1.0, 1.0))
    holds = interval.mean >= figure - TOLERANCE
    shown = epsilon if math.isfinite(epsilon) else "inf"
    return Cell(
        name,
        shown,
        ",".join(sorted(modes)),
        interval.mean,
        interval.low,
        interval.high,
        figure,
        holds,
    )


def summarize(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return all cells, how many of them hold, and the smallest NDCG less its figure."""
    differences = [cell.ndcg - cell.beside for cell in cells]
    return {
        "cells": [asdict(cell) for cell in cells],
        "held": sum(cell.holds for cell in cells),
        "of": len(cells),
        "least": min(differences),
    }


def main() -> None:
    """Measure the table or the cells, and print each with whether it holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["table", "cells"], nargs="?", default="table")
    parser.add_argument("folder", type=Path, nargs="?", help="of MovieLens 100K")
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--first", type=int, default=0, help="seed of the first draw of a cell")
    parser.add_argument("--only", default="", help="rows whose name has this word")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.folder is None:
        print("Give the folder of MovieLens 100K:  python benchmarks/private_acceptance.py table F")
        return
    if options.what == "table":
        measured = measure_table(options.folder, options.draws, options.only)
    else:
        draws = range(options.first, options.first + options.draws)
        measured = measure_cells(options.folder, draws, options.only)
    cells = []
    for cell in measured:
        cells.append(cell)
        if not options.json:
            print(
                f"{cell.data}, epsilon {cell.epsilon} ({cell.mode}): {cell.ndcg:.3f} "
                f"({cell.low:.3f} to {cell.high:.3f}) beside {cell.beside:.3f}"
                f"{'' if cell.holds else '  BELOW'}",
                flush=True,
            )
    summary = summarize(cells)
    if options.json:
        print(json.dumps(summary, indent=1))
    else:
        print(f"{summary['held']} of {summary['of']} hold; least difference {summary['least']:.3f}")


if __name__ == "__main__":
    main()
