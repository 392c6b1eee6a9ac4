"""The state of a plan: noisy sums of all its fits, added up, and the map that the first one chose.

Each fit draws new noise for sums 1 and 3, of everybody there is then, and adds them to what earlier
fits drew: more fits make the same lists more exact. Everything here was released or is public, so a
state holds no person; but it stands for budget that is spent. Two fits that continue from the same
state would both be charged to it: a ledger answers the second with the first's file or refuses it.
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
"""Places of sums 1 and 3 among the four."""


@dataclass(frozen=True, eq=False)
class AddedTable:
    """Several draws of one table, each weighed by its precision p.

    Precisions are in units of one release of everything, whose noise has the deviation sigma:
    `values / weight` has the deviation sigma * sqrt(squares) / weight.
    """

    values: Floats
    """S, the sum of p * draw."""
    weight: float
    """W, the sum of p."""
    squares: float
    """Q, the sum of p by the variance of what was added: p^2 * (1 / p)."""

    @classmethod
    def make_empty(cls, shape: tuple[int, ...]) -> AddedTable:
        """Make a table of no draws."""
        return cls(np.zeros(shape), 0.0, 0.0)

    def add(self, draw: Floats, precision: float, forgetting: float = 1.0) -> AddedTable:
        """Add a draw; what was there counts `forgetting` times."""
        return AddedTable(
            forgetting * self.values + precision * draw,
            forgetting * self.weight + precision,
            forgetting**2 * self.squares + precision,
        )

    @property
    def mean(self) -> Floats:
        """Mean of the draws by precision."""
        return self.values / self.weight

    @property
    def noise_factor(self) -> float:
        """Deviation of `mean`, over that of one release of everything."""
        return math.sqrt(self.squares) / self.weight


@dataclass(frozen=True, eq=False)
class AddedCounts:
    """Draws of sum 1, where some items came later than others."""

    people: AddedTable
    """(1,) the entry that counts people."""
    values: Floats
    """(items,) S of each item, from its first fit on."""
    weights: Floats
    """(items,) W of each item."""
    squares: Floats
    """(items,) Q of each item."""
    present: Floats
    """(items,) people of each item's fits, by precision: the sum of p * number of people."""

    def add(
        self, draw: Floats, presence: float, precision: float, forgetting: float = 1.0
    ) -> AddedCounts:
        """Add a draw (items + 1,), the number of people last; `presence` is one person's entry."""
        return AddedCounts(
            self.people.add(draw[-1:], precision, forgetting),
            forgetting * self.values + precision * draw[:-1],
            forgetting * self.weights + precision,
            forgetting**2 * self.squares + precision,
            forgetting * self.present + precision * draw[-1] / presence,
        )

    def at_places(self, places: Ints, items: int) -> AddedCounts:
        """Move the items to these places among so many; others have no draw yet."""

        def move(values: Floats) -> Floats:
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
    """A map that the first fit chose, and the draws of sum 3 with it."""

    features: FeatureTables
    """Features of all items so far."""
    sums: TasteSums
    """The map; its table is the mean of all draws."""
    table: AddedTable
    """(head + 1, width) draws of sum 3."""
    damping_of_new: float
    """Damping of an item that came after the first fit: that of a rare one."""


@dataclass(frozen=True, eq=False)
class PopularState:
    """The head that the first fit chose, and draws of its counts."""

    head: Ints
    """(head,) target items, ascending."""
    table: AddedTable
    """(head,)"""


@dataclass(frozen=True, eq=False)
class PlanState:
    """Everything that the next fit of a plan starts from."""

    plan: FitPlan
    context_ids: Column
    """(context items,) ids of all items so far, those that left the catalogue included."""
    item_ids: Column
    """(target items,) likewise; in one domain the same."""
    one_domain: bool
    counts: AddedCounts
    """Draws of sum 1: across domains context items come first."""
    later: TasteState | PopularState | None
    """What the second event of later fits asks; None: sum 1 again."""

    @property
    def own_entries(self) -> int:
        """Entries of sum 1 that context items have of their own."""
        return 0 if self.one_domain else len(self.context_ids)


def begin_state(
    plan: FitPlan,
    sums: ReleasedSums,
    features: FeatureTables | None,
    context_ids: Column,
    item_ids: Column,
    settings: Settings,
) -> PlanState:
    """Make the state after the first fit. sums: its releases; features: of its items."""
    noises = plan.noises(1)
    draw = sums.count_table.values
    empty = np.zeros(len(draw) - 1)
    counts = AddedCounts(AddedTable.make_empty((1,)), empty, empty, empty, empty)
    counts = counts.add(draw, settings.presence, plan.precision(noises[COUNTS], COUNTS))
    later: TasteState | PopularState | None = None
    if isinstance(sums.later, TasteSums):
        assert features is not None  # sums of tastes were asked with them
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
    """Damping of an item whose share is at the floor of `profile_centre`; 1 without shares."""
    floored = counts.floored_context
    mean = float(floored.mean())
    if mean <= 0:
        return 1.0
    least = max(float(np.median(floored)), 1e-3 * mean)
    return float((least / mean) ** -settings.damping)


