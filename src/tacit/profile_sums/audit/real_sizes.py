"""Audits of fits at realistic sizes, drawn at random for each run, and bugs that show only there.

The ratings of `worlds` have 40 people and 20 items, which cannot show a bug that begins above some
size, such as a kernel that does not clip a person with more than 2,000 entries, or a table of more
than 20,000 cells whose zeros get no noise. Here 2,000 people or more rate more than 5,000 items,
and the person who is added or removed has 5,000 entries or more. Of each `World`, that is, of each
way to fit, one fit is replayed. The numbers of sums are those of `profile_sums.sums`.
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
from tacit.auditing.claims import AuditedClaim, PairResult, Tool, is_exceeded
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
"""Least numbers of people, of the one person's entries, and of features; each size is drawn from
this up to a quarter more."""
_CELLS = 30_000
"""Lower bound of the number of cells in the largest sum of such a fit."""
_GRAM = 64
"""Lower bound of the number of rows of the released Gram matrix."""
_ANSWERED_PEOPLE = 20_000_000
"""Number of people that sum 1 releases, set by the auditor."""
_ENTRIES_EACH = 30
"""Number of entries that are drawn for each other person; some may be the same item."""
_SCALE = RatingScale(1, 5, 1)
Generator = np.random.Generator


def large_tables(draws: Generator) -> NeighbouringTables:
    """Draw ratings of many people, with one person of many entries and without that person."""
    people, entries, features = (_size(draws, least) for least in (PEOPLE, ENTRIES, FEATURES))
    items = entries + int(draws.integers(1, 200))
    genres = np.empty(items, object)
    for item in range(items):
        genres_of_item = {item % features, *draws.integers(0, features, 2).tolist()}
        genres[item] = "|".join(f"g{genre}" for genre in sorted(genres_of_item))
    popularity = draws.permutation(1 / np.arange(1, items + 1))
    popularity /= popularity.sum()
    drawn = draws.choice(items, (people, _ENTRIES_EACH), p=popularity)
    items_of_people = [np.unique(items_of_person) for items_of_person in drawn]
    items_of_people.append(np.sort(draws.choice(items, entries, replace=False)))
    users = np.repeat(np.arange(people + 1), [len(rated) for rated in items_of_people])
    values = draws.integers(1, 6, len(users)).astype(float)
    values[users == people] = draws.choice([2.0, 5.0], entries, p=[0.2, 0.8])
    table = Ratings(
        users=users.astype(np.int32),
        items=np.concatenate(items_of_people).astype(np.int32),
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
    """Draw a size from `least` up to, and without, a quarter more."""
    return int(draws.integers(least, least + least // 4))


def replay_once(world: World, tables: NeighbouringTables, seed: int) -> Replay:
    """Record a fit of one table, and replay it on the other one.

    Args:
        world: The way to fit.
        tables: The neighbouring tables; the parity of the seed decides which one is recorded.
        seed: Seed of the answers.
    """
    recorded, replayed = tables if seed % 2 else tables[::-1]
    answer = _answer_many_directions(seed, recorded.n_items, pairs=world.pairs)
    transcript = record_fit(world.fit, recorded, answer)
    return Replay(transcript, compare_replay(world.fit, transcript, replayed))


def _answer_many_directions(seed: int, items: int, *, pairs: bool) -> Answer:
    """Make a function that answers in place of the sampler, so that later sums are large.

    In the answer to sum 1 there are so many people that all items are in the head of sum 3. The
    answered Gram matrix is so large that tastes have the largest number of directions.

    Args:
        seed: Seed of the noise.
        items: Number of items.
        pairs: Whether the answer to sum 1 has so many likes that mode 'auto' releases pairs.
    """
    answer = answer_sampler(seed, pairs=pairs, items=items)
    presence = int(_ANSWERED_PEOPLE * Settings().presence / 2.0**-12)  # steps of sum 1

    def enlarge(call: SamplerCall) -> NDArray[np.int64]:
        """Answer as `answer` does, but with many people in sum 1.

        Answers other than sums by items are enlarged 50 times.
        """
        answered = answer(call)
        shape = call.values.shape
        if shape == (items + 1, 1):  # the first sum
            answered[-1] = presence
        # A sum by items has more rows than one by features; a Gram matrix comes in vectors.
        is_sum_of_items = len(shape) == 2 and shape[0] > 2 * FEATURES
        return answered if is_sum_of_items else answered * 50

    return enlarge


def list_faults(world: World, replayed: Replay) -> list[str]:
    """Describe each reason why one replay refutes the claim; empty if it does not.

    Args:
        world: The way to fit.
        replayed: The recorded fit, and its comparison with the replay.
    """
    transcript, moved = replayed
    faults = list(moved.differences)
    if not faults and is_exceeded(1.0, largest_share_used(world, moved.moves)):
        faults.append("a sum moves by more than its own event allows")
    if not faults and is_exceeded(EPSILON, epsilon_of_mu(moved.mu, DELTA)):
        faults.append("all sums together move by more than the claim")
    if len(transcript.calls) != sum(draws_per_sum(world)):
        faults.append("noise is drawn more or less often than the sums of the fit need")
    # A Gram matrix of n items draws n (n - 1) / 2 entries off its diagonal, then the diagonal.
    for off_diagonal, diagonal in pairwise(transcript.calls):
        n = diagonal.values.size
        is_gram = diagonal.values.ndim == 1 and off_diagonal.values.shape == (n * (n - 1) // 2,)
        if is_gram and not math.isclose(diagonal.scale, off_diagonal.scale * math.sqrt(2)):
            faults.append("the noise on a Gram matrix's diagonal is not that of its proof")
    return faults


def add_large_pair(claim: AuditedClaim, world: World) -> AuditedClaim:
    """Add a check of a large pair of neighbours to a claim; its name has the sizes and the seed.

    The seed is drawn when this function is called.
    """
    seed = secrets.randbits(32)

    def check(_samples: int, _alpha: float) -> PairResult:
        """Replay one fit; a replay is exact, so it needs neither samples nor a level of error."""
        tables = large_tables(np.random.default_rng(seed))
        replayed = replay_once(world, tables, seed)
        _, moved = replayed
        loss = math.inf if moved.differences else epsilon_of_mu(moved.mu, DELTA)
        name = f"{tables[1].n_users:,} people, {tables[0].n_items:,} items, seed {seed}"
        return PairResult(
            pair=name,
            exact=loss,
            rule_bound=None,
            lower_bound=0.0,
            ideal=0.0,
            samples=1,
            differences=tuple(list_faults(world, replayed)),
        )

    return replace(claim, checks=(*claim.checks, check))


Kernel = Callable[..., None]
"""A kernel of a sum. It reads profiles (first argument) and adds to the total (last argument)."""
AddPerson = Callable[[Kernel, Profiles, tuple[Any, ...]], None]
"""A faulty way to add one person: from the kernel, the profile and the kernel's other arguments."""


