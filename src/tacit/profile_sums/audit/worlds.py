"""Ratings of few people, with and without one more person, and whole fits of them.

The claim is audited in every mode, in one domain and across two; mode 'auto' chooses popularity for
so few people, unless the auditor's answers lead to pairs of likes. Two things differ from real
fits, and neither changes a rule of the fit. The auditor answers in place of the noise sampler, with
little noise and enough people, because a fit of 40 people would stop after its first sum. And clips
are so small that they bind in so small a world. The numbers of sums are those of the package
`profile_sums.sums`.
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
"""Claim of the audited fits."""
ITEMS, GENRES = 20, 5
"""Number of items, and number of different first genres that they have, without the rare item."""
_ANSWERED_PEOPLE = 400
"""Number of people that sum 1 releases, set by the auditor."""
_ANSWERED_MANY_PEOPLE = 20_000
"""Number of people that sum 1 releases in worlds where stars have factors."""
_ANSWERED_VERY_MANY_PEOPLE = 200_000
"""Number of people that sum 1 releases in worlds with pairs of likes."""
_ENLARGED = 50
"""Factor of released sums that would be too small to lead to the sums under audit."""
_TIGHT_CLIP = 0.02
"""Value of the three clips of `TightClips`. Nearly every person's table is clipped by it."""
_SCALE = RatingScale(1, 5, 1)
_RARE_ITEM = ITEMS - 1
"""Number of an item that only the added person rates, and that has a genre of its own."""

Stars = Mapping[int, float]
"""One person's ratings: item number to stars."""
NeighbouringTables = tuple[Ratings, Ratings]
"""Ratings of some people and one more person, then of the same people without that person."""

PERSONS: Mapping[str, Stars] = {
    "likes everything": dict.fromkeys(range(ITEMS), 5.0),
    "likes a third, rates all": {item: 5.0 if item % 3 == 0 else 1.0 for item in range(ITEMS)},
    "likes two rare items": {0: 5.0, _RARE_ITEM: 5.0},
    "alone in a feature": {_RARE_ITEM: 5.0, 1: 4.0, 2: 5.0, 11: 4.0},
    "rates all 1": dict.fromkeys(range(ITEMS), 1.0),
    "has no rows": {},
}
"""Persons who are added or removed, by name."""
_REPLAY_SAMPLES: Mapping[str, tuple[int, int]] = {"likes two rare items": (12, 8)}
"""By person, `entries` and `sample_divisor` of `replay_check`; (1, 1,000) for other persons."""


class TightClips(PrivateLists):
    """The shipped recommender with smaller clips, which bind in a small world."""

    @property
    def settings(self) -> Settings:
        """The shipped settings with three smaller clips."""
        return replace(
            super().settings,
            moment_clip=_TIGHT_CLIP,
            feature_clip=_TIGHT_CLIP,
            item_clip=_TIGHT_CLIP,
        )


@dataclass(frozen=True)
class World:
    """One way to fit the audited ratings."""

    mode: Mode
    """Mode of the fit."""
    across: bool
    """Whether the first half of the items is the context, and the second half the targets;
    otherwise all items are one domain."""
    stars: bool = False
    """Whether stars are released, too."""
    factors: bool = False
    """Whether the auditor's answers lead to factors of stars."""
    pairs: bool = False
    """Whether the auditor's answers lead mode 'auto' to pairs of likes."""
    recommender: type[PrivateLists] = TightClips
    """Class of the recommender that is fitted."""

    @property
    def name(self) -> str:
        """Name of this way to fit, as the audit prints it."""
        domains = "across domains" if self.across else "one domain"
        if self.pairs:
            return f"private, {self.mode}, {domains}, with pairs of likes"
        if self.factors:
            return f"private, {self.mode}, {domains}, with factors of stars"
        if self.stars:
            return f"private, {self.mode}, {domains}, with stars"
        return f"private, {self.mode}, {domains}"

    def fit(self, table: Ratings) -> dict[str, NDArray[Any]]:
        """Fit the recommender, and return all numbers that it released, by name."""
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
    """Return the arrays of a model's file by name, and as "people" three numbers of its header.

    These are the noisy number of people, the deviation of sum 1's noise, and `popular`.
    """
    released = model.released_
    usefulness = released.usefulness
    people = np.array([usefulness.people, released.deviation, usefulness.popular])
    return {**model.parts()[1], "people": people}


