"""Small tables with and without one person, and whole fits of them.

The claim is audited in every mode, in one domain and across two; 'auto' comes to popularity among
so few people. The noisy number of people is
given by the auditor, for 40 people alone would end a fit after its first sum; and clips are small
enough to bind in so small a world. Both leave every rule of the fit as it is shipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import AuditedClaim
from tacit.auditing.replays import replay_check
from tacit.auditing.sampler_spy import Answer, SamplerCall
from tacit.data.ratings import Ratings, RatingScale
from tacit.profile_sums.events import noise_multipliers
from tacit.profile_sums.model import PrivateLists
from tacit.profile_sums.settings import Mode, Settings

EPSILON, DELTA = 1.0, 1e-6
ITEMS, GENRES = 20, 5
_ANSWERED_PEOPLE = 400
"""Number of people that the auditor lets the first sum say."""
_ANSWERED_MANY_PEOPLE = 20_000
"""The same, where stars have factors."""
_ANSWERED_VERY_MANY_PEOPLE = 200_000
"""The same, where pairs of likes are asked for."""
_ENLARGED = 50
"""By how much answers grow where small ones would lead to other sums."""
_TIGHT_CLIP = 0.02
_SCALE = RatingScale(1, 5, 1)
_RARE_ITEM = ITEMS - 1
"""Nobody else rates it; its last genre is its own."""

Stars = Mapping[int, float]
"""One person's rows: item number to stars."""
NeighbouringTables = tuple[Ratings, Ratings]
"""The same people with one person, and without."""

PERSONS: Mapping[str, Stars] = {
    "likes everything": dict.fromkeys(range(ITEMS), 5.0),
    "likes a third, rates all": {item: 5.0 if item % 3 == 0 else 1.0 for item in range(ITEMS)},
    "likes two rare items": {0: 5.0, _RARE_ITEM: 5.0},
    "alone in a feature": {_RARE_ITEM: 5.0, 1: 4.0, 2: 5.0, 11: 4.0},
    "rates all 1": dict.fromkeys(range(ITEMS), 1.0),
    "has no rows": {},
}
"""Who is added or removed."""
_REPLAY_SAMPLES: Mapping[str, tuple[int, int]] = {"likes two rare items": (12, 8)}
"""By person, `entries` and `sample_divisor` of `replay_check`; (1, 1,000) for other persons."""


class TightClips(PrivateLists):
    """Lists with clips that bind among few people; all else is as shipped."""

    @property
    def settings(self) -> Settings:
        """Settings of the base world, with clips that nearly everybody reaches."""
        return replace(
            super().settings,
            moment_clip=_TIGHT_CLIP,
            feature_clip=_TIGHT_CLIP,
            item_clip=_TIGHT_CLIP,
        )


@dataclass(frozen=True)
class World:
    """One way to fit."""

    mode: Mode
    across: bool
    """From the first half of the items to the second; otherwise one domain."""
    stars: bool = False
    factors: bool = False
    """Whether the answers let stars have factors."""
    pairs: bool = False
    """Whether the answers say so many people that 'auto' asks for pairs of likes."""
    recommender: type[PrivateLists] = TightClips

    @property
    def name(self) -> str:
        """Name of the world."""
        domains = "across domains" if self.across else "one domain"
        if self.pairs:
            return f"private, {self.mode}, {domains}, with pairs of likes"
        if self.factors:
            return f"private, {self.mode}, {domains}, with factors of stars"
        if self.stars:
            return f"private, {self.mode}, {domains}, with stars"
        return f"private, {self.mode}, {domains}"

    def fit(self, table: Ratings) -> dict[str, NDArray[Any]]:
        """Fit the recommender; give all numbers that it released."""
        model = self.recommender(
            EPSILON,
            DELTA,
            source="books" if self.across else None,
            target="films" if self.across else None,
            mode=self.mode,
            stars=self.stars,
        )
        return released_numbers(model.fit(table))


def released_numbers(model: PrivateLists) -> dict[str, NDArray[Any]]:
    """Arrays of the model file, and the released numbers of its header."""
    released = model.released_
    usefulness = released.usefulness
    people = np.array([usefulness.people, released.deviation, usefulness.popular])
    return {**model.parts()[1], "people": people}


def all_worlds(recommender: type[PrivateLists]) -> tuple[World, ...]:
    """Every way to fit this recommender, which has `TightClips`."""
    return (
        World("taste", False, recommender=recommender),
        World("taste", True, recommender=recommender),
        World("top-items", False, recommender=recommender),
        World("top-items", True, recommender=recommender),
        World("auto", False, recommender=recommender),
        World("auto", True, recommender=recommender),
        World("taste", True, stars=True, recommender=recommender),
        World("taste", False, stars=True, factors=True, recommender=recommender),
        World("auto", False, pairs=True, recommender=recommender),
    )


def neighbouring_tables(person: Stars, people: int = 40) -> NeighbouringTables:
    """Some people with arbitrary ratings, with `person` and without."""
    draws = np.random.default_rng(1)
    rows: list[Stars] = []
    for _ in range(people):
        rated = np.flatnonzero(draws.random(ITEMS - 1) < 0.4)
        rows.append({int(item): float(draws.integers(1, 6)) for item in rated})
    return make_ratings([*rows, person]), make_ratings(rows)


