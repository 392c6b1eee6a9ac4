"""Faulty steps of a fit, which the audit has to catch.

Each function or constant in this file that a `PlantedBug` plants is wrong on purpose. The numbers
of sums are those of the package `profile_sums.sums`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bugs import RuleOf, plant
from tacit.auditing.claims import Tool, is_exceeded
from tacit.auditing.gaussian import epsilon_of_mu
from tacit.auditing.replays import run_replays
from tacit.data.ratings import Ratings
from tacit.engine.profile_kernels.types import ClipRule, ProfileCentre, Profiles
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums import fitted_lists, release
from tacit.profile_sums.audit.worlds import (
    DELTA,
    EPSILON,
    PERSONS,
    World,
    answer_sampler,
    largest_share_used,
    neighbouring_tables,
)
from tacit.profile_sums.events import combined_noise, noise_multipliers
from tacit.profile_sums.features import FeatureTables
from tacit.profile_sums.people import people_between, read_profiles
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums import counts as counts_module
from tacit.profile_sums.sums import item_tastes, like_pairs, popular_counts, star_factors
from tacit.profile_sums.sums.counts import (  # imported before a fault replaces them
    Counts,
    CountTable,
    make_counts,
    profile_centre,
    release_count_table,
    sum_counts,
)
from tacit.profile_sums.sums.item_tastes import (  # imported before a fault replaces them
    ItemQuery,
    choose_query,
    sum_item_tastes,
)
from tacit.profile_sums.sums.like_pairs import (  # imported before a fault replaces them
    PAIRS_SHARE,
    PairTable,
    choose_pair_head,
    release_like_pairs,
    sum_like_pairs,
)
from tacit.profile_sums.sums.moment import people_tastes
from tacit.profile_sums.sums.popular_counts import PopularTable, release_popular_counts
from tacit.profile_sums.sums.top_items import release_top_items
from tacit.profile_sums.usefulness import popular_above_noise

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Fault = dict[Any, dict[str, Any]]
"""For each module or class, the names in it that are replaced, with their replacements."""
AddTables = Callable[[list[Floats], SumRelease], Ints]
"""A faulty way to clip and add up people's tables: from the table of each person, before the clip,
to the total in steps."""


def replace_item_sum(add_tables: AddTables) -> Fault:
    """Make a fault that replaces the clip and the addition of tables in sum 3."""

    def sum_own_tables(
        people: Profiles,
        centre: ProfileCentre,
        features: FeatureTables,
        directions: Floats,
        query: ItemQuery,
        mechanism: SumRelease,
        settings: Settings,
    ) -> Ints:
        """Make each person's table by the shipped step, unclipped, and call `add_tables`."""
        unclipped = replace(mechanism, noise_multiplier=0.0)  # without noise there is no clip
        tables = []
        for number in range(len(people.offsets) - 1):
            person = people_between(people, number, number + 1)
            table = sum_item_tastes(
                person, centre, features, directions, query, unclipped, settings
            )
            tables.append(table)
        return add_tables(tables, mechanism)

    return {item_tastes: {"sum_item_tastes": sum_own_tables}}


def clip_each_row(tables: list[Floats], mechanism: SumRelease) -> Ints:
    """Clip each row of a table by itself, not the whole table."""
    total = mechanism.zero_table()
    for table in tables:
        total += np.array([mechanism.clip_table(row) for row in table])
    return total


def clip_mean_row_apart(tables: list[Floats], mechanism: SumRelease) -> Ints:
    """Clip item rows and mean row apart, each at the whole norm, although one sum is charged."""
    total = mechanism.zero_table()
    for table in tables:
        total[:-1] += mechanism.clip_table(table[:-1])
        total[-1] += mechanism.clip_table(table[-1] * 100)  # enlarged, so that the clip binds
    return total


