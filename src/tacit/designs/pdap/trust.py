"""Trust in a neighbour, which may report false rewards (words), repeat them, be slow or absent.

Rule      1. A word is clamped to the agreed range of rewards.
          2. A click that home saw itself counts instead of a word that comes later.
          3. Words are compared with clicks on visits for which home has both, apart for visits
             with a click and without. Once either mean is off by more than `tolerance`, `errors`
             times what chance explains, and the noise, words are believed no more, and those
             before are to be forgotten.
          4. Until home has seen more than `proof` visits itself, beyond noise, a neighbour may be
             asked at every ceil(1 / share)-th visit only, and at the first 4 `proof` ones; so may,
             for good, one that is believed no more.
          5. Where `failures` more calls fail than succeed, beyond noise, it is not asked for as
             many epochs as make `pause` visits, then for twice as many, and so on.
Sums      Of one neighbour's visits: calls without an offer less calls with one; visits whose click
          home saw; visits with a word and a click, and word - click in widths of the agreed range,
          each without and with a click. Released after every `epoch` visits of home's, asked or
          not, with discrete Laplace noise. Nothing else of these visits is looked at.
Privacy   epsilon per visit, present or absent, at whatever pace its parts come in: it touches one
          neighbour's sums, by 1 + 1 + 1 + w in all, w = the largest |word - click|. One that is
          replaced by another may touch two neighbours, and costs twice as much. For a home whose
          learner promises nothing the sums have no noise. With believed=False, share=1 and
          failures=NEVER none of the rules looks at anybody.
Alarms    What noise explains is its Chernoff bound at a chance that sums to `alarm` over all
          releases. So for all time, noise ends an honest neighbour's words, or proves one that was
          never seen, each with a chance of `alarm` at most; and begins a pause with a chance of
          `alarm` between two times that the rule starts anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ConfigError
from tacit.mechanisms.checks import check_epsilon, check_whole
from tacit.mechanisms.laplace import LaplaceRelease

NEVER = 1 << 40
"""As many failures as never come."""
MOST_PAUSES = 16
"""Doublings of a pause."""


@dataclass(frozen=True, kw_only=True)
class TrustSettings:
    """The numbers of the rule above. low, high: the range of a neighbour's words. believed: False
    where words never count. epsilon: of one visit. epoch: visits of home's from one release to the
    next. alarm: the chance that noise condemns an honest neighbour."""

    low: float = 0.0
    high: float = 1.0
    tolerance: float = 0.1
    errors: float = 4.0
    share: float = 0.05
    proof: int = 30
    failures: int = 3
    pause: int = 100
    believed: bool = True
    epsilon: float = 0.1
    epoch: int = 1000
    alarm: float = 0.001

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ConfigError("A neighbour's rewards have a lower and a higher finite end.")
        if not (self.tolerance > 0 and self.errors > 0 and 0 < self.share <= 1):
            raise ConfigError("tolerance and errors are above 0, share is above 0 and at most 1.")
        for name in ("proof", "failures", "pause", "epoch"):
            check_whole(name, getattr(self, name), least=1)
        check_epsilon(self.epsilon)
        if not 0 < self.alarm < 1:
            raise ConfigError(f"alarm is a chance between 0 and 1; got {self.alarm}.")

    @property
    def looks(self) -> bool:
        """Whether any rule asks what happened at visits."""
        return self.believed or self.share < 1 or self.failures < NEVER

    def clamped(self, word: float) -> float:
        return min(max(word, self.low), self.high)


GRAINS = 1 << 10
"""Of one visit, or of one width of the range: sums are whole numbers of these."""
_BALANCE, _SEEN, _BOTH, _GAP = 0, 1, 2, 4
_MOST = 2.0**40
_NUMBERS = ("releases", "balance", "epochs", "pauses", "back")


def largest_gap(settings: TrustSettings) -> int:
    """Of one word and one click, in grains: w."""
    low, high = settings.low, settings.high
    return math.ceil(max(abs(low), abs(high), abs(low - 1), abs(high - 1)) / (high - low) * GRAINS)


def release_for(settings: TrustSettings, epsilon: float) -> LaplaceRelease:
    """Of the sums of one neighbour over one epoch. epsilon: of one visit in all its epochs."""
    return LaplaceRelease(
        epsilon=epsilon,
        sensitivity=3 + largest_gap(settings) / GRAINS,
        lower=-_MOST,
        upper=_MOST,
        resolution=1 / GRAINS,
        changes=4,
    )


class Peer:
    """What home knows of one neighbour, all of it released. epsilon inf: the same without noise."""

    def __init__(self, settings: TrustSettings, epsilon: float) -> None:
        self.settings = settings
        self.release = release_for(settings, epsilon)
        self.believed = settings.believed
        self.proved = settings.share >= 1
        self._largest = largest_gap(settings)
        self._sums, self._released = np.zeros(6, dtype=np.int64), np.zeros(6)
        self._balance = 0.0
        self._releases = self._epochs = self._pauses = self._back = 0

    def open(self, visits: int) -> bool:
        """Whether it may be asked at this visit of home's."""
        if visits < self._back:
            return False
        slot = visits % math.ceil(1 / self.settings.share) == 0
        proved = self.proved and self.believed == self.settings.believed
        return proved or slot or visits <= 4 * self.settings.proof

    def asked(self, *, came: bool) -> None:
        """came: whether it made an offer; else it was late, absent, refused, or no message."""
        self._sums[_BALANCE] += -GRAINS if came else GRAINS

    def noticed(self) -> None:
        """Home saw a click on its video, or that there was none."""
        self._sums[_SEEN] += GRAINS

    def compared(self, word: float, click: float) -> None:
        """Note a visit with both, a click of 0 or 1; what follows from it, `ended` says."""
        if click in (0, 1):
            gap = round((word - click) / (self.settings.high - self.settings.low) * GRAINS)
            self._sums[_BOTH + int(click)] += GRAINS
            self._sums[_GAP + int(click)] += min(max(gap, -self._largest), self._largest)

    def ended(self, visits: int) -> bool:
        """An epoch is over. True if that is the one from which on words are not believed."""
        released = self.release(self._sums / GRAINS)
        self._sums = np.zeros(6, dtype=np.int64)
        self._released += released
        self._releases += 1
        chance = self.settings.alarm / (self._releases * (self._releases + 1))
        seen = self._released[_SEEN] - self._noise(self._releases, chance)
        self.proved = self.proved or seen >= self.settings.proof
        self._pause(visits, released)
        before = self.believed
        self.believed = before and not any(self._off(click, chance / 6) for click in (0, 1))
        return before and not self.believed

    def kept(self) -> dict[str, Any]:
        """All of it in numbers that JSON can hold, the sums of this epoch among them: exactly."""
        flags = {"believed": bool(self.believed), "proved": bool(self.proved)}
        tables = {"sums": self._sums.tolist(), "released": self._released.tolist()}
        return flags | tables | {name: getattr(self, f"_{name}") for name in _NUMBERS}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on from what `kept` gave; under the same settings."""
        self.believed, self.proved = state["believed"], state["proved"]
        self._sums = np.array(state["sums"], dtype=np.int64)
        self._released = np.array(state["released"], dtype=np.float64)
        for name in _NUMBERS:
            setattr(self, f"_{name}", state[name])

    def _off(self, click: int, chance: float) -> bool:
        """Whether the gaps are more than an honest neighbour's, and the noise of all releases."""
        s, noise = self.settings, self._noise(self._releases, chance)
        both = max(0.0, float(self._released[_BOTH + click]) + noise)
        tolerated = s.tolerance / (s.high - s.low) * both + s.errors / 2 * math.sqrt(both)
        return abs(float(self._released[_GAP + click])) > tolerated + noise

    def _pause(self, visits: int, released: NDArray[np.float64]) -> None:
        """Calls since the last pause, or since offers were last known to be more than failures."""
        if visits <= self._back:
            return
        self._balance += float(released[_BALANCE])
        self._epochs += 1
        noise = self._noise(self._epochs, self.settings.alarm / (self._epochs * (self._epochs + 1)))
        if self._balance - noise >= self.settings.failures:
            epochs = math.ceil(self.settings.pause / self.settings.epoch)
            self._back = visits + epochs * self.settings.epoch * 2 ** min(self._pauses, MOST_PAUSES)
            self._pauses += 1
        elif self._balance + noise < 0:
            self._pauses = 0
        else:
            return
        self._balance, self._epochs = 0.0, 0

    def _noise(self, releases: int, chance: float) -> float:
        """What the noise of so many releases exceeds with at most this chance, to one side."""
        if math.isinf(self.release.epsilon):
            return 0.0
        return self.release.scale / GRAINS * tail(releases, chance)


@lru_cache(maxsize=4096)
def tail(terms: int, chance: float) -> float:
    """t that a sum of `terms` Laplace draws of scale 1 exceeds with at most this chance (Chernoff):
    E exp(s X) = 1 / (1 - s^2) for one draw, and no more for a discrete one."""
    slopes = np.linspace(0.002, 0.998, 499)
    bounds = (-math.log(chance) - terms * np.log1p(-(slopes**2))) / slopes
    return float(bounds.min())
