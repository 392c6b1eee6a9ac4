"""The state of a plan: the released sums of its fits so far, added up.

The first fit chooses the second sum of all later fits: sum 3 (sums/item_tastes.py), for which the
first fit also fixes the directions of taste; counts of the items of a head, the most popular ones;
or sum 1 (sums/counts.py) again. Each later fit releases sum 1 and the second sum, of the people in
the data at that time, and adds them to the earlier releases, so that lists become more exact.

A state holds released and public values alone. Two fits that continue from the same state cost more
than the card of either says; a ledger answers the second one with the file of the first, or refuses
it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Column
from tacit.profile_sums.features import FeatureTables
from tacit.profile_sums.fit_plan import FitPlan
from tacit.profile_sums.people import People
from tacit.profile_sums.release import ReleasedSums, TasteSums
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.counts import (
    FEWEST_PEOPLE,
    Counts,
    CountTable,
    counts_mechanism,
    norm_of_items,
    release_count_table,
)
from tacit.profile_sums.sums.item_tastes import ItemTable, release_item_table
from tacit.profile_sums.sums.popular_counts import PopularTable, draw_popular_counts
from tacit.profile_sums.usefulness import Usefulness, people_needed, popular_above_noise

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COUNTS, ITEMS = 0, 3
"""Places of sums 1 and 3 among the four sums of lists: 1, 2a, 2b and 3."""


@dataclass(frozen=True, eq=False)
class AddedTable:
    """Several noisy draws of one table, added up by precision.

    Let d be the standard deviation of the noise of a draw with the budget of the whole plan. A draw
    of precision p has noise of standard deviation d / sqrt(p), and the noise of `mean` has
    d * sqrt(squares) / weight. A forgetting factor a multiplies the terms of earlier draws: by a in
    S and W, and by a^2 in Q.
    """

    values: Floats
    """S, the sum of p * draw; the shape of a draw."""
    weight: float
    """W, the sum of p."""
    squares: float
    """Q, the variance of the noise in S divided by d^2: the sum of p^2 * (1 / p)."""

    @classmethod
    def make_empty(cls, shape: tuple[int, ...]) -> AddedTable:
        """Make a table of this shape without draws."""
        return cls(np.zeros(shape), 0.0, 0.0)

    def add(self, draw: Floats, precision: float, forgetting: float = 1.0) -> AddedTable:
        """Add a draw with precision p; earlier draws are weighed by `forgetting`."""
        return AddedTable(
            forgetting * self.values + precision * draw,
            forgetting * self.weight + precision,
            forgetting**2 * self.squares + precision,
        )

    @property
    def mean(self) -> Floats:
        """Mean of the draws, weighed by precision."""
        return self.values / self.weight

    @property
    def noise_factor(self) -> float:
        """Standard deviation of the noise in `mean`, divided by d."""
        return math.sqrt(self.squares) / self.weight


@dataclass(frozen=True, eq=False)
class AddedCounts:
    """Draws of sum 1, added up by precision; an item has the draws since it joined the catalogue.

    S, W, Q and p are those of `AddedTable`. The entries of items are those of `CountTable`: across
    domains context items, then target items.
    """

    people: AddedTable
    """(1,) the entry that counts people."""
    values: Floats
    """(item entries,) S of each item."""
    weights: Floats
    """(item entries,) W of each item."""
    squares: Floats
    """(item entries,) Q of each item."""
    present: Floats
    """(item entries,) sum, over each item's draws, of p times the noisy number of people."""

    def add(
        self, draw: Floats, presence: float, precision: float, forgetting: float = 1.0
    ) -> AddedCounts:
        """Add a draw of sum 1; earlier draws are weighed by `forgetting`.

        Args:
            draw: (item entries + 1,) noisy sums; the last entry counts people.
            presence: What one person adds to the last entry.
            precision: p of the draw.
            forgetting: Factor of the earlier draws.
        """
        return AddedCounts(
            self.people.add(draw[-1:], precision, forgetting),
            forgetting * self.values + precision * draw[:-1],
            forgetting * self.weights + precision,
            forgetting**2 * self.squares + precision,
            forgetting * self.present + precision * draw[-1] / presence,
        )

    def at_places(self, places: Ints, items: int) -> AddedCounts:
        """Move the entries of items to other places.

        Args:
            places: (item entries,) new place of each entry.
            items: Number of entries afterwards; entries that are new have no draw yet.
        """

        def move(values: Floats) -> Floats:
            """Return the entries (items,) at their new places, 0 for new entries."""
            moved = np.zeros(items)
            moved[places] = values
            return moved

        return AddedCounts(
            self.people,
            move(self.values),
            move(self.weights),
            move(self.squares),
            move(self.present),
        )


