"""The price of privacy on generated people, NX-Map beside it, and how many people an epsilon needs.

Gain and kept are those of `price_of_privacy`. NX-Map is judged on the same people and ratings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.domains import cross_domain_split
from tacit.data.synthetic_domains import DOMAINS, generate_domains
from tacit.designs.xmap.experiment.price_of_privacy import (
    WORLDS,
    PriceRow,
    price_of_privacy,
    users_needed,
)
from tacit.errors import ConfigError
from tacit.evaluation.accuracy import mae
from tacit.evaluation.parallel import Pool, Progress

ITEMS = (1000, 1000)
COLD = 5000
SHARES_KEPT = (0.4, 0.8, 0.95)
FEWEST_USERS = 200


@dataclass(frozen=True)
class TwinRow:
    """NX-Map on generated people. gain: stars below item and person means, as in `PriceRow`."""

    users: int
    seed: int
    mae: float
    gain: float


@dataclass(frozen=True)
class Price:
    """rows: the sound variant, also at epsilon inf. nx_map: the paper's method."""

    rows: tuple[PriceRow, ...]
    nx_map: tuple[TwinRow, ...]
    world: str = "default"

    @property
    def users(self) -> list[int]:
        return sorted({row.users for row in self.rows})

    @property
    def epsilons(self) -> list[float]:
        """Without the infinite one."""
        return sorted({row.epsilon for row in self.rows if math.isfinite(row.epsilon)})

    def mean(self, what: str, users: int, epsilon: float) -> float:
        """Over the seeds, of one field of the rows."""
        chosen = [row for row in self.rows if (row.users, row.epsilon) == (users, epsilon)]
        return float(np.mean([getattr(row, what) for row in chosen]))

    def nx_mean(self, what: str, users: int) -> float:
        """The same of NX-Map."""
        return float(np.mean([getattr(row, what) for row in self.nx_map if row.users == users]))

    def needed(self) -> dict[float, dict[float, float | None]]:
        """Share of the gain -> epsilon -> how many users keep it, None outside what was tried."""
        return {share: users_needed(self.rows, share) for share in SHARES_KEPT}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "rows": [row.to_dict() for row in self.rows],
            "nx_map": [vars(row) | {} for row in self.nx_map],
            "users_needed": [
                {"kept": share, "epsilon": epsilon, "users": users}
                for share, by_epsilon in self.needed().items()
                for epsilon, users in by_epsilon.items()
            ],
        }


def measure_price(
    *,
    users: Sequence[int],
    epsilons: Sequence[float],
    delta: float,
    seeds: Sequence[int],
    items: tuple[int, int] = ITEMS,
    world: str = "default",
    workers: int = 0,
    progress: Progress | None = None,
) -> Price:
    """len(users) * len(seeds) steps. An infinite epsilon is left out: it is always measured.

    items: of either domain. world: a name of `WORLDS`.
    """
    check_world(world)
    if few := [size for size in users if size < FEWEST_USERS]:
        raise ConfigError(f"The price is measured on {FEWEST_USERS} people or more; got {few[0]}.")
    finite = tuple(epsilon for epsilon in epsilons if math.isfinite(epsilon))
    tasks = [(size, seed) for size in users for seed in seeds]
    with Pool(_Budget(finite, delta, items, world), workers=workers) as pool:
        found = pool.run(_measure, tasks, progress or (lambda _: None))
    return Price(
        rows=tuple(row for rows, _ in found for row in rows),
        nx_map=tuple(row for _, row in found),
        world=world,
    )


def check_world(name: str) -> None:
    """ConfigError unless it is one of `WORLDS`."""
    if name not in WORLDS:
        raise ConfigError(f"Generated worlds are {', '.join(WORLDS)}; got {name!r}.")


@dataclass(frozen=True)
class _Budget:
    epsilons: tuple[float, ...]
    delta: float
    items: tuple[int, int]
    world: str


def _measure(budget: _Budget, size: int, seed: int) -> tuple[tuple[PriceRow, ...], TwinRow]:
    rows = price_of_privacy(
        users=[size],
        epsilons=budget.epsilons,
        seeds=[seed],
        delta=budget.delta,
        cold=COLD,
        items=budget.items,
        world=WORLDS[budget.world],
    )
    error = _nx_map(size, seed, budget)
    return rows, TwinRow(size, seed, error, rows[0].mae + rows[0].gain - error)


def _nx_map(size: int, seed: int, budget: _Budget) -> float:
    """MAE on the people and ratings that `price_of_privacy` judges."""
    from tacit.designs.xmap import XMap

    source, target = DOMAINS
    ratings = generate_domains(size, budget.items, seed=seed, **WORLDS[budget.world])
    share = min(COLD, size // 2) / size
    split = cross_domain_split(ratings, source=source, target=target, share=share, seed=seed)
    model = XMap(source=source, target=target, variant="published", epsilon=math.inf)
    model.fit(split.train)
    people = np.flatnonzero(np.diff(split.test.offsets))
    predicted = model.predict_people(split.train.of_users(people))
    stars = predicted[np.searchsorted(people, split.test.users), split.test.items]
    scale = split.test.scale
    return mae(split.test.values, np.clip(stars, scale.minimum, scale.maximum))
