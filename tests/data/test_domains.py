"""Domains: read from columns, refused where they make no sense, split without losing a rating."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data import (
    Ratings,
    RatingScale,
    cross_domain_split,
    domain_names,
    domain_of,
    generate,
    items_in,
    load,
    of_domain,
    on_catalogue,
    ratings_from,
    read_catalogue,
    read_ratings,
    straddlers,
    with_domains,
    write_ratings,
)
from tacit.data.tables.folder import write_folder
from tacit.errors import ConfigError, DataError

ROWS = "user,item,rating,shop\n1,b7,4,books\n1,m7,5,movies\n2,b7,2,books\n3,m8,1,movies\n"
STARS = RatingScale(1, 5, 1)
ITEMS = "item,title,shop\nb7,Emma,books\nm7,Alien,movies\nm8,Heat,movies\n"


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Write text to a file and return its path."""

    def writer(content: str, name: str = "r.csv") -> Path:
        path = tmp_path / name
        path.write_text(content)
        return path

    return writer


@pytest.fixture(scope="module")
def mixed() -> Ratings:
    """Generated ratings, items of even number in 'a', odd ones in 'b'; every third person rated in
    'a' alone."""
    ratings = generate(users=60, items=40, ratings=1200, seed=5)
    made = with_domains(ratings, {key: "ab"[key % 2] for key in ratings.item_ids.tolist()})
    one_sided = (made.users % 3 == 0) & (domain_of(made)[made.items] == "b")
    return made.where(~one_sided)


def pairs(ratings: Ratings) -> set[tuple[int, int]]:
    return set(zip(ratings.users.tolist(), ratings.items.tolist(), strict=True))


def test_a_column_of_the_ratings_names_the_domain(write: Any) -> None:
    """Each item gets the domain its rows name."""
    assert domain_of(read_ratings(write(ROWS), domain="shop")).tolist() == [
        "books",
        "movies",
        "movies",
    ]


def test_a_domain_is_read_only_where_asked_for(write: Any) -> None:
    """A column that happens to be called domain changes nothing."""
    path = write(ROWS.replace("shop", "domain"))
    assert "domain" not in read_ratings(path).item_metadata
    with pytest.raises(DataError, match=r"no domains.*--domain-column"):
        domain_of(read_ratings(path))


def test_a_column_of_the_items_names_the_domain(write: Any) -> None:
    """Where the ratings have no such column, the file of items is asked, and its titles stay."""
    plain = write(ROWS.replace("shop", "other"))
    ratings = read_ratings(plain, domain="shop", items=write(ITEMS, "i.csv"))
    assert domain_of(ratings).tolist() == ["books", "movies", "movies"]
    assert ratings.item_metadata["title"].tolist() == ["Emma", "Alien", "Heat"]


def test_the_ratings_own_column_comes_first(write: Any) -> None:
    """With a column in both files, the ratings' own counts."""
    items = write(ITEMS.replace("Emma,books", "Emma,films"), "i.csv")
    assert domain_names(read_ratings(write(ROWS), domain="shop", items=items)) == (
        "books",
        "movies",
    )


def test_parquet_and_frames_name_domains_too(tmp_path: Path, write: Any) -> None:
    """Text, Parquet and a frame in memory give the same domains."""
    frame = pl.read_csv(write(ROWS))
    frame.write_parquet(tmp_path / "r.parquet")
    expected = domain_of(read_ratings(write(ROWS), domain="shop")).tolist()
    assert domain_of(ratings_from(frame, domain="shop")).tolist() == expected
    assert domain_of(read_ratings(tmp_path / "r.parquet", domain="shop")).tolist() == expected


def test_integer_ids_have_domains(write: Any) -> None:
    """Ids written as whole numbers become integers, and their domains follow."""
    path = write(ROWS.replace("b7", "7").replace("m7", "17").replace("m8", "18"))
    ratings = read_ratings(path, domain="shop")
    assert items_in(ratings, "movies").tolist() == [
        ratings.item_number(17),
        ratings.item_number(18),
    ]


