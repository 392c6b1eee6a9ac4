"""The state of a plan in model files: a header and arrays, of released and public values alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.profile_kernels.types import ProfileCentre
from tacit.profile_sums.features import FeatureTables
from tacit.profile_sums.fit_plan import FitPlan
from tacit.profile_sums.plan_state import (
    AddedCounts,
    AddedTable,
    PlanState,
    PopularState,
    TasteState,
)
from tacit.profile_sums.release import TasteSums
from tacit.profile_sums.sums.item_tastes import ItemQuery, ItemTable
from tacit.recommenders.headers import ids_from_header, read_array, read_floats

Arrays = Mapping[str, NDArray[Any]]


def state_to_parts(state: PlanState) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a state as JSON values and arrays by name.

    "second" in the header names the second sum of later fits: "counts" means sum 1 again, of counts
    of items; "popular" means counts of likes in the head, which is the most popular target items;
    and "tastes" means sum 3, of the tastes of the likers of items in the head.
    """
    counts, later = state.counts, state.later
    header: dict[str, Any] = {
        "plan": state.plan.to_header(),
        "items": state.item_ids.tolist(),
        "context": None if state.one_domain else state.context_ids.tolist(),
        "second": "counts",
    }
    arrays: dict[str, NDArray[Any]] = {
        "plan_people": _table_to_array(counts.people),
        "plan_counts": np.stack([counts.values, counts.weights, counts.squares, counts.present]),
    }
    if isinstance(later, PopularState):
        header["second"] = "popular"
        arrays["plan_head"] = later.head
        arrays["plan_popular"] = _table_to_array(later.table)
    if isinstance(later, TasteState):
        query = later.sums.table.query
        header["second"] = "tastes"
        header["k"] = query.k
        arrays["plan_head"] = query.items
        arrays["plan_norms"] = np.array([query.count_weight, query.tastes_norm])
        arrays["plan_tastes"] = _table_to_array(later.table)
        arrays["plan_damping"] = np.append(later.sums.centre.damping, later.damping_of_new)
        arrays["plan_mean"] = later.sums.centre.mean
        arrays["plan_directions"] = later.sums.directions
        arrays |= _features_to_arrays("plan_targets", later.features.targets)
        if not state.one_domain:
            arrays |= _features_to_arrays("plan_context", later.features.context)
    return header, arrays


def state_from_parts(header: Mapping[str, Any], arrays: Arrays) -> PlanState:
    """Read a state from the header and arrays of `state_to_parts`.

    Raises:
        ValueError, KeyError, TypeError: The parts are damaged or do not fit together.
    """
    item_ids = ids_from_header(header["items"])
    one_domain = header["context"] is None
    context_ids = item_ids if one_domain else ids_from_header(header["context"])
    if not len(item_ids) or not len(context_ids):
        raise ValueError("the plan has no items")
    entries = len(item_ids) + (0 if one_domain else len(context_ids))
    count_rows = read_floats(arrays, "plan_counts", 4, entries)
    people = _table_from_array(arrays, "plan_people")
    if people.values.shape != (1,):
        raise ValueError("'plan_people' is not one number of people")
    counts = AddedCounts(people, *count_rows)
    if min(counts.weights.min(), counts.squares.min()) < 0:
        raise ValueError("'plan_counts' has weights below 0")
    later: TasteState | PopularState | None = None
    if header["second"] == "popular":
        head = _read_head(arrays, len(item_ids))
        later = PopularState(head, _table_from_array(arrays, "plan_popular"))
        if later.table.values.shape != head.shape:
            raise ValueError("the plan's counts do not fit their head")
    elif header["second"] == "tastes":
        later = _tastes_from_parts(header, arrays, len(context_ids), len(item_ids))
    elif header["second"] != "counts":
        raise ValueError("the plan has a second sum that this version does not know")
    plan = FitPlan.from_header(dict(header["plan"]))
    return PlanState(plan, context_ids, item_ids, one_domain, counts, later)


