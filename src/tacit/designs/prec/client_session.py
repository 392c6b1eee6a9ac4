"""One client's run: what they were given and said, and the gate before each of their rounds.

Source     AboveThreshold (Dwork, Roth, 2014), monotonic (Lyu, Su, Li, 2017), asked about the
           survivors of one client's run. The paper takes a promise about them in its place, which
           nobody can check.
Guarantee  All answers cost the gate's epsilon. Except with chance delta, a gate that is open has
           at least `peers` survivors without any one voter: see `failure`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, Self

from tacit.accounting.base import above
from tacit.designs.prec.voters import Id, plain_id
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.mechanisms.running import GateRun, ThresholdGate

_MOST_SLACK = 1 << 40


class Gate(GateRun):
    """One life of a gate; `threshold` and `stopped` go into the run's file and nowhere else."""

    @classmethod
    def opened(cls, *, epsilon: float, threshold: int) -> Self:
        """Stops at the first count that is, with noise, at or below the threshold."""
        return cls(_asked(epsilon, threshold))

    @classmethod
    def resumed(cls, *, epsilon: float, threshold: int, drawn: int, stopped: bool) -> Self:
        """The same gate in another process. The one it was taken from must not go on.

        Noise that it had drawn ahead for counts was never used, and is drawn anew.
        """
        gate = cls(_asked(epsilon, threshold), drawn=drawn)
        gate._stopped = stopped
        return gate

    @property
    def drawn(self) -> int:
        """The threshold with its noise. It is secret: it would reveal counts behind the gate."""
        return self._threshold


@lru_cache(maxsize=64)
def _asked(epsilon: float, threshold: int) -> ThresholdGate:
    """One for all clients of a run: its scales are computed once."""
    return ThresholdGate(epsilon, threshold, monotonic=True, stops="below")


def failure(epsilon: float, slack: int) -> float:
    """At most the chance that a gate ever is open while fewer than `peers` are left.

    The gate's threshold is peers + slack. Asked about a count of peers - 1 or less, it is open by
    mistake if the noise on the threshold less the noise on the count comes to slack + 2 or more.
    That is the first such round: later ones add nothing, as they come after it. With
    q = e^(-1/scale) the difference of two discrete Laplace draws is k >= 0 with chance
    ((1-q)/(1+q))^2 q^k (k + 1 + 2 q^2 / (1 - q^2)); here is the sum from slack + 2 on.
    """
    rate = 1 / ThresholdGate(epsilon, 0, monotonic=True).count_scale
    q, rest = math.exp(-rate), -math.expm1(-rate)
    first = slack + 2
    terms = (first + 1 + 2 * q * q / (rest * (1 + q))) + q / rest
    chance = rest / (1 + q) ** 2 * math.exp(-rate * first) * terms
    return min(1.0, above(chance, slack=chance * rate * first))


