"""The published policies, for reproduction: the paper's claims of privacy are refuted.

Own users   DAP and CAP, P-DAP (ExP-DAP) and GP-DAP: Zhou, Zhou, Wu, Jin (2015), Algorithm 1, with
            and without privacy, and section VI. CAP after its reference [33]; DUP after [31], with
            T^(1 / (3 alpha + d)) slices per dimension.
Forwarded   LaP-DAP, Algorithm 2, for users of other vendors. While a video is still explored, its
            reward is sent as it is. Then the noisy total of the video's rewards in this cell, from
            a tree counter, divided by their number. Without noise the reward itself is sent.
Privacy     What is claimed, and why it is false: `published_guarantees.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap import theory
from tacit.designs.pdap.control import (
    Adaptive,
    AdaptivePartition,
    Alone,
    Controls,
    FixedPartition,
    ForGuests,
    Setting,
    UniformCells,
)
from tacit.designs.pdap.policy import Armed, Arms, Choice, checked_context, checked_reward
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.noise import LaplaceRelease
from tacit.mechanisms.running import TreeCounter, TreeRun
from tacit.mechanisms.samplers import check_epsilon
from tacit.mechanisms.selection import Selection, draw_rows
from tacit.randomness import Source

Reading = Literal["tree", "theorem 5", "lemma 5", "text", "line 9"]
"""How the paper's noise is read: `theory.noise_scale` has the scale of each."""


class Visits:
    """What one cell has learned, by the numbers of the arms. An arm never tried has mean 0.

    counts: N, choices that were learned from. trained: N1, those of a neighbour that were not.
    """

    __slots__ = ("counts", "means", "sums", "trained")

    def __init__(self, parent: Visits | None = None) -> None:
        self.counts: list[int] = [*parent.counts] if parent else []
        self.sums: list[float] = [*parent.sums] if parent else []
        self.means: list[float] = [*parent.means] if parent else []
        self.trained: list[int] = [*parent.trained] if parent else []

    def hold(self, arms: int) -> None:
        """Room for so many arms."""
        missing = arms - len(self.counts)
        if missing > 0:
            self.counts += [0] * missing
            self.sums += [0.0] * missing
            self.means += [0.0] * missing
            self.trained += [0] * missing

    def learn(self, arm: int, reward: float) -> None:
        self.counts[arm] += 1
        self.sums[arm] += reward
        self.means[arm] = self.sums[arm] / self.counts[arm]

    def best(self, arms: Sequence[int]) -> int:
        """The arm of the largest mean; of equals the least explored, then the first."""
        means = self.means
        largest = max([means[arm] for arm in arms])
        return min([arm for arm in arms if means[arm] == largest], key=self.counts.__getitem__)

    def beats(self, one: int, other: int) -> bool:
        """Whether `best` of the two is `one`."""
        means, counts = self.means, self.counts
        return (means[one], counts[other], other) > (means[other], counts[one], one)


class Learner(Armed):
    """The phases of Algorithm 1, whatever the cells and the control functions are."""

    epsilon = math.inf

    def __init__(self, arms: Arms, partition: AdaptivePartition[Any], controls: Controls) -> None:
        self._arms = arms
        self.controls = controls
        self.partition = partition
        self.arrivals = 0
        """Contexts answered so far."""

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        own, neighbours = self._arms.among(arms)
        cell, visits = self.partition.find(checked_context(context, self.partition.dimension))
        visits.hold(self._arms.numbered)
        level, t = cell.level, self.arrivals + 1
        if own:
            arm = min(own, key=visits.counts.__getitem__)
            if visits.counts[arm] < self.controls.own(level, t):
                return Choice(arm, "explore", cell)
        if neighbours:
            arm = min(neighbours, key=visits.trained.__getitem__)
            if visits.trained[arm] < self.controls.trained(level, t):
                return Choice(arm, "train", cell)
            arm = min(neighbours, key=visits.counts.__getitem__)
            if visits.counts[arm] < self.controls.neighbour(level, t):
                return Choice(arm, "explore", cell)
        arm, chance = self._exploit(level, visits, own, neighbours)
        return Choice(arm, "exploit", cell, chance)

    def update(self, choice: Choice, reward: float) -> None:
        number = checked_reward(reward)
        if choice.arm in self._arms.own and not 0 <= number <= 1:
            raise DataError("the reward of an own video is out of range", expected="0 to 1")
        self.arrivals += 1
        visits = self.partition.state(choice.cell)
        if visits is None:
            return
        if choice.phase == "train":
            visits.trained[choice.arm] += 1
        else:
            visits.learn(choice.arm, number)
        self.partition.arrived(choice.cell)

    def _exploit(
        self, level: int, visits: Visits, own: list[int], neighbours: list[int]
    ) -> tuple[int, float | None]:
        """The arm, and its chance given the cell."""
        return visits.best(sorted(own + neighbours)), 1.0