def make_ratings(rows: Sequence[Stars]) -> Ratings:
    """Ratings of everybody, also of people without rows, on one public catalogue."""
    cells = []
    for user, row in enumerate(rows):
        cells += [(user, item, row[item]) for item in sorted(row)]
    users, items, stars = zip(*cells, strict=True)
    genres, domains = np.empty(ITEMS, object), np.empty(ITEMS, object)
    for item in range(ITEMS):
        genres[item] = "its own" if item == _RARE_ITEM else f"{item % GENRES}|{item % 3}"
        domains[item] = "books" if item < ITEMS // 2 else "films"
    return Ratings(
        users=np.array(users, np.int32),
        items=np.array(items, np.int32),
        values=np.array(stars, np.float64),
        timestamps=None,
        user_ids=np.arange(len(rows)),
        item_ids=np.arange(ITEMS),
        scale=_SCALE,
        item_metadata={"genres": genres, "domain": domains},
        catalogue_given=True,
    )


def answer_sampler(
    seed: int = 0, *, factors: bool = False, pairs: bool = False, items: int = ITEMS
) -> Answer:
    """Answer for the sampler with a hundredth of the noise, and a first sum of 400 people.

    Args:
        seed: Seed of the noise.
        factors: Whether the first sum says so many people, and the Gram matrix of stars is so
            large, that stars have factors.
        pairs: Whether the first sum says so many people and likes that 'auto' asks for pairs.
        items: Items of all domains together: the first sum has an entry for each, and one more.
    """
    draws = np.random.default_rng(seed)
    people = _ANSWERED_MANY_PEOPLE if factors else _ANSWERED_PEOPLE
    if pairs:
        people = _ANSWERED_VERY_MANY_PEOPLE
    resolution = 2.0**-12

    def answer(call: SamplerCall) -> NDArray[np.int64]:
        noise = np.rint(draws.normal(0, call.scale / 100, call.values.shape)).astype(np.int64)
        answered = call.values + noise
        is_counts = answered.shape == (items + 1, 1)
        if is_counts and pairs:
            answered *= _ENLARGED
        if is_counts:
            answered[-1] = int(people * Settings().presence / resolution)
        if factors and answered.shape == (ITEMS * (ITEMS - 1) // 2,):
            answered *= _ENLARGED
        return answered

    return answer


def largest_share_used(world: World, moves: Sequence[float]) -> float:
    """Largest share of its own event that a sum uses up in mu^2: at most 1.

    Args:
        world: The way to fit.
        moves: How far each draw moves with the person, over its noise.
    """
    draws = draws_per_sum(world)
    ends = np.cumsum((0, *draws))
    squares = np.square(moves)
    mu_squared = [squares[start:end].sum() for start, end in pairwise(ends)]
    noises = noise_multipliers(Settings(EPSILON, DELTA, stars=world.stars))
    return max(float(mu2 * noise**2) for mu2, noise in zip(mu_squared, noises, strict=True))


def draws_per_sum(world: World) -> tuple[int, ...]:
    """Count the draws of noise for each sum's event, in the order of the events.

    The events are those of sums 1, 2a, 2b and 3, and of the three sums of stars if there are any.
    A Gram matrix has two draws: off the diagonal and on it.
    """
    gram_matrix = 2
    if world.pairs:  # the event of sum 3 is divided: item tastes, and pairs of likes
        draws: tuple[int, ...] = (1, gram_matrix, 1, 1 + 1)
    elif world.mode == "auto":  # 'auto' chooses popularity here, which counts at each event
        draws = (1, 1, 1, 1)
    elif world.mode == "taste":
        draws = (1, gram_matrix, 1, 1)
    elif world.across:  # top items: context items at two events, then products with targets
        draws = (1, gram_matrix, gram_matrix, 1)
    else:  # top items of one domain: the same Gram matrix at each later event
        draws = (1, gram_matrix, gram_matrix, gram_matrix)
    if not world.stars:
        return draws
    star_head = gram_matrix if world.factors else 1  # without factors the means are drawn again
    return (*draws, 1, star_head, 1)


class FittedWorld(Protocol):
    """One way to fit, once or several times."""

    @property
    def name(self) -> str:
        """Name of the world."""

    @property
    def factors(self) -> bool:
        """Whether stars have factors."""

    @property
    def pairs(self) -> bool:
        """Whether pairs of likes are asked for."""

    def fit(self, table: Ratings) -> dict[str, NDArray[Any]]:
        """Fit once; return all numbers that were released."""


def audit_line(world: FittedWorld) -> AuditedClaim:
    """Replay one way to fit for every person who is added or removed."""
    checks = []
    for name, person in PERSONS.items():
        entries, sample_divisor = _REPLAY_SAMPLES.get(name, (1, 1_000))
        check = replay_check(
            name,
            world.fit,
            neighbouring_tables(person),
            entries=entries,
            sample_divisor=sample_divisor,
            delta=DELTA,
            noise=answer_sampler(factors=world.factors, pairs=world.pairs),
        )
        checks.append(check)
    return AuditedClaim(world.name, EPSILON, tuple(checks), delta=DELTA)