@dataclass(frozen=True, eq=False)
class TasteState:
    """The directions that the first fit chose, and all draws of sum 3."""

    features: FeatureTables
    """Features of all items of the state."""
    sums: TasteSums
    """Centre, directions and query of the first fit. Its table is not kept up to date: all draws
    are in `table`."""
    table: AddedTable
    """(head + 1, width) draws of sum 3."""
    damping_of_new: float
    """Damping of an item that came after the first fit: that of a rare item in the first fit."""


@dataclass(frozen=True, eq=False)
class PopularState:
    """The head that the first fit chose, and all draws of its counts."""

    head: Ints
    """(head,) places of the items among the target items, ascending."""
    table: AddedTable
    """(head,) draws of their likes."""


@dataclass(frozen=True, eq=False)
class PlanState:
    """Everything from which the next fit of a plan continues."""

    plan: FitPlan
    """Noise multipliers of all fits."""
    context_ids: Column
    """(context items,) ascending ids of all items so far, also of those that left the catalogue."""
    item_ids: Column
    """(target items,) ids, likewise; in one domain the same as `context_ids`."""
    one_domain: bool
    """Whether context and target items are the same."""
    counts: AddedCounts
    """Draws of sum 1."""
    later: TasteState | PopularState | None
    """State of the second sum of later fits; None: that sum is sum 1 again."""

    @property
    def context_entries(self) -> int:
        """Number of entries of context items in sum 1; 0 in one domain, where they have none."""
        return 0 if self.one_domain else len(self.context_ids)


def begin_state(
    plan: FitPlan,
    sums: ReleasedSums,
    features: FeatureTables | None,
    context_ids: Column,
    item_ids: Column,
    settings: Settings,
) -> PlanState:
    """Make the state after the first fit of a plan.

    Args:
        plan: Noise multipliers of all fits.
        sums: The releases of the first fit.
        features: Public features of the items; None if there are too few.
        context_ids: (context items,) ids, ascending.
        item_ids: (target items,) ids, ascending.
        settings: Choices of the first fit.
    """
    noises = plan.noises(1)
    draw = sums.count_table.values
    empty = np.zeros(len(draw) - 1)
    counts = AddedCounts(AddedTable.make_empty((1,)), empty, empty, empty, empty)
    counts = counts.add(draw, settings.presence, plan.precision(noises[COUNTS], COUNTS))
    later: TasteState | PopularState | None = None
    if isinstance(sums.later, TasteSums):
        assert features is not None  # sums of tastes need features
        drawn = sums.later.table.values
        table = AddedTable.make_empty(drawn.shape).add(drawn, plan.precision(noises[ITEMS], ITEMS))
        damping = compute_rare_damping(sums.counts, settings)
        later = TasteState(features, sums.later, table, damping)
    if isinstance(sums.later, PopularTable):
        drawn = sums.later.values
        precision = sum(plan.precision(noise, ITEMS) for noise in noises[1:])
        later = PopularState(
            sums.later.head, AddedTable.make_empty(drawn.shape).add(drawn, precision)
        )
    return PlanState(plan, context_ids, item_ids, sums.one_domain, counts, later)


def compute_rare_damping(counts: Counts, settings: Settings) -> float:
    """Return the damping of an item whose share is at the lower limit of `profile_centre`.

    It is 1 if all shares are 0.
    """
    floored = counts.floored_context
    mean = float(floored.mean())
    if mean <= 0:
        return 1.0
    least = max(float(np.median(floored)), 1e-3 * mean)
    return float((least / mean) ** -settings.damping)


