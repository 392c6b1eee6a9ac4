"""Trust in a neighbour, which may report false rewards, repeat them, be slow or absent.

Words in `backticks` are fields of `TrustSettings`.

Rules     1. A reported reward is clamped to the agreed range.
          2. A click that the vendor itself saw is learned instead of a report that comes later.
          3. Reports are compared with clicks at visits for which both are known, separately for
             visits with a click and for visits without one. The mean of report - click is taken in
             each of these two groups. Once its size, in either group, exceeds the sum of
             `tolerance`, `errors` standard errors and what the noise explains, reports are not used
             any more, and what was learned from earlier ones is forgotten.
          4. A neighbour is proved once the vendor itself has shown its video at `proof` visits or
             more and seen whether it was clicked, noise allowed for; how many clicked does not
             matter. Until then it may only be asked at the vendor's first 4 x `proof` visits and at
             every ceil(1 / `share`)-th visit. The same holds, for ever, for a neighbour whose
             reports are not used any more.
          5. When failed calls exceed successful ones by `failures`, noise allowed for, the
             neighbour is not asked during a pause. The first pause lasts `pause` visits, rounded up
             to whole epochs. Each further pause is twice as long (after 16 doublings, as long as
             the last one), until successful calls exceed failed ones again.
Sums      For each neighbour: failed minus successful calls; visits at which the vendor itself saw
          whether its video was clicked; and, separately for visits without and with a click, the
          number of visits with a report and the sum of report - click in widths of the agreed
          range. They are released with discrete Laplace noise after every `epoch` visits of the
          vendor. The rules use nothing else.
Privacy   `epsilon` per visit. Adjacent data sets differ in whether one visit is in the sums, in
          whichever epochs its parts come. A visit changes the sums of one neighbour by
          1 + 1 + 1 + w in all, where w is the largest |report - click| in widths of the range.
          Replacing a visit may change the sums of two neighbours, and costs twice as much. If the
          vendor's own learner has no guarantee, the sums have no noise. With uses_reports=False,
          share=1 and failures=NEVER no rule uses the sums.
Alarms    Noise is bounded by Chernoff bounds, whose failure chances add up to `alarm` over all
          releases. So over all time, noise makes a vendor stop using an honest neighbour's reports
          with a chance of at most `alarm`. With a chance of at most `alarm`, noise makes a
          neighbour count as proved before `proof` visits are seen. Noise alone starts a
          pause with a chance of at most `alarm` from one reset of the count of rule 5 to the next.
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
MOST_DOUBLINGS = 16
"""Times that the length of a pause doubles, at most."""


@dataclass(frozen=True, kw_only=True)
class TrustSettings:
    """The numbers in the rules above.

    Attributes:
        low: lowest reward that a neighbour reports, as agreed.
        high: highest reward that a neighbour reports, as agreed.
        tolerance: how far mean reports may differ from mean clicks, in rewards; rule 3.
        errors: by how many standard errors they may differ in addition; rule 3.
        share: share of visits at which a neighbour that is not proved may be asked; above 0, at
            most 1.
        proof: visits at which the vendor itself must have seen whether the video was clicked,
            before a neighbour is proved.
        failures: a pause begins when failed calls exceed successful ones by this number; NEVER
            for no pauses.
        pause: length of the first pause, in visits of the vendor.
        uses_reports: whether reported rewards are ever used.
        epsilon: nats that one visit costs in the sums above.
        epoch: visits of the vendor from one release to the next.
        alarm: the largest chance of each false decision that noise alone causes; see Alarms above.
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
            raise ConfigError(
                "A neighbour's rewards lie between low and high, which are finite, low below high; "
                f"got low {self.low} and high {self.high}."
            )
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
        """Whether any rule uses the sums."""
        return self.uses_reports or self.share < 1 or self.failures < NEVER

    def clamp(self, report: float) -> float:
        """Clamp a reported reward to the agreed range."""
        return min(max(report, self.low), self.high)


GRAINS = 1 << 10
"""Grains in 1: sums, in visits or in widths of the range, are stored as whole numbers of grains."""
_SUMS = 6
"""Number of sums of each neighbour. The next constants are their positions."""
_BALANCE = 0
"""Failed minus successful calls."""
_SEEN = 1
"""Visits at which the vendor itself saw whether the neighbour's video was clicked."""
_COMPARED_VISITS = 2
"""Visits with a report at which the vendor saw whether the video was clicked: at +0 those without a
click, at +1 those with one."""
_DIFFERENCES = 4
"""Sums of report - click: at +0 over visits without a click, at +1 over those with one."""
_LARGEST_SUM = 2.0**40
"""Sums are clipped to this size at a release; no vendor has so many visits in an epoch."""
_BOUNDS_PER_RELEASE = 6
"""Number of noise bounds that rule 3 needs at one release: three for visits with a click, and three
for visits without one. Of each three, one limits the noise in the number of visits from below, and
two limit the noise in the sum of differences, from below and from above."""


