"""Tables that are easily misread without a word: read right, or refused with a sentence."""

from __future__ import annotations

import bz2
import io
import json
import zipfile
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit.cli.app import main
from tacit.data import Ratings, RatingScale, read_ratings, write_items
from tacit.data.stored_ratings import PublicInputs
from tacit.data.tables.buckets import open_parquet
from tacit.data.tables.cells import Rules
from tacit.data.tables.folder import find_public_list, read_folder, write_folder
from tacit.data.tables.import_plan import carry_out_plan, plan_import, plan_written
from tacit.data.tables.names import Role
from tacit.data.tables.ratings_tables import TableReading, read_in_format
from tacit.data.tables.research_folders import write_research_folder
from tacit.data.tables.written_format import read_format
from tacit.errors import ConfigError, DataError

NAMES: dict[Role, str | None] = dict.fromkeys(("user", "item", "rating", "plays", "time", "domain"))
"""The roles of an import, none of them named."""
PAIRS = [(user, item) for user in range(1, 9) for item in range(1, 9) if (user + item) % 3]
"""Pairs of person and item."""


def import_files(*files: Path, **options: Any) -> TableReading:
    """Import files as the command line does."""
    rules = Rules(on_bad="drop", guessing=True, **options)
    return carry_out_plan(plan_import(files, NAMES), rules)


def write_rows(path: Path, header: str, rows: list[str]) -> Path:
    """Write a text table."""
    path.write_text("\n".join([header, *rows]) + "\n", "utf-8")
    return path


def seconds(*parts: int) -> int:
    """Return the seconds since 1970 of a UTC date."""
    return int(datetime(*parts, tzinfo=UTC).timestamp())  # type: ignore[misc,arg-type]


def test_dates_with_the_name_of_a_zone_decide_on_the_order(tmp_path: Path) -> None:
    """The month comes first, as the 25th shows."""
    rows = ["a,1,5,03/04/2021 10:00 EST", "b,2,4,03/25/2021 10:00 EST"]
    ratings = read_ratings(write_rows(tmp_path / "zone.csv", "user,item,rating,time", rows))
    assert ratings.timestamps is not None
    assert ratings.timestamps.tolist() == [seconds(2021, 3, 4, 15), seconds(2021, 3, 25, 15)]
    assert "dates" in ratings.guesses


def test_dates_with_the_name_of_a_zone_may_leave_the_order_open(tmp_path: Path) -> None:
    """Then they are refused, as without a zone."""
    rows = ["a,1,5,03/04/2021 10:00 EST", "b,2,4,05/06/2021 10:00 PDT"]
    path = write_rows(tmp_path / "zone.csv", "user,item,rating,time", rows)
    with pytest.raises(DataError, match="no date says whether"):
        read_ratings(path)


def test_categories_of_dates_are_read_like_texts(tmp_path: Path) -> None:
    """The order that they show is in the written format, and is a guess."""
    days = [f"03/{number % 28 + 1:02d}/2021" for number in range(len(PAIRS))]
    frame = pl.DataFrame(
        {
            "user_id": [user for user, _ in PAIRS],
            "item_id": [item for _, item in PAIRS],
            "time": pl.Series(days).cast(pl.Categorical),
        }
    )
    frame.write_parquet(tmp_path / "in.parquet")
    reading = import_files(tmp_path / "in.parquet")
    assert reading.written is not None
    assert reading.written.dates == "monthfirst"
    assert "dates" in reading.ratings.guesses
    again = read_in_format(tmp_path / "in.parquet", reading.written, "refuse").ratings
    assert again.timestamps is not None
    assert reading.ratings.timestamps is not None
    assert np.array_equal(again.timestamps, reading.ratings.timestamps)


def test_times_may_be_decimal_numbers(tmp_path: Path) -> None:
    """Parquet files of databases have such a type."""
    times = [Decimal(1_600_000_000 + number) for number in range(len(PAIRS))]
    frame = pl.DataFrame(
        {
            "user_id": [user for user, _ in PAIRS],
            "item_id": [item for _, item in PAIRS],
            "time": pl.Series(times, dtype=pl.Decimal(20, 3)),
        }
    )
    frame.write_parquet(tmp_path / "in.parquet")
    ratings = import_files(tmp_path / "in.parquet").ratings
    assert ratings.timestamps is not None
    assert sorted(ratings.timestamps.tolist()) == [int(time) for time in times]


