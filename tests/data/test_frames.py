"""Data frames in memory: every library gives the same ratings, and the same complaints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit.data import Ratings, RatingScale, from_frame
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
    assert from_frame(make(GOOD)).digest == direct.digest


def test_columns_can_be_named(make: Callable[[Columns], Any]) -> None:
    """Odd names are given as arguments."""
    frame = make({"who": [1], "what": ["x"], "n": [3]})
    assert from_frame(frame, user="who", item="what", rating="n").history(1) == {"x": 3.0}


def test_a_missing_rating_is_named(make: Callable[[Columns], Any]) -> None:
    """A null is refused with record and column."""
    with pytest.raises(DataError, match=r"row 2, column 'rating'"):
        from_frame(make({**GOOD, "rating": [4.0, None, 1.0]}))


def test_a_missing_id_is_named(make: Callable[[Columns], Any]) -> None:
    """A null among strings is refused with record and column."""
    with pytest.raises(DataError, match=r"row 3, column 'user_id': a value is missing"):
        from_frame(make({**GOOD, "user_id": ["b", "a", None]}))


def test_float_ids_are_refused(make: Callable[[Columns], Any]) -> None:
    """Integers that pandas turned into floats are not guessed back."""
    with pytest.raises(DataError, match=r"column 'user_id'.*integer or a string; found 'Float64'"):
        from_frame(make({**GOOD, "user_id": [1.0, 2.0, 3.0]}))


def test_words_are_no_ratings(make: Callable[[Columns], Any]) -> None:
    """A text column of stars is refused by its type."""
    with pytest.raises(DataError, match="column 'rating': a rating is a number; found 'String'"):
        from_frame(make({**GOOD, "rating": ["4", "5", "1"]}))


def test_off_the_scale_is_named(make: Callable[[Columns], Any]) -> None:
    """The record, the rating and the scale."""
    with pytest.raises(DataError, match=r"row 2, column 'rating'.*found 5\.0.*scale 1:4:1"):
        from_frame(make(GOOD), scale=RatingScale(1, 4, 1))


def test_iso_text_times(make: Callable[[Columns], Any]) -> None:
    """ISO text is read as in files, and bad text is named."""
    times = ["2001-09-09T01:46:40Z"] * 3
    assert from_frame(make({**GOOD, "timestamp": times})).timestamps.tolist() == [10**9] * 3  # type: ignore[union-attr]
    with pytest.raises(DataError, match=r"row 2, column 'timestamp': not a valid time; found 'x'"):
        from_frame(make({**GOOD, "timestamp": [times[0], "x", times[0]]}))


def test_date_times_become_seconds() -> None:
    """A date-time column without a zone is UTC."""
    frame = pl.DataFrame(GOOD).with_columns(timestamp=pl.lit("2001-09-09").str.to_datetime())
    assert set(from_frame(frame).timestamps.tolist()) == {999_993_600}  # type: ignore[union-attr]


def test_what_is_no_frame_is_refused() -> None:
    """A list is not a data frame."""
    with pytest.raises(DataError, match="not a data frame; found 'list'"):
        from_frame([1, 2])


def test_a_missing_column_lists_what_there_is() -> None:
    """As for files."""
    with pytest.raises(DataError, match="no item column; found 'user, rating'"):
        from_frame(pl.DataFrame({"user": [1], "rating": [1]}))
