"""TableReading tables: what is understood, and what every kind of bad row says."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data import (
    Ratings,
    RatingScale,
    read_history,
    read_history_times,
    read_ratings,
    write_ratings,
    write_users,
)
from tacit.data.tables import text
from tacit.data.tables.ratings_tables import read_columns_by_id
from tacit.errors import DataError
from tacit.service.strict_json import check_text

STARS = RatingScale(1, 5, 1)
GOOD = "user_id,item_id,rating,timestamp\n1,10,4,100\n1,11,5,200\n2,10,1,300\n"


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Write text or bytes to a file and return its path."""

    def writer(content: str | bytes, name: str = "r.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return writer


def refusal(path: Path, **options: Any) -> str:
    """What the error says, after the path."""
    with pytest.raises(DataError) as caught:
        read_ratings(path, **options)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)[len(str(path)) :]


def test_a_plain_file_is_read(write: Any) -> None:
    """Well-known headers need no options."""
    ratings = read_ratings(write(GOOD))
    assert ratings.history(1) == {10: 4.0, 11: 5.0}
    assert ratings.timestamps.tolist() == [100, 200, 300]
    assert str(ratings.scale) == "1:5:1"


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", "::"])
def test_the_delimiter_is_sniffed(write: Any, delimiter: str) -> None:
    """Five delimiters give the same ratings."""
    expected = read_ratings(write(GOOD)).digest
    assert read_ratings(write(GOOD.replace(",", delimiter), "x.txt")).digest == expected


def test_a_given_delimiter_is_used(write: Any) -> None:
    """A delimiter nobody would guess can be named."""
    path = write(GOOD.replace(",", "~"))
    assert len(read_ratings(path, delimiter="~")) == 3


@pytest.mark.parametrize(
    "header",
    [
        "userId,movieId,rating,timestamp",
        "user_id:token,item_id:token,rating:float,timestamp:float",
        "USER,Item,Stars,TS",
        " user , movie_id , score , time ",
    ],
)
def test_headers_in_the_wild_are_known(write: Any, header: str) -> None:
    """MovieLens, RecBole, capitals and blanks are understood."""
    path = write(GOOD.replace("user_id,item_id,rating,timestamp", header))
    assert read_ratings(path).digest == read_ratings(write(GOOD, "g.csv")).digest


def test_columns_can_be_named(write: Any) -> None:
    """Odd headers are named by option; other columns do not matter."""
    path = write("who,x,what,n,when\na,-,i,3,2001-09-09\n")
    ratings = read_ratings(path, user="who", item="what", rating="n", time="when")
    assert ratings.history("a") == {"i": 3.0}


def test_a_byte_order_mark_is_no_part_of_the_header(write: Any) -> None:
    """Files from spreadsheets begin with one."""
    assert len(read_ratings(write(b"\xef\xbb\xbf" + GOOD.encode()))) == 3


def test_windows_line_ends_and_blank_lines_are_fine(write: Any) -> None:
    """CRLF, an empty line in the middle and several at the end change nothing."""
    text = GOOD.replace("1,11", "\n1,11").replace("\n", "\r\n") + "\r\n\r\n"
    assert read_ratings(write(text)).digest == read_ratings(write(GOOD, "g.csv")).digest


def test_gzipped_text_is_read(write: Any) -> None:
    """A .gz file is unpacked on the way."""
    assert len(read_ratings(write(gzip.compress(GOOD.encode()), "r.csv.gz"))) == 3


def test_a_broken_gzip_file_is_refused(write: Any) -> None:
    """A cut .gz file is named, not half-read."""
    path = write(gzip.compress(GOOD.encode() + b"3,10,4,100\n" * 50)[:-20], "r.csv.gz")
    assert "the .gz file cannot be unpacked" in refusal(path)


def test_old_line_ends_are_read(write: Any) -> None:
    """Lines that end with a carriage return only are lines."""
    ratings = read_ratings(write("user,item,rating\r1,2,3\r4,5,1\r"))
    assert ratings.history(1) == {2: 3.0}


def test_a_cell_without_end_is_refused(write: Any) -> None:
    """One cell beyond the size any id has is no table."""
    assert "a header but no rows" in refusal(write("x" * 200_000 + "\n"))


@pytest.mark.parametrize("odd", ["3.7", '"3.7"'])
def test_the_line_of_an_odd_rating_is_named(write: Any, odd: str) -> None:
    """Where no common scale fits, the error names the line of the file, blank lines counted."""
    said = refusal(write(f"user,item,rating\n1,1,5\n\n1,2,1\n1,3,{odd}\n1,4,2\n"))
    assert "row 5, column 'rating'" in said
    assert "3.7" not in said
    assert "MIN:MAX:STEP" in said


