"""How the people that sketches need grow with items, rated items and epsilon.

    python benchmarks/studies/sketch_scaling.py [--only NAME] [--seeds N]

The paper has bounds and no experiments. For each setting and seed a population grows until every
label is right and stays so. What is needed is the size at which nine of ten populations get there:
the planner's formula is for a failure of one in ten, too. The logarithms are fitted by a line;
intervals are 95 %, bootstrap over seeds. `questions` has the ratio of two methods instead.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.synthetic_worlds import Blocks
from tacit.designs.sketches.experiment.simulation import simulate
from tacit.designs.sketches.planner import plan

ONE_CLASS = Blocks(np.ones(1), np.full(2, 0.5), np.array([[0.9, 0.1]]))
ETA = 0.1
"""Share of populations that may fail, and the planner's chance of failure."""
STOPS = np.geomspace(0.12, 1.5, 26)
"""Sizes of the growing population, in parts of the planner's number: steps of 11 %."""
RESAMPLES = 2000
STUDIES: dict[str, dict[str, Any]] = {
    "items": {"items": (400, 800, 1600), "rated": (20,), "epsilon": (4.0,)},
    "fewer items": {"items": (150, 300, 600), "rated": (20,), "epsilon": (2.0,)},
    "rated": {"items": (200,), "rated": (10, 20, 40), "epsilon": (1.0,)},
    "epsilon": {"items": (100,), "rated": (20,), "epsilon": (0.4, 0.6, 0.9)},
}
QUESTIONS: dict[str, Any] = {"items": 200, "rated": 20, "epsilon": 6.0}


@dataclass
class Need:
    """logs: (seeds,) logarithms of the sizes from which on all labels were right. unreached: seeds
    in which even the largest population was too small; they count with its size."""

    clt: float
    logs: NDArray[np.float64]
    unreached: int

    @property
    def people(self) -> float:
        return float(np.exp(np.quantile(self.logs, 1 - ETA)))

    @property
    def resampled(self) -> NDArray[np.float64]:
        """(resamples,) logarithms of people needed."""
        drawn = np.random.default_rng(round(self.clt)).choice(
            self.logs, size=(RESAMPLES, len(self.logs))
        )
        found: NDArray[np.float64] = np.quantile(drawn, 1 - ETA, axis=1)
        return found


def need(method: str, seeds: int, **setting: Any) -> Need:
    advice = plan(**setting, eta=ETA, blocks=ONE_CLASS)
    clt = next(row.users_clt for row in advice.methods if row.method == method)
    stops = sorted({max(1, round(part * clt)) for part in STOPS})
    sizes, unreached = [], 0
    for seed in range(seeds):
        rows = simulate(method, **setting, users=stops, seed=seed, blocks=ONE_CLASS)
        wrong = [place for place, row in enumerate(rows) if row["accuracy"] < 1]
        first = wrong[-1] + 1 if wrong else 0
        unreached += first == len(stops)
        sizes.append(stops[min(first, len(stops) - 1)])
    found = Need(clt, np.log(sizes), unreached)
    low, high = np.exp(np.quantile(found.resampled, (0.025, 0.975)))
    print(
        f"{method} {setting}: {found.people:,.0f} people ({low:,.0f} to {high:,.0f}); by the "
        f"formula {clt:,.0f}; half of the populations {math.exp(found.logs.mean()):,.0f}; "
        f"never {unreached}",
        flush=True,
    )
    return found


def slope(x: NDArray[np.float64], y: Any) -> Any:
    """Of the least-squares line through (x, y), along the last axis of y."""
    centred = x - x.mean()
    return np.asarray(y) @ centred / (centred @ centred)


def scaling(name: str, seeds: int) -> None:
    settings = STUDIES[name]
    varied = next(key for key, values in settings.items() if len(values) > 1)
    kept = {key: values[0] for key, values in settings.items()}
    needs = [need("maxsense", seeds, **(kept | {varied: each})) for each in settings[varied]]
    x = np.log(np.array(settings[varied], dtype=float))
    resampled = slope(x, np.stack([one.resampled for one in needs], axis=-1))
    low, high = np.quantile(resampled, (0.025, 0.975))
    fitted, formula, half = (
        slope(x, np.log(sizes))
        for sizes in (
            [one.people for one in needs],
            [one.clt for one in needs],
            [math.exp(one.logs.mean()) for one in needs],
        )
    )
    print(
        f"people grow as {varied} to the power {fitted:.2f} ({low:.2f} to {high:.2f}); by the "
        f"formula {formula:.2f}; half of the populations {half:.2f}"
    )


def questions(seeds: int) -> None:
    one, several = (need(each, seeds, **QUESTIONS) for each in ("maxsense", "multi-maxsense"))
    low, high = np.exp(np.quantile(several.resampled - one.resampled, (0.025, 0.975)))
    print(
        f"several questions need {several.people / one.people:.2f} times the people of one "
        f"({low:.2f} to {high:.2f}); by the formula {several.clt / one.clt:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=(*STUDIES, "questions"))
    parser.add_argument("--seeds", type=int, help="20, or 40 for questions")
    given = parser.parse_args()
    for name in (given.only,) if given.only else (*STUDIES, "questions"):
        if name == "questions":
            questions(given.seeds or 40)
        else:
            scaling(name, given.seeds or 20)


if __name__ == "__main__":
    main()
