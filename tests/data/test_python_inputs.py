"""Inputs as people type them in Python: frames, dicts, arrays, and ids of other types."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import tacit
from tacit.errors import DataError
from tacit.recommenders.baselines import EASE

ROWS = [(person, item, 1 + (person * item) % 5) for person in range(1, 31) for item in range(1, 9)]
COLUMNS = {
    "user_id": [row[0] for row in ROWS],
    "item_id": [row[1] for row in ROWS],
    "rating": [row[2] for row in ROWS],
}
INPUTS: dict[str, Any] = {
    "pandas": pd.DataFrame(COLUMNS),
    "polars": pl.DataFrame(COLUMNS),
    "dict of lists": COLUMNS,
    "dict of arrays": {name: np.array(values) for name, values in COLUMNS.items()},
    "array": np.array(ROWS),
    "tuples": ROWS,
}


@pytest.mark.parametrize("name", INPUTS)
def test_tables_are_read_alike(name: str) -> None:
    """Frames, dicts of columns, arrays of rows and tuples give the same ratings."""
    assert tacit.ratings_from(INPUTS[name]).digest == tacit.ratings_from(ROWS).digest


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("model", [tacit.Private(epsilon=4.0), EASE()])
def test_a_model_is_fitted_to_a_table(name: str, model: Any) -> None:
    """`fit` takes what `ratings_from` takes."""
    fitted = model.fit(INPUTS[name])
    assert len(fitted.recommend(history={1: 5.0}, n=3)) == 3


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_history_is_a_frame(make: Any) -> None:
    """A frame of items and stars is the same history as a dict."""
    model = EASE().fit(COLUMNS)
    frame = make({"item_id": [1, 2], "rating": [5.0, 3.0]})
    expected = model.recommend(history={1: 5.0, 2: 3.0})
    assert model.recommend(history=frame).to_dict() == expected.to_dict()
    private = tacit.Private(epsilon=4.0).fit(COLUMNS)
    assert (
        private.recommend(history=frame).to_dict()
        == private.recommend(history={1: 5.0, 2: 3.0}).to_dict()
    )


@pytest.mark.parametrize("other", ["ratings.csv", None, 5])
def test_what_is_no_table_is_refused(other: Any) -> None:
    """A path, nothing and a number are no ratings."""
    with pytest.raises(DataError, match="fitted to ratings"):
        tacit.Private(epsilon=1.0).fit(other)


IDS: dict[str, list[Any]] = {
    "uuid": [uuid.UUID(int=n) for n in range(1, 4)],
    "decimal": [Decimal(n) for n in range(1, 4)],
    "date": [dt.date(2021, 1, n) for n in range(1, 4)],
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_ids_of_other_types(kind: str, make: Any) -> None:
    """UUIDs and dates are ids as they are written, whole decimals are whole numbers."""
    if make is pl.DataFrame and kind == "uuid":
        columns = {"user": pl.Series(IDS[kind], dtype=pl.Object), "item": [1, 2, 1]}
    else:
        columns = {"user": IDS[kind], "item": [1, 2, 1]}
    ratings = tacit.ratings_from(make(columns), events=True)
    expected = [1, 2, 3] if kind == "decimal" else [str(key) for key in IDS[kind]]
    assert [str(key)[:36] for key in ratings.user_ids.tolist()] == [str(key) for key in expected]


def test_a_matrix_of_plays_is_a_question() -> None:
    """A sparse matrix of numbers on no usual scale asks, as a file does."""
    plays = sparse.coo_array(([90.0, 3.0, 40.0, 1.0], ([0, 1, 2, 0], [0, 1, 2, 1])))
    with pytest.raises(DataError, match="no usual scale"):
        tacit.ratings_from(plays)
    assert tacit.ratings_from(plays, events=True).likes.all()
    stars = sparse.coo_array(([5.0, 3.0, 4.0, 1.0], ([0, 1, 2, 0], [0, 1, 2, 1])))
    assert str(tacit.ratings_from(stars).scale) == "1:5:1"


def test_load_names_what_opens_a_model(tmp_path: Path) -> None:
    """`load` of a model file says which function opens it."""
    path = tmp_path / "m.tacit"
    EASE().fit(COLUMNS).save(path)
    with pytest.raises(DataError, match="load_model"):
        tacit.load(path)


def test_lists_and_reasons_become_frames() -> None:
    """Lists, similar items and reasons have `to_polars` and `to_pandas`."""
    model = tacit.Private(epsilon=50.0, mode="top-items").fit(COLUMNS)
    best = model.recommend(history={1: 5.0}, n=2)
    for made in (best, model.similar_items(1, n=2), model.explain(best[0].item_id, history={1: 5})):
        columns = made.to_dict()
        assert made.to_polars().to_dict(as_series=False) == columns
        assert made.to_pandas().to_dict("list") == columns


def test_where_keeps_rows() -> None:
    """Conditions work on frames, as they do on files."""
    frame = pd.DataFrame({**COLUMNS, "status": ["ok" if n % 3 else "gone" for n in range(240)]})
    kept = tacit.ratings_from(frame, where=["status!=gone"])
    assert len(kept) == 160


def test_people_with_their_items_are_ratings() -> None:
    """{person: {item: stars}} as in a file; columns of several lengths are refused in words."""
    ratings = tacit.ratings_from({"a": {"x": 5, "y": 3}, "b": {"x": 4}})
    assert (len(ratings), ratings.n_users, ratings.n_items) == (3, 2, 2)
    with pytest.raises(DataError, match="different lengths"):
        tacit.ratings_from({"user": [1, 2], "item": [1]})
    with pytest.raises(DataError, match="there is no rating"):
        tacit.ratings_from([])


def test_records_of_numpy_are_ratings() -> None:
    """An array with named columns."""
    rows = [(1, 7, 5.0), (2, 8, 3.0)]
    records = np.array(rows, dtype=[("user", int), ("item", int), ("rating", float)])
    assert len(tacit.ratings_from(records)) == 2


def test_a_history_is_no_person() -> None:
    """A history in the place of a person's id is refused with the way to give it."""
    model = tacit.Private(epsilon=1.0).fit([(p, i, 1 + i % 5) for p in range(9) for i in range(9)])
    for history in ({1: 5}, [1, 2], pl.DataFrame({"item": [1], "rating": [5]})):
        with pytest.raises(DataError, match="recommend\\(history="):
            model.recommend(history)


def test_a_delta_of_nothing_is_refused() -> None:
    """From Python as on the command line."""
    with pytest.raises(tacit.errors.ConfigError, match="promises nothing"):
        tacit.Private(epsilon=1.0, delta=0.9).fit([(1, 1, 5)])