def weaken_beyond(kernel: Kernel, threshold: int, add_person: AddPerson) -> Kernel:
    """Make a faulty kernel: people with more entries than `threshold` are added by `add_person`."""

    def faulty(people: Profiles, *arguments: Any) -> None:
        sizes = np.diff(people.offsets)
        start = 0
        for heavy in np.flatnonzero(sizes > threshold).tolist():
            kernel(people_between(people, start, heavy), *arguments)
            add_person(kernel, people_between(people, heavy, heavy + 1), arguments)
            start = heavy + 1
        kernel(people_between(people, start, len(sizes)), *arguments)

    return faulty


def add_twice(kernel: Kernel, person: Profiles, arguments: tuple[Any, ...]) -> None:
    """Add a person's clipped table two times."""
    kernel(person, *arguments)
    kernel(person, *arguments)


def add_with_loose_clip(kernel: Kernel, person: Profiles, arguments: tuple[Any, ...]) -> None:
    """Add a person's item tastes, scaled and clipped with norms eight times those of the query."""
    *first_arguments, tastes_norm, mean_row, least, clip, total = arguments
    loose_clip = ClipRule(8 * clip.norm, clip.resolution, 64 * clip.largest_square)
    kernel(person, *first_arguments, 8 * tastes_norm, mean_row, least, loose_clip, total)


