"""LaP-DAP, the half of P-DAP for users that other vendors forward; as published.

Source   Zhou, Zhou, Wu, Jin (2015), Algorithm 2.
Sent     While a video is still explored, its reward as it is. Then the noisy total of the video's
         rewards in this cell, from a tree counter, divided by their number. Without noise there is
         nothing to add up, and the reward itself is sent.
Privacy  The paper's claim is refuted: see `guarantees.py`. This policy is for reproduction.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

from tacit.designs.pdap import theory
from tacit.designs.pdap.policies.base import Arms, Choice
from tacit.designs.pdap.policies.partition import FixedPartition
from tacit.designs.pdap.policies.published.control import (
    Adaptive,
    Controls,
    ForGuests,
    Setting,
    UniformCells,
)
from tacit.designs.pdap.policies.published.own_users import Learner, Visits, adaptive, slices
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.noise import LaplaceRelease
from tacit.mechanisms.running import TreeCounter, TreeRun
from tacit.mechanisms.samplers import check_epsilon

Reading = Literal["tree", "theorem 5", "lemma 5", "text", "line 9"]
"""How the paper's noise is read: `theory.noise_scale` has the scale of each."""


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
        self._setting = setting
        self._epsilon = epsilon
        self._reading = reading
        self._geometric = geometric
        self._counters: dict[int, TreeCounter] = {}
        self._leaves: dict[int, LaplaceRelease] = {}

    @property
    def epsilon(self) -> float:
        return self._epsilon

    def update(self, choice: Choice, reward: float) -> None:
        self.answer(choice, reward)

    def answer(self, choice: Choice, reward: float) -> float:
        """Learn the reward, 0 or 1, and give what is sent to the vendor that forwarded."""
        if reward not in (0, 1):
            raise DataError("the reward of a guest is neither 0 nor 1")
        visits = self.partition.state(choice.cell)
        super().update(choice, reward)
        if math.isinf(self._epsilon):
            return float(reward)
        level = choice.cell.level
        if self._reading == "line 9":
            return float(reward) if choice.phase == "explore" else self._leaf(level, reward)
        if not isinstance(visits, GuestVisits):  # split or forgotten: a tree of its own
            visits = GuestVisits()
        tree = visits.trees.get(choice.arm)
        if tree is None or tree.step == tree.counter.horizon:
            tree = visits.trees[choice.arm] = self.counter(level).start()
        total = tree.add(int(reward))
        return float(reward) if choice.phase == "explore" else total / tree.step

    def _leaf(self, level: int, reward: float) -> float:
        if level not in self._leaves:
            self._leaves[level] = LaplaceRelease(
                self._epsilon_at(level), sensitivity=1, lower=0, upper=1, resolution=1
            )
        return float(self._leaves[level]([reward])[0])

    def counter(self, level: int) -> TreeCounter:
        """What counts the rewards of one video in a cell of this level, tree readings only."""
        if level not in self._counters:
            s, epsilon = self._setting, self._epsilon_at(level)
            if not math.isinf(epsilon) and self._reading != "line 9":
                scale = theory.noise_scale(
                    self._reading, s.horizon, s.neighbours + 1, s.videos, epsilon
                )
                epsilon = theory.tree_loss(s.horizon, scale)
            self._counters[level] = TreeCounter(epsilon, s.horizon)
        return self._counters[level]

    def _epsilon_at(self, level: int) -> float:
        s = self._setting
        return theory.epsilon_at(self._epsilon, s.slices, s.smoothness, level, self._geometric)


def guests(setting: Setting) -> ForwardedUsers:
    """Serves others' users as DUP does: on the same grid, with DUP's control function."""
    grid = FixedPartition(
        setting.dimension, GuestVisits, slices=slices(setting), most_cells=setting.most_cells
    )
    return ForwardedUsers(setting, epsilon=math.inf, controls=UniformCells(setting), partition=grid)
