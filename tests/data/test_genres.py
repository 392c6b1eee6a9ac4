"""A catalogue cut by genre: the rule, its ties, and the real one where present."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.data import Ratings, domain_names, domain_of, load, of_domain, split_by_genre
from tacit.errors import ConfigError, DataError


def catalogue(*genres: str | None) -> Ratings:
    """One person who rated items 1, 2, ... of these genres."""
    numbers = list(range(1, len(genres) + 1))
    return Ratings.from_arrays(
        [1] * len(numbers),
        numbers,
        [3] * len(numbers),
        item_metadata={"genres": dict(zip(numbers, genres, strict=True))},
    )


def test_genres_are_dealt_by_size() -> None:
    """By number of items Drama 3, Comedy 2, War 1: the first and the third to one side."""
    made = split_by_genre(catalogue("Drama", "Drama", "Drama", "Comedy", "Comedy", "War"))
    assert domain_of(made).tolist() == ["D1", "D1", "D1", "D2", "D2", "D1"]


def test_genres_of_one_size_are_dealt_by_name() -> None:
    """War and Crime have one item each: Crime is dealt first, to the side of the largest."""
    made = split_by_genre(catalogue("Drama", "Drama", "Drama", "Comedy", "Comedy", "War", "Crime"))
    assert domain_of(made).tolist()[5:] == ["D2", "D1"]


def test_an_item_goes_where_most_of_its_genres_are() -> None:
    """Sizes: A 4, B 3, C 2, D 1, dealt to D1, D2, D1, D2. Item 1 has B and D of D2, A of D1."""
    made = split_by_genre(catalogue("A|B|D", "A|C", "A", "A", "B", "B", "C"))
    assert domain_of(made).tolist() == ["D2", "D1", "D1", "D1", "D2", "D2", "D1"]


def test_a_tie_goes_to_the_most_common_genre() -> None:
    """Sizes: B 4, A 3. An item of A and B goes with B, whichever is listed first."""
    made = split_by_genre(catalogue("A|B", "B|A", "B", "B", "A"), names=("x", "y"))
    assert domain_of(made).tolist() == ["x", "x", "x", "x", "y"]


def test_a_tie_may_go_to_the_second_side() -> None:
    """Sizes: A 4, B 3, C 2, dealt to D1, D2, D1. An item of B and C goes with B."""
    made = split_by_genre(catalogue("A", "A", "A", "A", "B", "C|B", "B", "C"))
    assert domain_of(made).tolist()[5] == "D2"


def test_items_of_unknown_genre_are_left_out() -> None:
    """They and their ratings; the others keep their ids and stars."""
    made = split_by_genre(catalogue("A", None, "B", " | "))
    assert made.item_ids.tolist() == [1, 3]
    assert made.history(1) == {1: 3.0, 3: 3.0}


@pytest.mark.parametrize(
    ("genres", "says"),
    [(("A", "A"), "two genres"), (("A|B", "A|B"), "all items fall into one domain")],
)
def test_what_cannot_be_cut_is_refused(genres: tuple[str, ...], says: str) -> None:
    """One genre, or items that all fall on one side."""
    with pytest.raises(DataError, match=says):
        split_by_genre(catalogue(*genres))


def test_two_domains_need_two_names() -> None:
    """The same name twice is refused."""
    with pytest.raises(ConfigError, match="two different names"):
        split_by_genre(catalogue("A", "B"), names=("x", "x"))


def test_a_catalogue_without_genres_is_refused() -> None:
    """The error says how to name a file of them."""
    with pytest.raises(DataError, match=r"no item metadata 'genres'.*--items"):
        split_by_genre(Ratings.from_arrays([1], [1], [1]))


def test_movielens_falls_into_two_large_domains(ml_latest_small: Path) -> None:
    """Every film with a genre is in one of two domains, neither below two fifths of the ratings."""
    whole = load(ml_latest_small)
    made = split_by_genre(whole)
    sizes = [len(of_domain(made, name)) for name in domain_names(made)]
    assert sum(sizes) == len(made) < len(whole)
    assert min(sizes) > 0.4 * len(made)