def test_quoted_cells_keep_their_delimiter(write: Any) -> None:
    """A comma between quotes belongs to the id."""
    ratings = read_ratings(write('user,item,rating\n"a,b","x,y",3\n'))
    assert ratings.history("a,b") == {"x,y": 3.0}


@pytest.mark.parametrize("odd", ['"x\ny"', "x\u200by", "\ufffe", "x" * 201])
def test_ids_that_no_service_takes_are_refused(write: Any, odd: str) -> None:
    """A line break, an invisible sign or more than 200 characters make no id."""
    with pytest.raises(DataError, match="not a valid item"):
        read_ratings(write(f"user,item,rating\n1,{odd},3\n"))


@pytest.mark.parametrize("needed", ["می\u200cخواهم", "\U0001f469\u200d\U0001f52c", "x" * 200])
def test_joiners_stay_in_ids(write: Any, needed: str) -> None:
    """Zero-width joiners of Persian words and emoji stay, and the service takes them."""
    ratings = read_ratings(write(f"user,item,rating\n1,{needed},3\n"))
    assert ratings.item_ids.tolist() == [needed]
    check_text(needed)


def test_leading_zeros_keep_a_column_text(write: Any) -> None:
    """'007' does not become 7, nor does any other id of its column."""
    ratings = read_ratings(write("user,item,rating\n007,1,3\n8,2,4\n"))
    assert ratings.user_ids.tolist() == ["007", "8"]
    assert ratings.item_ids.tolist() == [1, 2]


def test_ids_written_as_floats_are_whole_numbers(write: Any) -> None:
    """17850.0, as a table with missing ids is saved, is 17850."""
    ratings = read_ratings(write("user,item,rating\n17850.0,1,3\n8.0,2,4\n"))
    assert ratings.user_ids.tolist() == [8, 17850]


@pytest.mark.parametrize("odd", ["-7", "+7", "7.5", "99999999999999999999", "٧", "0x7"])
def test_other_ways_to_write_a_number_keep_a_column_text(write: Any, odd: str) -> None:
    """Signs, decimals, numbers beyond 64 bits and other digits are text."""
    ratings = read_ratings(write(f"user,item,rating\n{odd},1,3\n8,2,4\n"))
    assert ratings.user_ids.tolist() == sorted([odd, "8"])


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("1000000000", 10**9),
        ("1000000000.9", 10**9),
        ("1e9", 10**9),
        ("2001-09-09T01:46:40Z", 10**9),
        ("2001-09-09 01:46:40", 10**9),
        ("2001-09-09T03:46:40+02:00", 10**9),
        ("1970-01-02", 86_400),
        ("-5", -5),
    ],
)
def test_times_in_many_forms(write: Any, written: str, seconds: int) -> None:
    """Seconds, with decimals or without, and ISO dates mean what the rule says."""
    ratings = read_ratings(write(f"user,item,rating,time\n1,2,3,{written}\n"))
    assert ratings.timestamps.tolist() == [seconds]


def test_one_person_is_enough(write: Any) -> None:
    """A file with one person's single rating is fine."""
    ratings = read_ratings(write("user,item,rating\n1,2,3\n"))
    assert (ratings.n_users, ratings.timestamps) == (1, None)


BAD_ROWS = {
    "short": ("5,6", "row 5, column 'rating': the row is too short; found '2 cells'"),
    "long": ("5,6,3,7,8", "row 5: the row is too long; found '5 cells'; expected 4: "),
    "no user": (",6,3,7", "row 5, column 'user_id': the user is missing"),
    "no item": ("5, ,3,7", "row 5, column 'item_id': the item is missing"),
    "no rating": ("5,6,,7", "row 5, column 'rating': the rating is missing;"),
    "no time": ("5,6,3,", "row 5, column 'timestamp': the time is missing"),
    "word": ("5,6,good,7", "row 5, column 'rating': not a valid rating; expected"),
    "nan": ("5,6,NaN,7", "row 5, column 'rating': the rating is missing;"),
    "infinite": ("5,6,inf,7", "row 5, column 'rating': not a valid rating; expected"),
    "huge": ("5,6,1e999,7", "row 5, column 'rating': not a valid rating; expected"),
    "two numbers": ("5,6,3;5,7", "row 5, column 'rating': not a valid rating; expected"),
    "underscore": ("5,6,1_0,7", "row 5, column 'rating': not a valid rating; expected"),
    "bad time": ("5,6,3,soon", "row 5, column 'timestamp': not a valid time; expected"),
}


