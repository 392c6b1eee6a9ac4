"""Bugs planted into a fit, each by replacing one step; each is compared with the shipped fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bugs import Described, Tool, planted
from tacit.auditing.claims import exceeds
from tacit.auditing.gaussian import epsilon_of
from tacit.auditing.replays import replays
from tacit.designs.private import fitting, model, popular, stars, tastes
from tacit.designs.private.audit.worlds import (
    DELTA,
    EPSILON,
    PERSONS,
    World,
    answers,
    overspent,
    tables,
)
from tacit.designs.private.people import profiles, some
from tacit.designs.private.settings import Settings, noise_multipliers, overall
from tacit.engine.profile_sums_compiled import Clip, Profiles
from tacit.mechanisms.sums import GramRelease, SumRelease

Floats = NDArray[np.float64]
Steps = dict[Any, dict[str, Any]]


def _item_sum(made_of: Callable[[list[Floats], SumRelease], NDArray[np.int64]]) -> Steps:
    """Sum 3 with another way from everybody's own tables to the total."""

    unclipped = tastes.total

    def total(people: Profiles, at: Any, features: Any, matrix: Any, mechanism: SumRelease,
              settings: Settings) -> NDArray[np.int64]:  # fmt: skip
        number, plain = len(people.offsets) - 1, replace(mechanism, noise_multiplier=0.0)
        each = [
            unclipped(some(people, u, u + 1), at, features, matrix, plain, settings)
            for u in range(number)
        ]
        return made_of(each, mechanism)

    return {tastes: {"total": total}}


def rows_clipped_one_by_one() -> Steps:
    """Each row of the item sum is clipped, and not the person's whole table."""

    def rows(each: list[Floats], mechanism: SumRelease) -> NDArray[np.int64]:
        return sum((np.array([mechanism.steps(row) for row in own]) for own in each),
                   mechanism.empty())  # fmt: skip

    return _item_sum(rows)


def mean_row_apart() -> Steps:
    """Item rows and the mean row are clipped as two sums, and charged once."""

    def two(each: list[Floats], mechanism: SumRelease) -> NDArray[np.int64]:
        total = mechanism.empty()
        for own in each:
            total[:-1] += mechanism.steps(own[:-1])
            total[-1] += mechanism.steps(own[-1] * 100)  # so that it is as long as it may be
        return total

    return _item_sum(two)


def scaled_by_the_longest() -> Steps:
    """Everybody is scaled by the longest table instead of their own."""

    def block(each: list[Floats], mechanism: SumRelease) -> NDArray[np.int64]:
        longest = max(mechanism.norm, *(float(np.linalg.norm(own)) for own in each))
        return sum((mechanism.steps(own * (mechanism.norm / longest)) for own in each),
                   mechanism.empty())  # fmt: skip

    return _item_sum(block)


def halves_of_one_generator() -> Steps:
    """A coin for each row of each person, from one generator that runs down the table."""

    def halves(each: list[Floats], mechanism: SumRelease) -> NDArray[np.int64]:
        draws, total = np.random.default_rng(1), mechanism.empty()
        for own in reversed(each):
            rows = np.flatnonzero(own.any(axis=1))
            kept = own.copy()
            kept[rows[draws.random(len(rows)) < 0.5]] = 0
            total += mechanism.steps(kept)
        return total

    return _item_sum(halves)


def true_number() -> Steps:
    """Sums are divided by the number of people as it is."""

    def count(people: Profiles, *given: Any) -> Any:
        return replace(popular.count(people, *given), people=float(len(people.offsets) - 1))

    return {fitting: {"count": count}}


def true_mean() -> Steps:
    """Tastes are measured from everybody's true mean."""

    def centre(people: Profiles, *given: Any) -> Any:
        at, features = tastes.centre(*given), given[1]
        own = tastes.tastes(people, at, features.context)
        return at._replace(mean=at.mean + own.mean(axis=0))

    return _knowing_people(centre)


def narrow_beside() -> Steps:
    """Entries off the diagonal get half of its noise, instead of its root of a half."""
    return {GramRelease: {"sigma_beside": property(lambda release: release.sigma / 2)}}


def _true_counts(people: Profiles, found: popular.Counts) -> popular.Counts:
    likes = np.bincount(people.likes, minlength=len(found.targets)).astype(float)
    used = likes if people.joint else np.bincount(people.items, minlength=len(found.context))
    return replace(found, context=used / found.people, targets=likes / found.people)


def head_by_true_counts() -> Steps:
    """The popular items are those of the counts without noise."""

    def top(people: Profiles, found: Any, size: int, noises: Any) -> Any:
        return popular.top_items(people, _true_counts(people, found), size, noises)

    return {fitting: {"top_items": top}}