def scale_by_longest(tables: list[Floats], mechanism: SumRelease) -> Ints:
    """Multiply all tables by one factor, so that even the longest does not exceed the norm.

    One person's table thus changes the scale of all other people's.
    """
    lengths = [float(np.linalg.norm(table)) for table in tables]
    share = mechanism.norm / max([mechanism.norm, *lengths])
    total = mechanism.zero_table()
    for table in tables:
        total += mechanism.clip_table(table * share)
    return total


def drop_halves_by_one_generator(tables: list[Floats], mechanism: SumRelease) -> Ints:
    """Drop each row of each table with probability 1/2, by one generator for all people.

    One more person thus changes the draws for everybody whose table is added after theirs.
    """
    draws = np.random.default_rng(1)
    total = mechanism.zero_table()
    for table in reversed(tables):
        rows = np.flatnonzero(table.any(axis=1))
        table[rows[draws.random(len(rows)) < 0.5]] = 0
        total += mechanism.clip_table(table)
    return total


def add_counts_beside_clip(tables: list[Floats], mechanism: SumRelease) -> Ints:
    """Clip tastes at the whole norm, and the column of counts once more at the whole norm."""
    total = mechanism.zero_table()
    for table in tables:
        total[:, :-1] += mechanism.clip_table(table[:, :-1] * 100)  # enlarged, so the clip binds
        total[:, -1] += mechanism.clip_table(table[:, -1])
    return total


def divide_by_most_likes(tables: list[Floats], mechanism: SumRelease) -> Ints:
    """Divide likes by the root of the largest number of likes of a person, not the person's own.

    Tastes are set to 0.
    """
    like_counts = [np.count_nonzero(table[:, -1]) for table in tables]
    total = mechanism.zero_table()
    for likes, table in zip(like_counts, tables, strict=True):
        table[:, :-1] = 0
        total += mechanism.clip_table(table * math.sqrt(likes / max(like_counts)))
    return total


def show_people_after_counts(step: str, fault: Callable[..., Any]) -> Fault:
    """Make a fault: a step that works on released counts reads the profiles, too.

    Args:
        step: Name of the step in the module `release`.
        fault: Replacement. Its arguments are everybody's profile, then those of the step.
    """
    profiles_of_last_release: list[Profiles] = []  # at most one entry

    def keep_people(people: Profiles, *arguments: Any) -> CountTable:
        """Release sum 1 as shipped, and keep the profiles for the faulty step."""
        profiles_of_last_release[:] = [people]
        return release_count_table(people, *arguments)

    def run_fault(*arguments: Any) -> Any:
        """Run the faulty step with the kept profiles."""
        return fault(profiles_of_last_release[0], *arguments)

    return {release: {"release_count_table": keep_people, step: run_fault}}


def centre_at_true_mean(
    people: Profiles, counts: Counts, features: FeatureTables, settings: Settings
) -> ProfileCentre:
    """Subtract from profiles the exact mean of their features, which is not released."""
    centre = profile_centre(counts, features, settings)
    tastes = people_tastes(people, centre, features.context)
    return centre._replace(mean=centre.mean + tastes.mean(axis=0))


def centre_by_true_counts(
    people: Profiles, counts: Counts, features: FeatureTables, settings: Settings
) -> ProfileCentre:
    """Compute damping and mean features from exact numbers of likes."""
    return profile_centre(true_counts(people, counts), features, settings)


def true_counts(people: Profiles, counts: Counts) -> Counts:
    """Replace the released shares by exact numbers of rows, over the released number of people."""
    likes = np.bincount(people.likes, minlength=len(counts.targets)).astype(float)
    if people.one_domain:
        context_rows = likes
    else:
        context_rows = np.bincount(people.items, minlength=len(counts.context)).astype(float)
    return replace(counts, context=context_rows / counts.people, targets=likes / counts.people)


def top_items_by_true_counts(people: Profiles, counts: Counts, *arguments: Any) -> Any:
    """Choose the top items by exact numbers of rows."""
    return release_top_items(people, true_counts(people, counts), *arguments)