def grow_state(
    state: PlanState, context_ids: Column, item_ids: Column, features: FeatureTables | None
) -> PlanState:
    """Give places to items that are new. Items that left keep theirs.

    Args:
        state: The plan so far.
        context_ids: Ids of the context items there are now.
        item_ids: Ids of the target items there are now.
        features: Their features, in the plan's columns.
    """
    all_targets = np.union1d(state.item_ids, item_ids)
    all_context = all_targets if state.one_domain else np.union1d(state.context_ids, context_ids)
    targets = np.searchsorted(all_targets, state.item_ids)
    context = np.searchsorted(all_context, state.context_ids)
    if state.one_domain:
        counts = state.counts.at_places(targets, len(all_targets))
    else:
        places = np.concatenate([context, len(all_context) + targets])
        counts = state.counts.at_places(places, len(all_context) + len(all_targets))
    later = state.later
    if isinstance(later, PopularState):
        later = replace(later, head=targets[later.head])
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
    context = np.searchsorted(all_context, state.context_ids)
    targets = np.searchsorted(all_targets, state.item_ids)
    damping = np.full(len(all_context), later.damping_of_new)
    damping[context] = later.sums.centre.damping
    query = later.sums.table.query
    query = replace(query, items=targets[query.items])
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
    """Features of items by their ids."""

    ids: Column
    """(items,) ascending."""
    rows: sparse.csr_array
    """(items, f)"""

    def merge(self, others: _RowsById, ids: Column) -> sparse.csr_array:
        """Return the rows of `ids`: these where there are some, else those of `others`."""
        stacked = sparse.csr_array(sparse.vstack([self.rows, others.rows], format="csr"))
        places = np.searchsorted(self.ids, ids)
        inside = np.isin(ids, self.ids)
        new_places = len(self.ids) + np.searchsorted(others.ids, ids)
        order = np.where(inside, places, np.minimum(new_places, stacked.shape[0] - 1))
        return sparse.csr_array(stacked[order])


def release_next(people: People, state: PlanState, settings: Settings) -> PlanState:
    """Draw both sums of a later fit and add them to the state.

    Args:
        people: Everybody's profile now, by the places of the state's items.
        state: The plan so far, grown by the items there are now.
        settings: Choices of the plan's first fit.
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
    """Draw sum 1 with this noise multiplier and add it."""
    drawn = release_count_table(
        people, len(state.context_ids), len(state.item_ids), noise_multiplier, settings
    )
    precision = state.plan.precision(noise_multiplier, COUNTS)
    return counts.add(drawn.values, settings.presence, precision, forgetting)


def sums_of_state(state: PlanState, settings: Settings) -> ReleasedSums:
    """Make the sums that lists are computed from: the means of all draws. Post-processing."""
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
    count_table = CountTable(state.counts.values, state.own_entries, counts.deviation)
    return ReleasedSums(count_table, counts, later, usefulness)


def _counts_of_state(state: PlanState, settings: Settings) -> Counts:
    """Shares of people from all draws of sum 1.

    With b the norm of likes, n_i the people of an item's fits by precision and W_i, Q_i the item's:

        share     = S_i / (b n_i),  n_i at least 50 W_i
        deviation = sigma_1 sqrt(Q_i) / (b n_i)
    """
    added = state.counts
    people = max(float(added.people.mean[0]) / settings.presence, float(FEWEST_PEOPLE))
    norm = norm_of_items(settings, one_domain=state.one_domain)
    present = np.maximum(added.present, FEWEST_PEOPLE * added.weights)
    entries = len(added.values) + 1
    mechanism = counts_mechanism(entries, state.plan.noise_of_sum(COUNTS))
    shares = added.values / (norm * present)
    deviations = mechanism.deviation * np.sqrt(added.squares) / (norm * present)
    whole = mechanism.deviation * added.people.noise_factor / (norm * people)
    targets = shares[state.own_entries :]
    return Counts(
        context=shares[: state.own_entries] if state.own_entries else targets,
        targets=targets,
        deviation=whole,
        people=people,
        too_few=state.later is None,
        deviations_of_new=deviations[state.own_entries :],
    )
