"""DAP: vendors that learn together with cells that split; and CAP, one learner for all vendors.

Source   Zhou, Zhou, Wu, Jin (2015), Algorithm 1 without privacy; CAP after its reference [33].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.control import Adaptive, Alone, Controls, Setting
from tacit.designs.pdap.partition import AdaptivePartition, Cell
from tacit.designs.pdap.policy import Arms, Choice, checked_context, checked_reward
from tacit.errors import DataError


class Visits:
    """What one cell has learned, by the numbers of the arms. An arm never tried has mean 0.

    counts: N, choices that were learned from. trained: N1, those of a neighbour that were not.
    """

    __slots__ = ("counts", "means", "sums", "trained")

    def __init__(self, parent: Visits | None = None) -> None:
        self.counts: list[int] = [] if parent is None else parent.counts.copy()
        self.sums: list[float] = [] if parent is None else parent.sums.copy()
        self.means: list[float] = [] if parent is None else parent.means.copy()
        self.trained: list[int] = [] if parent is None else parent.trained.copy()

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
        return self._order(one) > self._order(other)

    def _order(self, arm: int) -> tuple[float, int, int]:
        return self.means[arm], -self.counts[arm], -arm


class Cells(Protocol):
    """Either partition, as far as a learner is concerned."""

    @property
    def dimension(self) -> int: ...

    def find(self, context: NDArray[np.float64]) -> tuple[Cell, Visits]: ...

    def state(self, cell: Cell) -> Visits | None: ...

    def arrived(self, cell: Cell) -> bool: ...


class Learner:
    """The phases of Algorithm 1, whatever the cells and the control functions are."""

    name: ClassVar[str]

    def __init__(
        self,
        arms: Arms,
        partition: Cells,
        controls: Controls,
    ) -> None:
        self._arms = arms
        self._controls = controls
        self.partition = partition
        self.arrivals = 0
        """Contexts answered so far."""

    @property
    def epsilon(self) -> float:
        return math.inf

    @property
    def n_own(self) -> int:
        return len(self._arms.own)

    @property
    def n_neighbours(self) -> int:
        return len(self._arms.neighbours)

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        own, neighbours = self._arms.among(arms)
        cell, visits = self.partition.find(checked_context(context, self.partition.dimension))
        visits.hold(self._arms.numbered)
        level, t = cell.level, self.arrivals + 1
        if own:
            arm = min(own, key=visits.counts.__getitem__)
            if visits.counts[arm] < self._controls.own(level, t):
                return Choice(arm, "explore", cell)
        if neighbours:
            arm = min(neighbours, key=visits.trained.__getitem__)
            if visits.trained[arm] < self._controls.trained(level, t):
                return Choice(arm, "train", cell)
            arm = min(neighbours, key=visits.counts.__getitem__)
            if visits.counts[arm] < self._controls.neighbour(level, t):
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

    def add_arm(self, *, neighbour: bool = False) -> int:
        return self._arms.add(neighbour=neighbour)

    def remove_arm(self, arm: int) -> None:
        self._arms.remove(arm)

    def _exploit(
        self, level: int, visits: Visits, own: list[int], neighbours: list[int]
    ) -> tuple[int, float | None]:
        """The arm, and its chance given the cell."""
        if not own or not neighbours:
            return visits.best(own or neighbours), 1.0
        mine, theirs = visits.best(own), visits.best(neighbours)
        return (mine if visits.beats(mine, theirs) else theirs), 1.0


class Dap(Learner):
    """Adaptive cells, own videos and neighbours, nothing private."""

    name = "dap"

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

    name = "cap"

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
