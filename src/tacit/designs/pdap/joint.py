"""Joint privacy: what one learns from a visit is in noisy sums only, and all choices use those.

Source   Kearns, Pai, Roth, Ullman: Mechanism design in large games (ITCS 2014), for joint privacy;
         Shariff and Sheffet: Differentially private contextual linear bandits (NeurIPS 2018), for
         why the visitor's own video has to be excepted.
Privacy  epsilon per visit, against all others: the video shown at a visit follows from the context
         of that visit and from sums released before. The grid is fixed beforehand; time is public.
Regret   Measured by `benchmarks/studies/pdap_steps.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import Event
from tacit.designs.pdap import joint_sums
from tacit.designs.pdap.grid import Grid, slices_for
from tacit.designs.pdap.joint_sums import PARTS, EpochSums, Floats, Ints, Observation, SumNoise
from tacit.designs.pdap.policies.base import Choice, Phase, Policy, check_reward
from tacit.designs.pdap.unanswered import Unanswered
from tacit.errors import ConfigError
from tacit.mechanisms.checks import check_epsilon, check_whole
from tacit.randomness import Source, integers_below


@dataclass(frozen=True, kw_only=True)
class JointSetting:
    """Counts: as in `Setting`. epsilon: of one visit of a user, whatever is chosen.

    neighbour_range: lowest and highest reward of a neighbour. slices: per dimension of the grid;
    None: by `slices_for`. first: arrivals in the first epoch; growth: how much longer the next one
    is, 1 for equal ones. After the horizon a new period begins, with fresh noise: a visit is in one
    period only.
    """

    videos: int
    neighbours: int
    dimension: int
    horizon: int
    epsilon: float
    neighbour_range: tuple[float, float] = (0.0, 1.0)
    slices: int | None = None
    first: int | None = None
    growth: float = 1.5

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("horizon", self.horizon, least=2, most=1 << 40)
        check_whole("first", self.first_epoch, least=1)
        if not (math.isfinite(self.growth) and self.growth >= 1):
            raise ConfigError(f"growth is a finite number, at least 1; got {self.growth}.")
        low, high = self.neighbour_range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ConfigError(f"neighbour_range is a lower and a higher number; got {low}, {high}.")

    @property
    def grid_slices(self) -> int:
        if self.slices is not None:
            return self.slices
        return slices_for(self.horizon, self.dimension, self.videos + self.neighbours)

    @property
    def first_epoch(self) -> int:
        """A twohundredth of the horizon, unless given."""
        return max(1, self.horizon // 200) if self.first is None else self.first

    @property
    def noise(self) -> SumNoise:
        return SumNoise(self.epsilon)


class Joint(Policy):
    """epsilon inf: the same without noise. seen: what was released, oldest first. arrivals:
    contexts answered so far; public."""

    def __init__(self, setting: JointSetting, *, randomness: Source) -> None:
        super().__init__(setting.videos, setting.neighbours)
        self.setting, self.epsilon, self._source = setting, setting.epsilon, randomness
        self.grid = Grid(setting.dimension, setting.grid_slices)
        self._covariance = joint_sums.covariance_of(self.grid.centres)
        self.seen: list[Observation] = []
        self.arrivals = 0
        self._unanswered = Unanswered()
        self._sums: EpochSums
        self._planned = True
        """Whether all choices of this epoch follow the chances as they are now."""
        self._start_period()
        self._replan()

    @property
    def event(self) -> Event:
        return self.setting.noise.event

    @property
    def _ranges(self) -> tuple[Floats, Floats]:
        """(arms,) the lowest reward of each, and the width of its range: 0 and 1 of own videos."""
        (low, high), theirs = self.setting.neighbour_range, np.array(self.is_neighbour)
        return np.where(theirs, low, 0.0), np.where(theirs, high - low, 1.0)

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        if self.arrivals >= self._next:
            self._release()
        cell = self.grid.number(context)
        allowed = self.allowed_arms(arms)
        parts = self._parts[cell, allowed]
        if arms is not None:
            self._planned = False
            if not parts.any():
                parts = np.ones_like(parts)
        upto = parts.cumsum()
        total, visit = int(upto[-1]), self.arrivals
        place = int(upto.searchsorted(integers_below(self._source, total, 1)[0], "right"))
        self.arrivals += 1
        self._unanswered.begin_one(visit)
        phase: Phase = "exploit" if allowed[place] == self._best[cell] else "explore"
        return Choice(allowed[place], phase, cell, int(parts[place]) / total, visit)

    def exploit(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose the arm believed best. It is not a visit: no time passes, nothing is released."""
        allowed = self.allowed_arms(arms)
        cell = self.grid.number(context)
        return Choice(allowed[int(self._means[cell, allowed].argmax())], "exploit", cell)

    def update(self, choice: Choice, reward: float) -> None:
        """Learn from a visit; each once, and not too late."""
        number = check_reward(reward)
        cell = self.grid.check_cell(choice.cell)
        learned = self._unanswered.end_one(choice.visit, self.arrivals)
        if learned and choice.phase != "train" and 0 <= choice.arm < len(self.is_neighbour):
            low, width = self._ranges
            self._sums.add(cell, choice.arm, (number - low[choice.arm]) / width[choice.arm])

    def settle(
        self, context: NDArray[np.float64], arms: Sequence[int], *, instead: Choice
    ) -> Choice:
        """The arm believed best, for a visit whose choice came to nothing. Not a visit of its own:
        public time must not tell whose choice came to nothing. One of the two is answered."""
        allowed = self.allowed_arms(arms)
        cell = self.grid.number(context)
        best = allowed[int(self._means[cell, allowed].argmax())]
        return Choice(best, "exploit", cell, visit=instead.visit)

    def serve_forwarded(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """(n,) for (n, d) contexts of others' users, the own videos with the best estimates."""
        best = joint_sums.best_of(self._means, self.own)
        return np.asarray(best[[self.grid.number(context) for context in contexts]])

    def add_arm(self, *, neighbour: bool = False) -> int:
        arm = super().add_arm(neighbour=neighbour)
        self._sums.widen()
        self.seen = [one.widened() for one in self.seen]
        self._schedule(self.setting.first_epoch)  # short epochs again: there is more to learn
        self._planned = False
        self._replan()
        return arm

    def remove_arm(self, arm: int) -> None:
        super().remove_arm(arm)
        self._planned = False
        self._replan()

    def estimates(self) -> tuple[Floats, Floats]:
        """Means and variances (cells, arms) of what is believed; made of released sums alone."""
        return joint_sums.believed(self.seen, self._covariance, self, self._ranges)

    def export_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Numbers that JSON can hold, and arrays, to go on from once; `exact` among them is
        private."""
        exact, released = self._sums.export_state()
        seen = self.seen
        tables = [getattr(one, name) for name in ("likes", "visits", "counts") for one in seen]
        numbers = {
            "own": self.own.copy(),
            "neighbours": self.neighbours.copy(),
            "sides": [int(side) for side in self.is_neighbour],
            "arrivals": self.arrivals,
            "length": self._length,
            "next": self._next,
            "planned": self._planned,
            "began": self._began,
            "released": released,
            "noises": [[one.noise, 2 * one.noise, one.noise] for one in seen],
        }
        shape = (3, len(seen), *self._parts.shape) if seen else (3, 0, 0, 0)
        arrays = {
            "exact": exact,
            "means": self._means,
            "parts": self._parts.astype("<i4"),
            "unanswered": np.packbits(self._unanswered.waiting),
            "seen": np.array(tables, dtype=np.float64).reshape(shape),
        }
        return numbers, arrays

    def resume(self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `kept` gave, of a Joint of the same setting."""
        self._sums.resume(arrays["exact"], numbers["released"])
        self.own, self.neighbours = list(numbers["own"]), list(numbers["neighbours"])
        self.is_neighbour = [bool(side) for side in numbers["sides"]]
        noises = [noise for noise, _, _ in numbers["noises"]]
        self.seen = [Observation(*one) for one in zip(*arrays["seen"], noises, strict=True)]
        self.arrivals, self._length = numbers["arrivals"], numbers["length"]
        self._next = numbers["next"]
        self._planned, self._began = numbers["planned"], numbers["began"]
        self._unanswered.resume(np.unpackbits(arrays["unanswered"]).astype(np.bool_))
        # Drawn once for an epoch, and not again.
        self._follow(arrays["means"], arrays["parts"].astype(np.int64))

    def add_up_oldest(self, most: int) -> None:
        """Of many releases the oldest become one, sums and noise: `most` stay separate."""
        while len(self.seen) > most:
            first, second, *rest = self.seen
            self.seen = [first.with_later(second), *rest]

    def _release(self) -> None:
        ended = self.arrivals - self._began
        likes, visits = self._sums.release(ended)
        noise = self.setting.noise.variance
        chances = self._parts / PARTS if self._planned else None
        counts = joint_sums.counted(visits, 2 * noise, chances)
        self.seen.append(Observation(likes, visits, counts, noise))
        if ended < self.setting.horizon:
            self._schedule(max(1, math.ceil(self._length * self.setting.growth)))
        else:
            self._start_period()
        self._planned = True
        self._replan()

    def _start_period(self) -> None:
        self._began = self.arrivals
        self._sums = EpochSums(len(self.grid), len(self.is_neighbour), self.setting.noise)
        self._schedule(self.setting.first_epoch)

    def _schedule(self, length: int) -> None:
        """The next epoch has so many arrivals, or ends with the period."""
        self._length = length
        ends = self.arrivals - self._began + length
        self._next = self._began + min(ends, self.setting.horizon)

    def _replan(self) -> None:
        means, variances = self.estimates()
        allowed = sorted(self.allowed_arms())
        self._follow(means, joint_sums.plan(means, variances, allowed, self._source))

    def _follow(self, means: Floats, parts: Ints) -> None:
        """These chances (cells, arms), in `PARTS`, until the next release."""
        self._means, self._parts = means, parts
        self._best = joint_sums.best_of(means, sorted(self.allowed_arms()))
