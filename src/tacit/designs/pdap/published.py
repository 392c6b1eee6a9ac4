"""The published policies, for reproduction: the paper's claims of privacy are refuted.

Own users   DAP, P-DAP (ExP-DAP) and GP-DAP: Zhou, Zhou, Wu, Jin (2015), Algorithm 1, without and
            with privacy, and section VI. CAP after its reference [33]; DUP after [31], with
            T^(1 / (3 alpha + d)) slices per dimension.
Forwarded   LaP-DAP, Algorithm 2, for users of other vendors. While a video is explored, and without
            noise, its reward is sent as it is; then the noisy total of the video's rewards in this
            cell, from a tree counter, divided by their number.
Privacy     What is claimed, and why it is false: `published_guarantees.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap import theory
from tacit.designs.pdap.control import Partition, Setting, Visits, adaptive, uniform_cells
from tacit.designs.pdap.policy import Choice, Policy, checked_context, checked_reward
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.checks import check_epsilon
from tacit.mechanisms.counter import TreeCounter
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.weights import draw_rows
from tacit.randomness import Source

Reading = Literal["tree", "theorem 5", "lemma 5", "text"]
"""How the noise of a tree is read: `theory.noise_scale` has the scale of each."""


class Dap(Policy):
    """The phases of Algorithm 1: adaptive cells, own videos and neighbours, nothing private. gamma:
    visits that a neighbour's noise costs. arrivals: contexts answered so far."""

    _alone, _equal, _geometric = False, False, False
    """Own videos only; DUP's cells and control functions; epsilon grows with the level."""

    def __init__(self, setting: Setting, *, gamma: float = 0.0) -> None:
        super().__init__(setting.videos, 0 if self._alone else setting.neighbours)
        if self._equal:
            controls, self.partition = uniform_cells(setting), equal_cells(setting)
        else:
            controls = adaptive(setting, gamma, geometric=self._geometric)
            self.partition = Partition(setting.dimension, setting.slices, setting.thresholds)
        self.controls = replace(controls, own=controls.served) if self._alone else controls
        self.arrivals, self._setting = 0, setting

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        own, neighbours = self._by_side(arms)
        cell, visits = self.partition.find(checked_context(context, self.partition.dimension))
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

    def exploit(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Rule 4 of Algorithm 1 alone, by what the context's cell has learned since it exists."""
        own, neighbours = self._by_side(arms)
        cell, visits = self.partition.find(checked_context(context, self.partition.dimension))
        arm, chance = self._exploit(cell.level, visits, own, neighbours)
        return Choice(arm, "exploit", cell, chance)

    def _by_side(self, arms: Sequence[int] | None) -> tuple[list[int], list[int]]:
        """Own videos, and neighbours, of the arms that may be chosen."""
        if arms is None:
            return self.own, self.neighbours
        allowed = self.allowed(arms)
        own = [arm for arm in allowed if not self.sides[arm]]
        neighbours = [arm for arm in allowed if self.sides[arm]]
        return own, neighbours

    def update(self, choice: Choice, reward: float) -> None:
        number = checked_reward(reward)
        if choice.arm in self.own and not 0 <= number <= 1:
            raise DataError("the reward of an own video is out of range", expected="0 to 1")
        self.arrivals += 1
        visits = self.partition.visits(choice.cell)
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
        return visits.best(own + neighbours), 1.0

    def _epsilon_at(self, level: int, epsilon: float) -> float:
        """Of one draw, or of one reward, in a cell of this level."""
        s = self._setting
        return theory.epsilon_at(epsilon, s.slices, s.smoothness, level, self._geometric)


class Cap(Dap):
    """DAP with own videos only, each tried with ln t where G1 has ln T. The paper's is one learner
    with the videos and visitors of all vendors; a vendor may have one for its own ("solo")."""

    _alone = True


class Dup(Dap):
    """DAP with equal cells and control functions that do not know a level."""

    _equal = True


class PDap(Dap):
    """DAP that draws among its own videos by the exponential mechanism once all are explored.
    claimed_epsilon: of one draw, as in Algorithm 1; inf is DAP. Delta u is as printed, L m^(-alpha
    l). gamma: None is Lemma 5's, with sigma = 0.05."""

    def __init__(
        self, setting: Setting, *, epsilon: float, randomness: Source, gamma: float | None = None
    ) -> None:
        check_epsilon(epsilon)
        if gamma is None:
            gamma = theory.gamma(setting.horizon, setting.neighbours + 1, epsilon, 0.05)
        super().__init__(setting, gamma=gamma)
        self.claimed_epsilon, self._source = epsilon, randomness
        self._selections: dict[tuple[int, int], Selection] = {}

    def _exploit(
        self, level: int, visits: Visits, own: list[int], neighbours: list[int]
    ) -> tuple[int, float | None]:
        if math.isinf(self.claimed_epsilon) or not own:
            return super()._exploit(level, visits, own, neighbours)
        means = [visits.means[arm] for arm in own]
        weights = self.selection(level, len(own)).weights(means)
        place = int(draw_rows(weights[None, :], self._source)[0])
        drawn, total = own[place], int(weights.sum())
        theirs = visits.best(neighbours) if neighbours else drawn
        if visits.best([drawn, theirs]) == drawn:
            return drawn, int(weights[place]) / total
        lost = np.array([visits.best([theirs, arm]) == theirs for arm in own])
        return theirs, int(weights[lost].sum()) / total

    def selection(self, level: int, candidates: int) -> Selection:
        """The mechanism of one draw among so many own videos in a cell of this level."""
        if (level, candidates) not in self._selections:
            s = self._setting
            sensitivity = theory.spread(s.lipschitz, s.slices, s.smoothness, level)
            # A power of two, fine enough for the sensitivity to be many steps.
            resolution = 2.0 ** -min(18, max(10, math.ceil(math.log2(64 / sensitivity))))
            epsilon = self._epsilon_at(level, self.claimed_epsilon)
            self._selections[level, candidates] = Selection(
                epsilon, candidates, sensitivity, 0.0, 1.0, resolution
            )
        return self._selections[level, candidates]


class GPDap(PDap):
    """P-DAP whose epsilon grows with the level, to epsilon_0 m^(alpha l); Gamma shrinks as much."""

    _geometric = True


def equal_cells(setting: Setting) -> Partition:
    """DUP's: the whole cube is cut from the start, into m_T slices per dimension."""
    exact = setting.horizon ** (1 / (3 * setting.smoothness + setting.dimension))
    slices = math.ceil(float(exact) - 1e-9)  # 32^(1/5) is 2, whatever a float makes of it
    return Partition(setting.dimension, slices, [0, math.inf])


class ForwardedUsers(Dap):
    """Serves one's own videos to others' users. `answer` is `update`, and what the other is sent.
    claimed_epsilon: of one reward; inf sends rewards as they are. geometric: it is that of level 0
    and grows as m^(alpha l). Decisions use true rewards; only what is sent has noise. equal: on
    DUP's grid."""

    _alone = True

    def __init__(
        self,
        setting: Setting,
        *,
        epsilon: float,
        reading: Reading = "tree",
        geometric: bool = False,
        equal: bool = False,
    ) -> None:
        check_epsilon(epsilon)
        if reading not in get_args(Reading):
            known = ", ".join(get_args(Reading))
            raise ConfigError(f"The noise is read as one of {known}; got {reading!r}.")
        self._geometric, self._equal = geometric, equal
        super().__init__(setting)
        self.claimed_epsilon, self._reading = epsilon, reading

    def update(self, choice: Choice, reward: float) -> None:
        self.answer(choice, reward)

    def answer(self, choice: Choice, reward: float) -> float:
        """Learn the reward, 0 or 1, and give what is sent to the vendor that forwarded."""
        if reward not in (0, 1):
            raise DataError("the reward of a guest is neither 0 nor 1")
        visits = self.partition.visits(choice.cell) or Visits()  # split: a tree of its own
        super().update(choice, reward)
        if math.isinf(self.claimed_epsilon):
            return float(reward)
        tree = visits.trees.get(choice.arm)
        if tree is None or tree.step == tree.counter.horizon:
            tree = visits.trees[choice.arm] = self.counter(choice.cell.level).start()
        total = tree.add(int(reward))
        return float(reward) if choice.phase == "explore" else total / tree.step

    def counter(self, level: int) -> TreeCounter:
        """What counts the rewards of one video in a cell of this level."""
        s, epsilon = self._setting, self._epsilon_at(level, self.claimed_epsilon)
        if not math.isinf(epsilon):
            sizes = (s.horizon, s.neighbours + 1, s.videos)
            scale = theory.noise_scale(self._reading, *sizes, epsilon)
            epsilon = theory.tree_loss(s.horizon, scale)
        return TreeCounter(epsilon, s.horizon)