@pytest.mark.parametrize("as_frame", [False, True])
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("4,b7,3,movies\n", r"column 'shop': an item lies in two domains.*b7 in books and in mov"),
        ("4,b7,3,\n", r"column 'shop'.*missing"),
        ("4,b7,3, \n", r"column 'shop'.*missing"),
    ],
)
def test_a_bad_domain_is_named(write: Any, bad: str, says: str, as_frame: bool) -> None:
    """One id in two domains, and a blank domain: refused with row and column, the line in a file,
    the record in a frame."""
    path = write(ROWS + bad)
    row = 5 if as_frame else 6
    given = pl.read_csv(path) if as_frame else path
    read = ratings_from if as_frame else read_ratings
    with pytest.raises(DataError, match=rf"row {row}, {says}"):
        read(given, domain="shop")  # type: ignore[operator]


def test_one_id_in_two_domains_says_what_to_do(write: Any) -> None:
    """The way out is two ids."""
    with pytest.raises(DataError, match="put the domain before each id"):
        read_ratings(write(ROWS + "4,m7,3,books\n"), domain="shop")


def test_a_missing_domain_column_is_named(write: Any) -> None:
    """With and without a file of items; the option is called what the command line calls it."""
    with pytest.raises(DataError, match=r"r\.csv: no domain column.*'kind'.*--domain-column"):
        read_ratings(write(ROWS), domain="kind")
    with pytest.raises(DataError, match=r"i\.csv: no domain column.*'kind'"):
        read_ratings(write(ROWS), domain="kind", items=write(ITEMS, "i.csv"))


def test_an_item_without_a_domain_is_named(write: Any) -> None:
    """A file of items that leaves one out."""
    items = write(ITEMS.replace("m8,Heat,movies\n", ""), "i.csv")
    with pytest.raises(DataError, match=r"i\.csv: an item has no domain; found 'm8'"):
        read_ratings(write(ROWS.replace("shop", "other")), domain="shop", items=items)


def test_domains_of_an_imported_folder_come_from_the_file_of_items(
    write: Any, tmp_path: Path
) -> None:
    """The option for their column holds for the folder's ratings, too."""
    ratings = read_ratings(write("user,item,rating\n1,b7,4\n1,m7,5\n2,b7,2\n3,m8,1\n"))
    write_folder(ratings, tmp_path / "folder")
    items = write(ITEMS, "i.csv")
    with pytest.raises(DataError, match="no such table is named"):
        load(tmp_path / "folder", domain="shop")
    made = load(tmp_path / "folder", items=items, domain="shop")
    assert domain_of(made).tolist() == ["books", "movies", "movies"]


def test_written_domains_are_read_again(mixed: Ratings, tmp_path: Path) -> None:
    """A written table holds the domains in a column of their own."""
    write_ratings(mixed, tmp_path / "w.csv")
    again = load(tmp_path / "w.csv", domain="domain")
    assert domain_of(again).tolist() == domain_of(mixed).tolist()
    assert again.digest == mixed.digest


def test_an_unknown_domain_is_refused(mixed: Ratings) -> None:
    """The error lists the domains there are."""
    with pytest.raises(DataError, match="no such domain; found 'c'; expected one of a, b"):
        of_domain(mixed, "c")


def test_domains_cut_the_ratings(mixed: Ratings) -> None:
    """Every rating is of one domain, and numbers stay."""
    halves = [of_domain(mixed, name) for name in domain_names(mixed)]
    assert pairs(halves[0]) | pairs(halves[1]) == pairs(mixed)
    assert not pairs(halves[0]) & pairs(halves[1])
    assert {half.n_items for half in halves} == {mixed.n_items}


def test_straddlers_rated_in_both(mixed: Ratings) -> None:
    """People with ratings of one domain alone are none."""
    both = straddlers(mixed, "a", "b")
    assert 0 < len(both) < mixed.n_users
    assert (both % 3 != 0).all()
    with pytest.raises(ConfigError, match="two domains"):
        straddlers(mixed, "a", "a")


