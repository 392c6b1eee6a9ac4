"""Local privacy of a context: the visitor's device draws the arm, and reports at random.

Source   McSherry and Talwar: Mechanism design via differential privacy (FOCS 2007), for the draw;
         Kairouz, Oh, Viswanath: Extremal mechanisms for local privacy (NeurIPS 2014), for the
         report; Kasiviswanathan et al.: What can we learn privately? (2011), for local privacy.
Draw     One selection over own videos AND neighbours, by the means of the visitor's cell, clamped
         to [0, 1]: any two cells' means differ by 1 at most, and nothing else is assumed. With the
         chance `explore` the arm is uniform. `draw_loss` is exact.
Report   Which cell, and whether they liked it, as ONE of 2 x cells answers by randomised response.
         The vendor learns from reports alone, so its tables, and all draws from them, tell nothing
         more. It must not see the context: the draw is made on the device, from published tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import Event, Exponential, NonPrivate, PrivacyFilter, PureAccountant
from tacit.accounting.events import compose
from tacit.designs.pdap import theory
from tacit.designs.pdap.grid import Grid
from tacit.designs.pdap.policies.base import Choice, Policy, check_reward
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.mechanisms.checks import check_epsilon
from tacit.mechanisms.randomized_response import KaryResponse
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.weights import draw_rows
from tacit.randomness import Source, integers_below

CHANCE_PARTS = 1 << 20
"""The chance to explore is a whole multiple of 1 / CHANCE_PARTS."""
DRAW_SHARE = 0.5
"""Share of epsilon for the draw; the rest is for the report."""
GRID_SLICES = 2
"""Slices of each feature; few, for a report tells cells apart badly."""
PRIOR_VISITS = 10.0
"""Visits after which a cell's mean counts as much as a half."""


@dataclass(frozen=True, kw_only=True)
class ContextSetting:
    """The choices of a local learner.

    Attributes:
        videos: own videos.
        neighbours: other vendors.
        dimension: features of a context.
        epsilon: nats of one visit, draw and report together.
        explore: chance of a uniform arm, below 1.
    """

    videos: int
    neighbours: int
    dimension: int
    epsilon: float
    explore: float = 0.05

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not 0 <= self.explore < 1:
            raise ConfigError(f"explore is a chance below 1; got {self.explore}.")

    @property
    def draw_epsilon(self) -> float:
        """Nats of one draw."""
        return self.epsilon * DRAW_SHARE

    @property
    def report_epsilon(self) -> float:
        """Nats of one report: a trifle less than is left, for rounding."""
        return self.epsilon * (1 - DRAW_SHARE) * (1 - 2**-40)


@dataclass(frozen=True, slots=True)
class Report:
    """The message of a device after a visit.

    Attributes:
        arm: that was shown.
        answer: 2 * cell + liked, by randomised response.
    """

    arm: int
    answer: int


