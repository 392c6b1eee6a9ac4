"""Fitting the chances of `drawing.by_taste` to consenting people.

Runs at     the recommender.
Sees        the consenting people's ratings and attributes in the clear.
Releases    the numbers of a `Taste`. They say more about the consenting people than the plain
            tables do, and have no epsilon.

Its ratio is fitted as a logistic regression: every rating of a consenting person is a
case, its label the person's value, its predictors the item, its released level and the state of the
person's device just before the item's turn. With equal chances so far, the odds of the values given
state and item are the prior odds times the ratio. The state depends on the chances, so devices are
simulated with the last fit and the regression is fitted again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import svds
from scipy.special import expit

from tacit.designs.standard_scheme.drawing import MILLI, TURNS
from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.people import Consenting, entry_rows, with_data
from tacit.designs.standard_scheme.training.population import Drawn, passed_by_taste
from tacit.designs.standard_scheme.training.tables import Tables, TasteArrays
from tacit.errors import ConfigError

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

MASKS, RESIDUALS, SQUARES = 24, 10, 24
"""Directions of what is shown and of how it is rated, and squares of the first ones."""
PENALTY, ITEM_PENALTY = 60_000.0, 300.0
"""Of the regression's weights, and of each item's own."""
ROUNDS, ITERATIONS = 2, 25
CASES = 50
"""Ratings of a person that count, at most."""
FEWEST = 50
"""People of the rarer value."""
_LARGEST_GAP = 1.0


def with_taste(people: Consenting, tables: dict[str, Tables], *, seed: int) -> dict[str, Tables]:
    """The tables of one attribute with two values, and chances by taste. The seed draws releases.

    ConfigError if there are more values, or fewer than FEWEST people of the rarer one.
    """
    (name, table), *others = tables.items()
    rarest = int(np.bincount(people.labels[:, 0], minlength=2).min())
    if others or len(table.values) != 2 or rarest < FEWEST:
        raise ConfigError(
            "second_order='taste' needs one attribute with two values and "
            f"{FEWEST} consenting people of each; got {name!r} with {len(table.values)} values, "
            f"{rarest} people of the rarest."
        )
    return {name: replace(table, taste=fit(people, table, seed=seed))}


def fit(people: Consenting, table: Tables, *, seed: int) -> TasteArrays:
    """Chances by taste for these people, whose plain tables are given."""
    generator = np.random.default_rng([seed, 14])
    labels = people.labels[:, 0]
    features = _features(people.levels, table)
    taste = _start(features)
    decidable = table.keep[:, people.levels.indices].min(axis=0) > 0
    for _ in range(ROUNDS):
        drawn = _draws(people, table, generator)
        cases, weights = _cases(people.levels, decidable, generator)
        states_of = np.full(people.levels.nnz, -1)
        states_of[cases] = np.arange(len(cases))
        nobody = np.zeros(people.levels.nnz, dtype=bool)
        _, states = passed_by_taste(
            people.levels, labels, taste, drawn, decidable, nobody, states_of
        )
        rows = entry_rows(people.levels)[cases]
        items = people.levels.indices[cases]
        above = (drawn.levels[cases] / MICRO - features.levels[items]).astype(np.float32)
        regression = _Regression(
            features, states / MILLI, items, above, labels[rows], weights, float(labels.mean())
        )
        taste = regression.taste(taste)
    return taste


@dataclass(frozen=True)
class _Features:
    """levels, gaps: (items,); basis, stars: (items, k) and (items, s); own: (items, m) predictors
    in a unit of their own."""

    levels: Floats
    gaps: Floats
    basis: Floats
    stars: Floats
    own: Singles


def _features(levels: sparse.csr_array, table: Tables) -> _Features:
    """What is known of items. Rarely rated ones, which no device decides, have zeros."""
    decided = (table.keep.min(axis=0) > 0)[:, None]
    counts = np.bincount(levels.indices, minlength=levels.shape[1])
    usual = table.item_means / MICRO
    masks = with_data(levels, np.ones(levels.nnz))
    above = with_data(levels, levels.data - usual[levels.indices])
    first, second = np.maximum(table.keep, 1) / MICRO
    gaps = np.log(first / second)  # 0 for an item that is not decided
    fame = np.log(counts / levels.shape[0] + 1e-3)[:, None]
    fame = (fame - fame.mean()) / fame.std()
    gap = np.clip(gaps, -_LARGEST_GAP, _LARGEST_GAP)[:, None]
    known = [_directions(masks, MASKS), fame, fame**2 / 2, 3 * gap, 3 * np.abs(gap)]
    basis = np.hstack(known) * decided
    stars = np.hstack([_directions(above, RESIDUALS), np.ones_like(fame)]) * decided
    shares = counts / counts.sum()
    centred = basis - shares @ basis
    spread = np.sqrt(shares @ centred**2) + 1e-6
    own = np.hstack([np.ones_like(fame), np.clip(centred / spread, -4, 4)])
    return _Features(usual, gaps, basis, stars, own.astype(np.float32))


def _directions(matrix: sparse.csr_array, count: int) -> Floats:
    """(items, count) main directions; columns of zeros where there are fewer."""
    found = min(count, min(matrix.shape) - 1)
    start = np.ones(min(matrix.shape))
    _, sizes, vectors = svds(matrix.astype(np.float64), k=found, v0=start)
    ordered = vectors[np.argsort(-sizes)].T * np.sqrt(matrix.shape[1])
    return np.hstack([ordered, np.zeros((matrix.shape[1], count - found))])


def _start(features: _Features) -> TasteArrays:
    """The plain rule's chances, whatever the state."""
    items, k = features.basis.shape
    width = k + features.stars.shape[1] + 1 + SQUARES
    return TasteArrays(
        levels=_integers(features.levels, MILLI),
        basis=_integers(features.basis, MILLI),
        stars=_integers(features.stars, MILLI),
        base=_integers(features.gaps, MICRO),
        slope=np.zeros(items, dtype=np.int64),
        response=np.zeros((items, width), dtype=np.int64),
    )


