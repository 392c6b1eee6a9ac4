"""Every public choice of the release, what its four sums cost, and what they take.

Guarantee   The four events are declared before the first sum. Their noise multipliers are the same
            whichever mode an earlier sum leads to; only what is asked may depend on earlier sums.
            So Gaussian differential privacy composes them as a list that was fixed in advance.

Passes, memory, bytes and hours follow from constants that were measured before any data:
`python benchmarks/scale.py`, docs/results.md: 1 to 100 million ratings of 27,000 items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal

from tacit.accounting import GDPAccountant, smallest_noise
from tacit.accounting.events import DiscreteGaussianVector, Event, NonPrivate, compose
from tacit.errors import ConfigError

Mode = Literal["auto", "taste", "top-items"]

LEAST_STEPS = 2048
"""Fewer than the steps of any norm here (`step` gives 4,096 or more)."""
MOST_ENTRIES = 2**63 - 1
"""No array has more."""
STAR_SHARES = (0.25, 0.15, 0.6)
"""Of means, Gram matrix and factors in mu^2 of stars."""
LEAST_PEOPLE = 50
"""At a noisy number of people of at most this, no sum of lists after the counts is made."""


@dataclass(frozen=True)
class Settings:
    """epsilon: inf for the non-private variant. mode: 'auto' decides from the noisy number of
    people. like_at: the least rating that is a like; None: 70 % of the way up the scale.

    stars: whether stars are released, too; star_share: of the whole mu^2, for them, divided
    by `STAR_SHARES`.
    shares: of the four sums of lists in mu^2. presence: norm of the entry for being there. damping:
    how much less frequent items weigh in a profile. other_weight: of an item rated and not liked.
    moment_clip, feature_clip, item_clip: norms of sums 2a, 2b, 3 (times sqrt(f), sqrt(k)).
    mean_row: weight of a person's tastes themselves in sum 3. directions: most of them. edge: of
    the largest singular value of noise, what counts as a direction. personal_clip: largest norm of
    the tastes that a list is made from, times sqrt(k).
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    mode: Mode = "auto"
    like_at: float | None = None
    stars: bool = False
    star_share: float = 0.4
    shares: tuple[float, float, float, float] = (0.25, 0.125, 0.125, 0.5)
    presence: float = 0.5
    damping: float = 0.25
    other_weight: float = 0.4
    moment_clip: float = 0.2
    feature_clip: float = 1.0
    item_clip: float = 0.7
    mean_row: float = 0.3
    directions: int = 12
    edge: float = 0.8
    personal_clip: float = 2.5

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real):
                raise ConfigError(f"{name} is a number; got {value!r}.")
            object.__setattr__(self, name, float(value))  # numpy's numbers are no JSON
        if not self.epsilon > 0:
            raise ConfigError(f"epsilon is above 0, or inf without privacy; got {self.epsilon}.")
        if not 0 < self.delta < 1:
            raise ConfigError(f"delta is a chance above 0 and below 1, such as 1e-6; got "
                              f"{self.delta}.")  # fmt: skip
        if self.mode not in ("auto", "taste", "top-items"):
            raise ConfigError(f"mode is 'auto', 'taste' or 'top-items'; got {self.mode!r}.")
        if self.like_at is not None and not math.isfinite(self.like_at):
            raise ConfigError(f"like_at is a finite number of stars; got {self.like_at}.")
        if len(self.shares) != 4 or not all(share > 0 for share in self.shares):
            raise ConfigError(f"shares are four numbers above 0; got {self.shares}.")
        if not math.isclose(math.fsum(self.shares), 1):
            raise ConfigError(f"shares add up to 1; got {math.fsum(self.shares)}.")
        if not 0 < self.star_share < 1:
            raise ConfigError(f"star_share lies between 0 and 1; got {self.star_share}.")
        if not 0 < self.presence < 1 or self.directions < 2:
            raise ConfigError("presence lies between 0 and 1, and directions are 2 or more.")

    @property
    def all_shares(self) -> tuple[float, ...]:
        """Of every sum in mu^2, those of stars last if there are any; they add up to 1."""
        if not self.stars:
            return self.shares
        of_lists = ((1 - self.star_share) * share for share in self.shares)
        return (*of_lists, *(self.star_share * share for share in STAR_SHARES))

    @property
    def private(self) -> bool:
        return math.isfinite(self.epsilon)


