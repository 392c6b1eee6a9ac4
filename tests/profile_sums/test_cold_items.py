"""Items that no one rated: scored by public features, only where they are asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit import Private
from tacit.data.ratings import Ratings
from tacit.designs.private.device import DeviceLists
from tacit.errors import ConfigError, DataError
from tacit.profile_sums.cold_items import fit_cold_model

FAMILIES = ("blue", "green", "red", "yellow")
PEOPLE, ITEMS = 1200, 80


@pytest.fixture(scope="module")
def shop() -> Ratings:
    """Each item has a colour and a shape; each person likes items of one colour."""
    generator = np.random.default_rng(5)
    colour = np.arange(ITEMS) % len(FAMILIES)
    users, items, stars = [], [], []
    for person in range(PEOPLE):
        own = person % len(FAMILIES)
        chosen = generator.choice(ITEMS, 16, replace=False)
        users += [person] * len(chosen)
        items += chosen.tolist()
        stars += np.where(colour[chosen] == own, 5.0, 2.0).tolist()
    ratings = Ratings.from_arrays(np.array(users), np.array(items), np.array(stars))
    ids = ratings.item_ids
    genre = np.array([FAMILIES[item % len(FAMILIES)] for item in ids.tolist()], dtype=object)
    shape = np.array([("round", "long")[item % 2] for item in ids.tolist()], dtype=object)
    return replace(ratings, item_metadata={"genre": genre, "category": shape})


@pytest.fixture(scope="module")
def model(shop: Ratings) -> Private:
    """Fitted without noise, in mode taste."""
    return Private(float("inf"), mode="taste").fit(shop)


def history_of(colour: str) -> list[int]:
    """Six liked items of one colour."""
    return [item for item in range(24) if FAMILIES[item % len(FAMILIES)] == colour]


COLD = {f"new-{colour}": {"genre": [colour]} for colour in FAMILIES}


@pytest.mark.parametrize("colour", FAMILIES)
def test_a_person_gets_the_cold_item_of_their_taste(model: Private, colour: str) -> None:
    """Of four cold items that differ in colour alone, the best is of the colour that they like."""
    rows = model.recommend(history=history_of(colour), cold=COLD, candidates=[], n=4)
    assert len(rows) == 4
    assert rows[0].item_id == f"new-{colour}"
    assert [row.cold for row in rows] == [True] * 4
    assert [row.rank for row in rows] == [1, 2, 3, 4]


def test_a_cold_item_stands_among_items_of_its_colour(model: Private) -> None:
    """Its score lies within those of the items with its features, of the same colour."""
    history = history_of("red")
    rows = model.recommend(history=history, cold=COLD, n=ITEMS + len(COLD))
    score = {row.item_id: row.score for row in rows}
    same = [score[item] for item in score if item not in COLD and FAMILIES[item % 4] == "red"]
    other = [score[item] for item in score if item not in COLD and FAMILIES[item % 4] != "red"]
    assert max(other) < score["new-red"]
    assert min(same) * 0.5 < score["new-red"] < max(same) * 1.5


def test_default_lists_are_unchanged(model: Private) -> None:
    """Without cold items the list is what it was, and no row and no column speaks of them."""
    rows = model.recommend(history=history_of("blue"), n=10)
    assert not any(row.cold for row in rows)
    assert "cold" not in rows.to_dict()
    among = model.recommend(history=history_of("blue"), cold=COLD, n=ITEMS)
    assert [row.item_id for row in among if not row.cold][:10] == rows.item_ids


def test_numbers_and_unknown_features_are_left_out(model: Private) -> None:
    """An item of which no feature is known is not listed, and is named."""
    cold = {"a": {"genre": "purple"}, "b": {"genre": "red|purple", "price": 12}, "c": {"genre": 3}}
    read = model.read_cold_items(cold)
    assert (read.ids, read.unknown) == (("b",), ("a", "c"))
    alone = model.read_cold_items({"b": {"genre": ["red"]}})
    assert (read.features.toarray() == alone.features.toarray()).all()


def test_an_item_of_the_model_is_no_cold_item(model: Private) -> None:
    """It has a count and tastes of its own."""
    with pytest.raises(DataError, match="given as a cold one"):
        model.recommend(history=[1], cold={3: {"genre": "red"}})


def test_an_item_is_known_by_the_text_of_its_number(model: Private) -> None:
    """A table names items in texts: one that people rated must not be listed as rated by no one."""
    known = model.history_ids_.tolist()[0]
    assert not isinstance(known, str)
    with pytest.raises(DataError, match="given as a cold one"):
        model.recommend(history=[], cold={str(known): {"colour": "red"}})


def test_exclude_and_history_hold_for_cold_items(model: Private) -> None:
    """What is left out or was seen is not listed."""
    rows = model.recommend(
        history=history_of("red"), cold=COLD, candidates=[], exclude=["new-red"], n=9
    )
    assert "new-red" not in rows.item_ids
    assert len(rows) == 3


def test_a_model_without_tastes_says_why(shop: Ratings) -> None:
    """Popularity knows no features, and top items none either."""
    top_items = Private(float("inf"), mode="top-items").fit(shop)
    with pytest.raises(ConfigError, match="mode 'top-items'"):
        top_items.recommend(history=[1], cold=COLD)


def test_the_map_is_made_of_the_release_alone(model: Private, tmp_path) -> None:
    """A model from its file, which holds nobody, scores cold items alike."""
    from tacit import load_model

    model.save(tmp_path / "m.tacit")
    loaded = load_model(tmp_path / "m.tacit")
    history = history_of("green")
    first = model.recommend(history=history, cold=COLD, candidates=[])
    assert loaded.recommend(history=history, cold=COLD, candidates=[]).rows == first.rows
    assert np.isfinite(fit_cold_model(loaded.fitted_).coefficients).all()


def test_a_device_scores_cold_items_as_the_model_does(model: Private) -> None:
    """The file holds those with a known feature, last and marked; its scores are those of the
    model, to the precision of 16 bits."""
    cold = {**COLD, "odd": {"genre": ["purple"]}}
    history = dict.fromkeys(history_of("red"), 5.0)
    lists = DeviceLists.decode(model.device_file(cold))
    assert list(lists.cold) == list(COLD)
    assert list(lists.items) == [*model.item_ids_.tolist(), *COLD]
    found = dict(lists.rank(history, n=ITEMS + len(COLD)))
    rows = model.recommend(history=history, cold=cold, n=ITEMS + len(COLD))
    expected = {row.item_id: row.score for row in rows}
    assert found.keys() == expected.keys()
    assert max(abs(found[item] - expected[item]) for item in expected) < 1e-3
    assert min(abs(found["new-red"] - found[item]) for item in COLD if item != "new-red") > 1e-2


def test_a_device_file_without_cold_items_has_none(model: Private) -> None:
    """Lists of it hold the model's items alone."""
    lists = DeviceLists.decode(model.device_file())
    assert (list(lists.cold), list(lists.items)) == ([], model.item_ids_.tolist())


def test_titles_of_cold_items_are_in_the_device_file(model: Private) -> None:
    """A list can name them without the catalogue."""
    cold = {"new": {"genre": "red", "title": "A red thing"}, "plain": {"genre": "blue"}}
    lists = DeviceLists.decode(model.device_file(cold))
    assert lists.header["titles"][-2:] == ["A red thing", None]
