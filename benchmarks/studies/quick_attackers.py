"""Whether the quick panel's attackers guess as well as the thorough ones of the same names.

    python benchmarks/studies/quick_attackers.py [FOLDER] [--seeds 5] [--users 1000] [--json]

Ratings are those of FOLDER, a folder of MovieLens with genders, or, without one, of a generated
world for each seed. For each seed people are split into five folds, and the standard scheme's
attackers guess gender twice: as `tacit fit standard-scheme` measures a card, and with the thorough
search for penalties, all sweeps of the factorization and large trees. Both see the same releases.

A row is one attacker in one view: true stars, or retrained on the default release. An AUC counts by
its distance from 0.5; a difference is quick less thorough, in mean over seeds, with its 95 %
interval (Student's t). The row "strongest" is that of a card: the strongest of all attackers.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.auditing.attacks import QUICK
from tacit.data.tabular import load
from tacit.designs.standard_scheme.disclosure import DEFAULT_RELEASE
from tacit.designs.standard_scheme.experiment.evaluation import evaluate_hiding
from tacit.designs.standard_scheme.experiment.setup import UNION
from tacit.designs.standard_scheme.experiment.table import HidingTable
from tacit.evaluation import mean_interval

FOLDS = 5
FIRST_WORLD = 20261129
"""Seed of the first generated world; the others follow."""
STRONGEST = "strongest"
VIEWS = {("none", "raw"): "true stars", (DEFAULT_RELEASE, "released"): "retrained"}
"""By release and what an attacker is trained on: the name of the view."""

Distances = dict[tuple[str, str], float]
"""By view and attacker: distance of the AUC from 0.5."""


def read_world(folder: Path | None, users: int, seed: int) -> tacit.Ratings:
    """Read the ratings of a folder, or generate this seed's world."""
    if folder is not None:
        return load(folder)
    return tacit.generate(
        users=users,
        items=600,
        ratings=50 * users,
        share=0.4,
        which=1.5,
        how=0.15,
        seed=FIRST_WORLD + seed,
    )


def find_distances(table: HidingTable) -> Distances:
    """Read the distance of each attacker, and of the strongest, in both views."""
    distances = {}
    for row in table.rows:
        view = VIEWS.get((row.release, row.trained_on))
        if view is not None and row.view == UNION:
            distances[view, row.attack] = abs(row.auc - 0.5)
    for worst in table.worst:
        view = "true stars" if worst.release == "none" else "retrained"
        distances[view, STRONGEST] = worst.auc - 0.5
    return distances


def attack(ratings: tacit.Ratings, seed: int, *, quick: bool) -> tuple[Distances, float]:
    """Attack with the quick or the thorough attackers: distances, and seconds of processor."""
    started = time.process_time()
    attackers: Mapping[str, Any] = {"panel": "quick"} if quick else {"attacks": QUICK}
    table = evaluate_hiding(
        ratings, "gender", folds=FOLDS, seed=seed, workers=1, attackers_only=True, **attackers
    )
    return find_distances(table), time.process_time() - started


def measure(folder: Path | None, users: int, seeds: int) -> dict[str, Any]:
    """Compare quick and thorough attackers over the seeds."""
    quick_distances = []
    thorough_distances = []
    quick_seconds = 0.0
    thorough_seconds = 0.0
    for seed in range(seeds):
        ratings = read_world(folder, users, seed)
        distances, seconds = attack(ratings, seed, quick=True)
        quick_distances.append(distances)
        quick_seconds += seconds / seeds
        distances, seconds = attack(ratings, seed, quick=False)
        thorough_distances.append(distances)
        thorough_seconds += seconds / seeds
    rows: list[dict[str, Any]] = []
    for view, attacker in quick_distances[0]:
        quick = np.array([distances[view, attacker] for distances in quick_distances])
        thorough = np.array([distances[view, attacker] for distances in thorough_distances])
        difference = mean_interval((quick - thorough).tolist())
        rows.append(
            {
                "view": view,
                "attacker": attacker,
                "quick": float(quick.mean()),
                "thorough": float(thorough.mean()),
                "difference": [difference.mean, difference.low, difference.high],
            }
        )
    return {
        "seeds": seeds,
        "rows": rows,
        "mean_difference": float(np.mean([row["difference"][0] for row in rows])),
        "quick_seconds": quick_seconds,
        "thorough_seconds": thorough_seconds,
    }


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--users", type=int, default=1000, help="people of a generated world")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.folder, options.users, options.seeds)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    for row in result["rows"]:
        mean, low, high = row["difference"]
        print(
            f"{row['view']:11} {row['attacker']:20} quick {row['quick']:.3f}  thorough "
            f"{row['thorough']:.3f}  difference {mean:+.4f} [{low:+.4f}, {high:+.4f}]"
        )
    print(
        f"seconds of processor for each seed: quick {result['quick_seconds']:.1f}, thorough "
        f"{result['thorough_seconds']:.1f}"
    )


if __name__ == "__main__":
    main()