@pytest.mark.parametrize("kind", BAD_ROWS)
@pytest.mark.parametrize("delimiter", [",", "::"])
def test_a_bad_row_is_named_exactly(write: Any, kind: str, delimiter: str) -> None:
    """File, line, column, what was expected: for each way a row can be bad; no cell."""
    row, message = BAD_ROWS[kind]
    path = write((GOOD + row + "\n1,12,3,4\n").replace(",", delimiter))
    said = refusal(path)
    assert said.startswith(f", {message}")
    assert "good" not in said
    assert "soon" not in said


def test_the_first_bad_row_is_the_one_named(write: Any) -> None:
    """Of several bad rows the first is shown, across kinds, blank lines counted."""
    path = write(GOOD + "\n7,8,bad,1\n7,8\n")
    assert ", row 6, column 'rating'" in refusal(path)


def test_a_row_after_a_quoted_line_break_keeps_its_line(write: Any) -> None:
    """Row numbers are lines of the file, even after a cell of two lines."""
    path = write('user,item,rating,note\na,1,3,"x\ny"\nc,2,x,z\n')
    assert ", row 4, column 'rating'" in refusal(path)


def test_a_rating_off_the_scale_is_named(write: Any) -> None:
    """With a scale given, a rating off it is a bad row."""
    path = write(GOOD + "3,10,6,1\n")
    said = refusal(path, scale=STARS)
    assert said.startswith(
        ", row 5, column 'rating': the rating is off the scale 1:5:1; expected a rating on "
    )


def test_a_short_row_that_looks_complete_is_refused(write: Any) -> None:
    """A cell missing in the middle moves the others: that row is not read as something else."""
    path = write("user,item,rating,comment\n1,2,3,fine\n4,5,1\n")
    assert ", row 3, column 'comment': the row is too short" in refusal(path)


def test_an_unclosed_quote_is_refused(write: Any) -> None:
    """A quote that never ends would swallow the rest of the file."""
    assert ", row 3: the row cannot be read" in refusal(
        write('user,item,rating\n1,2,3\n1,"3,4\n5,6,1\n')
    )


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
def test_other_encodings_are_read(write: Any, encoding: str) -> None:
    """What is not UTF-8 is Windows-1252, or UTF-16 by its mark."""
    ratings = read_ratings(write("user,item,rating\na,b,3\ncafé,b,3\n".encode(encoding)))
    assert ratings.user_ids.tolist() == ["a", "café"]


def test_a_spreadsheet_file_is_refused(write: Any) -> None:
    """The way out is said."""
    said = refusal(write(b"PK\x03\x04\x80\x81\xff", "r.xlsx"))
    assert "this is an Excel or zip file" in said
    assert "as CSV" in said


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0\0\0", b"\0" * 99, b"%PDF-1.7\n\xff\0"])
def test_other_files_are_no_tables(write: Any, content: bytes) -> None:
    """Pictures and the like hold bytes that no text has."""
    message = refusal(write(content))
    assert "this is no text, nor a table" in message or "this is a PDF document" in message


def test_an_empty_file_is_refused(write: Any) -> None:
    """No bytes, or blank lines only."""
    assert refusal(write("")).startswith(": the file is empty")
    assert refusal(write("\n \n")).startswith(": the file is empty")


def test_a_header_alone_is_refused(write: Any) -> None:
    """A header without rows holds no ratings."""
    assert refusal(write("user,item,rating\n")) == ": the file has a header but no rows."


def test_a_missing_column_lists_what_there_is(write: Any) -> None:
    """The columns found and the option that names the missing one."""
    said = refusal(write("who,whom,rating\n1,2,3\n"))
    assert "no user column; found 'who, whom, rating'" in said
    assert "Name it with --user" in said


def test_a_named_column_that_is_missing(write: Any) -> None:
    """A name the caller gave must be there, the time's too."""
    assert "no time column" in refusal(write(GOOD), time="when")
    assert "expected a column 'when'" in refusal(write(GOOD), time="when")


def test_repeated_headers_are_refused(write: Any) -> None:
    """Two columns of one name leave open which is meant."""
    assert ", row 1, column 'rating': two columns" in refusal(write("user,item,rating,rating\n"))


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    """Both are said in words."""
    assert refusal(tmp_path / "none.csv") == ": no such file."
    assert refusal(tmp_path).startswith(": this is a folder")