def all_worlds(recommender: type[PrivateLists]) -> tuple[World, ...]:
    """List the audited ways to fit a recommender, which is `TightClips` or has clips as small."""
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
    """Make ratings of some people at random, by a fixed seed, with `person` and without.

    Args:
        person: Ratings of the person, who is the last one.
        people: Number of the other people.
    """
    draws = np.random.default_rng(1)
    rows: list[Stars] = []
    for _ in range(people):
        rated = np.flatnonzero(draws.random(ITEMS - 1) < 0.4)
        rows.append({int(item): float(draws.integers(1, 6)) for item in rated})
    return make_ratings([*rows, person]), make_ratings(rows)


def make_ratings(rows: Sequence[Stars]) -> Ratings:
    """Make ratings of the items in the public catalogue of these audits.

    Args:
        rows: Ratings of each person; a person may have none.
    """
    triples = []
    for user, row in enumerate(rows):
        triples += [(user, item, row[item]) for item in sorted(row)]
    users, items, stars = zip(*triples, strict=True)
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
    """Make a function that answers in place of the noise sampler.

    It adds a hundredth of the noise, and sets the number of people in sum 1 to 400 or more.

    Args:
        seed: Seed of the noise.
        factors: Whether the answers lead to factors of stars: sum 1 then has many people, and the
            Gram matrix of stars is large.
        pairs: Whether the answers lead mode 'auto' to pairs of likes: sum 1 then has very many
            people, and many likes.
        items: Number of items of all domains together: sum 1 has an entry for each, and one more.
    """
    draws = np.random.default_rng(seed)
    people = _ANSWERED_MANY_PEOPLE if factors else _ANSWERED_PEOPLE
    if pairs:
        people = _ANSWERED_VERY_MANY_PEOPLE
    resolution = 2.0**-12  # of sum 1, by `resolution_for(1.0)`

    def answer(call: SamplerCall) -> NDArray[np.int64]:
        """Return a sum with little noise; sum 1 and Gram matrices are recognised by their shape."""
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
    """Return the largest share of its own mu^2 that an event uses: at most 1 in a correct fit.

    Args:
        world: The way to fit.
        moves: For each draw, the distance between its sums with and without the person, divided by
            the standard deviation of its noise.
    """
    draws = draws_per_sum(world)
    bounds = np.cumsum((0, *draws))
    squares = np.square(moves)
    used_mu_squared = [squares[start:end].sum() for start, end in pairwise(bounds)]
    noises = noise_multipliers(Settings(EPSILON, DELTA, stars=world.stars))
    # A sum with noise multiplier z has mu^2 = 1 / z^2.
    shares = [float(used * noise**2) for used, noise in zip(used_mu_squared, noises, strict=True)]
    return max(shares)


def draws_per_sum(world: World) -> tuple[int, ...]:
    """Return the number of calls of the noise sampler for each event, in the order of the events.

    The events are those of sums 1, 2a, 2b and 3, and of the three sums of stars if there are any.
    A Gram matrix takes two calls: for its entries off the diagonal, and for the diagonal.
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
        """Name of this way to fit, as the audit prints it."""

    @property
    def factors(self) -> bool:
        """Whether the auditor's answers lead to factors of stars."""

    @property
    def pairs(self) -> bool:
        """Whether the auditor's answers lead to pairs of likes."""

    def fit(self, table: Ratings) -> dict[str, NDArray[Any]]:
        """Make all fits, and return all numbers that they released, by name."""


def audit_line(world: FittedWorld) -> AuditedClaim:
    """Make the audit of one way to fit: a replay for each person of `PERSONS`."""
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