def grow_state(
    state: PlanState, context_ids: Column, item_ids: Column, features: FeatureTables | None
) -> PlanState:
    """Add the new items of a catalogue to a state. Items that left the catalogue stay in the state.

    Args:
        state: The state after the earlier fits.
        context_ids: (context items of the catalogue,) ids, ascending.
        item_ids: (target items of the catalogue,) ids, ascending.
        features: Their features, in the columns of the first fit; None if there are too few.
    """
    all_targets = np.union1d(state.item_ids, item_ids)
    all_context = all_targets if state.one_domain else np.union1d(state.context_ids, context_ids)
    target_places = np.searchsorted(all_targets, state.item_ids)
    context_places = np.searchsorted(all_context, state.context_ids)
    if state.one_domain:
        counts = state.counts.at_places(target_places, len(all_targets))
    else:
        places = np.concatenate([context_places, len(all_context) + target_places])
        counts = state.counts.at_places(places, len(all_context) + len(all_targets))
    later = state.later
    if isinstance(later, PopularState):
        later = replace(later, head=target_places[later.head])
    if isinstance(later, TasteState):
        assert features is not None  # a plan of tastes has features at every fit
        later = _grow_tastes(
            later, state, all_context, all_targets, context_ids, item_ids, features
        )
    return replace(state, context_ids=all_context, item_ids=all_targets, counts=counts, later=later)


def _grow_tastes(
    later: TasteState,
    state: PlanState,
    all_context: Column,
    all_targets: Column,
    context_ids: Column,
    item_ids: Column,
    features: FeatureTables,
) -> TasteState:
    """Add the new items of a catalogue to the state of sum 3.

    Args:
        later: The state of sum 3.
        state: The state of the plan, which `later` is a part of.
        all_context: Ids of the context items of the state and the catalogue together.
        all_targets: Ids of the target items of both together.
        context_ids: Ids of the context items of the catalogue.
        item_ids: Ids of the target items of the catalogue.
        features: Features of the catalogue's items.
    """
    context_places = np.searchsorted(all_context, state.context_ids)
    target_places = np.searchsorted(all_targets, state.item_ids)
    damping = np.full(len(all_context), later.damping_of_new)
    damping[context_places] = later.sums.centre.damping
    query = later.sums.table.query
    query = replace(query, items=target_places[query.items])
    table = replace(later.sums.table, query=query)
    sums = replace(later.sums, centre=later.sums.centre._replace(damping=damping), table=table)
    context_rows = _RowsById(state.context_ids, later.features.context)
    target_rows = _RowsById(state.item_ids, later.features.targets)
    grown = FeatureTables(
        context_rows.merge(_RowsById(context_ids, features.context), all_context),
        target_rows.merge(_RowsById(item_ids, features.targets), all_targets),
    )
    return replace(later, features=grown, sums=sums)


@dataclass(frozen=True, eq=False)
class _RowsById:
    """Features of items, with the items' ids."""

    ids: Column
    """(items,) ids, ascending."""
    rows: sparse.csr_array
    """(items, f) features."""

    def merge(self, others: _RowsById, ids: Column) -> sparse.csr_array:
        """Return the rows (len(ids), f) of some ids, from this table or else from `others`.

        Args:
            others: A second table in the same columns.
            ids: Ids, each of which is in one of the tables.
        """
        stacked = sparse.csr_array(sparse.vstack([self.rows, others.rows], format="csr"))
        own_places = np.searchsorted(self.ids, ids)
        is_own = np.isin(ids, self.ids)
        # An id above all of `others` gets a place past the end. Its row is in this table.
        other_places = len(self.ids) + np.searchsorted(others.ids, ids)
        other_places = np.minimum(other_places, stacked.shape[0] - 1)
        return sparse.csr_array(stacked[np.where(is_own, own_places, other_places)])