def test_a_column_of_dates_is_no_guess_about_numbers(tmp_path: Path) -> None:
    """Nothing is found in it if it is named, so a card has no condition about it.

    If it is not, its empty cells decide whether it is read.
    """
    frame = pl.DataFrame(
        {
            "user_id": [user for user, _ in PAIRS],
            "item_id": [item for _, item in PAIRS],
            "time": [date(2021, 3, 1 + number % 28) for number in range(len(PAIRS))],
        }
    )
    frame.write_parquet(tmp_path / "in.parquet")
    path = tmp_path / "in.parquet"
    named = plan_import([path], {**NAMES, "time": "time"})
    ratings = carry_out_plan(named, Rules(guessing=True)).ratings
    assert "times" not in ratings.guesses
    assert "times" in import_files(path).ratings.guesses


def test_a_named_decimal_sign_is_no_sign_of_thousands(tmp_path: Path) -> None:
    """1.250 plays are then a little more than one, in the written format too."""
    rows = [f"p{user},i{item},{1 + item % 2}.250" for user, item in PAIRS]
    path = write_rows(tmp_path / "in.csv", "user_id,item_id,plays", rows)
    reading = import_files(path, decimal=".", least_plays=2)
    assert reading.written is not None
    assert reading.written.thousands == ""
    again = read_in_format(path, reading.written, "refuse").ratings
    assert np.array_equal(again.values, reading.ratings.values)
    assert set(again.values.tolist()) == {0.0, 1.0}


def test_texts_of_plays_in_json_keep_their_sign_of_thousands(tmp_path: Path) -> None:
    """The sign was found in the rows, so it is a guess and is in the written format."""
    rows = [
        json.dumps({"user": f"p{user}", "item": f"i{item}", "plays": f"{1 + item % 2},250"})
        for user, item in PAIRS
    ]
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(rows) + "\n")
    reading = import_files(path, least_plays=2000)
    assert reading.written is not None
    assert reading.written.thousands == ","
    assert "decimal" in reading.ratings.guesses
    again = read_in_format(path, reading.written, "refuse").ratings
    assert np.array_equal(again.values, reading.ratings.values)


def test_an_id_that_a_spreadsheet_shortened_is_bad(tmp_path: Path) -> None:
    """Different ids became this one, also where most ids are short enough to stay."""
    rows = [f"p{user},i{item},5" for user, item in PAIRS] + ["p1,4.71E+12,3", "p2,4.71E+12,3"]
    path = write_rows(tmp_path / "in.csv", "user_id,item_id,rating", rows)
    with pytest.raises(DataError, match="not a valid item"):
        read_ratings(path)
    assert len(read_ratings(path, on_bad="drop")) == len(PAIRS)


def test_shortened_ids_do_not_refuse_a_file_in_a_written_format(tmp_path: Path) -> None:
    """No number of bad rows changes how the others are read."""
    good = [f"p{user},i{item},{1 + item % 5}" for user, item in PAIRS]
    path = write_rows(tmp_path / "in.csv", "user_id,item_id,rating", good)
    written = import_files(path).written
    assert written is not None
    bad = [f"p{number},4.71E+12,3" for number in range(2 * len(PAIRS))]
    worse = write_rows(tmp_path / "worse.csv", "user_id,item_id,rating", good + bad)
    assert len(read_in_format(worse, written, "drop").ratings) == len(PAIRS)


def test_stars_and_plays_are_no_common_table(tmp_path: Path) -> None:
    """Neither is left out without a word."""
    stars = [f"{user},{item},{1 + item % 5}" for user, item in PAIRS]
    plays = [f"{user},{item},{1 + 7 * item % 40}" for user, item in PAIRS]
    files = (
        write_rows(tmp_path / "stars.csv", "user_id,item_id,rating", stars),
        write_rows(tmp_path / "plays.csv", "user_id,item_id,plays", plays),
    )
    with pytest.raises(DataError, match="some have numbers of plays"):
        import_files(*files)


def test_a_condition_on_no_table_is_refused(tmp_path: Path) -> None:
    """A misspelt column must not keep all rows."""
    rows = [f"{user},{item},paid" for user, item in PAIRS]
    orders = write_rows(tmp_path / "orders.csv", "user_id,item_id,status", rows)
    items = write_rows(tmp_path / "items.csv", "item_id,title", [f"{n},T{n}" for n in range(1, 9)])
    with pytest.raises(DataError, match="no table has the columns of all conditions"):
        plan_import([orders, items], NAMES, where=["stauts=paid"])
    plan = plan_import([orders, items], NAMES, where=["status=paid"])
    assert plan.ratings[0].table.where == ("status=paid",)


