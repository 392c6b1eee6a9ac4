"""What a neighbour's word is worth: a neighbour may lie, repeat itself, be slow or be gone.

Rule      1. A word is clamped to the range that rewards were agreed to have.
          2. A click that home saw itself counts instead of a word that comes later: tell home's
             clicks first.
          3. Words are compared with clicks on visits for which home has both, apart for visits
             with a click and without. Once either mean is off by more than `tolerance` and
             `errors` times what noise of the agreed range explains, the neighbour's words are
             believed no more, and what it said before is to be forgotten.
          4. A neighbour of which home has not yet seen `proof` visits itself gets at most `share`
             of all visits, whatever it says; so does, for good, one that is believed no more.
          5. After `failures` calls in a row without an offer, a neighbour is left alone for
             `pause` visits, then for twice as many, and so on.
Bound     A range of width w and words whose mean is off by g, more than the tolerance: believed for
          about (errors w / 2 (g - tolerance))^2 visits that home saw. From then on it is an arm
          known by clicks alone, and held to its share: a learner that starts anew tries it anew.
          Words that are off by less shift its mean by less.
Privacy   `Peer` looks at exact numbers of one's own users' visits and clicks at once, and decides
          who may be asked later: it is for a home whose learner promises nothing. For one that
          promises something, trust_noisy.py has rules 3 to 5 on noisy sums that are paid for.
          With believed=False, share=1 and failures=NEVER none of them looks at anybody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tacit.errors import ConfigError
from tacit.mechanisms.parameters import check_epsilon, check_whole

NEVER = 1 << 40
"""As many failures as never come."""
MOST_PAUSES = 16
"""Doublings of a pause."""


@dataclass(frozen=True, kw_only=True)
class TrustSettings:
    """The numbers of the rule above.

    low, high: the range of a neighbour's words. believed: False where words never count.
    Of noisy sums alone: epsilon: of one visit. epoch: visits of home's from one release to the
    next. alarm: the chance that noise condemns an honest neighbour.
    """

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


@dataclass(slots=True)
class Peer:
    """What home knows of one neighbour. seen: visits whose click home has seen itself."""

    caution: TrustSettings
    sent: int = 0
    seen: int = 0
    both: list[int] = field(default_factory=lambda: [0, 0])
    gaps: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Visits with a word and a click, and sums of word - click: without and with a click."""
    believed: bool = True
    failures: int = 0
    pauses: int = 0
    back: int = 0
    """The visit from which on it is asked again."""

    def __post_init__(self) -> None:
        self.believed = self.caution.believed

    def open(self, visits: int) -> bool:
        """Whether it may be asked at this visit of home's."""
        if visits < self.back:
            return False
        proved = self.seen >= self.caution.proof and self.believed == self.caution.believed
        # Some visits at the start are nobody's share of anything.
        return proved or self.sent < max(4 * self.caution.proof, self.caution.share * visits)

    def clamped(self, word: float) -> float:
        return min(max(word, self.caution.low), self.caution.high)

    def compared(self, word: float, click: bool) -> bool:
        """Note a visit with both. True if that is the one from which on it is not believed."""
        if not self.believed:
            return False
        self.both[click] += 1
        self.gaps[click] += word - click
        c, visits = self.caution, self.both[click]
        by_noise = c.errors * (c.high - c.low) / 2 / math.sqrt(visits)
        self.believed = abs(self.gaps[click]) / visits <= c.tolerance + by_noise
        return not self.believed

    def asked(self) -> None:
        self.sent += 1

    def noticed(self) -> None:
        """Home saw a click on its video, or that there was none."""
        self.seen += 1

    def answered(self) -> None:
        self.failures = self.pauses = 0

    def failed(self, visits: int) -> None:
        """No offer: late, absent, refused, or not a message."""
        self.failures += 1
        if self.failures >= self.caution.failures:
            self.back = visits + self.caution.pause * 2 ** min(self.pauses, MOST_PAUSES)
            self.pauses += 1
            self.failures = 0
