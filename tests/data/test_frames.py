"""Data frames in memory: every library gives the same ratings, and the same complaints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from tacit.data import Ratings, RatingScale, ratings_from
from tacit.errors import DataError

Columns = dict[str, list[Any]]
MAKERS: dict[str, Callable[[Columns], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
}
GOOD: Columns = {
    "user_id": ["b", "a", "b"],
    "movieId": [7, 7, 3],
    "rating": [4.0, 5.0, 1.0],
    "timestamp": [30, 20, 10],
}


@pytest.fixture(params=MAKERS)
def make(request: pytest.FixtureRequest) -> Callable[[Columns], Any]:
    """A frame of each library."""
    return MAKERS[request.param]


def test_frames_of_all_libraries_are_alike(make: Callable[[Columns], Any]) -> None:
    """pandas, polars and Arrow give what the columns themselves give."""
    direct = Ratings.from_arrays(*GOOD.values())
    assert ratings_from(make(GOOD)).digest == direct.digest


def test_ids_of_128_bits_are_read() -> None:
    """As integers where all fit into 64 bits, as texts where one does not."""
    frame = pl.DataFrame(GOOD).with_columns(pl.col("movieId").cast(pl.Int128))
    assert ratings_from(frame).digest == ratings_from(pl.DataFrame(GOOD)).digest
    wide = ratings_from(frame.with_columns(pl.col("movieId") * 10**30))
    assert sorted(wide.item_ids.tolist()) == ["3" + "0" * 30, "7" + "0" * 30]


def test_a_column_of_durations_plays_no_role() -> None:
    """It is neither taken for an id or a rating, nor stops the reading; named, it is refused."""
    frame = pl.DataFrame(GOOD).with_columns(pl.duration(seconds=pl.col("movieId")).alias("heard"))
    assert ratings_from(frame).digest == ratings_from(pl.DataFrame(GOOD)).digest
    with pytest.raises(DataError, match="an id is an integer or a string"):
        ratings_from(frame, item="heard")


def test_columns_can_be_named(make: Callable[[Columns], Any]) -> None:
    """Odd names are given as arguments."""
    frame = make({"who": [1], "what": ["x"], "n": [3]})
    assert ratings_from(frame, user="who", item="what", rating="n").history(1) == {"x": 3.0}


def test_a_missing_rating_is_named(make: Callable[[Columns], Any]) -> None:
    """A null is refused with record and column."""
    with pytest.raises(DataError, match=r"row 2, column 'rating'"):
        ratings_from(make({**GOOD, "rating": [4.0, None, 1.0]}))


def test_a_missing_id_is_named(make: Callable[[Columns], Any]) -> None:
    """A null among strings is refused with record and column."""
    with pytest.raises(DataError, match=r"row 3, column 'user_id': the user is missing"):
        ratings_from(make({**GOOD, "user_id": ["b", "a", None]}))


def test_whole_floats_are_ids(make: Callable[[Columns], Any]) -> None:
    """Integers that pandas turned into floats are integers again; others are refused."""
    assert ratings_from(make({**GOOD, "user_id": [1.0, 2.0, 3.0]})).user_ids.tolist() == [1, 2, 3]
    with pytest.raises(DataError, match=r"row 2, column 'user_id': not a valid user"):
        ratings_from(make({**GOOD, "user_id": [1.0, 2.5, 3.0]}))


def test_words_are_no_ratings(make: Callable[[Columns], Any]) -> None:
    """Numbers written as text are ratings, words are not."""
    assert len(ratings_from(make({**GOOD, "rating": ["4", "5,0", "1"]}))) == 3
    with pytest.raises(DataError, match=r"row 2, column 'rating': not a valid rating"):
        ratings_from(make({**GOOD, "rating": ["4", "five", "1"]}))


def test_off_the_scale_is_named(make: Callable[[Columns], Any]) -> None:
    """The record, the rating and the scale."""
    with pytest.raises(DataError, match=r"row 2, column 'rating': .*scale 1:4:1"):
        ratings_from(make(GOOD), scale=RatingScale(1, 4, 1))


def test_iso_text_times(make: Callable[[Columns], Any]) -> None:
    """ISO text is read as in files, and bad text is named."""
    times = ["2001-09-09T01:46:40Z"] * 3
    assert ratings_from(make({**GOOD, "timestamp": times})).timestamps.tolist() == [10**9] * 3  # type: ignore[union-attr]
    with pytest.raises(DataError, match=r"row 2, column 'timestamp': not a valid time"):
        ratings_from(make({**GOOD, "timestamp": [times[0], "x", times[0]]}))


def test_date_times_become_seconds() -> None:
    """A date-time column without a zone is UTC."""
    frame = pl.DataFrame(GOOD).with_columns(timestamp=pl.lit("2001-09-09").str.to_datetime())
    assert set(ratings_from(frame).timestamps.tolist()) == {999_993_600}  # type: ignore[union-attr]


def test_what_is_no_frame_is_refused() -> None:
    """Neither is a number, nor a list of them."""
    with pytest.raises(DataError, match="cannot be made of this; found 'int'"):
        ratings_from(7)
    with pytest.raises(DataError, match="these rows are no ratings"):
        ratings_from([1, 2])


def test_a_missing_column_lists_what_there_is() -> None:
    """As for files."""
    with pytest.raises(DataError, match="no item column; found 'user, rating'"):
        ratings_from(pl.DataFrame({"user": [1], "rating": [1]}))


def test_other_things_in_memory() -> None:
    """Sparse matrices, tuples and DuckDB relations, by the same rules."""
    cells = sparse.coo_array(([4.0, 5.0], ([0, 1], [1, 0])), shape=(2, 2))
    for matrix in (cells, cells.tocsr(), sparse.csc_matrix(cells)):
        assert ratings_from(matrix).history(1) == {0: 5.0}
    assert ratings_from([("a", "x", 4), ("b", "y", 2)]).history("a") == {"x": 4.0}
    assert ratings_from([("a", "x"), ("b", "y")]).likes.all()


def test_duckdb_relations() -> None:
    """Dates and names of their own too."""
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql(
        "SELECT 1 AS customer, 'x' AS sku, 4 AS note, TIMESTAMP '2001-09-09 01:46:40' AS date"
    )
    made = ratings_from(relation)
    assert made.history(1) == {"x": 4.0}
    assert made.timestamps.tolist() == [10**9]  # type: ignore[union-attr]


def test_repeated_rows_of_duckdb_are_settled_by_the_one_rule() -> None:
    """DuckDB promises no order of rows: at one time the one with most stars counts."""
    duckdb = pytest.importorskip("duckdb")
    for order in ("note", "note DESC"):
        relation = duckdb.sql(
            "SELECT 1 AS customer, 'x' AS sku, note, TIMESTAMP '2001-09-09 01:46:40' AS date "
            f"FROM (VALUES (2.0), (5.0), (3.0)) AS rows(note) ORDER BY {order}"
        )
        assert ratings_from(relation).history(1) == {"x": 5.0}


def test_bad_rows_of_a_frame_can_be_dropped(make: Callable[[Columns], Any]) -> None:
    """On request."""
    frame = make({**GOOD, "rating": [4.0, None, 1.0]})
    assert len(ratings_from(frame, on_bad="drop")) == 2
