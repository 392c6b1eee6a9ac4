"""A bandit over cells that split, compiled: millions of choices a second, one or many at a time.

The readable learner is `designs/pdap/published.py`; given the same contexts and
rewards, this one makes the same choices; `compiled` of model.py makes it from the same settings.
It has no noise, and no arms that come and go.

Memory   Only visited cells are stored: 56 + 8 (3 K + 4 (M - 1)) bytes and two to four places of 8
         bytes in a table for each, in an array that is doubled when it is full. With `most_cells`
         the cell not visited for longest is forgotten first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.engine import bandit_cells as cells
from tacit.engine import bandit_compiled as kernel
from tacit.errors import ConfigError, DataError
from tacit.randomness import SecureSource

Floats = NDArray[np.float64]
Phase = Literal["explore", "train", "exploit"]
PHASES: tuple[Phase, ...] = ("explore", "train", "exploit")
_FIRST_CELLS = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class Rules:
    """own, neighbours: K and M - 1. slices: m. split_after: (levels,) contexts that a cell takes.

    tried, trained, heard: (levels, 2) scale and constant: an own video is tried, a neighbour
    trained and then heard, while that was done fewer than scale * ln t + constant times in the
    cell.
    inherit: children start with what their parent learned. most_cells: None is no bound.
    """

    dimension: int
    own: int
    neighbours: int
    slices: int
    split_after: Floats
    tried: Floats
    trained: Floats
    heard: Floats
    inherit: bool = False
    most_cells: int | None = None

    def __post_init__(self) -> None:
        levels = len(self.split_after)
        if self.dimension < 1 or self.own < 0 or self.neighbours < 0 or not self.arms:
            raise ConfigError(
                "There is at least one feature, and one arm; got "
                f"{self.dimension} features, {self.own} own and {self.neighbours} neighbours."
            )
        if levels < 1 or any(
            part.shape != (levels, 2) for part in (self.tried, self.trained, self.heard)
        ):
            raise ConfigError("Every level has a size to split at and three control functions.")
        if self.slices < 2 or self.finest > 1 << 52:
            raise ConfigError(
                f"Slices are at least 2, and at most 2**52 at the last level; got {self.slices} "
                f"with {levels} levels."
            )
        if self.most_cells is not None and self.most_cells < 1:
            raise ConfigError(f"most_cells is at least 1, or None; got {self.most_cells}.")

    @property
    def arms(self) -> int:
        return self.own + self.neighbours

    @property
    def levels(self) -> int:
        return len(self.split_after)

    @property
    def finest(self) -> int:
        """Slices per dimension at the last level."""
        finest: int = self.slices ** (self.levels - 1)
        return finest


@dataclass(frozen=True, eq=False)
class Played:
    """What became of a batch. arms: (n,) int64. phases: (n,) int8, places in `PHASES`.

    rewards: (n,), NaN where a replayed log did not have that arm.
    """

    arms: NDArray[np.int64]
    phases: NDArray[np.int8]
    rewards: Floats


class CompiledDap:
    """`select` and `update` in turn, or `step` for both at once, or whole batches in order.

    A choice that is followed by another one before its reward came is never learned. One thread at
    a time.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        most = rules.most_cells
        self._words = _room(rules, _FIRST_CELLS if most is None else min(most, _FIRST_CELLS))

    def select(self, context: Floats) -> int:
        """The arm for this context, (d,) in [0, 1]."""
        try:
            arm: int = kernel.select(self._words, context)
        except TypeError:
            arm = kernel.select(self._words, self._one(context))
        return arm if arm >= 0 else self._refused(arm, context)

    def update(self, reward: float) -> None:
        """What the last choice brought: 0 to 1 for an own video, any number for a neighbour."""
        wrong = kernel.update(self._words, reward)
        if wrong:
            raise _not_learned(wrong)

    def step(self, reward: float, context: Floats) -> int:
        """`update` with this reward, then `select`, in one call; nothing is learned if it fails."""
        try:
            arm: int = kernel.step(self._words, reward, context)
        except TypeError:
            arm = kernel.step(self._words, float(reward), self._one(context))
        return arm if arm >= 0 else self._refused(arm, context)

    def play(self, contexts: ArrayLike, outcomes: ArrayLike) -> Played:
        """Choose and learn, row by row.

        contexts: (n, d). outcomes: (n, arms), what each arm would bring; one of them is looked at.
        Nothing is learned from a batch that is refused.
        """
        features, table = _floats(contexts), _floats(outcomes)
        self._check(features)
        if table.shape != (len(features), self.rules.arms):
            expected = f"({len(features)}, {self.rules.arms})"
            raise DataError("outcomes have another shape", found=table.shape, expected=expected)
        self._check_rewards(table[:, : self.rules.own], table)
        arms, phases = self._all(
            len(features), lambda words, *rest: kernel.play(words, features, table, *rest)
        )
        return Played(arms, phases, table[np.arange(len(table)), arms])

    def replay(self, contexts: ArrayLike, arms: ArrayLike, rewards: ArrayLike) -> Played:
        """Choose, row by row, and learn where the log has the same arm; other rows are passed over.

        contexts: (n, d). arms, rewards: (n,) of the log. The mean of the rewards that come back is
        an unbiased estimate of the learner's if the log's arms were drawn uniformly. Nothing is
        learned from a batch that is refused.
        """
        features, brought = _floats(contexts), _floats(rewards)
        logged = np.ascontiguousarray(arms)
        self._check(features)
        if logged.dtype.kind not in "iu" or {logged.shape, brought.shape} != {(len(features),)}:
            raise DataError("a log has one arm, a whole number, and one reward for each context")
        if len(logged) and not (logged.min() >= 0 and logged.max() < self.rules.arms):
            raise DataError(
                "a log names an arm that is none", expected=f"0 to {self.rules.arms - 1}"
            )
        logged = logged.astype(np.int64)
        self._check_rewards(brought[logged < self.rules.own], brought)
        chosen, phases = self._all(
            len(features),
            lambda words, *rest: kernel.replay(words, features, logged, brought, *rest),
        )
        return Played(chosen, phases, np.where(chosen == logged, brought, np.nan))

    @property
    def phase(self) -> Phase:
        """Of the last single choice."""
        return PHASES[int(self._words[cells.PHASE])]

    @property
    def arrivals(self) -> int:
        """Contexts learned from so far."""
        return int(self._words[cells.ARRIVALS])

    @property
    def nbytes(self) -> int:
        return self._words.nbytes

    def __len__(self) -> int:
        """Cells stored, split ones included."""
        return int(self._words[cells.USED])

    def _all(
        self, count: int, rows: Callable[..., int]
    ) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """Every row of a batch, with more room whenever a row finds none."""
        arms, phases = np.empty(count, np.int64), np.empty(count, np.int8)
        self._words[cells.PENDING] = 0
        done = 0
        while (done := rows(self._words, done, arms, phases)) < count:
            self._grow()
        return arms, phases

    def _refused(self, code: int, context: Floats) -> int:
        if code == cells.FULL:
            self._grow()
            return self.select(context)
        if code == cells.SHAPE:
            raise self._shapeless(context)
        raise _outside() if code == cells.OUTSIDE else _not_learned(-10 - code)

    def _one(self, context: ArrayLike) -> Floats:
        features = _floats(context)
        if features.ndim != 1:
            raise self._shapeless(features)
        return features

    def _shapeless(self, context: ArrayLike) -> DataError:
        expected = f"({self.rules.dimension},)"
        return DataError(
            "the context has another shape", found=np.shape(context), expected=expected
        )

    def _check(self, contexts: Floats) -> None:
        if contexts.ndim != 2 or contexts.shape[1] != self.rules.dimension:
            expected = f"(n, {self.rules.dimension})"
            raise DataError("contexts have another shape", found=contexts.shape, expected=expected)
        if contexts.size and not (contexts.min() >= 0 and contexts.max() <= 1):
            raise _outside()

    def _check_rewards(self, own: Floats, every: Floats) -> None:
        if own.size and not (own.min() >= 0 and own.max() <= 1):
            raise _not_learned(kernel.REFUSED)
        if every.size and not (every.min() > -1e18 and every.max() < 1e18):
            raise _not_learned(kernel.REFUSED)

    def _grow(self) -> None:
        old, most = self._words, self.rules.most_cells
        capacity = 2 * int(old[cells.USED])
        words = _room(self.rules, capacity if most is None else min(capacity, most))
        words[cells.USED : cells.HEAD] = old[cells.USED : cells.HEAD]
        words[words[cells.KEYS] : old[cells.TABLE]] = old[old[cells.KEYS] : old[cells.TABLE]]
        kernel.index(words)
        self._words = words