class Context(Policy):
    """Local learner: `select` and `report` are the device's part, `learn` is the vendor's.

    Attributes:
        setting: its choices.
        grid: the cells.
        response: the mechanism of a report.
        explore: the chance of a uniform arm, exactly.
        visits: contexts answered so far.
    """

    def __init__(self, setting: ContextSetting, *, randomness: Source) -> None:
        super().__init__(setting.videos, setting.neighbours)
        self.setting, self.epsilon, self._source = setting, setting.epsilon, randomness
        self.grid = Grid(setting.dimension, GRID_SLICES)
        self.response = KaryResponse(setting.report_epsilon, 2 * len(self.grid))
        self._answers = np.zeros((len(self.is_neighbour), 2 * len(self.grid)), dtype=np.int64)
        self.explore = Fraction(math.ceil(setting.explore * CHANCE_PARTS), CHANCE_PARTS)
        self._selections: dict[int, Selection] = {}
        self.visits = 0
        self._publish()

    @property
    def visit_epsilon(self) -> float:
        """Nats of one visit, exactly: of the draw among all arms, and of the report."""
        return self.draw_loss + PureAccountant().add(self.response.event).epsilon()

    @property
    def draw_loss(self) -> float:
        """Nats of one draw among all arms, exactly."""
        arms = len(self.allowed_arms())
        return theory.mixed_loss(self._exponent(arms), arms, float(self.explore))

    @property
    def event(self) -> Event:
        """Event that one visit is charged; `visit_epsilon` may be a little less."""
        if math.isinf(self.epsilon):
            return NonPrivate()
        # With a above epsilon / 2 its ratios range over more than epsilon, as permute-and-flip's
        # do: the pure loss is all that may be charged for.
        drawn = Exponential(self.setting.draw_epsilon, permute_and_flip=True)
        return compose(drawn, self.response.event)

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Draw an arm on the device, from the context and the published means of all cells."""
        if self.visits >= self._next:
            self._publish()
        self.visits += 1
        return self._draw(context, arms)

    def exploit(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Draw as at any visit, which its privacy needs, but count no visit."""
        return self._draw(context, arms)

    def _draw(self, context: NDArray[np.float64], arms: Sequence[int] | None) -> Choice:
        """One draw by the published means of the context's cell; with a chance, a uniform one."""
        allowed = self.allowed_arms(arms)
        cell = self.grid.number(context)
        drawn = int(integers_below(self._source, CHANCE_PARTS, 1)[0])
        explored = drawn < int(self.explore * CHANCE_PARTS)
        uniform = int(integers_below(self._source, len(allowed), 1)[0])
        weights = self._weights(self._published[cell, allowed])
        place = uniform if explored else int(draw_rows(weights[None, :], self._source)[0])
        share = float(self.explore)
        chance = (1 - share) * int(weights[place]) / int(weights.sum()) + share / len(allowed)
        return Choice(allowed[place], "explore" if explored else "exploit", cell, chance)

    def serve_forwarded(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """Choose the own video that is best on average for each: no context is forwarded."""
        return np.full(len(contexts), self._best_on_average(self.own))

    def settle(
        self, context: NDArray[np.float64], arms: Sequence[int], *, instead: Choice
    ) -> Choice:
        """Choose the arm best on average, for a visit whose draw came to nothing.

        A second draw from the context would cost a second time. The device answers once.
        """
        best = self._best_on_average(self.allowed_arms(arms))
        return Choice(best, "exploit", self.grid.number(context), visit=instead.visit)

    def _best_on_average(self, arms: list[int]) -> int:
        return arms[int(self._published[:, arms].mean(axis=0).argmax())]

    def report(self, choice: Choice, reward: float) -> Report:
        """Write on the device what it sends of this visit.

        Args:
            choice: of the visit.
            reward: 0 to 1. A fraction becomes a like with that chance, which keeps its mean.

        Raises:
            DataError: The reward is out of range.
        """
        number = check_reward(reward)
        if not 0 <= number <= 1:
            raise DataError("the reward is out of range", expected="0 to 1")
        drawn = int(integers_below(self._source, CHANCE_PARTS, 1)[0])
        liked = drawn < round(number * CHANCE_PARTS)
        truth = 2 * self.grid.check_cell(choice.cell) + liked
        return Report(choice.arm, int(self.response([truth], self._source)[0]))

    def learn(self, report: Report) -> None:
        """Count a report; DataError if it names no arm or no answer."""
        arms, answers = self._answers.shape
        if not (0 <= report.arm < arms and 0 <= report.answer < answers):
            raise DataError("a report names no arm or no answer of this policy")
        self._answers[report.arm, report.answer] += 1

    def update(self, choice: Choice, reward: float) -> None:
        """Report a visit and count the report; a "train" choice is not reported."""
        if choice.phase != "train":
            self.learn(self.report(choice, reward))

    def means(self) -> NDArray[np.float64]:
        """Estimate (cells, arms) means in [0, 1]; a half where hardly anything is known.

        Numbers of answers are made unbiased first: each lie is equally likely. Likes and dislikes
        are (cells, arms); `pull` is how many visits a half counts for.
        """
        reports = self._answers.sum(axis=1, keepdims=True)
        truth = float(self.response.truth)
        lie = float((1 - self.response.truth) / (self.response.categories - 1))
        estimated = (self._answers - reports * lie) / (truth - lie)
        dislikes, likes = estimated[:, 0::2].T, estimated[:, 1::2].T
        noise = (reports * lie).T / (truth - lie) ** 2
        visits = np.maximum(likes + dislikes, 0.0)
        # An estimate is trusted as far as its visits stand out of the reports' noise.
        pull = PRIOR_VISITS + noise / np.maximum(visits, 1.0)
        return np.asarray(np.clip((likes + pull / 2) / (visits + pull), 0.0, 1.0))

    def add_arm(self, *, neighbour: bool = False) -> int:
        """Add an arm of which nothing is known, and publish anew."""
        arm = super().add_arm(neighbour=neighbour)
        self._answers = np.pad(self._answers, ((0, 1), (0, 0)))
        self._publish()
        return arm

    def uniform(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose any arm at random, for a visit that costs nothing and is not reported."""
        allowed = self.allowed_arms(arms)
        place = int(integers_below(self._source, len(allowed), 1)[0])
        return Choice(allowed[place], "train", self.grid.number(context), 1 / len(allowed))

    def _publish(self) -> None:
        """Publish the means: after 100 visits, and each time these grew by a twentieth."""
        self._published = self.means()
        self._next = self.visits + max(100, self.visits // 20)

    def _weights(self, means: NDArray[np.float64]) -> NDArray[np.int64]:
        """(arms,) weights of a draw that explores nothing."""
        if math.isinf(self.epsilon):
            return np.asarray(np.arange(len(means)) == means.argmax(), dtype=np.int64)
        if (arms := len(means)) not in self._selections:
            # A selection at epsilon has weights within e^(epsilon / 2) of one another.
            epsilon = 2 * self._exponent(arms)
            self._selections[arms] = Selection(epsilon, arms, 1.0, 0.0, 1.0, 2.0**-10)
        return self._selections[arms].weights(means)

    def _exponent(self, arms: int) -> float:
        return theory.exponent_for(self.setting.draw_epsilon, arms, float(self.explore))


class Device:
    """Meters one person's visits: each spends before anything is drawn, until nothing is left.

    Then arms are uniform and nothing is reported, which costs nothing. When that is depends on the
    number of visits alone.
    """

    def __init__(self, policy: Context, *, lifetime_epsilon: float) -> None:
        """Start with nothing spent. lifetime_epsilon: nats that the person may spend in all."""
        self._policy = policy
        self._budget = PrivacyFilter(PureAccountant, epsilon=lifetime_epsilon)
        self._open: dict[int, Choice] = {}

    @property
    def spent_epsilon(self) -> float:
        """Nats spent so far."""
        return self._budget.spent_epsilon

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose an arm by the policy while the budget lasts, and any arm afterwards."""
        if not self._budget.affords(self._policy.event):
            return self._policy.uniform(context, arms)
        self._budget.spend(self._policy.event)
        choice = self._policy.select(context, arms)
        self._open[id(choice)] = choice  # kept, so that its id stays its own
        return choice

    def update(self, choice: Choice, reward: float) -> None:
        """Report a visit that was paid for.

        Raises:
            PrivacyError: It was reported before, or was not made on this device.
        """
        if choice.phase == "train":
            return
        if self._open.get(id(choice)) is not choice:
            raise PrivacyError("This visit was reported already, or was not made on this device.")
        del self._open[id(choice)]
        self._policy.update(choice, reward)
