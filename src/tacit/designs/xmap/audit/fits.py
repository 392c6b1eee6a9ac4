"""What one fit of X-Map draws on a small table: every way, its chance, and the noise in it.

Both come from the code that runs: chances from the weights it draws with, the centre and scale of
each noisy similarity from runs with all noises at 0, at 1 and at -1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from operator import itemgetter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.auditing import bench
from tacit.auditing.bench import Chances
from tacit.auditing.claims import Check, Checked
from tacit.auditing.empirical import audit, best_known
from tacit.auditing.output_distributions import Way, coded, sampled, thrown, ways
from tacit.auditing.sampler_spy import tapped
from tacit.data.ratings import Ratings
from tacit.designs.xmap import XMap
from tacit.designs.xmap.audit.tables import SOURCE, TARGET, Tables
from tacit.designs.xmap.boxes import to_arrays
from tacit.designs.xmap.theory import laplace_delta
from tacit.mechanisms import samplers
from tacit.randomness import secure

Floats = NDArray[np.float64]
_DRAWS_IMAGES = ("tacit.mechanisms.selection", "tacit.designs.xmap.generator")
_BEYOND = "beyond"
Draws = Literal["images", "neighbours", "both"]
Settings = Mapping[str, Any]
Released = Mapping[str, NDArray[Any]]
"""The arrays of a model file."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """images: of the books, places among the films. neighbours: (films, k) places. centres: of
    the noisy similarities, where there is a neighbour; steps: what 1 in each noise adds, asked:
    the noises' scale in such steps. Noise is taken as it is before a similarity is cut to its
    range, which tells more than the model file does."""

    images: tuple[int, ...]
    neighbours: tuple[tuple[int, ...], ...]
    centres: Floats
    steps: Floats
    asked: float

    @property
    def choice(self) -> Hashable:
        return self.images, self.neighbours

    @property
    def scales(self) -> Floats:
        return self.steps * self.asked

    def noisy(self, count: int) -> Floats:
        """(count, similarities) releases with noise of the shipped sampler."""
        nothing = np.zeros(count * len(self.centres), dtype=np.int64)
        noise = samplers.discrete_laplace(nothing, self.asked) if len(nothing) else nothing
        return self.centres + noise.reshape(count, len(self.centres)) * self.steps


@dataclass(frozen=True)
class Drawer:
    """A fit with its settings, and which of its draws are looked at.

    of: "images", "neighbours" or "both". row: the film whose neighbours they are, None: all films.
    """

    settings: Settings
    of: Draws = "both"
    row: int | None = None

    def every_way(self, table: Ratings, noise: bool = True) -> list[Way[Drawn]]:
        """noise: whether to look at it, which takes two more runs for each way."""
        found = []
        for way in ways(partial(self._fit, table, 0), self._counts):
            shifted = [
                thrown(partial(self._fit, table, at), way.faces, self._counts).result
                for at in (1, -1) * noise
            ]
            found.append(Way(way.fallen, self._drawn(way.result, shifted)))
        return found

    def _counts(self, module: str, row: int) -> bool:
        if module in _DRAWS_IMAGES:
            return self.of != "neighbours"
        return self.of != "images" and self.row in (None, row)

    def _fit(self, table: Ratings, noise: int) -> tuple[Released, float]:
        """All noises at that many steps; with the scale that was asked for."""
        with tapped(lambda asked: asked.values + noise) as heard:
            model = XMap(source=SOURCE, target=TARGET, **self.settings)
            model.fit(table)
        scales = {asked.scale for asked in heard}
        return _released(model), scales.pop() if scales else math.nan

    def _drawn(
        self, fitted: tuple[Released, float], shifted: list[tuple[Released, float]]
    ) -> Drawn:
        film = slice(None) if self.row is None else slice(self.row, self.row + 1)
        released, asked = fitted
        items, centres = released["0.neighbours"][film], released["0.similarities"][film]
        # What is cut to a range after the noise moves in one direction at least.
        moved = [np.abs(other["0.similarities"][film] - centres) for other, _ in shifted]
        there = (items >= 0) & (self.of != "images")
        return Drawn(
            () if self.of == "neighbours" else tuple(released["0.images"].tolist()),
            () if self.of == "images" else tuple(map(tuple, items.tolist())),
            centres[there],
            np.maximum.reduce(moved, initial=0.0)[there] if moved else np.zeros(int(there.sum())),
            asked,
        )


def _released(model: XMap) -> Released:
    assert model.boxes_ is not None
    return to_arrays(list(model.boxes_.bridges.values()))


_NOISY, _WHOLE_FITS = 10, 500  # one sample for so many that are asked for


def chances(found: Sequence[Way[Drawn]]) -> dict[Hashable, bench.Chance]:
    """Of everything that may be seen."""
    summed: dict[Hashable, bench.Chance] = {}
    for way in found:
        choice = way.result.choice
        summed[choice] = summed.get(choice, Fraction(0)) + way.chance
    return summed


def choice_check(name: str, drawer: Drawer, tables: Tables) -> Check:
    """What is drawn, by exact chances and by samples; noise is left aside."""

    def check(samples: int, alpha: float) -> Checked:
        found = [drawer.every_way(table, noise=False) for table in tables]
        p, q = (chances(side) for side in found)
        code = {seen: place for place, seen in enumerate(dict.fromkeys([*p, *q]))}
        codes = [np.array([code[way.result.choice] for way in side]) for side in found]

        def release(side: int) -> Callable[[int], NDArray[Any]]:
            return lambda n: codes[side][sampled(found[side], n, secure())]

        known = best_known((coded(p, code), coded(q, code)), samples, alpha)
        seen = audit(release(0), release(1), samples=samples, alpha=alpha, known=known)
        ideal = known.ideal if known else 0.0
        return Checked(name, bench.loss(p, q), None, seen.lower_bound, ideal, samples)

    return check


def noise_check(
    name: str, drawer: Drawer, tables: Tables, *, given: tuple[int, ...] | None = None
) -> Check:
    """Choices and noise together. given: only where the drawer's film has these neighbours, so
    that what is left is the loss of the noise alone."""

    def check(samples: int, alpha: float) -> Checked:
        sides = _Sides(
            *(
                [way for way in drawer.every_way(table) if given in (None, *way.result.neighbours)]
                for table in tables
            )
        )
        count = samples // _NOISY
        known = best_known(sides.beyond, count, alpha, feature=_BEYOND)
        found = audit(
            lambda n: sides.releases(0, n),
            lambda n: sides.releases(1, n),
            samples=count,
            alpha=alpha,
            features={"likelihood": itemgetter((..., 0)), _BEYOND: itemgetter((..., 1))},
            known=known,
        )
        ideal = known.ideal if known else 0.0
        return Checked(name, sides.loss, None, found.lower_bound, ideal, count)

    return check


def fits_check(
    name: str, settings: Settings, tables: Tables, feature: Callable[[Released], float]
) -> Check:
    """Real fits, each from the secure source, and one number made of each model file.

    The exact loss is infinite if the model holds a mean of an item that is not the same for both:
    means have no noise.
    """

    def fit(table: Ratings) -> Released:
        model = XMap(source=SOURCE, target=TARGET, **settings).fit(table)
        return _released(model)

    def release(table: Ratings) -> Callable[[int], NDArray[Any]]:
        return lambda n: np.array([feature(fit(table)) for _ in range(n)], dtype=np.float64)

    def check(samples: int, alpha: float) -> Checked:
        count = max(samples // _WHOLE_FITS, 4)
        found = audit(release(tables[0]), release(tables[1]), samples=count, alpha=alpha)
        means = [fit(table)["item_means"] for table in tables]
        loss = 0.0 if np.array_equal(means[0], means[1]) else math.inf
        return Checked(name, loss, None, found.lower_bound, 0.0, count)

    return check


class _Sides:
    """The ways with and without them, each known by all that is drawn in it."""

    def __init__(self, first: list[Way[Drawn]], second: list[Way[Drawn]]) -> None:
        self._ways = first, second
        self._drawn = [{way.result.choice: way.result for way in side} for side in self._ways]
        self._chances = [_shares(side) for side in self._ways]
        self._both = [seen for seen in self._drawn[0] if self._alike(seen)]

    def _alike(self, seen: Hashable) -> bool:
        """Whether either side may draw it, with noise of the same scales."""
        sides = [drawn[seen] for drawn in self._drawn if seen in drawn]
        return len(sides) == 2 and np.allclose(sides[0].scales, sides[1].scales, rtol=1e-9, atol=0)

    @property
    def loss(self) -> float:
        """Nats: of the choices, and of the noise where they are made."""
        if {*self._drawn[0]} != {*self._drawn[1]}:
            return math.inf
        return max(
            abs(bench.log(self._chances[0][seen] / self._chances[1][seen]))
            + _noise_loss(self._drawn[0][seen], self._drawn[1][seen])
            for seen in self._drawn[0]
        )

    @property
    def beyond(self) -> tuple[Chances, Chances]:
        """Of each value of `_BEYOND`, under both tables."""
        chances: tuple[dict[Hashable, float], dict[Hashable, float]] = ({}, {})
        for place, seen in enumerate(self._both):
            drawn = [self._drawn[side][seen] for side in (0, 1)]
            away = np.abs(drawn[0].centres - drawn[1].centres) / drawn[0].steps
            for nearest in (0, 1):
                for side in (0, 1):
                    steps = np.ceil(away - 0.5) * (side != nearest)
                    reached = bench.laplace_at_least(steps, drawn[0].asked)[away > 0]
                    chance = float(self._chances[side][seen]) * float(reached.prod())
                    chances[side][2 * place + nearest] = chance
        return chances

    def _where(self, seen: Hashable, releases: Floats) -> NDArray[np.int64]:
        """(n,) `_BEYOND`: a number of the choice and of the side, if all noise takes the release
        beyond that side's centres, seen from the other's; -1 elsewhere."""
        found = np.full(len(releases), -1)
        if seen in self._both:
            drawn = [self._drawn[side][seen] for side in (0, 1)]
            toward = np.sign(drawn[0].centres - drawn[1].centres)
            for nearest, sign in ((0, 1), (1, -1)):
                past = (releases - drawn[nearest].centres) * toward * sign
                there = (past >= -drawn[0].steps / 2) | (toward == 0)
                found[there.all(axis=1)] = 2 * self._both.index(seen) + nearest
        return found

    def releases(self, side: int, count: int) -> Floats:
        """(count, 2) of releases of one side: log likelihood ratios, as an auditor computes them
        who knows both tables, beyond all others for what only one side draws; and `_BEYOND`."""
        found = self._ways[side]
        places = sampled(found, count, secure()) if len(found) > 1 else np.zeros(count, dtype=int)
        ratios, where = np.empty(count), np.full(count, -1)
        for place, way in enumerate(found):
            here, seen = np.flatnonzero(places == place), way.result.choice
            if seen not in self._drawn[1 - side]:
                ratios[here] = 1e9 * (1 - 2 * side)
                continue
            releases = way.result.noisy(len(here))
            where[here] = self._where(seen, releases)
            ratios[here] = bench.log(self._chances[0][seen] / self._chances[1][seen])
            for drawn, sign in ((self._drawn[0][seen], 1), (self._drawn[1][seen], -1)):
                away = np.abs(releases - drawn.centres) / drawn.scales
                ratios[here] -= sign * (away + np.log(drawn.scales)).sum(axis=1)
        return np.stack([ratios, where], axis=1)


def _shares(found: Sequence[Way[Drawn]]) -> dict[Hashable, Fraction]:
    whole = sum((way.chance for way in found), Fraction(0))
    return {way.result.choice: way.chance / whole for way in found}


def _noise_loss(one: Drawn, other: Drawn) -> float:
    """Laplace noise of the same scales: all moves over them. Of two scales: no number bounds it."""
    if not np.allclose(one.scales, other.scales, rtol=1e-9, atol=0):
        return math.inf
    return float((np.abs(one.centres - other.centres) / one.scales).sum())


def noise_delta(drawer: Drawer, tables: Tables, given: int, epsilon: float) -> float:
    """delta at `epsilon` of the noise on ONE similarity, where the film's neighbour is `given`."""
    one, other = (
        next(way.result for way in drawer.every_way(table) if way.result.neighbours == ((given,),))
        for table in tables
    )
    distance = abs(float(one.centres[0] - other.centres[0]))
    return laplace_delta(epsilon, float(one.scales[0]), float(other.scales[0]), distance)