@given(
    share=st.floats(0.05, 0.95),
    keep=st.integers(0, 4),
    overlap=st.floats(0, 1),
    seed=st.integers(0, 2**32),
)
def test_cross_domain_split_counts(
    mixed: Ratings, share: float, keep: int, overlap: float, seed: int
) -> None:
    """Test people are the share of those with enough ratings and keep `keep` target ratings; of the
    others in both domains `overlap` stay; everybody else keeps all."""
    split = cross_domain_split(
        mixed, source="a", target="b", share=share, keep=keep, overlap=overlap, seed=seed
    )
    in_b = domain_of(mixed)[split.test.items] == "b"
    assert in_b.all()
    people = straddlers(mixed, "a", "b")
    target = np.diff(of_domain(mixed, "b").offsets)
    kept = np.diff(of_domain(split.train, "b").offsets)
    testers = np.unique(split.test.users)
    assert len(testers) == round(share * int((target[people] > keep).sum()))
    assert (kept[testers] == keep).all()
    others = np.setdiff1d(people, testers)
    before, after = np.diff(mixed.offsets), np.diff(split.train.offsets)
    assert int((after[others] > 0).sum()) == round(overlap * len(others))
    staying = others[after[others] > 0]
    assert (after[staying] == before[staying]).all()
    alone = np.setdiff1d(np.arange(mixed.n_users), people)
    assert (after[alone] == before[alone]).all()
    source = (np.diff(of_domain(half, "a").offsets) for half in (split.train, mixed))
    first, second = (counts[testers] for counts in source)
    assert (first == second).all()
    assert not pairs(split.train) & pairs(split.test)


def test_cross_domain_splits_are_nested(mixed: Ratings) -> None:
    """With one seed the same people are tested whatever is kept, and what a smaller overlap leaves
    in, a larger one does too."""

    def cut(keep: int, overlap: float) -> tuple[Any, set[tuple[int, int]], set[tuple[int, int]]]:
        split = cross_domain_split(
            mixed, source="a", target="b", keep=keep, at_least=5, overlap=overlap, seed=2
        )
        return np.unique(split.test.users).tolist(), pairs(split.train), pairs(split.test)

    first, second = cut(0, 0.3), cut(4, 0.8)
    assert first[0] == second[0]
    assert second[2] < first[2]
    assert first[1] < second[1]


def test_cross_domain_split_follows_its_seed(mixed: Ratings) -> None:
    """The same seed gives the same split, another one another."""
    first, second, other = (
        cross_domain_split(mixed, source="a", target="b", seed=seed).test.digest
        for seed in (1, 1, 2)
    )
    assert first == second != other


@pytest.mark.parametrize(
    "wrong",
    [{"share": 0}, {"share": 1}, {"keep": -1}, {"keep": 3, "at_least": 3}, {"overlap": 1.1}],
)
def test_senseless_splits_are_refused(mixed: Ratings, wrong: dict[str, Any]) -> None:
    """Shares lie in their range, and whoever is tested has something to be tested on."""
    with pytest.raises(ConfigError):
        cross_domain_split(mixed, source="a", target="b", seed=1, **wrong)


def test_a_split_without_test_people_is_refused(mixed: Ratings) -> None:
    """The error says how many people there were."""
    with pytest.raises(DataError, match="nobody can be a test person; found '0 people"):
        cross_domain_split(mixed, source="a", target="b", at_least=1000, seed=1)


CATALOGUE = {"b7": "books", "m7": "movies", "m9": "movies"}


def test_a_catalogue_keeps_what_nobody_rated(write: Any) -> None:
    """Every item of the list is there, with its domain and title; metadata of rated items go."""
    ratings = read_ratings(write(ROWS), items=write(ITEMS, "i.csv"), scale=STARS)
    made = on_catalogue(ratings, CATALOGUE, metadata={"title": {"m9": "Up"}})
    assert made.item_ids.tolist() == ["b7", "m7", "m9"]
    assert domain_of(made).tolist() == ["books", "movies", "movies"]
    assert made.item_metadata["title"].tolist() == [None, None, "Up"]
    assert set(made.item_metadata) == {"domain", "title"}
    assert made.catalogue_given
    assert made.scale_given