def test_a_condition_that_some_ratings_cannot_fulfil_is_refused(tmp_path: Path) -> None:
    """A second file without the column is named, and so are ratings beside a table of items."""
    rows = [f"{user},{item},{3 + item % 3},ok" for user, item in PAIRS]
    with_status = write_rows(tmp_path / "a.csv", "user_id,item_id,rating,status", rows)
    plain = [row.removesuffix(",ok") for row in rows]
    without = write_rows(tmp_path / "b.csv", "user_id,item_id,rating", plain)
    statuses = [f"{number},T{number},ok" for number in range(1, 9)]
    items = write_rows(tmp_path / "items.csv", "item_id,title,status", statuses)
    for files in ([with_status, without], [without, items]):
        with pytest.raises(DataError, match=r"b\.csv: these ratings lack a column.*status"):
            plan_import(files, NAMES, where=["status=ok"])


def test_conditions_on_several_tables_ask_for_a_join(tmp_path: Path) -> None:
    """The names are right, so the advice is not to check them."""
    orders = [f"{user},{user},ok" for user in range(1, 21)]
    orders_file = write_rows(tmp_path / "orders.csv", "order_id,customer_id,status", orders)
    lines = [f"{user},{item},{item}" for user, item in PAIRS]
    items = write_rows(tmp_path / "order_items.csv", "order_id,product_id,quantity", lines)
    with pytest.raises(DataError, match="Join the tables first"):
        plan_import([orders_file, items], NAMES, where=["status=ok", "quantity>1"])


def test_a_condition_on_orders_filters_what_was_ordered(tmp_path: Path) -> None:
    """The rows of the orders that are left out are no bad rows of the others."""
    users = sorted({user for user, _ in PAIRS})
    orders = [f"o{user},{user},{'ok' if user % 2 else 'cancelled'}" for user in users]
    orders_file = write_rows(tmp_path / "orders.csv", "order_id,customer_id,status", orders)
    lines = [f"o{user},{item}" for user, item in PAIRS]
    items = write_rows(tmp_path / "order_items.csv", "order_id,product_id", lines)
    plan = plan_import([orders_file, items], NAMES, where=["status=ok"])
    (ratings,) = plan.ratings
    kept = [(user, item) for user, item in PAIRS if user % 2]
    assert len(ratings.table.frame) == len(kept)
    assert ratings.table.frame["customer_id"].null_count() == 0
    first = next(number for number, (user, _) in enumerate(PAIRS) if user % 2)
    assert ratings.table.line(0) == first + 2  # after the header


def test_a_filtered_table_of_a_folder_may_still_be_left_out(tmp_path: Path) -> None:
    """A folder's table of tags is no table of people, with and without conditions."""
    rows = [f"{user},{item},{3 + item % 3},ok" for user, item in PAIRS]
    write_rows(tmp_path / "ratings.csv", "user_id,item_id,rating,status", rows)
    tags = [f"{user},t{item},ok" for user, item in PAIRS]
    write_rows(tmp_path / "tags.csv", "user_id,tag,status", tags)
    plan = plan_import([tmp_path], NAMES, where=["status=ok"])
    assert [path.name for path in plan.left_out] == ["tags.csv"]  # type: ignore[attr-defined]


def test_baskets_without_a_line_that_can_be_read(tmp_path: Path) -> None:
    """The first line's fault is named, not a missing column of people."""
    path = tmp_path / "in.csv"
    path.write_text('"a"b,c\n' * 30)
    with pytest.raises(DataError, match="row 1"):
        plan_import([path], NAMES, layout="baskets")


def test_customers_beside_a_written_format_are_people(tmp_path: Path) -> None:
    """Their attributes must not become public metadata of items with the same numbers."""
    rows = [f"{user},{item},{1 + item % 5}" for user, item in PAIRS]
    path = write_rows(tmp_path / "in.csv", "user_id,item_id,rating", rows)
    customers = [f"{number},city {number}" for number in range(1, 9)]
    people = write_rows(tmp_path / "people.csv", "customer_id,city", customers)
    unknown = write_rows(tmp_path / "unknown.csv", "key,city", customers)
    written = import_files(path).written
    assert written is not None
    reading = carry_out_plan(plan_written([path, people], written), Rules(on_bad="drop"))
    assert list(reading.ratings.user_attributes) == ["city"]
    assert not reading.ratings.item_metadata
    with pytest.raises(DataError, match="people or items"):
        plan_written([path, unknown], written)