def test_an_unusable_delimiter_is_refused(write: Any) -> None:
    """Two signs other than '::' are no delimiter."""
    assert "this delimiter cannot be used" in refusal(write(GOOD), delimiter="ab")


def test_an_unknown_scale_is_refused_with_the_file(write: Any) -> None:
    """Ratings on no common scale need --scale."""
    assert "fit none of the common scales" in refusal(write("user,item,rating\n1,2,900\n"))


@pytest.mark.parametrize("name", ["r.csv", "r.tsv", "r.parquet"])
@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**12),
            st.text("ab,;|:\"' é0189", min_size=1).map(str.strip).filter(bool),
            st.integers(1, 5),
            st.one_of(st.integers(-(10**9), 10**7), st.integers(10**8, 10**10)),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, name: str, rows: list[tuple[Any, ...]]
) -> None:
    """Writing and reading give the same ratings, in each format, for any ids.

    Times are no numbers between: 20230501 is a date written in digits.
    """
    users, items, values, times = map(list, zip(*rows, strict=True))
    items = [f"i{item}" for item in items]  # whole columns of digits would come back as integers
    ratings = Ratings.from_arrays(users, items, values, times, scale=STARS)
    path = tmp_path_factory.mktemp("law") / name
    write_ratings(ratings, path)
    assert read_ratings(path, scale=STARS).digest == ratings.digest


def test_parquet_errors_name_record_and_column(tmp_path: Path) -> None:
    """In Parquet a row number counts records from 1."""
    path = tmp_path / "r.parquet"
    pl.DataFrame({"user": [1, 2], "item": [1, 2], "rating": [3.0, None]}).write_parquet(path)
    assert ", row 2, column 'rating': the rating is missing" in refusal(path)
    pl.DataFrame({"user": [1, 2], "item": [1, 2], "rating": [3, 9]}).write_parquet(path)
    said = refusal(path, scale=STARS)
    assert ", row 2, column 'rating': the rating is off the scale 1:5:1" in said
    assert "9" not in said.partition("Correct")[0]


def test_parquet_keeps_stored_types(tmp_path: Path) -> None:
    """Strings of digits in Parquet were strings on purpose; date-times become seconds."""
    path = tmp_path / "r.parquet"
    frame = pl.DataFrame({"user": ["7"], "item": [1], "rating": [3], "time": ["2001-09-09"]})
    frame.with_columns(pl.col("time").str.to_datetime()).write_parquet(path)
    ratings = read_ratings(path)
    assert ratings.user_ids.tolist() == ["7"]
    assert ratings.timestamps.tolist() == [999_993_600]  # type: ignore[union-attr]


def test_a_broken_parquet_file_is_refused(write: Any) -> None:
    """A file that begins like Parquet and is not."""
    assert "the Parquet file cannot be read" in refusal(write(b"PAR1 nothing", "r.parquet"))


USERS = "id,gender,age\n1,F, 33 \n2,,40\n9,M,50\n"


def test_users_become_columns_by_id(write: Any) -> None:
    """First column the id; values stripped; empty is None."""
    assert read_columns_by_id(write(USERS), "user", None) == (
        [1, 2, 9],
        {"gender": {1: "F", 2: None, 9: "M"}, "age": {1: "33", 2: "40", 9: "50"}},
    )


def test_users_of_ratings_are_aligned(write: Any) -> None:
    """People of the users file without ratings are left out."""
    ratings = read_ratings(write(GOOD), users=write(USERS, "u.csv"))
    assert ratings.attribute("gender").tolist() == ["F", None]
    assert ratings.attribute("age").tolist() == ["33", "40"]


def test_users_match_ids_as_they_are_written(write: Any) -> None:
    """Digits in the users file match string ids of the ratings, and '01' does not match 1."""
    ratings = write("user,item,rating\n007,1,3\n8,1,4\n")
    users = write("user,gender\n8,F\n7,M\n", "u.csv")
    assert read_ratings(ratings, users=users).attribute("gender").tolist() == [None, "F"]


def test_users_without_anybody_known_are_refused(write: Any) -> None:
    """A users file in which nobody has a rating is the wrong file or the wrong column."""
    with pytest.raises(DataError, match="no user of this file has a rating"):
        read_ratings(write(GOOD), users=write("id,gender\n77,F\n", "u.csv"))


