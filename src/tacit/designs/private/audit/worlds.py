"""Small tables with and without one person, and whole fits of them.

The claim is audited in both modes, in one domain and across two. The noisy number of people is
given by the auditor, for 40 people alone would end a fit after its first sum; and clips are small
enough to bind in so small a world. Both leave every rule of the fit as it is shipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.sampler_spy import Answer, Asked
from tacit.data.ratings import Ratings, RatingScale
from tacit.designs.private.model import Private
from tacit.designs.private.settings import Mode, Settings, noise_multipliers

EPSILON, DELTA = 1.0, 1e-6
ITEMS, GENRES = 20, 5
_PEOPLE, _MANY = 400, 20_000  # as the answers have it
_SCALE = RatingScale(1, 5, 1)
_RARE = ITEMS - 1  # nobody else rates it; its last genre is its own

Stars = Mapping[int, float]
Tables = tuple[Ratings, Ratings]

PERSONS: Mapping[str, Stars] = {
    "likes everything": dict.fromkeys(range(ITEMS), 5.0),
    "likes a third, rates all": {item: 5.0 if item % 3 == 0 else 1.0 for item in range(ITEMS)},
    "likes two rare items": {0: 5.0, _RARE: 5.0},
    "alone in a feature": {_RARE: 5.0, 1: 4.0, 2: 5.0, 11: 4.0},
    "rates all 1": dict.fromkeys(range(ITEMS), 1.0),
    "has no rows": {},
}
"""Who comes or goes: item number to stars."""


@dataclass(frozen=True)
class World:
    """One way to fit. across: from the first half of the items to the second."""

    mode: Mode
    across: bool
    stars: bool = False
    factors: bool = False

    @property
    def name(self) -> str:
        where = "across domains" if self.across else "one domain"
        more = ", with factors of stars" if self.factors else ", with stars" if self.stars else ""
        return f"private, {self.mode}, {where}{more}"

    def fit(self, table: Ratings) -> dict[str, NDArray[Any]]:
        """The shipped recommender; the arrays of its model file, and the other released numbers."""
        source, target = ("books", "films") if self.across else (None, None)
        model = _Clipped(
            EPSILON, DELTA, source=source, target=target, mode=self.mode, stars=self.stars
        ).fit(table)
        return arrays_of(model)


def arrays_of(model: Private) -> dict[str, NDArray[Any]]:
    """All that a fit released."""
    released = model.released_
    people = np.array([released.usefulness.people, released.deviation])
    return {**model.parts()[1], "people": people}


class _Clipped(Private):
    """The same with clips that bind among few people."""

    @property
    def settings(self) -> Settings:
        small = 0.02
        return replace(super().settings, moment_clip=small, feature_clip=small, item_clip=small)


WORLDS = (
    *(World(mode, across) for mode in ("taste", "top-items") for across in (False, True)),
    World("taste", True, stars=True),
    World("taste", False, stars=True, factors=True),
)


def tables(person: Stars, people: int = 40) -> Tables:
    """Some people with arbitrary ratings, with `person` and without."""
    draws = np.random.default_rng(1)
    rows: list[Stars] = [
        {
            int(item): float(draws.integers(1, 6))
            for item in np.flatnonzero(draws.random(ITEMS - 1) < 0.4)
        }
        for _ in range(people)
    ]
    return ratings([*rows, person]), ratings(rows)


def ratings(rows: list[Stars]) -> Ratings:
    """Everybody, also people without rows, on one public catalogue."""
    cells = [(u, i, row[i]) for u, row in enumerate(rows) for i in sorted(row)]
    users, items, stars = map(np.array, zip(*cells, strict=True))
    genres, domains = np.empty(ITEMS, object), np.empty(ITEMS, object)
    genres[:] = [f"{i % GENRES}|{i % 3}" if i < _RARE else "its own" for i in range(ITEMS)]
    domains[:] = ["books" if item < ITEMS // 2 else "films" for item in range(ITEMS)]
    return Ratings(
        users.astype(np.int32), items.astype(np.int32), stars.astype(np.float64), None,
        np.arange(len(rows)), np.arange(ITEMS), _SCALE,
        item_metadata={"genres": genres, "domain": domains}, catalogue_given=True,
    )  # fmt: skip


def answers(seed: int = 0, *, factors: bool = False) -> Answer:
    """A hundredth of the noise, and a first sum that speaks of 400 people; for factors of stars it
    speaks of many, and the Gram matrix of stars is large enough to show some."""
    draws = np.random.default_rng(seed)
    people = _MANY if factors else _PEOPLE

    def answer(asked: Asked) -> NDArray[np.int64]:
        noise = np.rint(draws.normal(0, asked.scale / 100, asked.values.shape)).astype(np.int64)
        made = asked.values + noise
        if made.ndim == 2 and made.shape[1] == 1:  # the counts alone have one column
            made[-1] = int(people * Settings().presence / 2.0**-12)
        if factors and made.shape == (ITEMS * (ITEMS - 1) // 2,):
            made *= 50
        return made

    return answer


def overspent(world: World, moves: tuple[float, ...]) -> float:
    """The largest share of its own event that a sum uses up in mu^2: at most 1."""
    # Releases in each sum: a Gram matrix has two, beside the diagonal and on it.
    sizes = (1, 2, 1, 1) if world.mode == "taste" else (1, 2, 2, 1 if world.across else 2)
    of_stars = (1, 2 if world.factors else 1, 1) if world.stars else ()
    ends = np.cumsum((0, *sizes, *of_stars))
    used = [sum(move**2 for move in moves[a:b]) for a, b in pairwise(ends)]
    noises = noise_multipliers(Settings(EPSILON, DELTA, stars=world.stars))
    return max(float(mu * noise**2) for mu, noise in zip(used, noises, strict=True))