def _tastes_from_parts(
    header: Mapping[str, Any], arrays: Arrays, context: int, targets: int
) -> TasteState:
    """Read the directions of the first fit and the draws of sum 3.

    Args:
        header: JSON values of the state.
        arrays: Arrays of the model file.
        context: Number of context items.
        targets: Number of target items.
    """
    head = _read_head(arrays, targets)
    k = int(header["k"])
    count_weight, tastes_norm = read_floats(arrays, "plan_norms", 2).tolist()
    query = ItemQuery(head, count_weight, tastes_norm, k)
    added = _table_from_array(arrays, "plan_tastes")
    table = AddedTable(
        added.values.reshape(len(head) + 1, query.width), added.weight, added.squares
    )
    *damping, damping_of_new = read_floats(arrays, "plan_damping", context + 1)
    mean = read_floats(arrays, "plan_mean", None)
    target_rows = _features_from_arrays(arrays, "plan_targets", targets, len(mean))
    context_rows = target_rows
    if header["context"] is not None:
        context_rows = _features_from_arrays(arrays, "plan_context", context, len(mean))
    centre = ProfileCentre(np.array(damping), mean)
    directions = read_floats(arrays, "plan_directions", len(mean), k)
    sums = TasteSums(centre, directions, ItemTable(query, table.mean, 0.0))
    return TasteState(FeatureTables(context_rows, target_rows), sums, table, float(damping_of_new))


def _table_to_array(table: AddedTable) -> NDArray[Any]:
    """Return one vector (2 + values,): the weight, the squares, and the values row by row."""
    return np.concatenate([[table.weight, table.squares], table.values.ravel()])


def _table_from_array(arrays: Arrays, name: str) -> AddedTable:
    """Read a table from the vector of `_table_to_array`; its values have one axis.

    Raises:
        ValueError, KeyError: The array is missing or is no such vector, or no draw was added.
    """
    numbers = read_floats(arrays, name, None)
    weight, squares = numbers[:2].tolist()
    if not weight > 0 or not squares > 0:
        raise ValueError(f"'{name}' has no draws")
    return AddedTable(numbers[2:], weight, squares)


def _read_head(arrays: Arrays, items: int) -> NDArray[np.int64]:
    """Read the item numbers (head,) of the plan's head.

    Args:
        arrays: Arrays of the model file.
        items: Number of target items.

    Raises:
        ValueError, KeyError: The head is missing or empty, or its numbers do not ascend, or one is
            not from 0 to `items` - 1.
    """
    head = read_array(arrays, "plan_head", None).astype(np.int64)
    if not len(head) or head[0] < 0 or head[-1] >= items or (np.diff(head) <= 0).any():
        raise ValueError("'plan_head' does not fit the list of items")
    return head


def _features_to_arrays(name: str, rows: sparse.csr_array) -> dict[str, NDArray[Any]]:
    """Return the arrays of sparse features (items, f); their names begin with `name`."""
    return {
        f"{name}_offsets": rows.indptr.astype(np.int64),
        f"{name}_columns": rows.indices.astype(np.int32),
        f"{name}_values": rows.data,
    }


def _features_from_arrays(arrays: Arrays, name: str, items: int, width: int) -> sparse.csr_array:
    """Read features (items, width) from the arrays of `_features_to_arrays`.

    Raises:
        ValueError, KeyError: An array is missing, or does not fit the numbers of items and columns.
    """
    offsets = read_array(arrays, f"{name}_offsets", items + 1).astype(np.int64)
    columns = read_array(arrays, f"{name}_columns", None).astype(np.int32)
    values = read_floats(arrays, f"{name}_values", len(columns))
    begins_and_ends_right = offsets[0] == 0 and offsets[-1] == len(columns)
    offsets_fit = begins_and_ends_right and (np.diff(offsets) >= 0).all()
    columns_fit = not len(columns) or 0 <= columns.min() <= columns.max() < width
    if not offsets_fit or not columns_fit:
        raise ValueError("the plan's features do not fit the list of items")
    return sparse.csr_array((values, columns, offsets), shape=(items, width))