def largest_difference(settings: TrustSettings) -> int:
    """Compute w, the largest |report - click| of one visit, in grains."""
    low = settings.low
    high = settings.high
    largest = max(abs(low), abs(high), abs(low - 1), abs(high - 1))
    return math.ceil(largest / (high - low) * GRAINS)


def neighbour_release(settings: TrustSettings, epsilon: float) -> LaplaceRelease:
    """Make the mechanism that releases the sums of one neighbour over one epoch.

    Args:
        settings: the numbers in the rules.
        epsilon: nats of one visit, over all epochs in which its parts come; inf adds no noise.
    """
    return LaplaceRelease(
        epsilon=epsilon,
        sensitivity=3 + largest_difference(settings) / GRAINS,  # 1 + 1 + 1 + w, see Privacy above
        lower=-_LARGEST_SUM,
        upper=_LARGEST_SUM,
        resolution=1 / GRAINS,
        changes=4,  # one visit may change _BALANCE, _SEEN and two sums of rule 3
    )


class NeighbourTrust:
    """A vendor's trust in one neighbour. All its decisions follow from releases.

    Attributes:
        settings: the numbers in the rules.
        release: the mechanism that releases the sums.
        uses_reports: whether the neighbour's reported rewards are used.
        is_proved: whether the vendor itself saw at enough visits whether the neighbour's video was
            clicked, see rule 4; always true if `share` is 1.
    """

    def __init__(self, settings: TrustSettings, epsilon: float) -> None:
        """Start with nothing known.

        Args:
            settings: the numbers in the rules.
            epsilon: nats of one visit; inf adds no noise.
        """
        self.settings = settings
        self.release = neighbour_release(settings, epsilon)
        self.uses_reports = settings.uses_reports
        self.is_proved = settings.share >= 1
        self._largest_difference = largest_difference(settings)
        self._sums = np.zeros(_SUMS, dtype=np.int64)
        """Exact sums of this epoch, in grains. Not protected: never release them."""
        self._released = np.zeros(_SUMS)
        """All released sums added up, in units of 1."""
        self._releases = 0
        self._balance = 0.0
        """Failed minus successful calls as released, since rule 5 last started anew."""
        self._epochs_of_balance = 0
        """Releases that `_balance` adds up."""
        self._pauses = 0
        """Pauses since calls last succeeded more often than they failed; each doubles the next."""
        self._pause_ends_at = 0
        """The visit from which on the neighbour may be asked again."""

    def may_be_asked(self, visits: int) -> bool:
        """Return whether the neighbour may be asked at this visit of the vendor; rules 4 and 5.

        Args:
            visits: number of visits of the vendor so far, this one included.
        """
        if visits < self._pause_ends_at:
            return False
        is_regular_visit = visits % math.ceil(1 / self.settings.share) == 0
        is_among_first = visits <= 4 * self.settings.proof
        stopped_using_reports = self.uses_reports != self.settings.uses_reports
        is_trusted = self.is_proved and not stopped_using_reports
        return is_trusted or is_regular_visit or is_among_first

    def count_call(self, *, has_offer: bool) -> None:
        """Count a call to the neighbour.

        Args:
            has_offer: whether the neighbour made an offer. If not, its answer was late, missing or
                a refusal.
        """
        self._sums[_BALANCE] += -GRAINS if has_offer else GRAINS

    def count_seen_click(self) -> None:
        """Count a visit at which the vendor itself saw whether the video was clicked."""
        self._sums[_SEEN] += GRAINS

    def compare_report(self, report: float, click: float) -> None:
        """Add a visit's report and click to the sums of rule 3, which `end_epoch` applies.

        Args:
            report: the reward that the neighbour reported, clamped to the agreed range.
            click: the reward that the vendor itself saw. The visit is not compared if this reward
                is neither 0 nor 1.
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
            visits: number of visits of the vendor so far.

        Returns:
            Whether the vendor stops using the neighbour's reports now.
        """
        released = self.release(self._sums / GRAINS)
        self._sums = np.zeros(_SUMS, dtype=np.int64)
        self._released += released
        self._releases += 1
        # alarm / (n (n + 1)) adds up to `alarm` over all releases n = 1, 2, ...
        chance = self.settings.alarm / (self._releases * (self._releases + 1))
        seen_at_least = self._released[_SEEN] - self._noise_bound(self._releases, chance)
        self.is_proved = self.is_proved or seen_at_least >= self.settings.proof
        self._apply_pause_rule(visits, float(released[_BALANCE]))
        used_before = self.uses_reports
        if used_before:
            chance_of_bound = chance / _BOUNDS_PER_RELEASE
            differ_without_click = self._reports_differ(0, chance_of_bound)
            differ_with_click = self._reports_differ(1, chance_of_bound)
            self.uses_reports = not (differ_without_click or differ_with_click)
        return used_before and not self.uses_reports

    def export_state(self) -> dict[str, Any]:
        """Return the state as values that JSON can hold, with the exact sums of this epoch.

        The keys belong to the stored format: some differ from the names of the attributes.
        """
        return {
            "believed": bool(self.uses_reports),
            "proved": bool(self.is_proved),
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
        self.uses_reports = state["believed"]
        self.is_proved = state["proved"]
        self._sums = np.array(state["sums"], dtype=np.int64)
        self._released = np.array(state["released"], dtype=np.float64)
        self._releases = state["releases"]
        self._balance = state["balance"]
        self._epochs_of_balance = state["epochs"]
        self._pauses = state["pauses"]
        self._pause_ends_at = state["back"]

    def _reports_differ(self, click: int, chance: float) -> bool:
        """Return whether reports differ too much from clicks by rule 3, at visits with this click.

        Rule 3 allows a sum of differences over n visits, in widths of the range, whose size is at
        most n `tolerance` / (`high` - `low`) + `errors` sqrt(n) / 2 + noise: a reward in an
        interval of length 1 has a standard deviation of at most 1/2.

        Args:
            click: 0 for visits without a click, 1 for visits with one.
            chance: chance with which noise may exceed each of its bounds.
        """
        s = self.settings
        noise = self._noise_bound(self._releases, chance)
        visits = max(0.0, float(self._released[_COMPARED_VISITS + click]) + noise)
        tolerance = s.tolerance / (s.high - s.low) * visits
        standard_errors = s.errors / 2 * math.sqrt(visits)
        difference = abs(float(self._released[_DIFFERENCES + click]))
        return difference > tolerance + standard_errors + noise

    def _apply_pause_rule(self, visits: int, balance: float) -> None:
        """Add an epoch to `_balance`, and apply rule 5; do nothing during a pause.

        The balance is set to zero when a pause begins. It is also set to zero when successful calls
        exceed failed ones by more than noise explains; the next pause then has the first length.

        Args:
            visits: number of visits of the vendor so far.
            balance: failed minus successful calls of this epoch, as released.
        """
        if visits <= self._pause_ends_at:
            return
        self._balance += balance
        self._epochs_of_balance += 1
        chance = self.settings.alarm / (self._epochs_of_balance * (self._epochs_of_balance + 1))
        noise = self._noise_bound(self._epochs_of_balance, chance)
        if self._balance - noise >= self.settings.failures:
            first_pause = math.ceil(self.settings.pause / self.settings.epoch)
            epochs = first_pause * 2 ** min(self._pauses, MOST_DOUBLINGS)
            self._pause_ends_at = visits + epochs * self.settings.epoch
            self._pauses += 1
        elif self._balance + noise < 0:
            self._pauses = 0
        else:
            return
        self._balance = 0.0
        self._epochs_of_balance = 0

    def _noise_bound(self, releases: int, chance: float) -> float:
        """Bound the noise in the sum of `releases` releases, in units of 1.

        The noise is above the bound with a chance of at most `chance`, and below minus the bound
        with a chance of at most `chance`.
        """
        if math.isinf(self.release.epsilon):
            return 0.0
        return self.release.scale / GRAINS * laplace_tail_bound(releases, chance)


@lru_cache(maxsize=4096)
def laplace_tail_bound(terms: int, chance: float) -> float:
    """Bound the sum of `terms` Laplace draws of scale 1.

    By Chernoff's bound, P(sum > t) <= exp(-s t) E[exp(s X)]^terms for each s in (0, 1). E[exp(s X)]
    is 1 / (1 - s^2) for a Laplace draw X of scale 1, and no more for a discrete one.

    Returns:
        t such that the sum exceeds t with a chance of at most `chance`: the smallest value of
        (-log chance - terms log(1 - s^2)) / s on a grid of s.
    """
    slopes = np.linspace(0.002, 0.998, 499)
    bounds = (-math.log(chance) - terms * np.log1p(-(slopes**2))) / slopes
    return float(bounds.min())
