"""Bugs planted into the fit, each by replacing one step; each is compared with the shipped fit."""

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
from tacit.designs.private import fitting, popular, tastes
from tacit.designs.private.audit.worlds import (
    DELTA,
    EPSILON,
    PERSONS,
    World,
    answers,
    overspent,
    tables,
)
from tacit.designs.private.people import some
from tacit.designs.private.popular import top_items
from tacit.designs.private.settings import Settings, noise_multipliers, overall
from tacit.engine.profile_sums_compiled import Profiles
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
        return top_items(people, _true_counts(people, found), size, noises)

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
            found = replays(self.world.fit, tables(PERSONS[self.person]), answers())
        mu = max(moved.mu for _, moved in found)
        if math.isinf(mu):
            return True, None
        moves = [moved.moves for _, moved in found]
        share = max(overspent(self.world, each) for each in moves)
        return exceeds(1.0, share) or exceeds(EPSILON, epsilon_of(mu, DELTA)), None


_HEAD = World("top-items", False)

BUGS = (
    Planted("each row clipped, not the person's table", rows_clipped_one_by_one),
    Planted("two sums with one charge", mean_row_apart),
    Planted("tastes around the true mean", true_mean),
    Planted("half the noise beside the diagonal", narrow_beside),
    Planted("popular items by true counts", head_by_true_counts, world=_HEAD),
    Planted("items damped by true counts", damped_by_true_counts),
    Planted("being there added beside the clip", presence_beside),
    Planted("each sum with the noise of the whole budget", shares_forgotten),
)
"""The first six are those a reader of the proof would look for first."""
