"""LaP-DAP: serve one's own videos to users that other vendors forward.

While a video is explored, its reward is sent as it is; later the noisy total of the video's
rewards in this cell, from a tree counter, divided by their number. With an infinite epsilon every
reward is sent as it is. Decisions use true
rewards; only what is sent has noise. The claim of privacy is refuted on the cards of
`published_guarantees`.

Source  Zhou, Zhou, Wu, Jin (2015), Algorithm 2.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, get_args

from tacit.designs.pdap import theory
from tacit.designs.pdap.policies.base import Choice
from tacit.designs.pdap.policies.cells import CellStatistics
from tacit.designs.pdap.policies.controls import controls_by_level, controls_of_a_grid
from tacit.designs.pdap.policies.dap import Dap
from tacit.designs.pdap.policies.dup import uniform_partition
from tacit.designs.pdap.settings import Setting
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.checks import check_epsilon
from tacit.mechanisms.counter import TreeCounter

Reading = Literal["tree", "theorem 5", "lemma 5", "text"]
"""How the noise of a tree is read: `theory.noise_scale` has the scale of each."""


class ForwardedUsers(Dap):
    """DAP's rules for own videos alone; `answer` updates, and returns what is sent.

    Attributes:
        claimed_epsilon: of one reward; inf sends rewards as they are.
    """

    def __init__(
        self,
        setting: Setting,
        *,
        epsilon: float,
        reading: Reading = "tree",
        geometric: bool = False,
        uniform: bool = False,
    ) -> None:
        """Start with nothing learned.

        Args:
            setting: of the vendor.
            epsilon: claimed for one reward.
            reading: of the noise's scale.
            geometric: whether epsilon is that of level 0 and grows as m^(alpha l): GP-DAP.
            uniform: whether cells are those of DUP's grid.
        """
        check_epsilon(epsilon)
        if reading not in get_args(Reading):
            known = ", ".join(get_args(Reading))
            raise ConfigError(f"The noise is read as one of {known}; got {reading!r}.")
        controls = controls_of_a_grid(setting) if uniform else controls_by_level(setting)
        super().__init__(
            setting,
            neighbours=0,
            controls=replace(controls, own=controls.served),
            partition=uniform_partition(setting) if uniform else None,
        )
        self.claimed_epsilon = epsilon
        self._reading = reading
        self._geometric = geometric

    def update(self, choice: Choice, reward: float) -> None:
        """Learn the reward, 0 or 1."""
        self.answer(choice, reward)

    def answer(self, choice: Choice, reward: float) -> float:
        """Learn the reward, 0 or 1, and return what is sent to the vendor that forwarded."""
        if reward not in (0, 1):
            raise DataError("the reward of a forwarded user is neither 0 nor 1")
        # If the cell was split meanwhile, this reward gets a new tree.
        learned = self.partition.statistics(choice.cell) or CellStatistics()
        super().update(choice, reward)
        if math.isinf(self.claimed_epsilon):
            return float(reward)
        tree = learned.trees.get(choice.arm)
        if tree is None or tree.step == tree.counter.horizon:
            tree = learned.trees[choice.arm] = self.counter(choice.cell.level).start()
        total = tree.add(int(reward))
        return float(reward) if choice.phase == "explore" else total / tree.step

    def counter(self, level: int) -> TreeCounter:
        """The counter of rewards of one video in a cell of this level."""
        s = self.setting
        epsilon = theory.epsilon_at(
            self.claimed_epsilon, s.slices, s.smoothness, level, self._geometric
        )
        if not math.isinf(epsilon):
            scale = theory.noise_scale(
                self._reading, s.horizon, s.neighbours + 1, s.videos, epsilon
            )
            epsilon = theory.tree_loss(s.horizon, scale)
        return TreeCounter(epsilon, s.horizon)
