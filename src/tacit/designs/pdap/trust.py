"""Trust in a neighbour, which may report false rewards, repeat them, be slow or absent.

Rule      1. A reported reward is clamped to the agreed range.
          2. A click that the own vendor saw itself counts instead of a report that comes later.
          3. Reports are compared with clicks on visits for which both are known, apart for visits
             with a click and without. Once either mean is off by more than `tolerance`, `errors`
             times what chance explains, and the noise, reports are used no more, and those before
             are to be forgotten.
          4. Until the own vendor has seen more than `proof` visits itself, beyond noise, a
             neighbour may be asked at every ceil(1 / share)-th visit only, and at the first
             4 `proof` ones; so may, for good, one whose reports are used no more.
          5. Where `failures` more calls fail than succeed, beyond noise, it is not asked for as
             many epochs as make `pause` visits, then for twice as many, and so on.
Sums      Of one neighbour's visits: calls without an offer less calls with one; visits whose click
          was seen; visits with a report and a click, and report - click in widths of the agreed
          range, each without and with a click. Released after every `epoch` visits, asked or not,
          with discrete Laplace noise. Nothing else of these visits is looked at.
Privacy   epsilon per visit, present or absent, at whatever pace its parts come in: it touches one
          neighbour's sums, by 1 + 1 + 1 + w in all, w = the largest |report - click|. One that is
          replaced by another may touch two neighbours, and costs twice as much. For a vendor whose
          learner promises nothing the sums have no noise. With uses_reports=False, share=1 and
          failures=NEVER none of the rules looks at anybody.
Alarms    What noise explains is its Chernoff bound at a chance that sums to `alarm` over all
          releases. So for all time, noise ends the use of an honest neighbour's reports, or proves
          one that was never seen, each with a chance of `alarm` at most; and begins a pause with a
          chance of `alarm` between two times that the rule starts anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.errors import ConfigError
from tacit.mechanisms.checks import check_epsilon, check_whole
from tacit.mechanisms.laplace import LaplaceRelease

NEVER = 1 << 40
"""As many failures as never come."""
MOST_PAUSES = 16
"""Doublings of a pause."""


@dataclass(frozen=True, kw_only=True)
class TrustSettings:
    """The numbers of the rule above.

    Attributes:
        low, high: the agreed range of a neighbour's reported rewards.
        tolerance: how much a mean of reports may be off, in rewards.
        errors: standard errors that a mean of reports may be off beyond it.
        share: of visits at which a neighbour may be asked that is not proved; above 0, at most 1.
        proof: visits that the own vendor must have seen itself to prove a neighbour.
        failures: calls that may fail more than succeed.
        pause: visits at which a neighbour that fails is not asked, at first.
        uses_reports: whether reported rewards ever count.
        epsilon: nats of one visit.
        epoch: visits of the own vendor from one release to the next.
        alarm: the chance that noise condemns an honest neighbour.
    """

    low: float = 0.0
    high: float = 1.0
    tolerance: float = 0.1
    errors: float = 4.0
    share: float = 0.05
    proof: int = 30
    failures: int = 3
    pause: int = 100
    uses_reports: bool = True
    epsilon: float = 0.1
    epoch: int = 1000
    alarm: float = 0.001

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ConfigError("A neighbour's rewards have a lower and a higher finite end.")
        if not (self.tolerance > 0 and self.errors > 0 and 0 < self.share <= 1):
            raise ConfigError("tolerance and errors are above 0, share is above 0 and at most 1.")
        check_whole("proof", self.proof, least=1)
        check_whole("failures", self.failures, least=1)
        check_whole("pause", self.pause, least=1)
        check_whole("epoch", self.epoch, least=1)
        check_epsilon(self.epsilon)
        if not 0 < self.alarm < 1:
            raise ConfigError(f"alarm is a chance between 0 and 1; got {self.alarm}.")

    @property
    def watches(self) -> bool:
        """Whether any rule depends on what happened at visits."""
        return self.uses_reports or self.share < 1 or self.failures < NEVER

    def clamp(self, report: float) -> float:
        """Cut a reported reward to the agreed range."""
        return min(max(report, self.low), self.high)


GRAINS = 1 << 10
"""Sums are whole numbers of these: so many make one visit, or one width of the range."""
_BALANCE = 0
"""Calls without an offer less calls with one."""
_SEEN = 1
"""Visits whose click the own vendor saw."""
_VISITS_BY_CLICK = 2
"""Visits with a report and a click; two sums, without and with a click."""
_GAP_BY_CLICK = 4
"""Sums of report - click over these visits; two, likewise."""
_SUMS = 6
_MOST = 2.0**40


def largest_gap(settings: TrustSettings) -> int:
    """w: the largest |report - click| of one visit, in grains."""
    low, high = settings.low, settings.high
    return math.ceil(max(abs(low), abs(high), abs(low - 1), abs(high - 1)) / (high - low) * GRAINS)


def neighbour_release(settings: TrustSettings, epsilon: float) -> LaplaceRelease:
    """The mechanism that releases the sums of one neighbour over one epoch.

    Args:
        settings: of the rule.
        epsilon: nats of one visit in all its epochs; inf releases the sums as they are.
    """
    return LaplaceRelease(
        epsilon=epsilon,
        sensitivity=3 + largest_gap(settings) / GRAINS,
        lower=-_MOST,
        upper=_MOST,
        resolution=1 / GRAINS,
        changes=4,
    )


class NeighbourTrust:
    """Knowledge of one neighbour, all of it made of releases.

    Attributes:
        settings: of the rule.
        release: the mechanism that releases its sums.
        uses_reports: whether its reported rewards count.
        proved: whether the own vendor saw enough visits itself.
    """

    def __init__(self, settings: TrustSettings, epsilon: float) -> None:
        """Start with nothing known. epsilon: nats of one visit; inf for no noise."""
        self.settings = settings
        self.release = neighbour_release(settings, epsilon)
        self.uses_reports = settings.uses_reports
        self.proved = settings.share >= 1
        self._largest = largest_gap(settings)
        self._sums = np.zeros(_SUMS, dtype=np.int64)
        self._released = np.zeros(_SUMS)
        self._releases = 0
        self._balance = 0.0
        """Failures less offers, released, since the pause rule started anew."""
        self._epochs = 0
        """Releases in that balance."""
        self._pauses = 0
        self._back = 0
        """The visit from which on it may be asked again."""

    def may_be_asked(self, visits: int) -> bool:
        """Whether it may be asked at this visit of the own vendor."""
        if visits < self._back:
            return False
        has_turn = visits % math.ceil(1 / self.settings.share) == 0
        proved = self.proved and self.uses_reports == self.settings.uses_reports
        return proved or has_turn or visits <= 4 * self.settings.proof

    def count_call(self, *, came: bool) -> None:
        """Count a call. came: whether it made an offer; else it was late, absent or refused."""
        self._sums[_BALANCE] += -GRAINS if came else GRAINS

    def count_seen_click(self) -> None:
        """Count a visit at which the own vendor saw whether its video was clicked."""
        self._sums[_SEEN] += GRAINS

    def compare_report(self, report: float, click: float) -> None:
        """Count a visit with a report and a click, 0 or 1; `end_epoch` draws the conclusion."""
        if click in (0, 1):
            gap = round((report - click) / (self.settings.high - self.settings.low) * GRAINS)
            self._sums[_VISITS_BY_CLICK + int(click)] += GRAINS
            self._sums[_GAP_BY_CLICK + int(click)] += min(max(gap, -self._largest), self._largest)

    def end_epoch(self, visits: int) -> bool:
        """Release the sums of an epoch and apply the rules.

        Args:
            visits: of the own vendor so far.

        Returns:
            Whether this is the epoch from which on reports are used no more.
        """
        released = self.release(self._sums / GRAINS)
        self._sums = np.zeros(_SUMS, dtype=np.int64)
        self._released += released
        self._releases += 1
        chance = self.settings.alarm / (self._releases * (self._releases + 1))
        seen = self._released[_SEEN] - self._noise_bound(self._releases, chance)
        self.proved = self.proved or seen >= self.settings.proof
        self._apply_pause_rule(visits, float(released[_BALANCE]))
        used_before = self.uses_reports
        if used_before:
            is_off = any(self._is_off(click, chance / 6) for click in (0, 1))
            self.uses_reports = not is_off
        return used_before and not self.uses_reports

    def export_state(self) -> dict[str, Any]:
        """All of it in numbers that JSON can hold, the sums of this epoch among them: exactly."""
        return {
            "believed": bool(self.uses_reports),
            "proved": bool(self.proved),
            "sums": self._sums.tolist(),
            "released": self._released.tolist(),
            "releases": self._releases,
            "balance": self._balance,
            "epochs": self._epochs,
            "pauses": self._pauses,
            "back": self._back,
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on from what `export_state` gave; under the same settings."""
        self.uses_reports = state["believed"]
        self.proved = state["proved"]
        self._sums = np.array(state["sums"], dtype=np.int64)
        self._released = np.array(state["released"], dtype=np.float64)
        self._releases = state["releases"]
        self._balance = state["balance"]
        self._epochs = state["epochs"]
        self._pauses = state["pauses"]
        self._back = state["back"]

    def _is_off(self, click: int, chance: float) -> bool:
        """Whether the gaps are more than an honest neighbour's, and the noise of all releases."""
        s = self.settings
        noise = self._noise_bound(self._releases, chance)
        both = max(0.0, float(self._released[_VISITS_BY_CLICK + click]) + noise)
        tolerated = s.tolerance / (s.high - s.low) * both + s.errors / 2 * math.sqrt(both)
        return abs(float(self._released[_GAP_BY_CLICK + click])) > tolerated + noise

    def _apply_pause_rule(self, visits: int, balance: float) -> None:
        """Rule 5, on calls since the last pause, or since offers were last known to be more.

        Args:
            visits: of the own vendor so far.
            balance: failures less offers of this epoch, as released.
        """
        if visits <= self._back:
            return
        self._balance += balance
        self._epochs += 1
        chance = self.settings.alarm / (self._epochs * (self._epochs + 1))
        noise = self._noise_bound(self._epochs, chance)
        if self._balance - noise >= self.settings.failures:
            epochs = math.ceil(self.settings.pause / self.settings.epoch)
            self._back = visits + epochs * self.settings.epoch * 2 ** min(self._pauses, MOST_PAUSES)
            self._pauses += 1
        elif self._balance + noise < 0:
            self._pauses = 0
        else:
            return
        self._balance = 0.0
        self._epochs = 0

    def _noise_bound(self, releases: int, chance: float) -> float:
        """Bound the noise of so many releases, to one side, but for at most this chance."""
        if math.isinf(self.release.epsilon):
            return 0.0
        return self.release.scale / GRAINS * laplace_tail_bound(releases, chance)


@lru_cache(maxsize=4096)
def laplace_tail_bound(terms: int, chance: float) -> float:
    """Bound t that a sum of `terms` Laplace draws of scale 1 exceeds with at most this chance.

    Chernoff: E exp(s X) = 1 / (1 - s^2) for one draw, and no more for a discrete one.
    """
    slopes = np.linspace(0.002, 0.998, 499)
    bounds = (-math.log(chance) - terms * np.log1p(-(slopes**2))) / slopes
    return float(bounds.min())
