"""Whole fits at sizes that are used, drawn at random for each run, and faults that begin there.

The small worlds of `worlds` have 40 people and 20 items. A fault that begins above a size passes
them: a kernel that does not clip a person of more than 2,000 entries, or a table beyond 20,000
cells whose zeros get no noise. Here about 2,000 people rate more than 5,000 items, and the person
who is added or removed has more than 5,000 entries. One transcript of each mode is replayed.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bugs import RuleOf, plant
from tacit.auditing.claims import AuditedClaim, PairResult, Tool, exceeds
from tacit.auditing.gaussian import epsilon_of_mu
from tacit.auditing.replays import Replay, compare_replay, record_fit
from tacit.auditing.sampler_spy import Answer, SamplerCall
from tacit.data.ratings import Ratings, RatingScale
from tacit.engine.profile_kernels import counts, item_tastes, like_pairs, products
from tacit.engine.profile_kernels.types import ClipRule, Profiles
from tacit.mechanisms import samplers
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums.audit.worlds import (
    DELTA,
    EPSILON,
    NeighbouringTables,
    World,
    answer_sampler,
    draws_per_sum,
    largest_share_used,
)
from tacit.profile_sums.people import people_between
from tacit.profile_sums.settings import Settings

PEOPLE, ENTRIES, FEATURES = 2_000, 5_000, 80
"""Least numbers of people, of the one person's entries, and of features; a quarter more at most."""
_CELLS = 30_000
"""Least cells of the largest sum that a fit of these items releases."""
_GRAM = 64
"""Least rows of the Gram matrix that is released of so many features."""
_ANSWERED_PEOPLE = 20_000_000
"""Number of people that the auditor lets the first sum say."""
_ENTRIES_EACH = 30
"""Entries of each other person."""
_SCALE = RatingScale(1, 5, 1)
Generator = np.random.Generator


def large_tables(draws: Generator) -> NeighbouringTables:
    """Draw ratings of many people, with one person of many entries, and without."""
    people, entries, features = (_size(draws, least) for least in (PEOPLE, ENTRIES, FEATURES))
    items = entries + int(draws.integers(1, 200))
    genres = np.empty(items, object)
    for item in range(items):
        own = {item % features, *draws.integers(0, features, 2).tolist()}
        genres[item] = "|".join(f"g{genre}" for genre in sorted(own))
    popularity = draws.permutation(1 / np.arange(1, items + 1))
    popularity /= popularity.sum()
    rows = [np.sort(draws.choice(items, _ENTRIES_EACH, p=popularity)) for _ in range(people)]
    columns = [np.unique(row) for row in rows]
    columns.append(np.sort(draws.choice(items, entries, replace=False)))
    users = np.repeat(np.arange(people + 1), [len(column) for column in columns])
    values = draws.integers(1, 6, len(users)).astype(float)
    values[users == people] = draws.choice([2.0, 5.0], entries, p=[0.2, 0.8])
    table = Ratings(
        users=users.astype(np.int32),
        items=np.concatenate(columns).astype(np.int32),
        values=values,
        timestamps=None,
        user_ids=np.arange(people + 1),
        item_ids=np.arange(items),
        scale=_SCALE,
        item_metadata={"genres": genres},
        catalogue_given=True,
    )
    return table, table.where(table.users != people)


