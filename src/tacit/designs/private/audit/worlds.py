"""Small tables with and without one person, whole fits of them, and bugs planted into such fits.

The claim is audited in both modes, in one domain and across two. The noisy number of people is
given by the auditor, for 40 people alone would end a fit after its first sum; and clips are small
enough to bind in so small a world. Both leave every rule of the fit as it is shipped.

A bug replaces a step of the fit; each is compared with the shipped fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bugs import Described, Tool, planted
from tacit.auditing.claims import exceeds
from tacit.auditing.gaussian import epsilon_of
from tacit.auditing.replays import replays
from tacit.auditing.sampler_spy import Answer, SamplerCall
from tacit.data.ratings import Ratings, RatingScale
from tacit.designs.private import fitting, people, popular, stars
from tacit.designs.private.fitting import centre as shipped_centre  # before it is replaced
from tacit.designs.private.fitting import item_total, tastes
from tacit.designs.private.model import Private
from tacit.designs.private.people import profiles, some
from tacit.designs.private.popular import total as count_total  # before it is replaced
from tacit.designs.private.settings import Mode, Settings, noise_multipliers, overall
from tacit.engine.profile_sums_compiled import Clip, Profiles
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import SumRelease

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
EPSILON, DELTA = 1.0, 1e-6
ITEMS, GENRES = 20, 5
_PEOPLE, _MANY = 400, 20_000  # as the answers have it
_SCALE = RatingScale(1, 5, 1)
_RARE = ITEMS - 1  # nobody else rates it; its last genre is its own

Stars = Mapping[int, float]
Tables = tuple[Ratings, Ratings]

PERSONS: Mapping[str, Stars] = {
    "likes everything": dict.fromkeys(range(ITEMS), 5.0),
    "likes a third, rates all": {item: 5.0 if item % 3 == 0 else 1.0 for item in range(ITEMS)},
    "likes two rare items": {0: 5.0, _RARE: 5.0},
    "alone in a feature": {_RARE: 5.0, 1: 4.0, 2: 5.0, 11: 4.0},
    "rates all 1": dict.fromkeys(range(ITEMS), 1.0),
    "has no rows": {},
}
"""Who comes or goes: item number to stars."""


@dataclass(frozen=True)
class World:
    """One way to fit. across: from the first half of the items to the second."""

    mode: Mode
    across: bool
    stars: bool = False
    factors: bool = False

    @property
    def name(self) -> str:
        where = "across domains" if self.across else "one domain"
        more = ", with factors of stars" if self.factors else ", with stars" if self.stars else ""
        return f"private, {self.mode}, {where}{more}"

    def fit(self, table: Ratings) -> dict[str, NDArray[Any]]:
        """The shipped recommender; the arrays of its model file, and the other released numbers."""
        source, target = ("books", "films") if self.across else (None, None)
        model = _Clipped(
            EPSILON, DELTA, source=source, target=target, mode=self.mode, stars=self.stars
        ).fit(table)
        return arrays_of(model)


def arrays_of(model: Private) -> dict[str, NDArray[Any]]:
    released = model.released_
    people = np.array([released.usefulness.people, released.deviation])
    return {**model.parts()[1], "people": people}


class _Clipped(Private):
    """The same with clips that bind among few people."""

    @property
    def settings(self) -> Settings:
        small = 0.02
        return replace(super().settings, moment_clip=small, feature_clip=small, item_clip=small)


WORLDS = (
    *(World(mode, across) for mode in ("taste", "top-items") for across in (False, True)),
    World("taste", True, stars=True),
    World("taste", False, stars=True, factors=True),
)


def tables(person: Stars, people: int = 40) -> Tables:
    """Some people with arbitrary ratings, with `person` and without."""
    draws = np.random.default_rng(1)
    rows: list[Stars] = [
        {
            int(item): float(draws.integers(1, 6))
            for item in np.flatnonzero(draws.random(ITEMS - 1) < 0.4)
        }
        for _ in range(people)
    ]
    return ratings([*rows, person]), ratings(rows)


def ratings(rows: list[Stars]) -> Ratings:
    """Everybody, also people without rows, on one public catalogue."""
    cells = [(u, i, row[i]) for u, row in enumerate(rows) for i in sorted(row)]
    users, items, stars = map(np.array, zip(*cells, strict=True))
    genres, domains = np.empty(ITEMS, object), np.empty(ITEMS, object)
    genres[:] = [f"{i % GENRES}|{i % 3}" if i < _RARE else "its own" for i in range(ITEMS)]
    domains[:] = ["books" if item < ITEMS // 2 else "films" for item in range(ITEMS)]
    return Ratings(
        users.astype(np.int32), items.astype(np.int32), stars.astype(np.float64), None,
        np.arange(len(rows)), np.arange(ITEMS), _SCALE,
        item_metadata={"genres": genres, "domain": domains}, catalogue_given=True,
    )  # fmt: skip


def answers(seed: int = 0, *, factors: bool = False) -> Answer:
    """A hundredth of the noise, and a first sum that speaks of 400 people; for factors of stars it
    speaks of many, and the Gram matrix of stars is large enough to show some."""
    draws = np.random.default_rng(seed)
    people = _MANY if factors else _PEOPLE

    def answer(asked: SamplerCall) -> NDArray[np.int64]:
        noise = np.rint(draws.normal(0, asked.scale / 100, asked.values.shape)).astype(np.int64)
        made = asked.values + noise
        if made.ndim == 2 and made.shape[1] == 1:  # the counts alone have one column
            made[-1] = int(people * Settings().presence / 2.0**-12)
        if factors and made.shape == (ITEMS * (ITEMS - 1) // 2,):
            made *= 50
        return made

    return answer


def overspent(world: World, moves: tuple[float, ...]) -> float:
    """The largest share of its own event that a sum uses up in mu^2: at most 1."""
    # Releases in each sum: a Gram matrix has two, beside the diagonal and on it.
    sizes = (1, 2, 1, 1) if world.mode == "taste" else (1, 2, 2, 1 if world.across else 2)
    of_stars = (1, 2 if world.factors else 1, 1) if world.stars else ()
    ends = np.cumsum((0, *sizes, *of_stars))
    used = [sum(move**2 for move in moves[a:b]) for a, b in pairwise(ends)]
    noises = noise_multipliers(Settings(EPSILON, DELTA, stars=world.stars))
    return max(float(mu * noise**2) for mu, noise in zip(used, noises, strict=True))


Steps = dict[Any, dict[str, Any]]


def _item_sum(made_of: Callable[[list[Floats], SumRelease], Ints]) -> Steps:
    """Sum 3 with another way from everybody's own tables to the total."""

    def total(people: Profiles, at: Any, features: Any, matrix: Any, mechanism: SumRelease,
              settings: Settings) -> Ints:  # fmt: skip
        given = at, features, matrix, replace(mechanism, noise_multiplier=0.0), settings
        each = (some(people, u, u + 1) for u in range(len(people.offsets) - 1))
        return made_of([item_total(one, *given) for one in each], mechanism)

    return {fitting: {"item_total": total}}


