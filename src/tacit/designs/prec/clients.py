"""One client's run: its gate, what the client was given and said, who counts for them.

Source     AboveThreshold (Dwork, Roth, 2014), monotonic (Lyu, Su, Li, 2017), asked about the
           survivors of one client's run. The paper takes a promise about them in its place, which
           nobody can check.
Guarantee  All answers cost the gate's epsilon. Except with chance delta, a gate that is open has
           at least `peers` survivors without any one voter: see `failure`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.rounding import round_up
from tacit.designs.prec.round import Block
from tacit.designs.prec.voters import Id
from tacit.errors import ConfigError
from tacit.mechanisms.gate import GateRun, ThresholdGate

Bits = NDArray[np.bool_]
Answers = Mapping[int, tuple[int, bool]]
"""Place of a client in the block: the object they were given, and whether they liked it."""
_MOST_SLACK = 1 << 40


def failure(epsilon: float, slack: int) -> float:
    """Bound the chance that a gate ever is open while fewer than `peers` are left.

    The gate's threshold is peers + slack. Asked about a count of peers - 1 or less, it is open by
    mistake if the noise on the threshold less the noise on the count comes to slack + 2 or more.
    That is the first such round: later ones add nothing, as they come after it. With
    q = e^(-1/scale) the difference of two discrete Laplace draws is k >= 0 with chance
    ((1-q)/(1+q))^2 q^k (k + 1 + 2 q^2 / (1 - q^2)); here is the sum from slack + 2 on.
    """
    rate = 1 / ThresholdGate(epsilon, 0, monotonic=True).count_scale
    q = math.exp(-rate)
    rest = -math.expm1(-rate)
    first = slack + 2
    terms = (first + 1 + 2 * q * q / (rest * (1 + q))) + q / rest
    chance = rest / (1 + q) ** 2 * math.exp(-rate * first) * terms
    return min(1.0, round_up(chance, slack=chance * rate * first))


def smallest_slack(epsilon: float, delta: float) -> int:
    """Find the least slack at which the gate fails with chance at most delta.

    Raises:
        ConfigError: There is none below 2^40.
    """

    def suffices(slack: int) -> bool:
        return failure(epsilon, slack) <= delta

    slack = bisect_left(range(_MOST_SLACK), True, key=suffices)
    if slack == _MOST_SLACK:
        raise ConfigError("The gate would need more voters than there can be: raise epsilon.")
    return slack


@dataclass(frozen=True, slots=True)
class Entry:
    """One recommendation and its answer."""

    round: int
    """Number of the round, from 1."""
    candidate: Id
    """What was recommended."""
    liked: bool | None
    """The client's answer; None where they did not say."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One client's view: the state of a run depends on the client for nothing else."""

    joined: int | None
    """The round whose voters are their electorate; None if there was none yet."""
    entries: tuple[Entry, ...] = ()
    """Recommendations and answers, in the order of the rounds."""
    stopped: int | None = None
    """The first round in which their gate was shut; None if it never was."""


@dataclass(eq=False)
class Run:
    """One client's run under way."""

    block: Block
    """Credits of the voters who count."""
    place: int
    """The client's place in the block."""
    gate: GateRun | None
    """None where there is none. Its noisy threshold goes into the run's file and nowhere else."""
    joined: int | None = None
    """See `Transcript`."""
    entries: list[Entry] = field(default_factory=list)
    """See `Transcript`."""
    stopped: int | None = None
    """See `Transcript`."""
    passed: int = 0
    """The last round that the gate let pass."""
    replayed: bool = False
    """Whether another curator's recommendations were put in, so that none follow here."""

    @property
    def transcript(self) -> Transcript:
        """The client's view so far."""
        return Transcript(self.joined, tuple(self.entries), self.stopped)

    def entry_of(self, number: int) -> Entry | None:
        """Look up what was recommended in the open round; None if nothing was."""
        last = self.entries[-1] if self.entries else None
        return last if last is not None and last.round == number else None

    def passes(self, number: int, left: int) -> bool:
        """Ask the gate whether it lets pass in this round.

        It is asked once a round, also where a draw then failed: asking again is failing more often.

        Args:
            number: Number of the round.
            left: Voters who are left, in whole credits.
        """
        if self.gate is None or self.passed == number:
            return True
        if self.gate.stops_at(left):
            return False
        self.passed = number
        return True