def noise_multipliers(settings: Settings) -> list[float]:
    """One for each sum; zeros at epsilon inf. Together they cost (epsilon, delta)."""
    if not settings.private:
        return [0.0] * len(settings.all_shares)

    def parts(noise: float) -> list[float]:
        return [noise / math.sqrt(share) for share in settings.all_shares]

    noise = smallest_noise(
        lambda noise: compose(*map(event, parts(noise))),
        epsilon=settings.epsilon,
        delta=settings.delta,
        accountant=GDPAccountant,
    )
    return parts(noise)


def events(settings: Settings) -> tuple[Event, ...]:
    """What a fit costs each person, whatever it goes on to release."""
    return tuple(map(event, noise_multipliers(settings)))


def event(noise: float) -> Event:
    """One sum over people."""
    if noise == 0:
        return NonPrivate()
    return DiscreteGaussianVector(noise, LEAST_STEPS * noise, MOST_ENTRIES)


def overall(noises: Sequence[float]) -> float:
    """sigma: the noise multiplier of all sums together, 0 without noise."""
    if not all(noises):
        return 0.0
    return 1 / math.sqrt(math.fsum(noise**-2 for noise in noises))


def step(size: float) -> float:
    """A resolution: a power of two, `size` being 4,096 to 8,191 of it."""
    return 2.0 ** (math.floor(math.log2(size)) - 12)


TASK_ROWS, PIECE = 2_000_000, 1 << 16  # as tacit.engine.spark has them
_START = 2.0  # seconds of a process
_ALONE, _OF_CLUSTER = 0.6e-6, 2.2e-6  # core seconds for a rating, of a fit of four passes
_OF_CELL = 2e-9  # for a cell of a task's table, made, sent and added
_STARS = 1.7  # a fit with stars over one without
_ROW = 22  # bytes of a rating that is shuffled
_TASK_ROW, _PROCESS = 150, 0.45e9  # bytes of a rating in a task; of a process without any


@dataclass(frozen=True)
class Cost:
    """passes: over everyone's rows. tasks: that people are parted in. tiles: of the largest table,
    65,536 cells each, or of two parts of the items. shuffle_bytes: on a cluster. worker_bytes: of
    one task. core_hours, cluster_core_hours: of a processor core, without a cluster and on one."""

    passes: int
    tasks: int
    tiles: int
    shuffle_bytes: int
    worker_bytes: int
    core_hours: float
    cluster_core_hours: float

    @property
    def sentences(self) -> tuple[str, str]:
        """On a cluster, and on one machine."""
        cluster = (
            f"On a cluster: {self.passes} passes in {self.tasks:,} tasks, the largest in "
            f"{self.tiles:,} tiles; {_size(self.shuffle_bytes)} shuffled, "
            f"{_size(self.worker_bytes)} of memory for each task at work, about "
            f"{self.cluster_core_hours:.2g} core hours."
        )
        alone = f"On one machine, in memory: about {self.core_hours:.2g} core hours."
        return cluster, alone


def cost(ratings: float, items: int, *, stars: bool = False) -> Cost:
    """ratings: of everyone. items: that lists are made of."""
    widest = Settings().directions
    cells = (items + 1) * widest
    sums = cells + items + 1
    tasks = max(4, math.ceil(ratings / TASK_ROWS))
    more = _STARS if stars else 1.0
    table_seconds = more * tasks * sums * _OF_CELL
    return Cost(
        passes=7 if stars else 4,
        tasks=tasks,
        tiles=math.ceil(cells / PIECE),
        shuffle_bytes=int(_ROW * ratings + more * 8 * tasks * sums),
        worker_bytes=int(_PROCESS + _TASK_ROW * min(ratings, TASK_ROWS) + 3 * 8 * cells),
        core_hours=(_START + more * _ALONE * ratings) / 3600,
        cluster_core_hours=(_START + more * _OF_CLUSTER * ratings + table_seconds) / 3600,
    )


def _size(number: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"