def test_a_repeated_user_is_refused_by_row(write: Any) -> None:
    """Two rows for one id would hide one of them."""
    with pytest.raises(DataError, match="row 4, column 'id': the id has appeared before"):
        read_columns_by_id(write("id,gender\n1,F\n2,M\n1,M\n"), "user", None)


def test_a_users_file_needs_a_second_column(write: Any) -> None:
    """Ids alone say nothing."""
    with pytest.raises(DataError, match="no column beside the id"):
        read_columns_by_id(write("id\n1\n"), "user", None)


def test_written_users_are_read_again(tmp_path: Path) -> None:
    """Attributes survive a file."""
    ratings = Ratings.from_arrays(
        ["a", "b"], [1, 1], [1, 2], user_attributes={"g": {"a": "F", "b": None}}
    )
    write_users(ratings, tmp_path / "u.csv")
    assert read_columns_by_id(tmp_path / "u.csv", "user", None) == (
        ["a", "b"],
        {"g": {"a": "F", "b": None}},
    )


def test_items_become_metadata(write: Any) -> None:
    """Item columns are found under the item's id, whatever the header of the id."""
    items = write("genre,movieId,title\nDrama,10,A\n,11,B\n", "i.csv")
    ratings = read_ratings(write(GOOD), items=items)
    assert ratings.item_metadata["genre"].tolist() == ["Drama", None]


def test_a_history_needs_no_user(write: Any) -> None:
    """Item and stars are enough; the last of two ratings counts."""
    path = write("movieId,rating\n7,3\n8,4\n7,5\n")
    assert read_history(path) == {7: 5.0, 8: 4.0}


def test_a_history_takes_the_ids_of_the_model(write: Any) -> None:
    """Digits become the model's strings where it knows strings."""
    known = np.array(["007", "7"], dtype=object)
    assert read_history(write("item,stars\n7,3\n9,1\n"), item_ids=known) == {"7": 3.0, 9: 1.0}


def test_a_bad_row_of_a_history_is_named(write: Any) -> None:
    """The same care as for ratings."""
    with pytest.raises(DataError, match="row 2, column 'stars': not a valid rating; expected"):
        read_history(write("item,stars\n7,x\n"))


def test_a_parquet_history(tmp_path: Path) -> None:
    """Parquet histories work too."""
    path = tmp_path / "h.parquet"
    pl.DataFrame({"item": [7], "stars": [3.0]}).write_parquet(path)
    assert read_history(path) == {7: 3.0}


def test_times_of_a_history(write):
    """By item, the latest of an item rated twice, under the model's ids; None without times."""
    path = write("item,stars,timestamp\n7,3,50\n8,4,60\n7,1,70\n")
    assert read_history_times(path) == {7: 70, 8: 60}
    known = np.array(["7"], dtype=object)
    assert read_history_times(path, item_ids=known) == {"7": 70, 8: 60}
    named = write("item,stars,when\n7,3,50\n", "named.csv")
    assert read_history_times(named, time="when") == {7: 50}
    assert read_history_times(write("item,stars\n7,3\n", "none.csv")) is None


@settings(max_examples=300)
@given(st.text('1,25. \n"a', max_size=40), st.sampled_from([",", "::"]))
def test_the_fast_pass_agrees_with_the_careful_one(body: str, delimiter: str) -> None:
    """What the fast pass accepts, the careful one reads as the same columns."""
    data = ("user,item,rating\n1,2,3\n" + body).replace(",", delimiter).encode()
    dialect = text.Dialect(delimiter, ("user", "item", "rating"), 1)
    fast = text.read_at_once(data, dialect)
    if fast is not None:
        careful, row_errors = text.read_row_by_row(data, dialect)
        assert fast.equals(careful)
        assert not row_errors


def test_a_file_remembers_who_named_the_scale(write: Any) -> None:
    """Detected from the file's stars, or given by the caller."""
    assert not read_ratings(write(GOOD)).scale_given
    assert read_ratings(write(GOOD), scale=STARS).scale_given


@pytest.mark.parametrize("odd", [None, 1.5])
def test_whole_floats_are_written_as_integers(tmp_path, odd):
    """One missing or decimal cell makes floats of a typed column; the others keep their texts."""
    frame = pl.DataFrame({"id": [1, 2, 3], "group": pl.Series([1, 2, odd], dtype=pl.Float64)})
    frame.write_parquet(tmp_path / "u.parquet")
    columns = read_columns_by_id(tmp_path / "u.parquet", "user", None)[1]
    assert columns["group"] == {1: "1", 2: "2", 3: None if odd is None else "1.5"}
