"""Trust in a neighbour, which may report false rewards, repeat them, be slow or absent.

Rules     1. A reported reward is clamped to the agreed range.
          2. A click that the vendor saw itself is learned instead of a report that comes later.
          3. Reports are compared with clicks at visits for which both are known, separately for
             visits with and without a click. Reports are not used any more, and earlier ones are
             to be forgotten, once one of the two mean differences exceeds the sum of `tolerance`,
             of `errors` standard errors, and of what the noise explains.
          4. A neighbour is proved when the vendor has seen at least `proof` clicks or their absence
             itself, noise allowed for. Until then it may only be asked at the first 4 `proof`
             visits and at every ceil(1 / share)-th one. The same holds, for ever, for a neighbour
             whose reports are not used any more.
          5. When failed calls exceed successful ones by `failures`, noise allowed for, the
             neighbour is not asked for as many epochs as make `pause` visits; the next time for
             twice as many, and so on.
Sums      For each neighbour: failed less successful calls; visits whose click was seen; and,
          separately for visits without and with a click, the number of visits with a report and
          the sum of report - click in widths of the agreed range. They are released with discrete
          Laplace noise after every `epoch` visits of the vendor. The rules use nothing else.
Privacy   epsilon per visit, present or absent, in whichever epochs its parts come. A visit changes
          the sums of one neighbour by 1 + 1 + 1 + w in all, where w is the largest
          |report - click|. Replacing a visit may change the sums of two neighbours, and costs twice
          as much. Where the vendor's own learner has no guarantee, the sums have no noise. With
          uses_reports=False, share=1 and failures=NEVER no rule uses the sums.
Alarms    What noise explains is a Chernoff bound, whose failure chances add up to `alarm` over all
          releases. So over all time, noise makes a vendor stop using an honest neighbour's reports
          with a chance of at most `alarm`, and proves an unseen neighbour with a chance of at most
          `alarm`. It starts a pause with a chance of at most `alarm` each time rule 5 starts anew.
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
"""A value of `failures` that is never reached."""
MOST_PAUSES = 16
"""Times that the length of a pause doubles, at most."""


@dataclass(frozen=True, kw_only=True)
class TrustSettings:
    """The numbers in the rules above.

    Attributes:
        low: lowest reward that a neighbour reports, as agreed.
        high: highest reward that a neighbour reports, as agreed.
        tolerance: how far mean reports may differ from mean clicks, in rewards.
        errors: standard errors that they may differ in addition.
        share: share of visits at which a neighbour that is not proved may be asked; above 0, at
            most 1.
        proof: visits that the vendor must have seen itself to prove a neighbour.
        failures: a pause begins when failed calls exceed successful ones by this number.
        pause: visits of the first pause.
        uses_reports: whether reported rewards are ever used.
        epsilon: nats of one visit.
        epoch: visits of the vendor from one release to the next.
        alarm: the chance that noise alone condemns an honest neighbour.
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
    def uses_sums(self) -> bool:
        """Whether any rule uses the sums, which depend on what happened at visits."""
        return self.uses_reports or self.share < 1 or self.failures < NEVER

    def clamp(self, report: float) -> float:
        """Clamp a reported reward to the agreed range."""
        return min(max(report, self.low), self.high)


GRAINS = 1 << 10
"""Grains in one visit, or in one width of the range: sums are whole numbers of grains."""
_SUMS = 6
"""Sums of each neighbour. The next constants are their positions."""
_BALANCE = 0
"""Failed less successful calls."""
_SEEN = 1
"""Visits whose click the vendor saw itself."""
_COMPARED_VISITS = 2
"""Visits with a report and a known click: at +0 those without a click, at +1 those with one."""
_DIFFERENCES = 4
"""Sums of report - click: at +0 over visits without a click, at +1 over those with one."""
_LARGEST_SUM = 2.0**40
_BOUNDS_PER_RELEASE = 6
"""Noise bounds that rule 3 needs at one release, without a click and with one: on the number of
visits from one side, and on the sum of differences from both sides."""


def largest_difference(settings: TrustSettings) -> int:
    """Compute w, the largest |report - click| of one visit, in grains."""
    low = settings.low
    high = settings.high
    largest = max(abs(low), abs(high), abs(low - 1), abs(high - 1))
    return math.ceil(largest / (high - low) * GRAINS)