def head_by_true_counts(people: Profiles, counts: Counts, *arguments: Any) -> ItemQuery:
    """Choose the head of sum 3 by exact numbers of likes."""
    return choose_query(true_counts(people, counts), *arguments)


def pair_head_by_true_counts(
    people: Profiles, shares: Floats, effective_population: float | None
) -> Ints:
    """Choose the head of pairs by exact numbers of likes."""
    likes = np.bincount(people.likes, minlength=len(shares)).astype(float)
    return choose_pair_head(likes, effective_population)


def release_pairs_with_whole_event(
    people: Profiles, head: Ints, target_items: int, noise_multiplier: float
) -> PairTable:
    """Release pairs with the noise of the whole event, of which sum 3 already takes half."""
    smaller_multiplier = noise_multiplier * math.sqrt(PAIRS_SHARE)
    return release_like_pairs(people, head, target_items, smaller_multiplier)


def count_pairs_in_both_orders(
    people: Profiles, head: Ints, target_items: int, mechanism: SumRelease
) -> Ints:
    """Add each pair of a person twice, once for each order of its items."""
    total: Ints = 2 * sum_like_pairs(people, head, target_items, mechanism)
    return total


def clip_pairs_of_each_item(head: int, *, exact: bool) -> NDArray[Any]:
    """Weigh pairs by 1 / sqrt(likes): an item's pairs have norm 1 at most, a person's more."""
    likes = np.arange(head + 1)
    weights = 1 / np.sqrt(np.maximum(likes, 1))
    return weights if exact else np.trunc(weights * 2**20).astype(np.int64)