def release_next(people: People, state: PlanState, settings: Settings) -> PlanState:
    """Release both sums of a later fit, and return the state with them added.

    Args:
        people: Everybody's profile, whose items are numbered by their places in the state.
        state: The state after the earlier fits, with the new items of the catalogue.
        settings: Choices of the fit.
    """
    plan = state.plan
    count_noise, later_noise = plan.noises(2)
    counts = _add_counts(people, state, count_noise, state.counts, settings, plan.forgetting)
    later = state.later
    if later is None:
        counts = _add_counts(people, state, later_noise, counts, settings, 1.0)
        return replace(state, counts=counts)
    precision = plan.precision(later_noise, ITEMS)
    if isinstance(later, PopularState):
        targets = len(state.item_ids)
        values = draw_popular_counts(people, later.head, targets, [later_noise], [1.0])
        table = later.table.add(values, precision, plan.forgetting)
        return replace(state, counts=counts, later=replace(later, table=table))
    drawn = release_item_table(
        people,
        later.sums.centre,
        later.features,
        later.sums.directions,
        later.sums.table.query,
        later_noise,
        settings,
    )
    table = later.table.add(drawn.values, precision, plan.forgetting)
    return replace(state, counts=counts, later=replace(later, table=table))


def _add_counts(
    people: People,
    state: PlanState,
    noise_multiplier: float,
    counts: AddedCounts,
    settings: Settings,
    forgetting: float,
) -> AddedCounts:
    """Release sum 1 with this noise multiplier and add it to `counts`.

    Args:
        people: Everybody's profile.
        state: The state of the plan; its own counts are not used.
        noise_multiplier: Noise multiplier of the draw.
        counts: The counts that the draw is added to.
        settings: Choices of the fit.
        forgetting: Factor of the earlier draws.
    """
    drawn = release_count_table(
        people, len(state.context_ids), len(state.item_ids), noise_multiplier, settings
    )
    precision = state.plan.precision(noise_multiplier, COUNTS)
    return counts.add(drawn.values, settings.presence, precision, forgetting)


def sums_of_state(state: PlanState, settings: Settings) -> ReleasedSums:
    """Make sums like those of one fit from the means of all draws; lists are computed from them."""
    counts = _counts_of_state(state, settings)
    effective_sigma = state.plan.sigma * state.counts.people.noise_factor
    usefulness = Usefulness(
        people=counts.people,
        effective_population=counts.people / effective_sigma,
        needed=people_needed(len(state.item_ids), effective_sigma, one_domain=state.one_domain),
        popular=popular_above_noise(counts.targets, counts.deviation),
        worthwhile=isinstance(state.later, TasteState),
    )
    later: TasteSums | PopularTable | None = None
    if isinstance(state.later, PopularState):
        later = PopularTable(state.later.head, state.later.table.mean)
    if isinstance(state.later, TasteState):
        query = state.later.sums.table.query
        noise = state.plan.noise_of_sum(ITEMS)
        deviation = query.mechanism(noise).deviation * state.later.table.noise_factor
        table = ItemTable(query, state.later.table.mean, deviation)
        later = replace(state.later.sums, table=table)
    # Of this table only `context_items` is read; its values are not means.
    count_table = CountTable(state.counts.values, state.context_entries, counts.deviation)
    return ReleasedSums(count_table, counts, later, usefulness)


def _counts_of_state(state: PlanState, settings: Settings) -> Counts:
    """Estimate shares of likes from all draws of sum 1.

    With b = `norm_of_items`, S_i, W_i, Q_i and n_i the item's entries in values, weights, squares
    and present, and d the standard deviation of the noise of a draw with the whole budget:

        share_i     = S_i / (b max(n_i, 50 W_i))
        deviation_i = d sqrt(Q_i) / (b max(n_i, 50 W_i))
    """
    added = state.counts
    people = max(float(added.people.mean[0]) / settings.presence, float(FEWEST_PEOPLE))
    norm = norm_of_items(settings, one_domain=state.one_domain)
    present = np.maximum(added.present, FEWEST_PEOPLE * added.weights)
    entries = len(added.values) + 1
    mechanism = counts_mechanism(entries, state.plan.noise_of_sum(COUNTS))
    shares = added.values / (norm * present)
    deviations = mechanism.deviation * np.sqrt(added.squares) / (norm * present)
    deviation = mechanism.deviation * added.people.noise_factor / (norm * people)
    targets = shares[state.context_entries :]
    return Counts(
        context=shares[: state.context_entries] if state.context_entries else targets,
        targets=targets,
        deviation=deviation,
        people=people,
        too_few=state.later is None,
        deviations_by_item=deviations[state.context_entries :],
    )