def rows_clipped(each: list[Floats], mechanism: SumRelease) -> Ints:
    return sum(
        (np.array([mechanism.clip_table(row) for row in own]) for own in each),
        mechanism.zero_table(),
    )


def mean_row_apart(each: list[Floats], mechanism: SumRelease) -> Ints:
    """Item rows and the mean row are clipped as two sums, and charged once."""
    total = mechanism.zero_table()
    for own in each:
        total[:-1] += mechanism.clip_table(own[:-1])
        total[-1] += mechanism.clip_table(own[-1] * 100)  # so that it is as long as it may be
    return total


def scaled_by_the_longest(each: list[Floats], mechanism: SumRelease) -> Ints:
    longest = max(mechanism.norm, *(float(np.linalg.norm(own)) for own in each))
    share = mechanism.norm / longest
    return sum((mechanism.clip_table(own * share) for own in each), mechanism.zero_table())


def halves_of_one_generator(each: list[Floats], mechanism: SumRelease) -> Ints:
    """A coin for each row of each person, from one generator that runs down the table."""
    draws, total = np.random.default_rng(1), mechanism.zero_table()
    for own in reversed(each):
        rows = np.flatnonzero(own.any(axis=1))
        own[rows[draws.random(len(rows)) < 0.5]] = 0
        total += mechanism.clip_table(own)
    return total


def _knowing_people(centre: Callable[..., Any]) -> Steps:
    """The step after the counts gets to see the people."""
    seen: list[Profiles] = []

    def count(people: Profiles, *given: Any) -> Any:
        seen[:] = [people]
        return popular.count(people, *given)

    return {fitting: {"count": count, "centre": lambda *given: centre(seen[0], *given)}}


def around_true_mean(people: Profiles, *given: Any) -> Any:
    at, features = shipped_centre(*given), given[1]
    own = tastes(people, at, features.context)
    return at._replace(mean=at.mean + own.mean(axis=0))