def damped_by_true_counts() -> Steps:
    """How much an item weighs follows from the counts without noise."""

    def centre(people: Profiles, found: Any, *given: Any) -> Any:
        return tastes.centre(_true_counts(people, found), *given)

    return _knowing_people(centre)


def _knowing_people(centre: Callable[..., Any]) -> Steps:
    """The step after the counts gets to see the people."""
    seen: list[Profiles] = []

    def count(people: Profiles, *given: Any) -> Any:
        seen[:] = [people]
        return popular.count(people, *given)

    return {fitting: {"count": count, "centre": lambda *given: centre(seen[0], *given)}}


def presence_beside() -> Steps:
    """The entry for being there is added after the clip, to unit vectors of likes."""

    unclipped = popular.total

    def total(people: Profiles, context: int, mechanism: SumRelease, settings: Settings) -> Any:
        made, plain = mechanism.empty(), replace(mechanism, noise_multiplier=0.0)
        for u in range(len(people.offsets) - 1):
            own = unclipped(some(people, u, u + 1), context, plain, settings)[:, 0]
            there, own[-1] = own[-1], 0
            length = max(float(np.linalg.norm(own)), 1e-12)
            steps = mechanism.steps((own / length)[:, None])
            steps[-1] += int(there / mechanism.resolution)
            made += steps
        return made

    return {popular: {"total": total}}


def shares_forgotten() -> Steps:
    """Every sum has the noise of the whole budget."""
    return {fitting: {"noise_multipliers": lambda s: [overall(noise_multipliers(s))] * 4}}


def liked_above_the_mean() -> Steps:
    """A like is a rating above the mean of all ratings."""

    def made(ratings: Any, sides: Any, _: float, low: float) -> Profiles:
        return profiles(ratings, sides, float(ratings.values.mean()), low)

    return {model: {"everybody": made}}


def rare_items_dropped() -> Steps:
    """Items that fewer than 17 people rated are left out."""

    def made(ratings: Any, *given: Any) -> Profiles:
        often = np.bincount(ratings.items, minlength=ratings.n_items) >= 17
        return profiles(ratings.where(often[ratings.items]), *given)

    return {model: {"everybody": made}}


def factors_with_half_the_noise() -> Steps:
    """The sum of stars times tastes has noise for half of what a person may add."""

    def twice(mechanism: SumRelease) -> Clip:
        return Clip(2 * mechanism.norm, mechanism.resolution, 4 * mechanism.squared_norm)

    return {stars: {"clip_of": twice}}


@dataclass(frozen=True)
class Planted:
    """A fault in every fit of a world, and the person who shows it."""

    name: str
    fault: Callable[[], Steps]
    person: str = "likes a third, rates all"
    world: World = World("taste", False)  # noqa: RUF009  # frozen
    tool: Tool = "grey-box"
    epsilon: float = EPSILON
    described: Described | None = None

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        """Whether a whole fit loses more than it claims, or a sum more than its own event."""
        with planted(self.fault() if bug else {}):
            noise = answers(factors=self.world.factors)
            found = replays(self.world.fit, tables(PERSONS[self.person]), noise)
        mu = max(moved.mu for _, moved in found)
        if math.isinf(mu):
            return True, None
        moves = [moved.moves for _, moved in found]
        share = max(overspent(self.world, each) for each in moves)
        return exceeds(1.0, share) or exceeds(EPSILON, epsilon_of(mu, DELTA)), None


_HEAD = World("top-items", False)
_FACTORS = World("taste", False, stars=True, factors=True)

BUGS = (
    Planted("each row clipped, not the person's table", rows_clipped_one_by_one),
    Planted("two sums with one charge", mean_row_apart),
    Planted("tastes around the true mean", true_mean),
    Planted("half the noise beside the diagonal", narrow_beside),
    Planted("popular items by true counts", head_by_true_counts, world=_HEAD),
    Planted("items damped by true counts", damped_by_true_counts),
    Planted("coins of one generator for all", halves_of_one_generator),
    Planted("divided by the true number of people", true_number),
    Planted("everybody scaled by the longest table", scaled_by_the_longest, "likes two rare items"),
    Planted("being there added beside the clip", presence_beside),
    Planted("each sum with the noise of the whole budget", shares_forgotten),
    Planted("likes above the mean of all", liked_above_the_mean),
    Planted("items of few people dropped", rare_items_dropped),
    Planted("factors of stars with half the noise", factors_with_half_the_noise, world=_FACTORS),
)
"""The first six are those a reader of the proof would look for first."""