class Dap(Learner):
    """Adaptive cells, own videos and neighbours, nothing private."""

    def __init__(self, setting: Setting, controls: Controls | None = None) -> None:
        """controls: those of the paper without noise, unless given."""
        super().__init__(
            Arms(setting.videos, setting.neighbours),
            adaptive(setting, Visits),
            Adaptive(setting) if controls is None else controls,
        )


class Cap(Learner):
    """Adaptive cells, own videos only. The paper's is one learner with the videos and visitors of
    all vendors; with one vendor's alone, that vendor learns on its own."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(Arms(setting.videos, 0), adaptive(setting, Visits), Alone(setting))


V = TypeVar("V", bound=Visits)


def adaptive(setting: Setting, make: Callable[[V | None], V]) -> AdaptivePartition[V]:
    """The partition of Algorithm 1, empty."""
    return AdaptivePartition(
        setting.dimension,
        make,
        split_after=setting.first_split,
        slices=setting.slices,
        growth=setting.p,
        deepest=setting.deepest,
        inherit=setting.inherit,
        most_cells=setting.most_cells,
    )


class PDap(Dap):
    """DAP that draws among its own videos by the exponential mechanism once all are explored.

    epsilon: of one draw, as the paper's Algorithm 1 uses it; inf is DAP.
    Delta u is as printed, L m^(-alpha l).
    gamma: visits that a neighbour's noise costs. None is Lemma 5's, with confidence 1 - sigma.
    """

    _geometric = False

    def __init__(
        self,
        setting: Setting,
        *,
        epsilon: float,
        randomness: Source,
        gamma: float | None = None,
        sigma: float = 0.05,
    ) -> None:
        check_epsilon(epsilon)
        if not 0 < sigma < 1:
            raise ConfigError(f"sigma is a chance between 0 and 1; got {sigma}.")
        if gamma is None:
            gamma = theory.gamma(setting.horizon, setting.neighbours + 1, epsilon, sigma)
        super().__init__(setting, Adaptive(setting, gamma, geometric=self._geometric))
        self._setting, self.epsilon, self._source = setting, epsilon, randomness
        self._selections: dict[tuple[int, int], Selection] = {}

    def epsilon_at(self, level: int) -> float:
        """Of one draw in a cell of this level."""
        s = self._setting
        return theory.epsilon_at(self.epsilon, s.slices, s.smoothness, level, self._geometric)

    def _exploit(
        self, level: int, visits: Visits, own: list[int], neighbours: list[int]
    ) -> tuple[int, float | None]:
        if math.isinf(self.epsilon) or not own:
            return super()._exploit(level, visits, own, neighbours)
        means = [visits.means[arm] for arm in own]
        weights = self.selection(level, len(own)).weights(means)
        place = int(draw_rows(weights[None, :], self._source)[0])
        drawn, total = own[place], int(weights.sum())
        theirs = visits.best(neighbours) if neighbours else None
        if theirs is None or visits.beats(drawn, theirs):
            return drawn, int(weights[place]) / total
        lost = np.array([visits.beats(theirs, arm) for arm in own])
        return theirs, int(weights[lost].sum()) / total

    def selection(self, level: int, candidates: int) -> Selection:
        """The mechanism of one draw among so many own videos in a cell of this level."""
        if (level, candidates) not in self._selections:
            s = self._setting
            sensitivity = theory.spread(s.lipschitz, s.slices, s.smoothness, level)
            # A power of two, fine enough for the sensitivity to be many steps.
            resolution = 2.0 ** -min(18, max(10, math.ceil(math.log2(64 / sensitivity))))
            epsilon = self.epsilon_at(level)
            self._selections[level, candidates] = Selection(
                epsilon, candidates, sensitivity, 0.0, 1.0, resolution
            )
        return self._selections[level, candidates]


class GPDap(PDap):
    """P-DAP whose epsilon grows with the level, to epsilon_0 m^(alpha l); Gamma shrinks as much."""

    _geometric = True


class Dup(Learner):
    """DAP with equal cells and control functions that do not know a level."""

    def __init__(self, setting: Setting) -> None:
        arms = Arms(setting.videos, setting.neighbours)
        super().__init__(arms, _grid(setting, Visits), UniformCells(setting))


def _grid(setting: Setting, make: Callable[[V | None], V]) -> FixedPartition[V]:
    return FixedPartition(
        setting.dimension, make, slices=slices(setting), most_cells=setting.most_cells
    )


def slices(setting: Setting) -> int:
    """m_T: per dimension, from the horizon."""
    exact = setting.horizon ** (1 / (3 * setting.smoothness + setting.dimension))
    return math.ceil(float(exact) - 1e-9)  # 32^(1/5) is 2, whatever a float makes of it


class GuestVisits(Visits):
    """What one cell has learned from others' users, with one tree counter per video."""

    __slots__ = ("trees",)

    def __init__(self, parent: Visits | None = None) -> None:
        super().__init__(parent)
        self.trees: dict[int, TreeRun] = {}


