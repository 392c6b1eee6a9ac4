"""Item metadata as features: which columns are chosen, and how values are listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.data import Ratings, item_features, load, read_ratings, with_items
from tacit.errors import DataError


@pytest.fixture
def ratings() -> Ratings:
    """Three items: two genres, one genre named twice, none."""
    return Ratings.from_arrays(
        [1, 1, 1],
        [10, 20, 30],
        [1, 2, 3],
        item_metadata={
            "title": {10: "Up"},
            "Genres": {10: "Drama| Comedy", 20: "War|War|", 30: None},
            "year": {10: 1990, 30: "2001"},
            "shop": {10: "a"},
        },
    )


def test_known_columns_are_chosen(ratings: Ratings) -> None:
    """Without names, those that are features elsewhere, whatever the case; titles are none."""
    assert list(item_features(ratings)) == ["Genres", "year"]


def test_values_are_listed(ratings: Ratings) -> None:
    """Split at '|', stripped, each once, in the order of the items; numbers become texts."""
    found = item_features(ratings)
    assert found["Genres"] == [["Drama", "Comedy"], ["War"], []]
    assert found["year"] == [["1990"], [], ["2001"]]


def test_named_columns_are_chosen(ratings: Ratings) -> None:
    """Any column, in the order of the names, each once; no name gives none."""
    assert list(item_features(ratings, ["shop", "year", "shop"])) == ["shop", "year"]
    assert item_features(ratings, []) == {}


def test_no_metadata_is_a_normal_case() -> None:
    """Ratings without any have no features, and nothing is refused."""
    assert item_features(Ratings.from_arrays([1], [2], [3])) == {}


def test_an_unknown_column_is_refused(ratings: Ratings) -> None:
    """The message lists the columns that there are."""
    with pytest.raises(DataError, match="title, Genres, year, shop"):
        item_features(ratings, ["genre"])


def test_a_domain_from_an_items_file_takes_nothing_away(tmp_path: Path) -> None:
    """What is known of items already stays, whether or not the domain is read from the file."""
    items = tmp_path / "items.csv"
    items.write_text("item,title,shop\n7,Alien,films\n")
    known = Ratings.from_arrays([1], [7], [3], item_metadata={"title": {7: "Up"}})
    made = with_items(known, items, domain="shop")
    assert made.item_metadata["title"].tolist() == ["Up"]
    assert made.item_metadata["domain"].tolist() == ["films"]


def test_an_items_file_beside_the_ratings_is_read(tmp_path: Path) -> None:
    """r-items.csv belongs to r.csv, unless another file is named."""
    (tmp_path / "r.csv").write_text("user,item,rating\n1,7,3\n1,8,4\n")
    (tmp_path / "r-items.csv").write_text("item,genres\n7,a|b\n8,c\n")
    (tmp_path / "other.csv").write_text("item,category\n7,x\n8,y\n")
    assert item_features(load(tmp_path / "r.csv")) == {"genres": [["a", "b"], ["c"]]}
    named = load(tmp_path / "r.csv", items=tmp_path / "other.csv")
    assert item_features(named) == {"category": [["x"], ["y"]]}


def test_more_metadata_do_not_replace_what_is_there(tmp_path: Path) -> None:
    """`with_items` adds columns; one of the same name stays as it was."""
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\n1,7,3\n")
    (tmp_path / "i.csv").write_text("item,genres,price\n7,a,3\n")
    (tmp_path / "j.csv").write_text("item,genres,year\n7,b,1999\n")
    made = with_items(read_ratings(path, items=tmp_path / "i.csv"), tmp_path / "j.csv")
    assert item_features(made) == {"genres": [["a"]], "price": [["3"]], "year": [["1999"]]}
