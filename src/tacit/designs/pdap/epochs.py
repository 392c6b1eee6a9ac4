"""Public time of a learner (`Epochs`), and an alarm when rewards fall (`ChangeAlarm`).

Epochs   end at public numbers of arrivals; n, the horizon, is the number of visits expected. The
         first epoch has n / 200 arrivals, and each is 1.5 times as long as the one before, up to
         n / 20, unless `end_now` ends it earlier. Lengths are rounded up. When arms have joined,
         lengths start at n / 200 again, at most once in n / 10 arrivals. The sums of an epoch that
         has ended are released before the next visitor is served.
Sets     which arms could be shown at a visit is public. The visits of each such set of arms are
         counted, because the policy of an epoch is computed from these counts.
Arms     an arm that joins can be shown from the next epoch on, or at once if this epoch has no
         visit yet. An arm that leaves is not shown again.
Privacy  `Epochs` counts arrivals, whether answered or not, and must not depend on a context, a
         choice or an answer. `ChangeAlarm` depends on answers through releases alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

FIRST_EPOCHS_PER_HORIZON = 200
"""The first epoch has n / FIRST_EPOCHS_PER_HORIZON arrivals, for a horizon of n."""
LONGEST_EPOCHS_PER_HORIZON = 20
"""The longest epoch has n / LONGEST_EPOCHS_PER_HORIZON arrivals."""
GROWTH = 1.5
"""Each epoch is this many times as long as the one before, up to the longest length."""
RESTARTS_PER_HORIZON = 10
"""Lengths start anew at most once in n / RESTARTS_PER_HORIZON arrivals."""


class Epochs:
    """The public clock of a learner.

    Attributes:
        horizon: n, visits that are expected.
        arrivals: number of visits so far, rows of logs included.
        number: number of this epoch, from 0.
        begins_at: value of `arrivals` when this epoch began.
        ends_at: value of `arrivals` at which it ends.
        arrivals_by_set: arrivals of this epoch for each set of arms that could be shown; a set is
            a tuple of arms in ascending order.
        log_rows: rows of logs in this epoch.
        has_removed_arm: whether an arm left in this epoch.
    """

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        self.arrivals = 0
        self.number = 0
        self.begins_at = 0
        self.log_rows = 0
        self.has_removed_arm = False
        self.arrivals_by_set: Counter[tuple[int, ...]] = Counter()
        self._length = math.ceil(horizon / FIRST_EPOCHS_PER_HORIZON)
        """Arrivals from the beginning of this epoch to its end, unless `end_now` is called."""
        self._started_anew = -horizon
        """Value of `arrivals` when `start_anew` last had an effect. If it never had one, -n, which
        is long enough ago."""
        self.ends_at = self._length

    @property
    def is_due(self) -> bool:
        """Whether the epoch has ended, so that its sums are to be released."""
        return self.arrivals >= self.ends_at

    @property
    def own_arrivals(self) -> int:
        """N, visits of this epoch for which this learner chose an arm; without rows of logs."""
        return self.arrivals - self.begins_at - self.log_rows

    def count_visits(self, arms: tuple[int, ...], visits: int = 1) -> None:
        """Count visits at which these arms could be shown."""
        self.arrivals += visits
        self.arrivals_by_set[arms] += visits

    def count_log(self, rows: int) -> None:
        """Count rows of a log."""
        self.arrivals += rows
        self.log_rows += rows

    def end_now(self) -> None:
        """End the epoch after the arrivals so far; the reason must be public."""
        self.ends_at = self.arrivals

    def begin_next(self) -> None:
        """Begin the next epoch: GROWTH times the last one's planned length, up to the longest."""
        longest = math.ceil(self.horizon / LONGEST_EPOCHS_PER_HORIZON)
        self._length = min(math.ceil(GROWTH * self._length), longest)
        self.number += 1
        self.begins_at = self.arrivals
        self.ends_at = self.arrivals + self._length
        self.log_rows = 0
        self.has_removed_arm = False
        self.arrivals_by_set.clear()

    def start_anew(self) -> None:
        """Give this epoch the length of the first one, because arms joined.

        This has no effect if lengths started anew in the last n / RESTARTS_PER_HORIZON arrivals.
        """
        if self.arrivals - self._started_anew >= self.horizon / RESTARTS_PER_HORIZON:
            self._length = math.ceil(self.horizon / FIRST_EPOCHS_PER_HORIZON)
            self._started_anew = self.arrivals
            self.ends_at = self.begins_at + self._length

    def export_state(self) -> dict[str, Any]:
        """Return the whole state as values that JSON can hold, by key of the stored format."""
        return {
            "arrivals": self.arrivals,
            "number": self.number,
            "began": self.begins_at,
            "ends": self.ends_at,
            "logged": self.log_rows,
            "has_removed_arm": self.has_removed_arm,
            "length": self._length,
            "started_anew": self._started_anew,
            "sets": [[list(arms), count] for arms, count in self.arrivals_by_set.items()],
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `export_state` returned."""
        self.arrivals = state["arrivals"]
        self.number = state["number"]
        self.begins_at = state["began"]
        self.ends_at = state["ends"]
        self.log_rows = state["logged"]
        self.has_removed_arm = state["has_removed_arm"]
        self._length = state["length"]
        self._started_anew = state["started_anew"]
        self.arrivals_by_set = Counter({tuple(arms): count for arms, count in state["sets"]})


class ChangeAlarm:
    """Detects that mean rewards have fallen, from released sums alone.

    L_0 and V_0 are the released sums of the constant term: the likes and the visits of an arm. The
    mean reward of an epoch is rate = sum L_0 / N', where N' = max(sum V_0, N / 10), and sums are
    over the K arms; N is the number of visits of the epoch. The variance of the rate is
    v = .25 / N' + 2 K (B / epsilon)^2 / N'^2, with B of `features.py` and epsilon of a visit. Up to
    two epochs are remembered, but none from before the last alarm. Rewards have fallen if the rate
    lies more than .05 + 4 sqrt(v + v') below the rate of a remembered epoch, whose variance is v'.
    The learner then forgets its evidence.
    """

    TOLERANCE = 0.05
    """How far a rate may fall, in addition to the standard errors."""
    STANDARD_ERRORS = 4.0
    """Standard errors of the difference by which a rate may fall."""
    EPOCHS_REMEMBERED = 2
    """Earlier epochs with which an epoch is compared."""

    def __init__(self) -> None:
        self.rates: list[tuple[float, float]] = []
        """Rate and variance of each remembered epoch, oldest first."""

    def notice(self, likes: float, visits: float, *, arrivals: int, noise: float) -> bool:
        """Compare an epoch with the remembered ones, and remember its rate.

        Args:
            likes: sum of L_0 over arms, as released.
            visits: sum of V_0 over arms, as released.
            arrivals: N, visits of the epoch.
            noise: K (B / epsilon)^2, half the variance of the noise in `likes`.

        Returns:
            Whether rewards have fallen. If so, all epochs but this one are forgotten.
        """
        counted_visits = max(visits, arrivals / 10)  # N'
        rate = likes / counted_visits
        variance = 0.25 / counted_visits + 2 * noise / counted_visits**2
        has_fallen = False
        for earlier_rate, earlier_variance in self.rates:
            standard_error = math.sqrt(variance + earlier_variance)
            tolerance = self.TOLERANCE + self.STANDARD_ERRORS * standard_error
            if rate < earlier_rate - tolerance:
                has_fallen = True
        if has_fallen:
            self.rates.clear()
        self.rates.append((rate, variance))
        del self.rates[: -self.EPOCHS_REMEMBERED]
        return has_fallen