def keep_zeros_beyond(threshold: int) -> Callable[..., NDArray[np.float64]]:
    """Make a faulty `SumRelease.add_noise`: above `threshold` cells, cells of 0 get no noise."""
    shipped = SumRelease.add_noise

    def faulty(mechanism: SumRelease, total: NDArray[Any]) -> NDArray[np.float64]:
        noisy = shipped(mechanism, total)
        return np.where(total == 0, 0.0, noisy) if total.size > threshold else noisy

    return faulty


def shrink_diagonal_beyond(threshold: int) -> Callable[..., NDArray[np.float64]]:
    """Make a faulty `_add_symmetric_noise`: above `threshold` items the diagonal has less noise."""
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
    """The bug in words."""
    world: World
    """The way to fit that shows it."""
    fault: Callable[[int], dict[Any, dict[str, Any]]]
    """Returns the faulty steps for a threshold, in the form of `planted_bugs.Fault`."""
    least: int
    """Smallest threshold."""
    most: int
    """Largest threshold, below the sizes of `large_tables`."""
    tool: Tool = "grey-box"
    """The tool that has to find the bug."""
    epsilon: float = EPSILON
    """Epsilon of the claim."""
    rule_of: RuleOf | None = None
    """Describes the code for the rule engine; None if no rule can."""

    def audit(self, *, planted: bool) -> tuple[bool, float | None]:
        """Tell whether a fit at real sizes refutes its claim.

        Args:
            planted: Whether the bug is planted; otherwise the shipped code is audited.

        Returns:
            Whether it does, and None in place of a bound.
        """
        threshold = self.draw_threshold(np.random.default_rng())
        return self.is_caught(threshold if planted else None, secrets.randbits(32)), None

    def draw_threshold(self, draws: Generator) -> int:
        """Draw a threshold between `least` and `most`, log-uniformly."""
        return round(math.exp(draws.uniform(math.log(self.least), math.log(self.most))))

    def is_caught(self, threshold: int | None, seed: int) -> bool:
        """Tell whether the audit finds a fault.

        Args:
            threshold: Size above which the step is faulty; None: the shipped code is audited.
            seed: Seed of the tables and of the answers.
        """
        tables = large_tables(np.random.default_rng(seed))
        with plant({} if threshold is None else self.fault(threshold)):
            replayed = replay_once(self.world, tables, seed)
        return bool(list_faults(self.world, replayed))


def threshold_bugs(world: World, world_of_pairs: World) -> tuple[ThresholdBug, ...]:
    """List bugs that begin above a size, in kernels and mechanisms of a fit.

    Args:
        world: One domain in mode "taste".
        world_of_pairs: One domain in mode "auto", with pairs of likes.
    """

    def kernel_bug(
        module: Any, kernel_name: str, add_person: AddPerson, name: str, world: World = world
    ) -> ThresholdBug:
        """Make the bug of a kernel that adds people with many entries by `add_person`.

        Args:
            module: Module of the kernel.
            kernel_name: Name of the kernel in the module.
            add_person: Faulty way to add one person.
            name: The bug in words.
            world: The way to fit.
        """
        shipped = getattr(module, kernel_name)

        def fault(threshold: int) -> dict[Any, dict[str, Any]]:
            return {module: {kernel_name: weaken_beyond(shipped, threshold, add_person)}}

        return ThresholdBug(name, world, fault, 2 * _ENTRIES_EACH, ENTRIES - 1)

    return (
        kernel_bug(counts, "add_counts", add_twice, "counts: many entries added twice"),
        kernel_bug(
            products, "add_feature_products", add_twice, "features: many entries added twice"
        ),
        kernel_bug(
            item_tastes, "add_item_tastes", add_twice, "item tastes: many entries added twice"
        ),
        kernel_bug(
            item_tastes,
            "add_item_tastes",
            add_with_loose_clip,
            "item tastes: many entries with a clip eight times as large",
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