def test_a_rating_off_the_catalogue_takes_nobody_elses_along(write: Any) -> None:
    """Dropped one by one: with or without a person, others keep the same ratings and numbers."""
    with_her = on_catalogue(read_ratings(write(ROWS)), CATALOGUE)
    rows = [row for row in ROWS.splitlines() if not row.startswith("3,")]
    without = on_catalogue(read_ratings(write("\n".join(rows), "w.csv")), CATALOGUE)
    assert with_her.history(3) == {}
    assert with_her.item_ids.tolist() == without.item_ids.tolist()
    for person in (1, 2):
        assert with_her.history(person) == without.history(person)


def test_ids_are_those_of_the_catalogue() -> None:
    """Whole numbers meet text that is written alike, and rows are sorted anew."""
    ratings = Ratings.from_arrays([1, 1, 2], [9, 10, 11], [1, 2, 3], [7, 8, 9], scale=STARS)
    made = on_catalogue(ratings, {"9": "a", "10": "a", "11": "b", "x": "b"})
    assert made.item_ids.tolist() == ["10", "11", "9", "x"]
    assert made.history(1) == {"9": 1.0, "10": 2.0}
    assert made.timestamps is not None
    assert made.timestamps.tolist() == [8, 7, 9]


@pytest.mark.parametrize(
    ("catalogue", "said"), [({"z": "books"}, "no item"), ({"b7": "books", "m7": None}, "no domain")]
)
def test_a_catalogue_of_other_ids_or_with_a_domain_missing_is_refused(
    write: Any, catalogue: Any, said: str
) -> None:
    """Ids written otherwise match nothing; every listed item has a domain, or none has."""
    with pytest.raises(DataError, match=said):
        on_catalogue(read_ratings(write(ROWS)), catalogue)


def test_a_catalogue_file_names_domains_and_titles(write: Any) -> None:
    """The domain's column is the one named, else 'domain'; without one the file is refused."""
    asked = read_catalogue(write(ITEMS, "i.csv"), domain="shop", item="movie")
    assert asked["domain"] == {"b7": "books", "m7": "movies", "m8": "movies"}
    assert asked["title"]["m8"] == "Heat"
    plain = write("item,domain,year\n1,books,2000\n", "p.csv")
    assert read_catalogue(plain, domain="shop") == {"domain": {1: "books"}, "year": {1: "2000"}}
    both = write("item,domain,kind\n1,x,books\n2,x,films\n", "b.csv")
    assert read_catalogue(both, domain="kind") == {"domain": {1: "books", 2: "films"}}
    with pytest.raises(DataError, match=r"i\.csv.*no domain column"):
        read_catalogue(write(ITEMS, "i.csv"))


def test_a_catalogue_may_be_ids_alone(write: Any) -> None:
    """Where no domains are asked for, a file of ids gives a catalogue without metadata."""
    listed = read_catalogue(write("item\nb7\nm7\nm9\n", "c.csv"), domains=False)
    assert listed == {"domain": {"b7": None, "m7": None, "m9": None}}
    made = on_catalogue(read_ratings(write(ROWS)), listed["domain"])
    assert made.item_ids.tolist() == ["b7", "m7", "m9"]
    assert dict(made.item_metadata) == {}
    assert made.catalogue_given


def test_a_filter_takes_the_catalogue_back(mixed: Ratings) -> None:
    """What is left over depends on who rated what, and stays marked through another catalogue."""
    catalogue = {item: "ab"[item % 2] for item in mixed.item_ids.tolist()}
    listed = on_catalogue(mixed, catalogue)
    assert not listed.filtered
    assert not listed.compact().catalogue_given
    filtered = listed.drop_rare(per_item=2)
    assert not filtered.catalogue_given
    assert on_catalogue(filtered, catalogue).filtered
