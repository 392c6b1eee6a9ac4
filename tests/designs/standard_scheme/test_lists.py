"""Lists of the standard scheme: from a release, and at home from true stars."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import StandardScheme, load_model
from tacit import generate as generated
from tacit.designs.standard_scheme import files
from tacit.designs.standard_scheme.messages import MICRO, ItemTable, Release
from tacit.designs.standard_scheme.training.people import find_consenting_people
from tacit.errors import ConfigError, DataError, ModelFileError, PrivacyError

SMALL = {"factors": 3, "service_sees_items": False}


@pytest.fixture(scope="module")
def ratings():
    return generated(users=150, items=60, ratings=3600, seed=1)


@pytest.fixture(scope="module")
def model(ratings):
    return StandardScheme(item_table=True, **SMALL).fit(ratings)


@pytest.fixture(scope="module")
def history(ratings):
    return dict(list(ratings.history(1).items())[:12])


def rare(ratings, item, raters):
    """The ratings with no more than so many of one item."""
    of_item = np.flatnonzero(ratings.items == ratings.item_number(item))
    kept = np.ones(len(ratings), dtype=bool)
    kept[of_item[raters:]] = False
    return ratings.where(kept)


def test_a_list_is_ranked_by_preference(model, history):
    """The list from a release is in the order of the preferences, without what was rated."""
    made = model.exchange(history, {"gender": "F"}, n=50)
    wanted = sorted(
        (row for row in made.scores.scores if row[0] not in history), key=lambda row: -row[2]
    )
    assert made.recommendations.item_ids == [item for item, _, _ in wanted[:50]]


def test_a_list_is_that_of_the_messages(model, history, monkeypatch):
    """With the same secret, `recommend` makes the list of an exchange of encoded messages."""
    monkeypatch.setattr("secrets.token_bytes", lambda size: bytes(size))
    own = {"gender": "F"}
    listed = model.recommend(history=history, attributes=own, n=50)
    assert listed == model.exchange(history, own, n=50).recommendations


def test_predictions_are_stars(model, history):
    """Predicted stars are the factor model's levels, whatever the lists are ranked by."""
    rated = tuple((item, round((stars - 1) * MICRO)) for item, stars in sorted(history.items()))
    answer = model.server_.score(Release(model.disclosure_.digest, 0, rated)).scores
    stars = [1 + level / MICRO for _, level, _ in answer]
    predicted = model.predict(model.item_ids_.tolist(), history=history)
    assert np.abs(predicted - stars).max() < 1e-6


def test_at_device_is_the_table_alone(model, history):
    """The list at the device is what the published bytes and the stars give."""
    table = ItemTable.decode(model.item_table_.encode())
    levels = {item: round(stars - 1) for item, stars in history.items()}
    ranked = table.rank(model.disclosure_.items, levels)
    found = model.recommend_at_device(history, n=50)
    assert found.item_ids == [item for item, _ in ranked][:50]
    assert [row.score for row in found] == [preference / 1e4 for _, preference in ranked][:50]


def test_at_home_and_at_device_agree(model, history):
    """`recommend` without attributes gives the list that the device gives."""
    assert model.recommend(history=history) == model.recommend_at_device(history)


def test_nobody_known_gets_the_popular(model, ratings):
    """Without a history the most liked items come first, by likes in fives."""
    people, _ = find_consenting_people(ratings, ["gender"])
    likes = np.bincount(people.levels.indices, people.levels.data >= 3, minlength=60)
    likes = 5 * np.round(likes / 5)
    listed = [ratings.item_number(item) for item in model.recommend(n=40).item_ids]
    assert (np.diff(likes[listed]) <= 0).all()


def test_at_device_leaves_out(model, history):
    """What is excluded, or no candidate, is not in a list at the device."""
    first, second, *_ = model.recommend_at_device(history).item_ids
    assert first not in model.recommend_at_device(history, exclude=[first]).item_ids
    assert model.recommend_at_device(history, candidates=[second, "z"]).item_ids == [second]