def _size(draws: Generator, least: int) -> int:
    """Draw a size from `least` to a quarter more."""
    return int(draws.integers(least, least + least // 4))


def replay_once(world: World, tables: NeighbouringTables, seed: int) -> Replay:
    """Record a fit of either table, and replay it on the other one."""
    first, other = tables if seed % 2 else tables[::-1]
    answer = _answer_many_directions(seed, first.n_items, pairs=world.pairs)
    transcript = record_fit(world.fit, first, answer)
    return transcript, compare_replay(world.fit, transcript, other)


def _answer_many_directions(seed: int, items: int, *, pairs: bool) -> Answer:
    """Answer so that the sums after the first are as large as they can be.

    The first one says so many people that all items are asked for, and the Gram matrix is so large
    that tastes have all directions that a fit may release.

    Args:
        seed: Seed of the noise.
        items: Number of items.
        pairs: Whether 'auto' asks for pairs of likes.
    """
    answer = answer_sampler(seed, pairs=pairs, items=items)
    presence = int(_ANSWERED_PEOPLE * Settings().presence / 2.0**-12)

    def enlarge(call: SamplerCall) -> NDArray[np.int64]:
        answered = answer(call)
        shape = call.values.shape
        if shape == (items + 1, 1):  # the first sum
            answered[-1] = presence
        is_sum_of_items = len(shape) == 2 and shape[0] > 2 * FEATURES
        return answered if is_sum_of_items else answered * 50

    return enlarge


def list_faults(world: World, replayed: Replay) -> list[str]:
    """List, in words, all that refutes the claim of one replay."""
    transcript, moved = replayed
    faults = list(moved.differences)
    if not faults and exceeds(1.0, largest_share_used(world, moved.moves)):
        faults.append("a sum moves by more than its own event allows")
    if not faults and exceeds(EPSILON, epsilon_of_mu(moved.mu, DELTA)):
        faults.append("all sums together move by more than the claim")
    if len(transcript.calls) != sum(draws_per_sum(world)):
        faults.append("noise is drawn another number of times than there are sums")
    for beside, diagonal in pairwise(transcript.calls):
        n = diagonal.values.size
        is_gram = diagonal.values.ndim == 1 and beside.values.shape == (n * (n - 1) // 2,)
        if is_gram and not math.isclose(diagonal.scale, beside.scale * math.sqrt(2)):
            faults.append("a Gram matrix has another noise on its diagonal than its proof")
    return faults


def add_large_pair(line: AuditedClaim, world: World) -> AuditedClaim:
    """Add a pair of neighbours of sizes that this run draws; the pair's name repeats them."""
    seed = secrets.randbits(32)

    def check(_samples: int, _alpha: float) -> PairResult:
        tables = large_tables(np.random.default_rng(seed))
        replayed = replay_once(world, tables, seed)
        moved = replayed[1]
        loss = math.inf if moved.differences else epsilon_of_mu(moved.mu, DELTA)
        name = f"{tables[1].n_users:,} people, {tables[0].n_items:,} items, seed {seed}"
        return PairResult(name, loss, None, 0.0, 0.0, 1, tuple(list_faults(world, replayed)))

    return replace(line, checks=(*line.checks, check))


Kernel = Callable[..., None]
Weaken = Callable[[Kernel, Profiles, tuple[Any, ...]], None]
"""Adds one heavy person to the total by a kernel, in a faulty way."""


def weaken_beyond(kernel: Kernel, threshold: int, add: Weaken) -> Kernel:
    """Plant `if n > threshold` in a kernel, n being the entries of a person."""

    def faulty(people: Profiles, *rest: Any) -> None:
        sizes = np.diff(people.offsets)
        start = 0
        for heavy in np.flatnonzero(sizes > threshold).tolist():
            kernel(people_between(people, start, heavy), *rest)
            add(kernel, people_between(people, heavy, heavy + 1), rest)
            start = heavy + 1
        kernel(people_between(people, start, len(sizes)), *rest)

    return faulty


def add_twice(kernel: Kernel, person: Profiles, rest: tuple[Any, ...]) -> None:
    """Add a person's clipped table two times."""
    kernel(person, *rest)
    kernel(person, *rest)


def add_unclipped(kernel: Kernel, person: Profiles, rest: tuple[Any, ...]) -> None:
    """Add a person's item tastes, scaled and clipped at eight times their norms."""
    *before, tastes_norm, mean_row, least, clip, total = rest
    loose = ClipRule(8 * clip.norm, clip.resolution, 64 * clip.largest_square)
    kernel(person, *before, 8 * tastes_norm, mean_row, least, loose, total)


def keep_zeros_beyond(threshold: int) -> Callable[..., NDArray[np.float64]]:
    """Plant `if n > threshold` in the noise of a sum: empty cells stay empty."""
    shipped = SumRelease.add_noise

    def faulty(mechanism: SumRelease, total: NDArray[Any]) -> NDArray[np.float64]:
        noisy = shipped(mechanism, total)
        return np.where(total == 0, 0.0, noisy) if total.size > threshold else noisy

    return faulty


def shrink_diagonal_beyond(threshold: int) -> Callable[..., NDArray[np.float64]]:
    """Make a faulty Gram release: above `threshold` items the diagonal gets too little noise."""
    shipped = GramRelease._add_symmetric_noise

    def faulty(mechanism: GramRelease, gram: NDArray[np.int64]) -> NDArray[np.float64]:
        if mechanism.items <= threshold:
            return shipped(mechanism, gram)
        smaller = mechanism.sigma_off_diagonal
        noisy = np.zeros(gram.shape, dtype=np.int64)
        upper = np.triu_indices(mechanism.items, 1)
        noisy[upper] = samplers.discrete_gaussian(gram[upper], smaller)
        noisy += noisy.T
        np.fill_diagonal(noisy, samplers.discrete_gaussian(gram.diagonal(), smaller))
        return noisy.astype(np.float64)

    return faulty


@dataclass(frozen=True)
class ThresholdBug:
    """A step that is faulty above a size drawn at random, and the large fit that shows it."""

    name: str
    world: World
    fault: Callable[[int], dict[Any, dict[str, Any]]]
    """Gives the faulty steps for a threshold."""
    least: int
    most: int
    """Between which thresholds are drawn."""
    tool: Tool = "grey-box"
    epsilon: float = EPSILON
    rule_of: RuleOf | None = None

    def audit(self, *, planted: bool) -> tuple[bool, float | None]:
        """Tell whether a whole fit at real sizes loses more than it claims, without a bound."""
        threshold = self.draw_threshold(np.random.default_rng())
        return self.is_caught(threshold if planted else None, secrets.randbits(32)), None

    def draw_threshold(self, draws: Generator) -> int:
        """Draw a size that the real one is above, log-uniformly."""
        return round(math.exp(draws.uniform(math.log(self.least), math.log(self.most))))

    def is_caught(self, threshold: int | None, seed: int) -> bool:
        """Tell whether the fault at this threshold, or correct code for None, raises an alarm."""
        tables = large_tables(np.random.default_rng(seed))
        with plant({} if threshold is None else self.fault(threshold)):
            replayed = replay_once(self.world, tables, seed)
        return bool(list_faults(self.world, replayed))


def threshold_bugs(world: World, world_of_pairs: World) -> tuple[ThresholdBug, ...]:
    """List faults `if n > t` in each kernel and mechanism of a fit.

    Args:
        world: One domain in mode "taste".
        world_of_pairs: The same with pairs of likes.
    """

    def kernel_bug(
        module: Any, name: str, add: Weaken, words: str, world: World = world
    ) -> ThresholdBug:
        def fault(threshold: int) -> dict[Any, dict[str, Any]]:
            return {module: {name: weaken_beyond(shipped, threshold, add)}}

        shipped = getattr(module, name)
        return ThresholdBug(words, world, fault, 2 * _ENTRIES_EACH, ENTRIES - 1)

    return (
        kernel_bug(counts, "add_counts", add_twice, "counts: many entries added twice"),
        kernel_bug(
            products, "add_feature_products", add_twice, "features: many entries added twice"
        ),
        kernel_bug(
            item_tastes, "add_item_tastes", add_twice, "item tastes: many entries added twice"
        ),
        kernel_bug(
            item_tastes, "add_item_tastes", add_unclipped, "item tastes: many entries not clipped"
        ),
        kernel_bug(
            like_pairs,
            "add_like_pairs",
            add_twice,
            "pairs of likes: many entries added twice",
            world_of_pairs,
        ),
        ThresholdBug(
            "a large sum's empty cells without noise",
            world,
            lambda threshold: {SumRelease: {"add_noise": keep_zeros_beyond(threshold)}},
            1_000,
            _CELLS - 1,
        ),
        ThresholdBug(
            "a large Gram matrix with the smaller noise on its diagonal",
            world,
            lambda threshold: {
                GramRelease: {"_add_symmetric_noise": shrink_diagonal_beyond(threshold)}
            },
            8,
            _GRAM - 1,
        ),
    )
