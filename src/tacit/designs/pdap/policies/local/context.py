"""Local privacy of a context: the visitor's device draws the arm, and reports at random.

Source   McSherry and Talwar: Mechanism design via differential privacy (FOCS 2007), for the draw;
         Kairouz, Oh, Viswanath: Extremal mechanisms for local privacy (NeurIPS 2014), for the
         report; Kasiviswanathan et al.: What can we learn privately? (2011), for local privacy.
Draw     One selection over own videos AND neighbours, by the means of the visitor's cell, clamped
         to [0, 1]: any two cells' means differ by 1 at most, and nothing else is assumed. With the
         chance `explore` the arm is uniform. `loss` is exact.
Report   Which cell, and whether they liked it, as ONE of 2 x cells answers by randomised response.
         The vendor learns from reports alone, so its tables, and all draws from them, tell nothing
         more. It must not see the context: the draw is made on the device, from published tables.
Choice   `vendor_sees="contexts"` is the weaker reading: the vendor sees cells and rewards as they
         are and learns from them exactly. Then only WHAT IS SHOWN at a visit is private, from
         an observer who sees nothing else; what earlier visitors did is not private.
Loss     of one draw by scores in [0, 1] mixed with a uniform one. Scores may be anything in two
         cells. The chance of an arm is largest where it alone has score 1 and smallest where it
         alone has score 0, so with weights up to e^a and K arms the loss is ln(p / q) with
         p = (1 - s) e^a / (e^a + K - 1) + s / K  and  q = (1 - s) / (1 + (K - 1) e^a) + s / K.
         Without exploring, s = 0: a + ln((1 + (K - 1) e^a) / (e^a + K - 1)), always below 2 a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import Event, Exponential, NonPrivate, PureAccountant
from tacit.accounting.events import compose
from tacit.accounting.rounding import above
from tacit.designs.pdap.policies.base import (
    Armed,
    Arms,
    Choice,
    Phase,
    checked_context,
    checked_reward,
)
from tacit.designs.pdap.policies.joint.cells import Grid
from tacit.designs.pdap.policies.joint.estimates import Choices
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.grid import check_epsilon, check_whole, finite
from tacit.mechanisms.randomized_response import KaryResponse
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.weights import draw_rows
from tacit.randomness import Source, integers_below

Sees = Literal["reports", "contexts"]
_HALVINGS = 200
_PARTS = 1 << 20
"""The chance to explore is a whole multiple of 1 / _PARTS."""


@dataclass(frozen=True, kw_only=True)
class ContextSetting:
    """epsilon: of one visit, draw and report together.

    explore: chance of a uniform arm. drawing: share of epsilon for the draw, the rest is for the
    report; all of it where vendor_sees="contexts". slices: per dimension; few, for a report tells
    cells apart badly. known: visits after which a cell's mean counts as much as a half.
    neighbour_range: as in `JointSetting`.
    """

    videos: int
    neighbours: int
    dimension: int
    epsilon: float
    explore: float = 0.05
    drawing: float = 0.5
    slices: int = 2
    known: float = 10.0
    neighbour_range: tuple[float, float] = (0.0, 1.0)
    vendor_sees: Sees = "reports"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("slices", self.slices, least=1)
        if not 0 <= self.explore < 1 or not 0 < self.drawing < 1:
            raise ConfigError("explore is a chance below 1; drawing a share between 0 and 1.")
        if not (math.isfinite(self.known) and self.known > 0):
            raise ConfigError(f"known is a finite number of visits above 0; got {self.known}.")
        if not self.neighbour_range[0] < self.neighbour_range[1]:
            raise ConfigError("neighbour_range is a lower and a higher number.")
        if self.vendor_sees not in get_args(Sees):
            raise ConfigError(f"vendor_sees is one of {', '.join(get_args(Sees))}.")

    @property
    def draw_epsilon(self) -> float:
        whole = self.vendor_sees == "contexts" or math.isinf(self.epsilon)
        return self.epsilon if whole else self.epsilon * self.drawing

    @property
    def report_epsilon(self) -> float:
        """inf where nothing is reported at random. A trifle less than is left, for rounding."""
        whole = self.vendor_sees == "contexts" or math.isinf(self.epsilon)
        return math.inf if whole else (self.epsilon - self.draw_epsilon) * (1 - 2**-40)


@dataclass(frozen=True, slots=True)
class Report:
    """What a device sends after a visit. answer: 2 * cell + liked, at random."""

    arm: int
    answer: int


class Context(Armed):
    """A policy; `select` and `report` are the device's part, `learn` is the vendor's."""

    name: ClassVar[str] = "sound-context"

    def __init__(self, setting: ContextSetting, *, randomness: Source) -> None:
        self.setting = setting
        self.grid = Grid(setting.dimension, setting.slices)
        self._arms = Arms(setting.videos, setting.neighbours)
        self._source = randomness
        exact = math.isinf(setting.report_epsilon)
        self._response = KaryResponse(setting.report_epsilon, 2 * len(self.grid))
        self._lie = 0.0 if exact else self._each_lie()
        self._answers = np.zeros((self._arms.numbered, 2 * len(self.grid)), dtype=np.int64)
        self._explore = math.ceil(setting.explore * _PARTS)
        self._selections: dict[int, Selection] = {}
        self.visits = 0
        """Contexts answered so far."""
        self._publish()

    @property
    def epsilon(self) -> float:
        return self.setting.epsilon

    @property
    def visit_epsilon(self) -> float:
        """Of one visit, exactly: of the draw among all arms, and of the report."""
        if math.isinf(self.setting.epsilon):
            return math.inf
        return self.draw_loss + self._report_loss

    @property
    def draw_loss(self) -> float:
        """Of one draw among all arms, exactly."""
        arms = self.n_own + self.n_neighbours
        return loss(self._exponent(arms), arms, self._explore / _PARTS)

    @property
    def event(self) -> Event:
        """What one visit is charged; `visit_epsilon` may be a little less."""
        if math.isinf(self.setting.epsilon):
            return NonPrivate()
        # With a above epsilon / 2 its ratios range over more than epsilon, as permute-and-flip's
        # do: the pure loss is all that may be charged for.
        drawn = Exponential(self.setting.draw_epsilon, permute_and_flip=True)
        if self.setting.vendor_sees == "contexts":
            return drawn
        return compose(drawn, self._response.event)

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """On the device: from the context and the published means of all cells."""
        allowed = np.array(self._arms.allowed(arms))
        cell = self.grid.cell(checked_context(context, self.setting.dimension))
        self._visited(1)
        rows = self._published[[self.grid.number(cell)]][:, allowed]
        place, explored, chance = self._drawn(rows)
        phase: Phase = "explore" if explored[0] else "exploit"
        return Choice(int(allowed[place[0]]), phase, cell, float(chance[0]))

    def select_many(self, contexts: NDArray[np.float64]) -> Choices:
        """`select` for (n, d) contexts at once; n <= `until_release()`."""
        cells = self.grid.numbers(contexts)
        allowed = np.array(self._arms.allowed())
        self._visited(len(cells))
        place, _, chance = self._drawn(self._published[cells][:, allowed])
        return Choices(cells, allowed[place], chance)

    def update_many(self, choices: Choices, rewards: NDArray[np.float64]) -> None:
        """`update` for as many rewards."""
        answers = self._answered(choices.cells, choices.arms, rewards)
        np.add.at(self._answers, (choices.arms, answers), 1)

    def until_release(self) -> int:
        """How many visits can be answered together, by the table as it is published now."""
        if self.visits >= self._next:
            self._publish()
        return self._next - self.visits

    def serve_many(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """For others' users, the own video that is best on average: no context is forwarded."""
        best = self._arms.own[int(self._published[:, self._arms.own].mean(axis=0).argmax())]
        return np.full(len(contexts), best)

    def settle(
        self, context: NDArray[np.float64], arms: Sequence[int], *, instead: Choice | None = None
    ) -> Choice:
        """Another arm for a visit that has its draw, which came to nothing: the best on average.

        A second draw from the context would cost a second time. instead: of that draw; who answers
        once, the device says.
        """
        allowed = self._arms.allowed(arms)
        best = allowed[int(self._published[:, allowed].mean(axis=0).argmax())]
        cell = self.grid.cell(checked_context(context, self.setting.dimension))
        return Choice(best, "exploit", cell, visit=None if instead is None else instead.visit)

    def report(self, choice: Choice, reward: float) -> Report:
        """On the device: what it sends of this visit, and of a reward within the arm's range."""
        number = checked_reward(reward)
        low, high = self.setting.neighbour_range if self._arms.sides[choice.arm] else (0.0, 1.0)
        if not low <= number <= high:
            raise DataError("the reward is out of its arm's range", expected=f"{low:g} to {high:g}")
        cell = np.array([self.grid.number(choice.cell)])
        answer = self._answered(cell, np.array([choice.arm]), np.array([number]))
        return Report(choice.arm, int(answer[0]))

    def learn(self, report: Report) -> None:
        """At the vendor."""
        arms, answers = self._answers.shape
        if not (0 <= report.arm < arms and 0 <= report.answer < answers):
            raise DataError("a report names no arm or no answer of this policy")
        self._answers[report.arm, report.answer] += 1

    def update(self, choice: Choice, reward: float) -> None:
        if choice.phase != "train":
            self.learn(self.report(choice, reward))

    def means(self) -> NDArray[np.float64]:
        """(cells, arms) as published, in [0, 1] of reward; a half where hardly anything is known.

        Numbers of answers are made unbiased first: each lie is equally likely.
        """
        reports = self._answers.sum(axis=1, keepdims=True)
        truth = float(self._response.truth)
        told = (self._answers - reports * self._lie) / (truth - self._lie)
        dislikes, likes = told[:, 0::2].T, told[:, 1::2].T
        noise = (reports * self._lie).T / (truth - self._lie) ** 2
        visits = np.maximum(likes + dislikes, 0.0)
        # An estimate is trusted as far as its visits stand out of the reports' noise.
        pull = self.setting.known + noise / np.maximum(visits, 1.0)
        share = (likes + pull / 2) / (visits + pull)
        low, width = self._arms.ranges(self.setting.neighbour_range)
        published: NDArray[np.float64] = np.clip(low + width * share, 0.0, 1.0)
        return published

    def add_arm(self, *, neighbour: bool = False) -> int:
        arm = self._arms.add(neighbour=neighbour)
        self._answers = np.pad(self._answers, ((0, 1), (0, 0)))
        self._publish()
        return arm

    def _visited(self, visits: int) -> None:
        if visits > (left := self.until_release()):
            raise ConfigError(f"At most {left} visits can be answered before the next table.")
        self.visits += visits

    def _publish(self) -> None:
        """Tables are published after 100 visits, and then each time these grew by a twentieth."""
        self._published = self.means()
        self._next = self.visits + max(100, self.visits // 20)

    def _drawn(
        self, rows: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.float64]]:
        """Places in each row of means, whether they were explored, and their chances."""
        count, arms = rows.shape
        explored = integers_below(self._source, _PARTS, count) < self._explore
        uniform = integers_below(self._source, arms, count)
        if math.isinf(self.setting.epsilon):
            drawn, weights = rows.argmax(axis=1), np.zeros(rows.shape, dtype=np.int64)
            weights[np.arange(count), drawn] = 1
        else:
            weights = self._selection(arms).weights(rows)
            drawn = draw_rows(weights, self._source)
        places = np.where(explored, uniform, drawn)
        share = self._explore / _PARTS
        mine = weights[np.arange(count), places] / weights.sum(axis=1)
        return places, explored, np.asarray((1 - share) * mine + share / arms)

    def _answered(
        self, cells: NDArray[np.int64], arms: NDArray[np.int64], rewards: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Randomised answers. A fraction becomes a like with that chance: its mean is kept."""
        low, width = self._arms.ranges(self.setting.neighbour_range)
        shares = (finite(rewards) - low[arms]) / width[arms]
        sure = np.rint(np.clip(shares, 0.0, 1.0) * _PARTS)
        liked = integers_below(self._source, _PARTS, len(shares)) < sure
        return self._response(2 * cells + liked, self._source)

    def uniform(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Any arm, at random: it costs nothing, and is not reported."""
        allowed = self._arms.allowed(arms)
        cell = self.grid.cell(checked_context(context, self.setting.dimension))
        place = int(integers_below(self._source, len(allowed), 1)[0])
        return Choice(allowed[place], "train", cell, 1 / len(allowed))

    def _each_lie(self) -> float:
        """Chance of each single answer that is not the true one."""
        return float((1 - self._response.truth) / (self._response.categories - 1))

    @property
    def _report_loss(self) -> float:
        if self.setting.vendor_sees == "contexts":
            return 0.0
        return PureAccountant().add(self._response.event).epsilon()

    def _exponent(self, arms: int) -> float:
        return exponent_for(self.setting.draw_epsilon, arms, self._explore / _PARTS)

    def _selection(self, arms: int) -> Selection:
        if arms not in self._selections:
            # A selection at epsilon has weights within e^(epsilon / 2) of one another.
            exponent = 2 * self._exponent(arms)
            self._selections[arms] = Selection(exponent, arms, 1.0, 0.0, 1.0, 2.0**-10)
        return self._selections[arms]


def loss(exponent: float, arms: int, explore: float) -> float:
    """Nats, rounded up. exponent: a. explore: s, chance of a uniform arm."""
    if arms < 1 or not 0 <= explore < 1 or exponent < 0:
        raise ConfigError("A draw has an arm or more, explores with a chance below 1, and a >= 0.")
    if arms == 1:
        return 0.0
    lower = math.exp(-exponent)
    likely = (1 - explore) / (1 + (arms - 1) * lower) + explore / arms
    unlikely = (1 - explore) * lower / (lower + arms - 1) + explore / arms
    return above(math.log(likely / unlikely), slack=1.0)


def exponent_for(epsilon: float, arms: int, explore: float) -> float:
    """The largest a whose loss is at most epsilon, but not above 30: exploring alone bounds it."""
    if arms == 1:
        return epsilon
    low, high = epsilon / 2, 30.0
    if loss(high, arms, explore) <= epsilon:
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if loss(middle, arms, explore) <= epsilon else (low, middle)
    return low
