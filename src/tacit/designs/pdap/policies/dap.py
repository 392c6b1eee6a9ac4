"""DAP: Algorithm 1 without privacy, for a vendor's own users.

In the cell of the context, the first of these rules that applies is used:

1. explore  an own video that was tried less often than G1: the least tried
2. train    a neighbour that was trained less often than K G3; its reward is not learned
3. explore  a neighbour that was tried less often than G2
4. exploit  the largest mean of own videos and neighbours

G1, K G3 and G2 are the control functions in controls.py.

Source  Zhou, Zhou, Wu, Jin: Differentially private online learning for cloud-based video
        recommendation with multimedia big data in social networks (2015), Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.policies.base import Choice, Policy, check_context, check_reward
from tacit.designs.pdap.policies.cells import CellStatistics, Partition
from tacit.designs.pdap.policies.controls import Controls, controls_by_level
from tacit.designs.pdap.settings import Setting
from tacit.errors import DataError


class Dap(Policy):
    """Own videos and neighbours, in cells that split; nothing is private.

    Policies that differ in cells or control functions are subclasses that pass their own.

    Attributes:
        setting: of the vendor.
        controls: how often an arm is tried.
        partition: the cells, with what they have learned.
        arrivals: contexts answered so far.
    """

    def __init__(
        self,
        setting: Setting,
        *,
        neighbours: int | None = None,
        controls: Controls | None = None,
        partition: Partition | None = None,
    ) -> None:
        """Start with nothing learned.

        Args:
            setting: of the vendor.
            neighbours: arms to forward to; None: those of the setting.
            controls: None: DAP's.
            partition: None: cells that split by the setting's thresholds.
        """
        super().__init__(setting.videos, setting.neighbours if neighbours is None else neighbours)
        self.setting = setting
        self.controls = controls_by_level(setting) if controls is None else controls
        if partition is None:  # an empty one is false
            partition = Partition(setting.dimension, setting.slices, setting.thresholds)
        self.partition = partition
        self.arrivals = 0

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Apply the first rule that applies."""
        own, neighbours = self._arms_by_side(arms)
        cell, learned = self.partition.find(check_context(context, self.partition.dimension))
        level, t = cell.level, self.arrivals + 1
        if own:
            arm = min(own, key=learned.counts.__getitem__)
            if learned.counts[arm] < self.controls.own(level, t):
                return Choice(arm, "explore", cell)
        if neighbours:
            arm = min(neighbours, key=learned.trained.__getitem__)
            if learned.trained[arm] < self.controls.trained(level, t):
                return Choice(arm, "train", cell)
            arm = min(neighbours, key=learned.counts.__getitem__)
            if learned.counts[arm] < self.controls.neighbour(level, t):
                return Choice(arm, "explore", cell)
        arm, chance = self.best_arm(level, learned, own, neighbours)
        return Choice(arm, "exploit", cell, chance)

    def exploit(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Apply rule 4 alone, by what the context's cell has learned since it exists."""
        own, neighbours = self._arms_by_side(arms)
        cell, learned = self.partition.find(check_context(context, self.partition.dimension))
        arm, chance = self.best_arm(cell.level, learned, own, neighbours)
        return Choice(arm, "exploit", cell, chance)

    def update(self, choice: Choice, reward: float) -> None:
        """Learn the reward, in the cell of the choice if that is still in use."""
        number = check_reward(reward)
        if choice.arm in self.own and not 0 <= number <= 1:
            raise DataError("the reward of an own video is out of range", expected="0 to 1")
        self.arrivals += 1
        learned = self.partition.statistics(choice.cell)
        if learned is None:
            return
        if choice.phase == "train":
            learned.trained[choice.arm] += 1
        else:
            learned.learn(choice.arm, number)
        self.partition.count_arrival(choice.cell)

    def best_arm(
        self, level: int, learned: CellStatistics, own: list[int], neighbours: list[int]
    ) -> tuple[int, float | None]:
        """Rule 4: an arm, and its chance given the cell.

        Args:
            level: of the cell.
            learned: what it has learned.
            own: own videos that may be chosen.
            neighbours: neighbours that may be chosen.
        """
        return learned.best(own + neighbours), 1.0

    def _arms_by_side(self, arms: Sequence[int] | None) -> tuple[list[int], list[int]]:
        """Own videos, and neighbours, of the arms that may be chosen."""
        if arms is None:
            return self.own, self.neighbours
        allowed = self.allowed_arms(arms)
        own = [arm for arm in allowed if not self.is_neighbour[arm]]
        neighbours = [arm for arm in allowed if self.is_neighbour[arm]]
        return own, neighbours
