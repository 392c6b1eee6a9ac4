"""LaP-DAP: serve own videos to users that other vendors forward.

While a video is explored, its reward is sent to the forwarding vendor without noise. Later, a noisy
mean is sent: a tree counter's noisy total of the video's rewards in this cell, divided by the
number of rewards in the tree. When a tree is full, a new one begins. With an infinite epsilon every
reward is sent without noise. Decisions use the true rewards.
The claim of privacy is refuted on the cards of `published_guarantees`.

Source  Zhou, Zhou, Wu, Jin (2015), Algorithm 2. Symbols as in theory.py.
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
"""Readings of what the paper says about the noise in a tree; `theory.noise_scale` has the scale of
each."""


class ForwardedUsers(Dap):
    """DAP's rules for own videos alone; `answer` learns a reward and returns what is sent.

    Attributes:
        claimed_epsilon: nats of one reward, as the paper claims; inf sends rewards without noise.
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
            setting: the vendor's setting.
            epsilon: nats of one reward, as the paper claims; inf sends rewards without noise.
            reading: how the paper's scale of the noise is read.
            geometric: whether epsilon is multiplied by m^(alpha l) in cells of level l, as in
                GP-DAP.
            uniform: whether cells and control functions are those of DUP.

        Raises:
            ConfigError: There is no such reading, or epsilon is too small (`check_epsilon`).
        """
        check_epsilon(epsilon)
        if reading not in get_args(Reading):
            readings = ", ".join(get_args(Reading))
            raise ConfigError(f"The noise is read as one of {readings}; got {reading!r}.")
        controls = controls_of_a_grid(setting) if uniform else controls_by_level(setting)
        super().__init__(
            setting,
            neighbours=0,
            # Own videos are explored here by the control function for forwarded users.
            controls=replace(controls, explore_own=controls.explore_forwarded),
            partition=uniform_partition(setting) if uniform else None,
        )
        self.claimed_epsilon = epsilon
        self._reading = reading
        self._geometric = geometric

    def update(self, choice: Choice, reward: float) -> None:
        """Learn the reward, 0 or 1."""
        self.answer(choice, reward)

    def answer(self, choice: Choice, reward: float) -> float:
        """Learn the reward, 0 or 1, and return the number that is sent to the forwarding vendor.

        Raises:
            DataError: The reward is neither 0 nor 1.
        """
        if reward not in (0, 1):
            raise DataError("the reward of a forwarded user is neither 0 nor 1")
        statistics = self.partition.statistics(choice.cell)
        if statistics is None:  # the cell has split since the choice: a new tree, used once
            statistics = CellStatistics()
        super().update(choice, reward)
        if math.isinf(self.claimed_epsilon):
            return float(reward)
        tree = statistics.trees.get(choice.arm)
        if tree is None or tree.step == tree.counter.horizon:
            tree = self.make_counter(choice.cell.level).start()
            statistics.trees[choice.arm] = tree
        noisy_total = tree.add(int(reward))
        if choice.phase == "explore":
            return float(reward)
        return noisy_total / tree.step

    def make_counter(self, level: int) -> TreeCounter:
        """Make the counter of one video's rewards in a cell of this level."""
        setting = self.setting
        epsilon = theory.epsilon_at(
            self.claimed_epsilon, setting.slices, setting.smoothness, level, self._geometric
        )
        if not math.isinf(epsilon):
            scale = theory.noise_scale(
                self._reading, setting.horizon, setting.neighbours + 1, setting.videos, epsilon
            )
            # `TreeCounter` takes the epsilon for which its noise has this scale.
            epsilon = theory.tree_loss(setting.horizon, scale)
        return TreeCounter(epsilon, setting.horizon)
