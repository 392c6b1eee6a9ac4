"""Local privacy of a context: the visitor's device draws the arm, and its reports are randomised.

Source   McSherry and Talwar: Mechanism design via differential privacy (FOCS 2007), for the draw;
         Kairouz, Oh, Viswanath: Extremal mechanisms for local privacy (NeurIPS 2014), for the
         report; Kasiviswanathan et al.: What can we learn privately? (2011), for local privacy.
Draw     The device draws an arm, which is an own video OR a neighbour, by the exponential
         mechanism, from the published means of the visitor's cell: the cell of the grid of contexts
         (`grid.py`) that holds the visitor's context. Means are clamped to [0, 1], so the means of
         an arm in two cells differ by 1 at most; nothing else is assumed. With probability
         `explore` the arm is uniform instead. `draw_loss` is the exact loss of such a draw, rounded
         up.
Report   The cell, and whether the visitor liked the video, are ONE of 2 x cells answers, sent by
         randomised response. The vendor learns from reports alone, so its tables reveal no more
         than these. It must not see the context, which never leaves the device.
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
from tacit.designs.pdap.policies.base import Choice, Phase, Policy, check_reward
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.mechanisms.checks import check_epsilon
from tacit.mechanisms.randomized_response import KaryResponse
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.weights import draw_rows
from tacit.randomness import Source, integers_below

CHANCE_PARTS = 1 << 20
"""The probability to explore is a whole multiple of 1 / CHANCE_PARTS. So is the probability with
which a reward between 0 and 1 counts as a like."""
DRAW_SHARE = 0.5
"""Share of epsilon for the draw; the rest is for the report."""
GRID_SLICES = 2
"""Slices of each feature; only 2, because randomised response needs few answers."""
PRIOR_VISITS = 10.0
"""Least weight, in visits, of the prior mean of 1/2; noise adds to it."""
LEAST_FURTHER_VISITS = 100
"""Fewest visits between two publications of the means, unless an arm joins in between."""
VISITS_PER_FURTHER_VISIT = 20
"""After V visits, the next publication waits for V / VISITS_PER_FURTHER_VISIT further visits, but
at least for LEAST_FURTHER_VISITS."""
_MEAN_RESOLUTION = 2.0**-10
"""Step to which means are rounded down for a draw."""
_ROUNDING_MARGIN = 2**-40
"""Share of a report's epsilon that is not used, so that draw and report together never exceed the
epsilon of a visit because of rounding."""


@dataclass(frozen=True, kw_only=True)
class LocalSetting:
    """The settings of a local learner.

    Attributes:
        videos: number of own videos.
        neighbours: number of other vendors.
        dimension: number of features of a context.
        epsilon: nats of one visit, draw and report together. At inf, a draw that is not uniform
            takes the arm with the largest mean, and reports are true.
        explore: probability that the arm is drawn uniformly, from 0 to 1 - 1 / CHANCE_PARTS.
    """

    videos: int
    neighbours: int
    dimension: int
    epsilon: float
    explore: float = 0.05

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        # A larger one would be rounded up to 1
        if not 0 <= self.explore <= 1 - 1 / CHANCE_PARTS:
            raise ConfigError(
                f"explore is a probability from 0 to 1 - 1/{CHANCE_PARTS}; got {self.explore}."
            )

    @property
    def draw_epsilon(self) -> float:
        """Nats of one draw, at most."""
        return self.epsilon * DRAW_SHARE

    @property
    def report_epsilon(self) -> float:
        """Nats of one report: the rest of `epsilon`, less a margin for rounding."""
        return self.epsilon * (1 - DRAW_SHARE) * (1 - _ROUNDING_MARGIN)


@dataclass(frozen=True, slots=True)
class Report:
    """The message of a device after a visit.

    Attributes:
        arm: number of the arm that was shown.
        answer: 2 * cell + liked (0 or 1), after randomised response.
    """

    arm: int
    answer: int


class LocalLearner(Policy):
    """The local learner: `select` and `report` are the device's part, `learn` is the vendor's.

    Attributes:
        setting: its settings.
        epsilon: nats of one visit.
        grid: the cells.
        response: the mechanism of a report.
        explore: the probability of a uniform arm, as an exact fraction.
        visits: number of visits for which `select` drew an arm so far.
    """

    def __init__(self, setting: LocalSetting, *, randomness: Source) -> None:
        """Start with nothing learned."""
        super().__init__(setting.videos, setting.neighbours)
        self.setting = setting
        self.epsilon = setting.epsilon
        self._source = randomness
        self.grid = Grid(setting.dimension, GRID_SLICES)
        self.response = KaryResponse(setting.report_epsilon, 2 * len(self.grid))
        self._answers = np.zeros((len(self.is_neighbour), 2 * len(self.grid)), dtype=np.int64)
        """(arms, 2 x cells): how often each answer was reported."""
        self.explore = Fraction(math.ceil(setting.explore * CHANCE_PARTS), CHANCE_PARTS)
        self._selections: dict[int, Selection] = {}
        """The mechanism of a draw, by the number of arms."""
        self.visits = 0
        self._publish()

    @property
    def visit_epsilon(self) -> float:
        """Nats of one visit, rounded up: of the draw among all arms, and of the report."""
        return self.draw_loss + PureAccountant().add(self.response.event).epsilon()

    @property
    def draw_loss(self) -> float:
        """The exact nats of one draw among all arms, rounded up, for a finite epsilon."""
        arms = len(self.allowed_arms())
        return theory.mixed_loss(self._exponent(arms), arms, float(self.explore))

    @property
    def event(self) -> Event:
        """The event that is charged for one visit; its epsilon is at least `visit_epsilon`."""
        if math.isinf(self.epsilon):
            return NonPrivate()
        # Accountants charge less for a plain exponential mechanism, whose losses lie in a range of
        # length epsilon. A draw that sometimes explores does not have this property. So it
        # is declared as permute-and-flip, for which accountants charge the pure loss only.
        draw = Exponential(self.setting.draw_epsilon, permute_and_flip=True)
        return compose(draw, self.response.event)

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Draw an arm on the device, by the published means of the context's cell.

        New means are published first if that is due.
        """
        if self.visits >= self._next_publication:
            self._publish()
        self.visits += 1
        return self._draw(context, arms)

    def exploit(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Draw an arm as `select` does, because privacy needs a draw, but do not count a visit."""
        return self._draw(context, arms)

    def _draw(self, context: NDArray[np.float64], arms: Sequence[int] | None) -> Choice:
        """Draw an arm by the means of the context's cell, or uniformly with chance `explore`."""
        allowed = self.allowed_arms(arms)
        cell = self.grid.find_cell(context)
        draw = int(integers_below(self._source, CHANCE_PARTS, 1)[0])
        explores = draw < int(self.explore * CHANCE_PARTS)
        uniform_index = int(integers_below(self._source, len(allowed), 1)[0])
        weights = self._weights(self._published[cell, allowed])
        if explores:
            index = uniform_index
            phase: Phase = "explore"
        else:
            index = int(draw_rows(weights[None, :], self._source)[0])
            phase = "exploit"
        explore = float(self.explore)
        # The arm may come from the weights, or from the uniform draw.
        chance = (1 - explore) * int(weights[index]) / int(weights.sum()) + explore / len(allowed)
        return Choice(allowed[index], phase, cell, chance)

    def serve_forwarded(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """Choose the own video of the largest average over cells for each of (n, d) contexts.

        The average is that of a video's published means. The contexts are not used, because no
        context may be forwarded to a local learner.
        """
        return np.full(len(contexts), self._best_on_average(self.own))

    def choose_again(
        self, context: NDArray[np.float64], arms: Sequence[int], *, instead: Choice
    ) -> Choice:
        """Choose the arm of the largest average over cells, if a visit's arm cannot be shown.

        A second draw from the context would cost epsilon a second time.
        """
        best = self._best_on_average(self.allowed_arms(arms))
        return Choice(best, "exploit", self.grid.find_cell(context), visit=instead.visit)

    def _best_on_average(self, arms: list[int]) -> int:
        """Return the arm whose published means have the largest average over all cells."""
        return arms[int(self._published[:, arms].mean(axis=0).argmax())]

    def report(self, choice: Choice, reward: float) -> Report:
        """Make the device's report of a visit, by randomised response.

        Args:
            choice: what `select` returned for the visit.
            reward: 0 to 1. A fraction counts as a like with that probability, so that the expected
                number of likes is the reward. Randomised response is applied afterwards.

        Raises:
            ConfigError: The choice was made by another policy.
            DataError: The reward is out of range.
        """
        number = _check_share(reward)
        draw = int(integers_below(self._source, CHANCE_PARTS, 1)[0])
        liked = int(draw < round(number * CHANCE_PARTS))
        true_answer = 2 * self.grid.check_cell(choice.cell) + liked
        return Report(choice.arm, int(self.response([true_answer], self._source)[0]))

    def learn(self, report: Report) -> None:
        """Count a report in the vendor's table; DataError if there is no such arm or answer."""
        arms, answers = self._answers.shape
        if not (0 <= report.arm < arms and 0 <= report.answer < answers):
            raise DataError("a report has an arm or an answer that this policy does not have")
        self._answers[report.arm, report.answer] += 1

    def update(self, choice: Choice, reward: float) -> None:
        """Report a visit, and count the report; a "train" choice is not reported."""
        if choice.phase != "train":
            self.learn(self.report(choice, reward))

    def means(self) -> NDArray[np.float64]:
        """Estimate mean rewards (cells, arms) in [0, 1]; about 1/2 where little is known.

        A device sends its true answer with probability t, and each other answer with probability f.
        So if an answer occurs `count` times in the n reports of an arm, (count - n f) / (t - f) is
        an unbiased estimate of the number of visits for which it was true. The mean is
        (likes + w / 2) / (visits + w) with the prior weight w, clipped to [0, 1].
        """
        reports = self._answers.sum(axis=1, keepdims=True)  # n, (arms, 1)
        t = float(self.response.truth)
        f = float((1 - self.response.truth) / (self.response.categories - 1))
        estimated_answers = (self._answers - reports * f) / (t - f)  # (arms, 2 cells)
        dislikes = estimated_answers[:, 0::2].T  # (cells, arms)
        likes = estimated_answers[:, 1::2].T  # (cells, arms)
        # Roughly the variance that randomised response adds to an estimated answer: (1, arms).
        noise_variance = (reports * f).T / (t - f) ** 2
        visits = np.maximum(likes + dislikes, 0.0)
        # The noisier the reports are compared with the number of visits, the heavier the prior.
        prior_weight = PRIOR_VISITS + noise_variance / np.maximum(visits, 1.0)
        means = (likes + prior_weight / 2) / (visits + prior_weight)
        return np.asarray(np.clip(means, 0.0, 1.0))

    def add_arm(self, *, neighbour: bool = False) -> int:
        """Add an arm without reports, publish all means, and return the arm's number."""
        arm = super().add_arm(neighbour=neighbour)
        self._answers = np.pad(self._answers, ((0, 1), (0, 0)))
        self._publish()
        return arm

    def choose_uniformly(
        self, context: NDArray[np.float64], arms: Sequence[int] | None = None
    ) -> Choice:
        """Choose any arm at random, for a visit that costs nothing.

        The choice has the phase "train", so `update` does not report the visit.
        """
        allowed = self.allowed_arms(arms)
        index = int(integers_below(self._source, len(allowed), 1)[0])
        return Choice(allowed[index], "train", self.grid.find_cell(context), 1 / len(allowed))

    def _publish(self) -> None:
        """Publish the means, and set the number of visits at which they are next published."""
        self._published = self.means()
        further_visits = self.visits // VISITS_PER_FURTHER_VISIT
        self._next_publication = self.visits + max(LEAST_FURTHER_VISITS, further_visits)

    def _weights(self, means: NDArray[np.float64]) -> NDArray[np.int64]:
        """Compute the weights (arms,) of a draw that is not uniform, from means (arms,).

        At epsilon = inf only the arm with the largest mean has a weight.
        """
        if math.isinf(self.epsilon):
            is_best = np.arange(len(means)) == means.argmax()
            return np.asarray(is_best, dtype=np.int64)
        arms = len(means)
        if arms not in self._selections:
            # Weights are exp(exponent x mean). A `Selection` takes twice the exponent as epsilon.
            epsilon = 2 * self._exponent(arms)
            self._selections[arms] = Selection(
                epsilon,
                candidates=arms,
                sensitivity=1.0,
                lower=0.0,
                upper=1.0,
                resolution=_MEAN_RESOLUTION,
            )
        return self._selections[arms].weights(means)

    def _exponent(self, arms: int) -> float:
        """Compute the exponent a of the weights exp(a x mean): a draw costs `draw_epsilon` at most.

        The draw is uniform with chance `explore`, which is taken into account.
        """
        return theory.exponent_for(self.setting.draw_epsilon, arms, float(self.explore))


class Device:
    """Charges one person's visits to a lifetime budget, each before anything is drawn for it.

    When the budget is used up, arms are drawn uniformly and nothing is reported; this costs
    nothing. When it happens depends on the number of visits alone.
    """

    def __init__(self, policy: LocalLearner, *, lifetime_epsilon: float) -> None:
        """Start with nothing spent.

        Args:
            policy: draws and reports.
            lifetime_epsilon: nats that the person may spend in all.
        """
        self._policy = policy
        self._budget = PrivacyFilter(PureAccountant, epsilon=lifetime_epsilon)
        self._unreported: dict[int, Choice] = {}
        """Choices that were paid for and not yet reported, by their `id`."""

    @property
    def spent_epsilon(self) -> float:
        """Nats spent so far."""
        return self._budget.spent_epsilon

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose an arm by the policy while the budget lasts, and a uniform arm afterwards."""
        if not self._budget.affords(self._policy.event):
            return self._policy.choose_uniformly(context, arms)
        self._budget.spend(self._policy.event)
        choice = self._policy.select(context, arms)
        self._unreported[id(choice)] = choice  # while it is stored, no other object has its id
        return choice

    def update(self, choice: Choice, reward: float) -> None:
        """Report a visit that was paid for; do nothing for a visit after the budget was used up.

        Raises:
            PrivacyError: The visit was reported before, or was not made on this device.
            DataError: The reward is out of range. Then the visit can still be reported.
        """
        if choice.phase == "train":
            return
        if self._unreported.get(id(choice)) is not choice:
            raise PrivacyError("This visit was reported already, or was not made on this device.")
        _check_share(reward)
        del self._unreported[id(choice)]
        self._policy.update(choice, reward)


def _check_share(reward: float) -> float:
    """Convert a reward to a float from 0 to 1; DataError if it is none."""
    number = check_reward(reward)
    if not 0 <= number <= 1:
        raise DataError("the reward is out of range", expected="0 to 1")
    return number
