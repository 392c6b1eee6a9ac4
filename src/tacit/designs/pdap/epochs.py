"""Public time: arrivals, the ends of epochs, the arms that could be shown, and who joined or left.

Epochs   end at public numbers of arrivals: the first after n / 200, each next one half as long
         again, up to n / 20, for ever. After arms joined lengths start anew, at most once in n / 10
         arrivals. A release is made when the next visitor comes, and before they are served.
Sets     which arms could be shown at a visit is public, and counted: the policy follows from it.
Arms     an arm that joins can be shown from the next epoch on; one that leaves is not shown again.
Privacy  everything here is counted from arrivals, learned or not: nothing that is in this file may
         follow from a context, a choice or an answer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

FIRST_SHARE = 200
LARGEST_SHARE = 20
GROWTH = 1.5
ANEW_SHARE = 10
"""Of the horizon n: the first epoch is n / 200, the longest n / 20; n / 10 between new starts."""


class Epochs:
    """The public clock of a learner.

    Attributes:
        horizon: n, visits that are expected.
        arrivals: visits so far.
        number: epochs that ended.
        began: arrivals when this epoch began.
        ends: arrivals at which it ends.
        sets: arrivals of this epoch by the arms that could be shown, in ascending order.
        logged: rows of logs in this epoch; they are arrivals, too.
        has_removed_arm: whether an arm left in this epoch.
    """

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        self.arrivals = 0
        self.number = 0
        self.began = 0
        self.logged = 0
        self.has_removed_arm = False
        self.sets: Counter[tuple[int, ...]] = Counter()
        self._length = math.ceil(horizon / FIRST_SHARE)
        self._started_anew = -horizon
        self.ends = self._length

    @property
    def is_due(self) -> bool:
        """Whether the epoch has ended, so that its sums are to be released."""
        return self.arrivals >= self.ends

    @property
    def own_arrivals(self) -> int:
        """N, arrivals of this epoch that were shown something here."""
        return self.arrivals - self.began - self.logged

    def count_visits(self, arms: tuple[int, ...], visits: int = 1) -> None:
        """Count visits to whom these arms could be shown."""
        self.arrivals += visits
        self.sets[arms] += visits

    def count_log(self, rows: int) -> None:
        """Count rows of a log."""
        self.arrivals += rows
        self.logged += rows

    def end_now(self) -> None:
        """Let the epoch end here: what calls for it must be public."""
        self.ends = self.arrivals

    def begin_next(self) -> None:
        """Begin the next epoch, half as long again."""
        longest = math.ceil(self.horizon / LARGEST_SHARE)
        self._length = min(math.ceil(GROWTH * self._length), longest)
        self.number += 1
        self.began = self.arrivals
        self.ends = self.arrivals + self._length
        self.logged = 0
        self.has_removed_arm = False
        self.sets.clear()

    def start_anew(self) -> None:
        """Let lengths start anew with this epoch, for arms joined; not too often."""
        if self.arrivals - self._started_anew >= self.horizon / ANEW_SHARE:
            self._length = math.ceil(self.horizon / FIRST_SHARE)
            self._started_anew = self.arrivals
            self.ends = self.began + self._length

    def export_state(self) -> dict[str, Any]:
        """All of it in numbers that JSON can hold."""
        return {
            "arrivals": self.arrivals,
            "number": self.number,
            "began": self.began,
            "ends": self.ends,
            "logged": self.logged,
            "has_removed_arm": self.has_removed_arm,
            "length": self._length,
            "started_anew": self._started_anew,
            "sets": [[list(arms), count] for arms, count in self.sets.items()],
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on from what `export_state` gave."""
        self.arrivals = state["arrivals"]
        self.number = state["number"]
        self.began = state["began"]
        self.ends = state["ends"]
        self.logged = state["logged"]
        self.has_removed_arm = state["has_removed_arm"]
        self._length = state["length"]
        self._started_anew = state["started_anew"]
        self.sets = Counter({tuple(arms): count for arms, count in state["sets"]})


class ChangeAlarm:
    """Notices that rewards fell, from released sums alone.

    The rate of an epoch is sum L_0 / N', N' = max(sum V_0, N / 10), with variance v = .25 / N' +
    2 K (B / epsilon)^2 / N'^2. One that lies more than .05 + 4 sqrt(v + v') below that of either of
    the two epochs before is a change: what was believed is forgotten.
    """

    TOLERANCE = 0.05
    ERRORS = 4.0
    COMPARED = 2

    def __init__(self) -> None:
        self.rates: list[tuple[float, float]] = []
        """Rate and variance of the last epochs, oldest first."""

    def notice(self, likes: float, visits: float, *, arrivals: int, noise: float) -> bool:
        """Compare an epoch with those before, and remember it.

        Args:
            likes: sum of L_0 over arms, as released.
            visits: sum of V_0.
            arrivals: N.
            noise: K (B / epsilon)^2.

        Returns:
            Whether rewards fell; earlier epochs are then compared no more.
        """
        counted = max(visits, arrivals / 10)
        rate = likes / counted
        variance = 0.25 / counted + 2 * noise / counted**2
        fell = False
        for earlier, its_variance in self.rates:
            tolerated = self.TOLERANCE + self.ERRORS * math.sqrt(variance + its_variance)
            fell = fell or rate < earlier - tolerated
        if fell:
            self.rates.clear()
        self.rates.append((rate, variance))
        del self.rates[: -self.COMPARED]
        return fell