def _room(rules: Rules, capacity: int) -> NDArray[np.int64]:
    """The words of a bandit that has seen nobody, with room for so many cells."""
    levels, dimension = rules.levels, rules.dimension
    width = cells.MEANS + 3 * rules.own + 4 * rules.neighbours
    places = 1 << (2 * capacity - 1).bit_length()
    shift = rules.slices.bit_length() - 1
    shifts = rules.slices == 1 << shift
    sizes = [cells.HEAD, levels, levels * cells.COLUMNS, 2 * dimension, dimension]
    starts = np.cumsum([*sizes, capacity * width, places])
    words = np.zeros(starts[-1], np.int64)
    words[: len(starts) + cells.WIDTHS] = (
        dimension, levels, rules.own, rules.arms, shifts, rules.finest, rules.inherit,
        rules.most_cells or 0, width, places - 1, *starts,
    )  # fmt: skip
    steps = range(levels - 1, -1, -1)
    words[starts[0] : starts[1]] = [shift * n if shifts else rules.slices**n for n in steps]
    table = np.column_stack([rules.split_after, rules.tried, rules.trained, rules.heard])
    words.view(np.float64)[starts[1] : starts[2]] = table.ravel()
    words[starts[2] : starts[3]] = SecureSource().words(2 * dimension).astype(np.int64) | 1
    return words


def _floats(values: ArrayLike) -> Floats:
    """As the kernel takes them: float64, in rows, writeable; a copy only if they are not."""
    try:
        return np.require(values, np.float64, ["C", "W"])
    except (TypeError, ValueError):
        raise DataError("these are no numbers", expected="an array of floats") from None


def _outside() -> DataError:
    return DataError(
        "a context holds a number outside the cube",
        expected="every feature in [0, 1]",
        fix="Scale the features first, with public bounds.",
    )


def _not_learned(code: int) -> ConfigError | DataError:
    if code == kernel.NONE_PENDING:
        return ConfigError("There is no choice that waits for a reward: select comes first.")
    return DataError(
        "a reward is out of range", expected="0 to 1 of own videos, finite of neighbours"
    )
