"""DAP: Algorithm 1 without privacy, for a vendor's own users.

In the cell of the context, the first of these rules that applies is used:

1. explore  the least tried own video, if it was tried less often than G1
2. train    the least trained neighbour, if it was trained less often than K G3; its reward is not
            learned
3. explore  the least tried neighbour, if it was tried less often than G2; its reward is learned
4. exploit  the arm with the largest mean, among own videos and neighbours

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
    """DAP, which chooses among own videos and neighbours without any privacy.

    The paper's other policies are subclasses with other cells, control functions, or rule 4.

    Attributes:
        setting: the vendor's setting.
        controls: how often an arm is tried in a cell.
        partition: the cells, with what was learned in each.
        arrivals: number of visits that `update` was called for so far; round t is arrivals + 1.
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
            setting: the vendor's setting.
            neighbours: number of neighbours; None means the setting's.
            controls: the control functions; None means DAP's.
            partition: the cells; None means cells that split by the setting's thresholds.
        """
        if neighbours is None:
            neighbours = setting.neighbours
        super().__init__(setting.videos, neighbours)
        self.setting = setting
        self.controls = controls_by_level(setting) if controls is None else controls
        if partition is None:  # not `if not partition`: a new partition has length 0
            partition = Partition(setting.dimension, setting.slices, setting.thresholds)
        self.partition = partition
        self.arrivals = 0

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose by the first of rules 1 to 4 that applies in the cell of the context."""
        own, neighbours = self._own_and_neighbours(arms)
        cell, statistics = self.partition.find(check_context(context, self.partition.dimension))
        level = cell.level
        t = self.arrivals + 1
        if own:
            least_tried = min(own, key=statistics.counts.__getitem__)
            if statistics.counts[least_tried] < self.controls.explore_own(level, t):
                return Choice(least_tried, "explore", cell)
        if neighbours:
            least_trained = min(neighbours, key=statistics.trained.__getitem__)
            if statistics.trained[least_trained] < self.controls.train_neighbour(level, t):
                return Choice(least_trained, "train", cell)
            least_tried = min(neighbours, key=statistics.counts.__getitem__)
            if statistics.counts[least_tried] < self.controls.explore_neighbour(level, t):
                return Choice(least_tried, "explore", cell)
        arm, chance = self.best_arm(level, statistics, own, neighbours)
        return Choice(arm, "exploit", cell, chance)

    def exploit(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose by rule 4 alone."""
        own, neighbours = self._own_and_neighbours(arms)
        cell, statistics = self.partition.find(check_context(context, self.partition.dimension))
        arm, chance = self.best_arm(cell.level, statistics, own, neighbours)
        return Choice(arm, "exploit", cell, chance)

    def update(self, choice: Choice, reward: float) -> None:
        """Learn the reward in the cell of the choice, unless the cell has split since the choice.

        A "train" choice is counted, and its reward is not learned.

        Raises:
            DataError: The reward is refused by `check_reward`, or is not in [0, 1] for a present
                own video.
        """
        number = check_reward(reward)
        if choice.arm in self.own and not 0 <= number <= 1:
            raise DataError("the reward of an own video is out of range", expected="0 to 1")
        self.arrivals += 1
        statistics = self.partition.statistics(choice.cell)
        if statistics is None:
            return
        if choice.phase == "train":
            statistics.trained[choice.arm] += 1
        else:
            statistics.learn(choice.arm, number)
        self.partition.count_arrival(choice.cell)

    def best_arm(
        self, level: int, statistics: CellStatistics, own: list[int], neighbours: list[int]
    ) -> tuple[int, float | None]:
        """Choose an arm by rule 4.

        Args:
            level: level of the cell.
            statistics: what the cell has learned.
            own: own videos that may be chosen.
            neighbours: neighbours that may be chosen.

        Returns:
            The arm, and its probability given the cell.
        """
        return statistics.best(own + neighbours), 1.0

    def _own_and_neighbours(self, arms: Sequence[int] | None) -> tuple[list[int], list[int]]:
        """Return the own videos, and the neighbours, among the arms that may be chosen.

        Args:
            arms: the arms that may be chosen now; None is all of them.

        Raises:
            ConfigError: `arms` is empty, or has an arm that never joined or has left.
        """
        if arms is None:
            return self.own, self.neighbours
        allowed = self.allowed_arms(arms)
        own = [arm for arm in allowed if not self.is_neighbour[arm]]
        neighbours = [arm for arm in allowed if self.is_neighbour[arm]]
        return own, neighbours