def _draws(people: Consenting, table: Tables, generator: np.random.Generator) -> Drawn:
    """A simulated device's draws for every rating, and its released level."""
    rows = entry_rows(people.levels)
    offsets = table.offsets[people.labels[rows, 0], people.levels.indices] / MICRO
    moved = np.floor(people.levels.data - offsets + generator.random(len(rows)))
    highest = max(people.n_levels - 1, 4)
    return Drawn(
        dice=generator.integers(0, MICRO, len(rows)),
        levels=np.clip(moved, 0, highest).astype(np.int64) * MICRO,
        turns=generator.integers(0, TURNS, len(rows)),
    )


def _cases(
    levels: sparse.csr_array, decidable: NDArray[np.bool_], generator: np.random.Generator
) -> tuple[Ints, Singles]:
    """Up to CASES ratings of each person; weights between those of ratings and of people."""
    rows = entry_rows(levels)
    entries = np.flatnonzero(decidable)
    ordered = entries[np.lexsort((generator.random(len(entries)), rows[entries]))]
    counts = np.bincount(rows[ordered], minlength=levels.shape[0])
    rank = np.arange(len(ordered)) - (np.cumsum(counts) - counts)[rows[ordered]]
    cases = ordered[rank < CASES]
    weights = np.sqrt(counts / np.clip(counts, 1, CASES))[rows[cases]]
    return cases, (weights / weights.mean()).astype(np.float32)


class _Regression:
    """log odds = prior + item's gap + own weight + (weights x item's features) . state."""

    def __init__(
        self,
        features: _Features,
        states: Floats,
        items: Ints,
        above: Singles,
        labels: Ints,
        weights: Singles,
        share: float,
    ) -> None:
        self._features, self._items, self._above = features, items, above
        self._mean, self._spread = states.mean(axis=0), states.std(axis=0) + 1e-6
        scaled = (states - self._mean) / self._spread
        self._states = np.hstack([scaled, np.ones((len(items), 1))]).astype(np.float32)
        self._own = features.own[items]
        self._labels, self._weights = labels.astype(np.float32), weights
        prior = np.log(share / (1 - share))
        self._offset = (features.gaps[items] + prior).astype(np.float32)
        self._shape = (self._states.shape[1], self._own.shape[1])

    def taste(self, before: TasteArrays) -> TasteArrays:
        """The fitted numbers; everything but base, slope and response as before."""
        from scipy.optimize import minimize  # takes long to import

        size = self._shape[0] * self._shape[1] + self._shape[1] + len(self._features.gaps)
        fitted = minimize(
            self._loss,
            np.zeros(size),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": ITERATIONS},
        ).x
        weights, slopes, own = self._parts(fitted)
        predictors = self._features.own.astype(np.float64)
        answer = weights[:-1] / self._spread[:, None]
        constant = weights[-1] - self._mean @ answer
        return replace(
            before,
            base=_integers(self._features.gaps + own + predictors @ constant, MICRO),
            slope=_integers(predictors @ slopes, MICRO),
            response=_integers(predictors @ answer.T, MICRO),
        )

    def _parts(self, flat: Floats) -> tuple[Floats, Floats, Floats]:
        states, predictors = self._shape
        weights = flat[: states * predictors].reshape(states, predictors)
        rest = flat[states * predictors :]
        return weights, rest[:predictors], rest[predictors:]

    def _loss(self, flat: Floats) -> tuple[float, Floats]:
        """Penalised negative log likelihood and its gradient."""
        weights, slopes, own = self._parts(flat)
        mixed = self._states @ weights.astype(np.float32)
        mixed += self._above[:, None] * slopes.astype(np.float32)
        odds = self._offset + (mixed * self._own).sum(axis=1) + own[self._items]
        lost = np.logaddexp(0.0, odds) - odds * self._labels
        error = (self._weights * (expit(odds) - self._labels)).astype(np.float32)
        spread = error[:, None] * self._own
        penalty = PENALTY * (np.sum(weights**2) + slopes @ slopes) + ITEM_PENALTY * (own @ own)
        gradient = np.concatenate(
            [
                (self._states.T @ spread + PENALTY * weights).ravel(),
                self._above @ spread + PENALTY * slopes,
                np.bincount(self._items, error, minlength=len(own)) + ITEM_PENALTY * own,
            ]
        )
        return float(self._weights @ lost + penalty / 2), gradient.astype(np.float64)


def _integers(numbers: Floats, unit: int) -> Ints:
    return np.round(numbers * unit).astype(np.int64)