def test_no_table_without_consent(ratings, history):
    """Without the consenting people's agreement there is no table and no list at the device."""
    model = StandardScheme(**SMALL).fit(ratings)
    assert model.item_table_ is None
    with pytest.raises(PrivacyError, match="item_table=True"):
        model.recommend_at_device(history)


def test_rare_items_are_not_in_the_table(ratings):
    """An item with fewer than 10 raters has no weights, and is in nobody's."""
    item = ratings.item_ids[5]
    table = StandardScheme(item_table=True, **SMALL).fit(rare(ratings, item, 9)).item_table_
    assert table.columns[5] == ((), ())
    assert all(5 not in rows for rows, _ in table.columns)


def test_a_sole_rater_has_no_profile(ratings):
    """Items with few raters are predicted alike: a mean of their own would be one person's star."""
    first, second = ratings.item_ids[[5, 6]]
    model = StandardScheme(**SMALL).fit(rare(rare(ratings, first, 1), second, 9))
    assert model.fitted_.profiles.intercepts[5] == model.fitted_.profiles.intercepts[6]
    assert not model.fitted_.profiles.factors[[5, 6]].any()


def test_order_of_a_history(model, history):
    """The order of a history does not change the list at the device."""
    turned = dict(reversed(history.items()))
    assert model.recommend_at_device(turned) == model.recommend_at_device(history)


def test_stars_off_the_scale(model):
    """A star off the scale is refused, and the error does not repeat it."""
    with pytest.raises(DataError, match="off the scale") as refused:
        model.recommend_at_device({1: 4.25})
    assert "4.25" not in str(refused.value)


def test_a_table_has_no_epsilon():
    """A published table and a private disclosure exclude one another."""
    with pytest.raises(ConfigError, match="no epsilon"):
        StandardScheme(item_table=True, disclosure_epsilon=20.0, **SMALL)


def test_the_card_names_the_table(model, ratings):
    """The consenting people's card says that the table is published, where it may be."""
    without = StandardScheme(**SMALL).fit(ratings)
    named, unnamed = (" ".join(m.guarantees()[1].not_covered) for m in (model, without))
    assert "item table" in named
    assert "item table" not in unnamed
    assert "treat everything you rate as published" in model.guarantees()[1].sentence


def test_model_file(model, history, tmp_path):
    """Saved and loaded, weights, order and table are the same to the last bit."""
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.item_table_.encode() == model.item_table_.encode()
    assert loaded.recommend(n=60) == model.recommend(n=60)
    assert loaded.recommend(history=history) == model.recommend(history=history)


@pytest.fixture
def parts_of_file(model, tmp_path, monkeypatch):
    """Header and arrays of the model's file."""
    header, arrays = {}, {}

    def keep(path, made, held):
        header.update(made)
        arrays.update(held)

    with monkeypatch.context() as patch:
        patch.setattr(files.container, "write", keep)
        model.save(tmp_path / "m")
    return header, arrays


@pytest.mark.parametrize("name", ["weights", "rows", "columns", "popularity"])
def test_damaged_weights(parts_of_file, tmp_path, name):
    """A file whose weights do not fit its items is refused."""
    header, arrays = parts_of_file
    arrays[name] = arrays[name][:-1]
    files.container.write(tmp_path / "m", header, arrays)
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("name", "value"),
    [("weights", 10**9 + 1), ("weights", -(2**63)), ("popularity", 2**55), ("popularity", -1)],
)
def test_numbers_that_no_message_could_hold(parts_of_file, tmp_path, name, value):
    """Preferences made of them would be beyond what a message may say."""
    header, arrays = parts_of_file
    arrays[name] = arrays[name].astype(np.int64)
    arrays[name][0] = value
    files.container.write(tmp_path / "m", header, arrays)
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "m")