def true_counts(people: Profiles, counts: popular.Counts) -> popular.Counts:
    likes = np.bincount(people.likes, minlength=len(counts.targets)).astype(float)
    used = likes if people.joint else np.bincount(people.items, minlength=len(counts.context))
    return replace(counts, context=used / counts.people, targets=likes / counts.people)


def damped(people: Profiles, counts: popular.Counts, *given: Any) -> Any:
    return shipped_centre(true_counts(people, counts), *given)


def top(people: Profiles, counts: popular.Counts, *given: Any) -> Any:
    return popular.top_items(people, true_counts(people, counts), *given)


def true_number(people: Profiles, *given: Any) -> popular.Counts:
    return replace(popular.count(people, *given), people=float(len(people.offsets) - 1))


def presence_beside(
    people: Profiles, context: int, mechanism: SumRelease, settings: Settings
) -> Ints:
    """The entry for being there is added after the clip, to unit vectors of likes."""
    made, plain = mechanism.zero_table(), replace(mechanism, noise_multiplier=0.0)
    for u in range(len(people.offsets) - 1):
        own = count_total(some(people, u, u + 1), context, plain, settings)[:, 0]
        there, own[-1] = own[-1], 0
        length = max(float(np.linalg.norm(own)), 1e-12)
        steps = mechanism.clip_table((own / length)[:, None])
        steps[-1] += int(there / mechanism.resolution)
        made += steps
    return made


def liked_above_the_mean(ratings: Any, sides: Any, _: float, low: float) -> Profiles:
    return profiles(ratings, sides, float(ratings.values.mean()), low)


def rare_items_dropped(ratings: Any, *given: Any) -> Profiles:
    often = np.bincount(ratings.items, minlength=ratings.n_items) >= 17
    return profiles(ratings.where(often[ratings.items]), *given)


def twice(mechanism: SumRelease) -> Clip:
    return Clip(2 * mechanism.norm, mechanism.resolution, 4 * mechanism.squared_norm)


@dataclass(frozen=True)
class Planted:
    """Steps replaced in every fit of a world, and the person who shows it."""

    name: str
    fault: Steps
    person: str = "likes a third, rates all"
    world: World = World("taste", False)  # frozen
    tool: Tool = "grey-box"
    epsilon: float = EPSILON
    described: Described | None = None

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        """Whether a whole fit loses more than it claims, or a sum more than its own event."""
        with planted(self.fault if bug else {}):
            noise = answers(factors=self.world.factors)
            replayed = replays(self.world.fit, tables(PERSONS[self.person]), noise)
        mu = max(moved.mu for _, moved in replayed)
        if math.isinf(mu):
            return True, None
        moves = [moved.moves for _, moved in replayed]
        share = max(overspent(self.world, each) for each in moves)
        return exceeds(1.0, share) or exceeds(EPSILON, epsilon_of(mu, DELTA)), None


_HEAD = World("top-items", False)
_FACTORS = World("taste", False, stars=True, factors=True)

HEAD_BY_TRUE_COUNTS: Steps = {fitting: {"top_items": top}}
SHARES_FORGOTTEN: Steps = {
    fitting: {"noise_multipliers": lambda asked: [overall(noise_multipliers(asked))] * 4}
}
BUGS = (
    Planted("each row clipped, not the person's table", _item_sum(rows_clipped)),
    Planted("two sums with one charge", _item_sum(mean_row_apart)),
    Planted("tastes around the true mean", _knowing_people(around_true_mean)),
    Planted(
        "half the noise beside the diagonal",  # instead of its root of a half
        {GramRelease: {"sigma_beside": property(lambda release: release.sigma / 2)}},
    ),
    Planted("popular items by true counts", HEAD_BY_TRUE_COUNTS, world=_HEAD),
    Planted("items damped by true counts", _knowing_people(damped)),
    Planted("coins of one generator for all", _item_sum(halves_of_one_generator)),
    Planted("divided by the true number of people", {fitting: {"count": true_number}}),
    Planted(
        "everybody scaled by the longest table", _item_sum(scaled_by_the_longest),
        "likes two rare items",
    ),
    Planted("being there added beside the clip", {popular: {"total": presence_beside}}),
    Planted("each sum with the noise of the whole budget", SHARES_FORGOTTEN),
    Planted("likes above the mean of all", {people: {"everybody": liked_above_the_mean}}),
    Planted("items of few people dropped", {people: {"everybody": rare_items_dropped}}),
    Planted("factors of stars with half the noise", {stars: {"clip_of": twice}}, world=_FACTORS),
)  # fmt: skip
"""The first six are those a reader of the proof would look for first."""