def test_an_author_of_items_is_no_person_beside_a_written_format(tmp_path: Path) -> None:
    """Of two headers that may be ids, the usual one decides; of two sure ones, none."""
    rows = [f"{user},{item},{1 + item % 5}" for user, item in PAIRS]
    path = write_rows(tmp_path / "in.csv", "user_id,item_id,rating", rows)
    written = import_files(path).written
    assert written is not None
    titles = [f"{number},title {number},{number % 3}" for number in range(1, 9)]
    items = write_rows(tmp_path / "items.csv", "item_id,title,author_id", titles)
    plan = plan_written([path, items], written)
    assert (len(plan.items), len(plan.users)) == (1, 0)
    for header in ("item_id,title,user_id", "product_id,title,customer"):
        both = write_rows(tmp_path / "both.csv", header, titles)
        with pytest.raises(DataError, match=r"people or items.*--items or --users"):
            plan_written([path, both], written)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("delimiter", "ab"),
        ("delimiter", ""),
        ("quote", ""),
        ("quote", "''"),
        ("lines_above", -1),
        ("packed", "false"),
        ("scale", 5),
        ("scale", "1-5"),
        ("decimal", "point"),
        ("headers", "user_id"),
        ("where", "rating>2"),
        ("columns", {"user": "user_id", "item": "user_id", "rating": "rating"}),
    ],
)
def test_a_format_written_by_hand_is_checked(tmp_path: Path, key: str, value: object) -> None:
    """A value that cannot be used gives a sentence, whichever it is."""
    rows = [f"{user},{item},{1 + item % 5}" for user, item in PAIRS]
    reading = import_files(write_rows(tmp_path / "in.csv", "user_id,item_id,rating", rows))
    assert reading.written is not None
    file = tmp_path / "format.json"
    file.write_text(json.dumps(reading.written.to_json()))
    assert read_format(file) == reading.written
    file.write_text(json.dumps(reading.written.to_json() | {key: value}))
    with pytest.raises((DataError, ConfigError)):
        read_format(file)


def test_a_written_format_has_stars_or_plays(tmp_path: Path) -> None:
    """With both, it would not be clear which of them counts."""
    rows = [f"{user},{item},{1 + item % 5},1" for user, item in PAIRS]
    reading = import_files(write_rows(tmp_path / "in.csv", "user_id,item_id,rating,plays", rows))
    assert reading.written is not None
    values = reading.written.to_json()
    values["columns"] |= {"plays": "plays"}
    (tmp_path / "format.json").write_text(json.dumps(values))
    with pytest.raises(ConfigError, match="not both"):
        read_format(tmp_path / "format.json")


