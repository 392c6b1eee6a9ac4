"""MovieLens folders: three layouts written small by the tests, and the real ones where present."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.data import Ratings, is_movielens, load, read_movielens
from tacit.errors import DataError


def flags(*numbers: int) -> str:
    return "|".join("1" if number in numbers else "0" for number in range(19))


@pytest.fixture
def latest(tmp_path: Path) -> Path:
    """The layout of latest, 20M, 25M, 32M."""
    (tmp_path / "ratings.csv").write_text(
        "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n2,7,4.0,1260759179\n"
    )
    (tmp_path / "movies.csv").write_text(
        'movieId,title,genres\n7,"Café, The (1995)",Comedy|Drama\n31,Nameless,(no genres listed)\n',
        encoding="utf-8",
    )
    return tmp_path


@pytest.fixture
def hundred_thousand(tmp_path: Path) -> Path:
    """The layout of 100K, with a title in Latin-1."""
    (tmp_path / "u.data").write_text("1\t1\t3\t881250949\n2\t1\t5\t881250950\n2\t2\t1\t881250951\n")
    (tmp_path / "u.user").write_text("1|24|M|writer|85711\n2|53|F|other|94043\n3|9|M|none|0\n")
    (tmp_path / "u.item").write_bytes(
        f"1|Café (1994)|01-Jan-1994||http://x|{flags(1, 5)}\n2|unknown||||{flags(0)}\n".encode(
            "latin-1"
        )
    )
    return tmp_path


@pytest.fixture
def million(tmp_path: Path) -> Path:
    """The layout of 1M."""
    (tmp_path / "ratings.dat").write_text("1::1::5::978300760\n2::2::3::978302109\n")
    (tmp_path / "users.dat").write_text("1::F::1::10::48067\n2::M::56::16::70072\n")
    (tmp_path / "movies.dat").write_bytes(
        "1::Misérables, Les (1995)::Drama|Musical\n2::B: C (2000)::Action\n".encode("latin-1")
    )
    return tmp_path


def facts(ratings: Ratings, item: int) -> tuple[object, ...]:
    place = ratings.item_number(item)
    return tuple(ratings.item_metadata[name][place] for name in ("title", "year", "genres"))


def test_the_csv_layout(latest: Path) -> None:
    """Half stars, quoted titles, missing years and genres."""
    ratings = read_movielens(latest)
    assert str(ratings.scale) == "0.5:5:0.5"
    assert ratings.history(1) == {31: 2.5}
    assert facts(ratings, 7) == ("Café, The (1995)", "1995", "Comedy|Drama")
    assert facts(ratings, 31) == ("Nameless", None, None)
    assert dict(ratings.user_attributes) == {}


def test_the_100k_layout(hundred_thousand: Path) -> None:
    """Whole stars, attributes as strings, genres by name, Latin-1 titles."""
    ratings = read_movielens(hundred_thousand)
    assert str(ratings.scale) == "1:5:1"
    assert ratings.history(2) == {1: 5.0, 2: 1.0}
    assert ratings.attribute("gender").tolist() == ["M", "F"]
    assert ratings.attribute("age").tolist() == ["24", "53"]
    assert ratings.attribute("occupation").tolist() == ["writer", "other"]
    assert facts(ratings, 1) == ("Café (1994)", "1994", "Action|Comedy")
    assert facts(ratings, 2) == ("unknown", None, None)


def test_the_1m_layout(million: Path) -> None:
    """`::` between cells, Latin-1 titles, occupation codes as strings."""
    ratings = read_movielens(million)
    assert str(ratings.scale) == "1:5:1"
    assert ratings.attribute("gender").tolist() == ["F", "M"]
    assert ratings.attribute("occupation").tolist() == ["10", "16"]
    assert facts(ratings, 1) == ("Misérables, Les (1995)", "1995", "Drama|Musical")
    assert facts(ratings, 2) == ("B: C (2000)", "2000", "Action")
    assert ratings.timestamps.tolist() == [978300760, 978302109]  # type: ignore[union-attr]


def test_the_10m_layout(million: Path) -> None:
    """Without users.dat it is 10M: half stars, UTF-8 titles, no attributes."""
    (million / "users.dat").unlink()
    (million / "ratings.dat").write_text("1::1::4.5::978300760\n")
    (million / "movies.dat").write_text("1::Café (1995)::Drama\n", encoding="utf-8")
    ratings = read_movielens(million)
    assert (str(ratings.scale), dict(ratings.user_attributes)) == ("0.5:5:0.5", {})
    assert facts(ratings, 1) == ("Café (1995)", "1995", "Drama")


def test_one_door_for_folders(hundred_thousand: Path) -> None:
    """`load` on a folder reads MovieLens."""
    assert is_movielens(hundred_thousand)
    assert load(hundred_thousand).digest == read_movielens(hundred_thousand).digest


def test_a_bad_rating_is_named(hundred_thousand: Path) -> None:
    """The rating file of a folder is read with the same care as any other."""
    with (hundred_thousand / "u.data").open("a") as stream:
        stream.write("3\t1\t6\t881250949\n")
    with pytest.raises(DataError, match=r"u\.data, row 4, column 'rating'.*scale 1:5:1"):
        read_movielens(hundred_thousand)


@pytest.mark.parametrize(
    ("name", "row"), [("u.user", "4|20|M\n"), ("u.item", "3|A|b\n"), ("u.user", "x|1|M|a|b\n")]
)
def test_a_bad_row_beside_the_ratings_is_named(hundred_thousand: Path, name: str, row: str) -> None:
    """A cut users or films file is refused, not half-read."""
    with (hundred_thousand / name).open("a") as stream:
        stream.write(row)
    with pytest.raises(DataError, match=name):
        read_movielens(hundred_thousand)


def test_another_folder_is_refused(tmp_path: Path) -> None:
    """What is missing, and how to get it."""
    with pytest.raises(DataError, match=r"not a MovieLens folder.*tacit data get"):
        read_movielens(tmp_path)
    assert not is_movielens(tmp_path)
    with pytest.raises(DataError, match=r"holds no ratings in a known form.*Name the file"):
        load(tmp_path)


def test_options_make_no_sense_for_a_folder(hundred_thousand: Path) -> None:
    """Column names for a MovieLens folder are refused; options left at None are not given."""
    with pytest.raises(DataError, match=r"names its own columns.*found 'user'"):
        load(hundred_thousand, user="u", item=None)
    assert len(load(hundred_thousand, item=None)) == 3


def test_one_file_of_a_folder_points_to_the_folder(hundred_thousand: Path) -> None:
    """u.data has no header: its folder is the thing to name."""
    with pytest.raises(DataError, match="Name its folder instead"):
        load(hundred_thousand / "u.data")


def test_load_reads_files_with_options(tmp_path: Path) -> None:
    """`load` on a file hands its options on."""
    path = tmp_path / "r.csv"
    path.write_text("who,item,rating\n1,2,3\n")
    assert load(path, user="who", time=None).history(1) == {2: 3.0}


def test_load_of_nothing(tmp_path: Path) -> None:
    """A path that is not there."""
    with pytest.raises(DataError, match="no such file or folder"):
        load(tmp_path / "none")


def test_real_100k(ml_100k: Path) -> None:
    """The published counts of MovieLens 100K."""
    ratings = load(ml_100k)
    genders = ratings.attribute("gender").tolist()
    assert (len(ratings), ratings.n_users, ratings.n_items) == (100_000, 943, 1682)
    assert (genders.count("F"), genders.count("M")) == (273, 670)
    assert all(title for title in ratings.item_metadata["title"])


def test_real_latest_small(ml_latest_small: Path) -> None:
    """The counts of the copy of latest-small without forty people."""
    ratings = load(ml_latest_small)
    assert (len(ratings), ratings.n_users) == (91_070, 631)
    assert str(ratings.scale) == "0.5:5:0.5"
    assert all(title for title in ratings.item_metadata["title"])