class ForwardedUsers(Learner):
    """Serves one's own videos to others' users. `answer` is `update`, and what the other is sent.

    epsilon: of one reward, as claimed; inf sends rewards as they are. geometric: epsilon is that of
    level 0 and grows as m^(alpha l). Decisions use true rewards; only what is sent has noise.
    controls, partition: those of DAP unless given, such as DUP's.
    """

    def __init__(
        self,
        setting: Setting,
        *,
        epsilon: float,
        reading: Reading = "tree",
        geometric: bool = False,
        controls: Controls | None = None,
        partition: FixedPartition[GuestVisits] | None = None,
    ) -> None:
        check_epsilon(epsilon)
        if reading not in get_args(Reading):
            raise ConfigError(
                f"The noise is read as one of {', '.join(get_args(Reading))}; got {reading!r}."
            )
        super().__init__(
            Arms(setting.videos, 0),
            adaptive(setting, GuestVisits) if partition is None else partition,
            ForGuests(Adaptive(setting) if controls is None else controls),
        )
        self._setting, self.epsilon = setting, epsilon
        self._reading, self._geometric = reading, geometric
        self._counters: dict[int, TreeCounter] = {}

    def update(self, choice: Choice, reward: float) -> None:
        self.answer(choice, reward)

    def answer(self, choice: Choice, reward: float) -> float:
        """Learn the reward, 0 or 1, and give what is sent to the vendor that forwarded."""
        if reward not in (0, 1):
            raise DataError("the reward of a guest is neither 0 nor 1")
        visits = self.partition.state(choice.cell)
        super().update(choice, reward)
        if math.isinf(self.epsilon):
            return float(reward)
        level = choice.cell.level
        if self._reading == "line 9":
            if choice.phase == "explore":
                return float(reward)
            epsilon = self._epsilon_at(level)
            leaf = LaplaceRelease(epsilon, sensitivity=1, lower=0, upper=1, resolution=1)
            return float(leaf([reward])[0])
        if not isinstance(visits, GuestVisits):  # split or forgotten: a tree of its own
            visits = GuestVisits()
        tree = visits.trees.get(choice.arm)
        if tree is None or tree.step == tree.counter.horizon:
            tree = visits.trees[choice.arm] = self.counter(level).start()
        total = tree.add(int(reward))
        return float(reward) if choice.phase == "explore" else total / tree.step

    def counter(self, level: int) -> TreeCounter:
        """What counts the rewards of one video in a cell of this level, tree readings only."""
        if level not in self._counters:
            s, epsilon = self._setting, self._epsilon_at(level)
            if not math.isinf(epsilon):
                scale = theory.noise_scale(
                    self._reading, s.horizon, s.neighbours + 1, s.videos, epsilon
                )
                epsilon = theory.tree_loss(s.horizon, scale)
            self._counters[level] = TreeCounter(epsilon, s.horizon)
        return self._counters[level]

    def _epsilon_at(self, level: int) -> float:
        s = self._setting
        return theory.epsilon_at(self.epsilon, s.slices, s.smoothness, level, self._geometric)


def guests(setting: Setting) -> ForwardedUsers:
    """Serves others' users as DUP does: on the same grid, with DUP's control function."""
    grid, controls = _grid(setting, GuestVisits), UniformCells(setting)
    return ForwardedUsers(setting, epsilon=math.inf, controls=controls, partition=grid)