def neighbour_release(settings: TrustSettings, epsilon: float) -> LaplaceRelease:
    """Make the mechanism that releases the sums of one neighbour over one epoch.

    Args:
        settings: of the rules.
        epsilon: nats of one visit, over all epochs that its parts fall into; inf adds no noise.
    """
    return LaplaceRelease(
        epsilon=epsilon,
        sensitivity=3 + largest_difference(settings) / GRAINS,
        lower=-_LARGEST_SUM,
        upper=_LARGEST_SUM,
        resolution=1 / GRAINS,
        changes=4,  # a visit changes the balance, the clicks seen, and two sums of rule 3
    )


class NeighbourTrust:
    """A vendor's knowledge of one neighbour. All its decisions follow from releases.

    Attributes:
        settings: of the rules.
        release: the mechanism that releases the sums.
        uses_reports: whether the neighbour's reported rewards are used.
        proved: whether the vendor saw enough visits itself; see rule 4.
    """

    def __init__(self, settings: TrustSettings, epsilon: float) -> None:
        """Start with nothing known.

        Args:
            settings: of the rules.
            epsilon: nats of one visit; inf adds no noise.
        """
        self.settings = settings
        self.release = neighbour_release(settings, epsilon)
        self.uses_reports = settings.uses_reports
        self.proved = settings.share >= 1
        self._largest_difference = largest_difference(settings)
        self._sums = np.zeros(_SUMS, dtype=np.int64)
        """Exact sums of this epoch, in grains. Not protected: never release them."""
        self._released = np.zeros(_SUMS)
        """All released sums added up, in units of 1."""
        self._releases = 0
        self._balance = 0.0
        """Failed less successful calls as released, since rule 5 last started anew."""
        self._epochs_of_balance = 0
        """Releases that `_balance` adds up."""
        self._pauses = 0
        """Pauses in a row, each twice as long as the one before."""
        self._pause_ends_at = 0
        """The visit from which on the neighbour may be asked again."""

    def may_be_asked(self, visits: int) -> bool:
        """Return whether the neighbour may be asked at this visit of the vendor; rules 4 and 5.

        Args:
            visits: of the vendor so far, this one included.
        """
        if visits < self._pause_ends_at:
            return False
        is_regular_visit = visits % math.ceil(1 / self.settings.share) == 0
        is_among_first = visits <= 4 * self.settings.proof
        stopped_using_reports = self.uses_reports != self.settings.uses_reports
        is_trusted = self.proved and not stopped_using_reports
        return is_trusted or is_regular_visit or is_among_first

    def count_call(self, *, has_offer: bool) -> None:
        """Count a call to the neighbour.

        Args:
            has_offer: whether the neighbour made an offer. If not, its answer was late, missing or
                a refusal.
        """
        self._sums[_BALANCE] += -GRAINS if has_offer else GRAINS

    def count_seen_click(self) -> None:
        """Count a visit at which the vendor saw itself whether the video was clicked."""
        self._sums[_SEEN] += GRAINS

    def compare_report(self, report: float, click: float) -> None:
        """Add a visit's report and click to the sums of rule 3, which `end_epoch` applies.

        Args:
            report: the neighbour's, clamped.
            click: what the vendor saw; other values than 0 and 1 are not compared.
        """
        if click in (0, 1):
            width = self.settings.high - self.settings.low
            difference = round((report - click) / width * GRAINS)
            largest = self._largest_difference
            self._sums[_COMPARED_VISITS + int(click)] += GRAINS
            self._sums[_DIFFERENCES + int(click)] += min(max(difference, -largest), largest)

    def end_epoch(self, visits: int) -> bool:
        """Release the sums of an epoch and apply the rules.

        Args:
            visits: of the vendor so far.

        Returns:
            Whether reports were used until now, and are not used any more.
        """
        released = self.release(self._sums / GRAINS)
        self._sums = np.zeros(_SUMS, dtype=np.int64)
        self._released += released
        self._releases += 1
        # alarm / (n (n + 1)) adds up to `alarm` over all releases n = 1, 2, ...
        chance = self.settings.alarm / (self._releases * (self._releases + 1))
        seen_at_least = self._released[_SEEN] - self._noise_bound(self._releases, chance)
        self.proved = self.proved or seen_at_least >= self.settings.proof
        self._apply_pause_rule(visits, float(released[_BALANCE]))
        used_before = self.uses_reports
        if used_before:
            chance_of_bound = chance / _BOUNDS_PER_RELEASE
            differ_without_click = self._reports_differ(0, chance_of_bound)
            differ_with_click = self._reports_differ(1, chance_of_bound)
            self.uses_reports = not (differ_without_click or differ_with_click)
        return used_before and not self.uses_reports

    def export_state(self) -> dict[str, Any]:
        """Return the state as numbers that JSON can hold, with the exact sums of this epoch.

        Its keys belong to the stored format, so they stay where attributes are renamed.
        """
        return {
            "believed": bool(self.uses_reports),
            "proved": bool(self.proved),
            "sums": self._sums.tolist(),
            "released": self._released.tolist(),
            "releases": self._releases,
            "balance": self._balance,
            "epochs": self._epochs_of_balance,
            "pauses": self._pauses,
            "back": self._pause_ends_at,
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `export_state` returned; the settings must be the same."""
        # keys of the stored format: "believed" and "back" are `uses_reports` and `_pause_ends_at`
        self.uses_reports = state["believed"]
        self.proved = state["proved"]
        self._sums = np.array(state["sums"], dtype=np.int64)
        self._released = np.array(state["released"], dtype=np.float64)
        self._releases = state["releases"]
        self._balance = state["balance"]
        self._epochs_of_balance = state["epochs"]
        self._pauses = state["pauses"]
        self._pause_ends_at = state["back"]

    def _reports_differ(self, click: int, chance: float) -> bool:
        """Apply rule 3 to all visits with this click, 0 or 1.

        With n visits and rewards in widths of the range, reports of an honest neighbour differ
        from clicks by at most n tolerance + errors sqrt(n) / 2 in all, plus noise.

        Args:
            click: 0 or 1.
            chance: with which noise may exceed each of its bounds.

        Returns:
            Whether reports differ from clicks by more than this.
        """
        s = self.settings
        noise = self._noise_bound(self._releases, chance)
        visits = max(0.0, float(self._released[_COMPARED_VISITS + click]) + noise)
        tolerance = s.tolerance / (s.high - s.low) * visits
        standard_errors = s.errors / 2 * math.sqrt(visits)
        difference = abs(float(self._released[_DIFFERENCES + click]))
        return difference > tolerance + standard_errors + noise

    def _apply_pause_rule(self, visits: int, balance: float) -> None:
        """Apply rule 5 to the calls that `_balance` adds up, those of the last epoch included.

        The balance is set to zero when a pause begins. It is also set to zero when successful calls
        certainly exceed failed ones; then the next pause is as short as the first.

        Args:
            visits: of the vendor so far.
            balance: failed less successful calls of this epoch, as released.
        """
        if visits <= self._pause_ends_at:
            return
        self._balance += balance
        self._epochs_of_balance += 1
        chance = self.settings.alarm / (self._epochs_of_balance * (self._epochs_of_balance + 1))
        noise = self._noise_bound(self._epochs_of_balance, chance)
        if self._balance - noise >= self.settings.failures:
            first_pause = math.ceil(self.settings.pause / self.settings.epoch)
            epochs = first_pause * 2 ** min(self._pauses, MOST_PAUSES)
            self._pause_ends_at = visits + epochs * self.settings.epoch
            self._pauses += 1
        elif self._balance + noise < 0:
            self._pauses = 0
        else:
            return
        self._balance = 0.0
        self._epochs_of_balance = 0

    def _noise_bound(self, releases: int, chance: float) -> float:
        """Bound the noise in the sum of `releases` releases.

        The noise is above the bound, or below minus the bound, with at most this chance each.
        """
        if math.isinf(self.release.epsilon):
            return 0.0
        return self.release.scale / GRAINS * laplace_tail_bound(releases, chance)


@lru_cache(maxsize=4096)
def laplace_tail_bound(terms: int, chance: float) -> float:
    """Bound the sum of `terms` Laplace draws of scale 1.

    Returns t such that the sum exceeds t with a chance of at most `chance`. By Chernoff's bound,
    P(sum > t) <= exp(-s t) E[exp(s X)]^terms for each s in (0, 1). E[exp(s X)] is 1 / (1 - s^2) for
    a Laplace draw X of scale 1, and no more for a discrete one. So
    t = (-log chance - terms log(1 - s^2)) / s; the smallest on a grid of s is returned.
    """
    slopes = np.linspace(0.002, 0.998, 499)
    bounds = (-math.log(chance) - terms * np.log1p(-(slopes**2))) / slopes
    return float(bounds.min())