def smallest_slack(epsilon: float, delta: float) -> int:
    """The least slack at which the gate fails with chance at most delta."""
    low, high = -1, 1
    while failure(epsilon, high) > delta:
        low, high = high, 2 * high
        if high > _MOST_SLACK:
            raise ConfigError("The gate would need more voters than there can be: raise epsilon.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if failure(epsilon, middle) > delta else (low, middle)
    return high


@dataclass(frozen=True, slots=True)
class Entry:
    """One recommendation. round: from 1; liked: None where the client did not say."""

    round: int
    candidate: Id
    liked: bool | None

    def __post_init__(self) -> None:
        _check_round(self.round)
        plain_id(self.candidate)
        if self.liked is not None and type(self.liked) is not bool:
            raise DataError("a client likes, dislikes or is silent", found=self.liked)


@dataclass(frozen=True, slots=True)
class Transcript:
    """One client's view, by round, and all that the state depends on them for.

    joined: the round whose voters are their electorate, None if there was none yet. stopped: the
    first round in which their gate was shut, None if it never was.
    """

    joined: int | None
    entries: tuple[Entry, ...] = ()
    stopped: int | None = None

    def __post_init__(self) -> None:
        for number in (self.joined, self.stopped):
            if number is not None:
                _check_round(number)
        rounds = [entry.round for entry in self.entries]
        if any(later <= earlier for earlier, later in pairwise(rounds)):
            raise DataError("a transcript's rounds do not ascend")
        if rounds and (self.joined is None or rounds[0] < self.joined):
            raise DataError("a transcript has a recommendation before the client joined")
        if self.stopped is not None and self.stopped not in rounds:
            raise DataError("a gate is shut in a round without a recommendation")

    @property
    def last(self) -> int:
        """The last round that it tells of; 0 if it tells of none."""
        return self.entries[-1].round if self.entries else self.joined or 0

    def to_list(self) -> list[Any]:
        """JSON values."""
        rows = [[entry.round, entry.candidate, entry.liked] for entry in self.entries]
        return [self.joined, rows, self.stopped]

    @classmethod
    def from_list(cls, values: list[Any]) -> Transcript:
        """What `to_list` wrote; TypeError, ValueError or DataError for anything else."""
        joined, rows, stopped = values
        return cls(joined, tuple(Entry(*row) for row in rows), stopped)


@dataclass(frozen=True)
class Round:
    """What comes in before and with one round: see `PRec.open_round`."""

    candidates: Collection[Any]
    votes: Mapping[Any, Any] | tuple[Any, Any]
    joined: Collection[Any] = ()
    left: Collection[Any] = ()


def _check_round(number: Any) -> None:
    if type(number) is not int or number < 1:
        raise DataError("rounds are counted from 1", found=number)


@dataclass(eq=False)
class Run:
    """seat: the number of their block and their place in it. gate: None where there is none.

    joined: the round whose voters are their electorate, None before the first. stopped: the round
    in which their gate shut. passed: the last one in which it let pass. replayed: answers were put
    in from outside, so that this gate is not the one that let them pass.
    """

    seat: tuple[int, int]
    gate: Gate | None
    joined: int | None = None
    entries: list[Entry] = field(default_factory=list)
    stopped: int | None = None
    passed: int = 0
    replayed: bool = False

    @property
    def transcript(self) -> Transcript:
        return Transcript(self.joined, tuple(self.entries), self.stopped)

    def given(self, number: int) -> Entry | None:
        """What they were given in this round."""
        last = self.entries[-1] if self.entries else None
        return last if last is not None and last.round == number else None

    def check_servable(self, name: Id, most: int) -> None:
        """PrivacyError if one more recommendation would not be covered; most: T."""
        if self.replayed:
            raise PrivacyError(
                f"Client {name!r} was replayed. Their gate is not the one that let the recorded "
                "recommendations pass, so a further one would not be covered by its epsilon."
            )
        if len(self.entries) >= most:
            raise PrivacyError(
                f"Client {name!r} has had all {most} recommendations that the guarantee is "
                "computed for."
            )

    def passes(self, number: int, left: int) -> bool:
        """Whether the gate lets pass in this round, where so many voters are left in whole credits.

        Asked once a round, also where a draw then failed: asking again is failing more often.
        """
        if self.gate is None or self.passed == number:
            return True
        if self.gate.stops_at(left):
            return False
        self.passed = number
        return True

    def to_list(self) -> list[Any]:
        """JSON values, the gate's secret among them."""
        gate = None if self.gate is None else self.gate.drawn
        return [list(self.seat), gate, self.replayed, self.transcript.to_list(), self.passed]

    @classmethod
    def from_list(cls, values: list[Any], gate: Gate | None) -> Run:
        """What `to_list` wrote."""
        (block, place), _, replayed, transcript, passed = values
        known = Transcript.from_list(transcript)
        if type(replayed) is not bool:
            raise ValueError("a run is replayed or not")
        if type(passed) is not int or passed < 0:
            raise ValueError("a gate's last round is no round")
        entries = list(known.entries)
        return cls((block, place), gate, known.joined, entries, known.stopped, passed, replayed)