def test_a_quote_that_stays_open_is_refused_in_baskets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All lines after it would be lost."""
    lines = [
        f"p{user} " + " ".join(f"i{user % 3 + item}" for item in range(user))
        for user in range(3, 9)
    ]
    path = tmp_path / "in.txt"
    path.write_text("\n".join([*lines[:3], 'p99 "i1 i2', *lines[3:]]) + "\n")
    out = tmp_path / "out"
    words = ["--layout", "baskets", "--delimiter", "space", "--no-header", "--yes", "--json"]
    assert main(["data", "import", str(path), "-o", str(out), *words]) == 3
    assert "every quote closed" in json.loads(capsys.readouterr().err)["error"]["message"]


def test_the_people_of_lists_of_objects_stay(tmp_path: Path) -> None:
    """An object may have a field with the header of the people."""
    rows = [
        {"user": f"p{user}", "items": [{"item": item, "user": "a seller"} for item in range(user)]}
        for user in range(2, 9)
    ]
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    ratings = read_ratings(path, layout="baskets", events=True)
    assert ratings.user_ids.tolist() == [f"p{user}" for user in range(2, 9)]


def test_a_named_column_without_lists_is_said_to_have_none(tmp_path: Path) -> None:
    """Another column has them, but only one."""
    frame = pl.DataFrame({"user": ["a", "b"], "item": [1, 2], "seen": [[1, 2], [2, 3]]})
    frame.write_parquet(tmp_path / "in.parquet")
    with pytest.raises(DataError, match="holds no lists, but another one does"):
        read_ratings(tmp_path / "in.parquet", layout="baskets", item="item")


def test_a_domain_that_is_a_list_is_refused(tmp_path: Path) -> None:
    """It is no plain value."""
    rows = [{"user": 1, "item": item, "domain": ["a", "b"]} for item in range(3)]
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    with pytest.raises(DataError, match="one plain value"):
        read_ratings(path, domain="domain", events=True)


def test_the_first_bad_row_is_named(tmp_path: Path) -> None:
    """A header that is repeated above a row of wrong length comes first."""
    header = "user_id,item_id,rating"
    path = write_rows(tmp_path / "in.csv", header, ["1,2,3", header, "1,4,5", "2,2", "2,3,4"])
    with pytest.raises(DataError) as error:
        read_ratings(path)
    assert error.value.row == 3


def test_a_zip_with_a_password_is_refused(tmp_path: Path) -> None:
    """No traceback is shown."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("in.csv", "user_id,item_id,rating\n1,2,3\n")
    raw = bytearray(packed.getvalue())
    raw[6] |= 1  # the flag of encryption, in the file's header and in the directory
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "in.zip").write_bytes(raw)
    with pytest.raises(DataError, match="cannot be opened"):
        read_ratings(tmp_path / "in.zip")


def test_a_cut_bz2_file_is_refused(tmp_path: Path) -> None:
    """No traceback is shown."""
    packed = bz2.compress(b"user_id,item_id,rating\n1,2,3\n" * 99)
    (tmp_path / "in.csv.bz2").write_bytes(packed[:-9])
    with pytest.raises(DataError, match="cannot be unpacked"):
        read_ratings(tmp_path / "in.csv.bz2")


def test_baskets_of_one_line_of_numbers_are_refused(tmp_path: Path) -> None:
    """The line is a header of pandas, without rows below."""
    (tmp_path / "in.txt").write_text("0,1,2\n")
    with pytest.raises(DataError, match="no rows"):
        read_ratings(tmp_path / "in.txt", layout="baskets")


def ratings_with_metadata(name: str) -> Ratings:
    """Make ratings with one column of item metadata."""
    users, items = zip(*PAIRS, strict=True)
    values = [1 + item % 5 for item in items]
    metadata = {name: {item: f"M{item}" for item in items}}
    scale = RatingScale(1, 5, 1)
    return Ratings.from_arrays(users, items, values, scale=scale, item_metadata=metadata)


def test_metadata_cannot_replace_the_ids(tmp_path: Path) -> None:
    """A column of the name of the ids would be written in their place."""
    ratings = ratings_with_metadata("item_id")
    for write in (
        lambda: write_items(ratings, tmp_path / "items.csv"),
        lambda: write_folder(ratings, tmp_path / "folder"),
        lambda: write_research_folder(ratings, "recbole", tmp_path / "recbole"),
        lambda: write_research_folder(ratings, "lenskit", tmp_path / "lenskit"),
    ):
        with pytest.raises(DataError, match="the name of the ids"):
            write()
    assert not list(tmp_path.iterdir())


def test_a_folder_with_an_incomplete_description_is_refused(tmp_path: Path) -> None:
    """The error names the key that is missing."""
    write_folder(ratings_with_metadata("title"), tmp_path / "folder")
    file = tmp_path / "folder" / "data.json"
    description = json.loads(file.read_text())
    del description["public"]
    file.write_text(json.dumps(description))
    for read in (read_folder, find_public_list):
        with pytest.raises(DataError, match="the key 'public'"):
            read(tmp_path / "folder")


def test_one_column_cannot_be_people_and_items(tmp_path: Path) -> None:
    """A stream of Parquet is no exception."""
    frame = pl.DataFrame({"user_id": [1, 2], "item_id": [3, 4], "rating": [5, 4]})
    frame.write_parquet(tmp_path / "in.parquet")
    names: dict[Role, str | None] = {"user": "user_id", "item": "user_id"}
    opened = open_parquet(tmp_path / "in.parquet", names, PublicInputs(), 2**30, events=False)
    with pytest.raises(DataError, match="cannot be two things"), opened:
        pass