def divide_pairs_by_most_likes(
    people: Profiles, head: Ints, target_items: int, mechanism: SumRelease
) -> Ints:
    """Divide everybody's pairs by the largest number of likes of a person, not the person's own."""
    most = int(np.diff(people.like_offsets).max())
    total = mechanism.zero_table()
    for number in range(len(people.offsets) - 1):
        person = people_between(people, number, number + 1)
        pairs = sum_like_pairs(person, head, target_items, mechanism)
        total += (pairs > 0) * (2**20 // most)  # an entry of 1 has 2^20 steps
    return total


def popular_by_true_counts(people: Profiles, shares: Floats, deviation: float) -> float:
    """Compare popular items with the noise, as a fit's gate does, by exact numbers of likes."""
    likes = np.bincount(people.likes, minlength=len(shares)).astype(float)
    return popular_above_noise(likes / (len(people.offsets) - 1), deviation)


def count_popular_items_with_one_charge(
    people: Profiles, counts: Counts, noises: list[float], settings: Settings
) -> PopularTable:
    """Draw each of the three later counts as if it alone had the budget of all three."""
    noise = combined_noise(noises)
    return release_popular_counts(people, counts, [noise] * len(noises), settings)


def divide_by_true_number(people: Profiles, *arguments: Any) -> Counts:
    """Divide shares by the exact number of people."""
    return replace(make_counts(*arguments), people=float(len(people.offsets) - 1))


def add_presence_after_clip(
    people: Profiles, context_items: int, mechanism: SumRelease, settings: Settings
) -> Ints:
    """Scale each person's likes to the largest norm, and add the entry that counts people after it.

    The whole vector is then longer than the largest norm.
    """
    total = mechanism.zero_table()
    unclipped = replace(mechanism, noise_multiplier=0.0)  # without noise there is no clip
    for number in range(len(people.offsets) - 1):
        person = people_between(people, number, number + 1)
        vector = sum_counts(person, context_items, unclipped, settings)[:, 0]
        presence = vector[-1]
        vector[-1] = 0
        length = max(float(np.linalg.norm(vector)), 1e-12)
        steps = mechanism.clip_table((vector / length)[:, None])
        steps[-1] += int(presence / mechanism.resolution)
        total += steps
    return total


def read_likes_above_mean(ratings: Ratings, sides: Any, _: float, other_weight: float) -> Profiles:
    """Count a rating as a like if it is at least the mean of all people's stars."""
    return read_profiles(ratings, sides, float(ratings.values.mean()), other_weight)


def read_without_rare_items(ratings: Ratings, *arguments: Any) -> Profiles:
    """Leave out items that fewer than 17 people rated: one person can decide if an item stays."""
    is_frequent = np.bincount(ratings.items, minlength=ratings.n_items) >= 17
    return read_profiles(ratings.where(is_frequent[ratings.items]), *arguments)


def double_clip(mechanism: SumRelease) -> ClipRule:
    """Clip at twice the norm for which the noise is chosen."""
    return ClipRule(2 * mechanism.norm, mechanism.resolution, 4 * mechanism.squared_norm)


def forget_shares(settings: Settings) -> list[float]:
    """Give each of the four sums the noise of one sum that has the whole budget."""
    return [combined_noise(noise_multipliers(settings))] * 4


_TASTE = World("taste", False)
_TOP_ITEMS = World("top-items", False)
_POPULARITY = World("auto", False)
_FACTORS = World("taste", False, stars=True, factors=True)
_PAIRS = World("auto", False, pairs=True)


@dataclass(frozen=True)
class PlantedBug:
    """Faulty steps of a fit, and the way to fit and the person that show them."""

    name: str
    """The bug in words."""
    fault: Fault
    """The steps that are replaced."""
    person: str = "likes a third, rates all"
    """Name in `PERSONS` of the person who is added or removed."""
    world: World = _TASTE
    """The way to fit."""
    tool: Tool = "grey-box"
    """The tool that has to find the bug."""
    epsilon: float = EPSILON
    """Epsilon of the claim."""
    rule_of: RuleOf | None = None
    """Describes the code for the rule engine; None if no rule can."""
    conditions: Fault = field(default_factory=dict)
    """Values replaced in the faulty and in the shipped fit alike, without which the fault has no
    effect in a small world."""

    def audit(self, *, planted: bool) -> tuple[bool, float | None]:
        """Tell whether a fit loses more than it claims, or a sum more than its event.

        Args:
            planted: Whether the bug is planted; otherwise the shipped code is audited.

        Returns:
            Whether it does, and None in place of a bound.
        """
        fault = self.fault if planted else {}
        with plant(self.conditions), plant(fault):
            noise = answer_sampler(factors=self.world.factors, pairs=self.world.pairs)
            tables = neighbouring_tables(PERSONS[self.person])
            replayed = run_replays(self.world.fit, tables, noise)
        mu = max(moved.mu for _, moved in replayed)
        if math.isinf(mu):
            return True, None
        share = max(largest_share_used(self.world, moved.moves) for _, moved in replayed)
        return is_exceeded(1.0, share) or is_exceeded(EPSILON, epsilon_of_mu(mu, DELTA)), None


TOP_ITEMS_BY_TRUE_COUNTS: Fault = {release: {"release_top_items": top_items_by_true_counts}}
SHARES_FORGOTTEN: Fault = {release: {"noise_multipliers": forget_shares}}
HALF_SIGMA_BESIDE: Fault = {
    GramRelease: {"sigma_off_diagonal": property(lambda mechanism: mechanism.sigma / 2)}
}
"""Off the diagonal, the noise has sigma / 2 instead of sigma / sqrt(2)."""
SMALL_HEADS: Fault = {
    item_tastes: {"LEAST_HEAD": 8, "HEAD_FACTOR": 0.1},
    popular_counts: {"LEAST_POPULAR_HEAD": 8},
}
"""Heads that have 8 of the 20 items."""
SMALL_PAIR_HEADS: Fault = {like_pairs: {"MOST_PAIR_ITEMS": 8}}
"""Heads of pairs of likes, with 8 of the 20 items."""
COUNTS_BESIDE_CLIP = replace_item_sum(add_counts_beside_clip)
TASTES_AROUND_TRUE_MEAN = show_people_after_counts("profile_centre", centre_at_true_mean)
DAMPED_BY_TRUE_COUNTS = show_people_after_counts("profile_centre", centre_by_true_counts)
HEAD_BY_TRUE_COUNTS = show_people_after_counts("choose_query", head_by_true_counts)
PAIR_HEAD_BY_TRUE_COUNTS = show_people_after_counts("choose_pair_head", pair_head_by_true_counts)
GATE_BY_TRUE_COUNTS = show_people_after_counts("popular_above_noise", popular_by_true_counts)
POPULAR_COUNTS_WITH_ONE_CHARGE: Fault = {
    release: {"release_popular_counts": count_popular_items_with_one_charge}
}
BUGS = (
    PlantedBug("each row clipped, not the person's table", replace_item_sum(clip_each_row)),
    PlantedBug("two sums with one charge", replace_item_sum(clip_mean_row_apart)),
    PlantedBug("tastes around the true mean", TASTES_AROUND_TRUE_MEAN),
    PlantedBug("half the noise variance off the diagonal", HALF_SIGMA_BESIDE),
    PlantedBug("popular items by true counts", TOP_ITEMS_BY_TRUE_COUNTS, world=_TOP_ITEMS),
    PlantedBug("items damped by true counts", DAMPED_BY_TRUE_COUNTS),
    PlantedBug("coins of one generator for all", replace_item_sum(drop_halves_by_one_generator)),
    PlantedBug(
        "divided by the true number of people",
        show_people_after_counts("make_counts", divide_by_true_number),
    ),
    PlantedBug(
        "everybody scaled by the longest table",
        replace_item_sum(scale_by_longest),
        "likes two rare items",
    ),
    PlantedBug(
        "the entry that counts people added after the clip",
        {counts_module: {"sum_counts": add_presence_after_clip}},
    ),
    PlantedBug("each sum with the noise of the whole budget", SHARES_FORGOTTEN),
    PlantedBug("tastes and counts of the head clipped apart", COUNTS_BESIDE_CLIP),
    PlantedBug(
        "the head of sum 3 by true counts",
        HEAD_BY_TRUE_COUNTS,
        conditions=SMALL_HEADS,
    ),
    PlantedBug(
        "likes over the most that anybody has",
        replace_item_sum(divide_by_most_likes),
        "likes everything",
    ),
    PlantedBug("the gate by true counts", GATE_BY_TRUE_COUNTS, world=_POPULARITY),
    PlantedBug(
        "three later counts with one charge", POPULAR_COUNTS_WITH_ONE_CHARGE, world=_POPULARITY
    ),
    PlantedBug(
        "likes above the mean of all", {fitted_lists: {"read_people": read_likes_above_mean}}
    ),
    PlantedBug(
        "items of few people dropped", {fitted_lists: {"read_people": read_without_rare_items}}
    ),
    PlantedBug(
        "factors of stars with half the noise",
        {star_factors: {"clip_rule": double_clip}},
        world=_FACTORS,
    ),
    PlantedBug(
        "pairs of likes with the noise of sum 3's whole event",
        {release: {"release_like_pairs": release_pairs_with_whole_event}},
        world=_PAIRS,
    ),
    PlantedBug(
        "the head of pairs by true counts",
        PAIR_HEAD_BY_TRUE_COUNTS,
        world=_PAIRS,
        conditions=SMALL_PAIR_HEADS,
    ),
    PlantedBug(
        "pairs counted in both orders",
        {like_pairs: {"sum_like_pairs": count_pairs_in_both_orders}},
        world=_PAIRS,
    ),
    PlantedBug(
        "each item's pairs clipped, not the person's",
        {like_pairs: {"weights_by_likes": clip_pairs_of_each_item}},
        world=_PAIRS,
    ),
    PlantedBug(
        "pairs over the most likes that anybody has",
        {like_pairs: {"sum_like_pairs": divide_pairs_by_most_likes}},
        "likes everything",
        world=_PAIRS,
    ),
)
"""All bugs. Each breaks a step of the proof in docs/private-proof.md."""
