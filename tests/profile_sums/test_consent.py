"""People who agreed not to be protected: what is learned from them, and from nobody else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit import Private, load_model
from tacit.data.synthetic import generate
from tacit.designs.private.device import DeviceLists
from tacit.errors import ConfigError, DataError
from tacit.privacy import Basis
from tacit.profile_sums.consent import (
    consented_features,
    consented_lists,
    likes_of_consenting,
    list_consenting,
    list_weight,
)
from tacit.recommenders.fits_in_process import comparison


@pytest.fixture(scope="module")
def people():
    """People enough for tastes."""
    return generate(users=600, items=60, ratings=18_000, labels=6, seed=3)


@pytest.fixture(scope="module")
def consenting(people):
    return people.user_ids[:40].tolist()


def random_likes(people=20, items=12):
    draws = np.random.default_rng(5)
    return sparse.csr_array((draws.random((people, items)) < 0.4).astype(float))


@pytest.mark.parametrize("ids", [[["a"], ["b"]], np.array([["a"], ["b"]]), [{"a": True}]])
def test_a_table_of_ids_is_refused(ids):
    """Ids are one flat list, such as one column of a file."""
    with pytest.raises(ConfigError, match="one flat list of the ids"):
        list_consenting(ids)


def test_an_array_of_ids_is_a_list_of_them():
    """Each id once, also of an array with no axis."""
    assert list_consenting(np.array(["b", "a", "b"])) == ("b", "a")
    assert list_consenting(np.array("abc")) == ("abc",)


def test_lists_are_ease():
    """By people: the weights that (Y'Y + 4 I)^-1 of items gives, with 0 on the diagonal."""
    likes = random_likes()
    rows = likes.toarray() / np.sqrt(likes.sum(axis=1))[:, None]
    inverse = np.linalg.inv(rows.T @ rows + 4 * np.eye(12))
    expected = -inverse / inverse.diagonal()
    np.fill_diagonal(expected, 0)
    made = consented_lists(likes, effective_population=180.0)
    weight = list_weight(20, 180.0)
    assert weight == pytest.approx(0.5)
    np.testing.assert_allclose(made.toarray(), expected * weight, atol=1e-9)


def test_a_list_weighs_two_at_most():
    assert list_weight(1000, 100.0) == 2


def test_features_by_hand():
    """One direction of two kinds of people: rows of length 1 at most, frequent items longest."""
    likes = np.zeros((16, 5))
    likes[:8, :2] = 1
    likes[8:, 2:4] = 1
    made = consented_features(sparse.csr_array(likes))
    assert made.shape == (5, 2)
    assert np.abs(made[:2, 0]) == pytest.approx(1)
    np.testing.assert_allclose(made[0], made[1], atol=1e-9)
    np.testing.assert_allclose(made[0, 0], -made[2, 0], atol=1e-9)
    assert not made[4].any()


@pytest.mark.parametrize(("number", "asks"), [(0, True), (15, True), (16, False)])
def test_pairs_are_not_asked_for_beside_what_people_teach(people, number, asks):
    """At so little noise that a fit asks: 15 people teach nothing, 16 do, in place of pairs."""
    agreed = people.user_ids[:number].tolist()
    model = Private(500.0, consented=agreed).fit(people)
    assert model.released_.mode == "taste"
    assert model.released_.has_pairs is asks
    assert model.fitted_.n_consenting == (0 if asks else 16)


def test_fewer_than_sixteen_people_teach_nothing():
    few = random_likes(15)
    assert consented_features(few).shape == (12, 0)
    assert consented_lists(few, 100.0) is None


def test_only_the_likes_of_consenting_people_are_read(people, consenting):
    """Adding or removing anybody else changes nothing: bit for bit."""
    others = people.of_users(np.flatnonzero(np.arange(people.n_users) != 77))
    whole = likes_of_consenting(people, consenting, 3.8)
    less = likes_of_consenting(others, consenting, 3.8)
    assert (whole != less).nnz == 0
    assert whole.shape == (40, 60)
    with pytest.raises(DataError, match="none of the consenting"):
        likes_of_consenting(people, ["nobody"], 3.8)


def test_a_card_says_who_is_protected(people, consenting):
    """Two groups: a conditional claim for who kept the protection, and none for others."""
    model = Private(8.0, mode="taste", consented=consenting).fit(people)
    (card,) = model.guarantees()
    assert card.basis is Basis.CONDITIONAL
    assert "everybody who never agreed to give up the protection" in card.sentence
    assert "40 people agreed not to be protected: they have no claim" in card.sentence
    with comparison():
        (plain,) = Private(8.0, mode="taste").fit(people).guarantees()
    assert card.epsilon == pytest.approx(plain.epsilon)
    assert "agreed" not in plain.sentence


def test_files_score_as_the_model_does(people, consenting, tmp_path):
    """The model file exactly; the device file to 16 bits."""
    model = Private(8.0, mode="taste", consented=consenting).fit(people)
    model.save(tmp_path / "m.tacit")
    loaded = load_model(tmp_path / "m.tacit")
    device = DeviceLists.decode(model.device_file())
    items = model.item_ids_.tolist()
    for history in (people.history(people.user_ids[90]), {items[3]: 5.0}, {items[3]: 1.0}, {}):
        scores = model.predict(items, history=history)
        assert loaded.predict(items, history=history) == pytest.approx(scores, abs=1e-12)
        assert device.scores(history) == pytest.approx(scores, abs=2e-3 * np.abs(scores).max())
    reasons = model.explain(items[5], history={items[3]: 5.0, items[8]: 5.0})
    assert not any("consented" in str(reason.name) for reason in reasons)


def test_under_a_plan_they_give_lists_alone(people, consenting):
    """The map is frozen: no features of theirs, and lists made anew at each fit."""
    model = Private(lifetime=8.0, fits=4, mode="taste", consented=consenting).fit(people)
    assert model.fitted_.dense_columns == 0
    assert model.released_.consented is not None
    model = Private(previous=model, mode="taste", consented=consenting[:30]).fit(people)
    assert model.fitted_.n_consenting == 30
    assert model.released_.consented is not None


def test_they_are_used_in_one_domain_in_memory(people, consenting):
    """Anything else is refused before anything is drawn."""
    with pytest.raises((ConfigError, DataError)):
        Private(1.0, target="films", consented=consenting).fit(people)


@pytest.mark.parametrize(
    "consented", [{"ann": False}, [True, False], np.array([True]), "ann", b"ann", 7, iter([])]
)
def test_answers_are_no_ids(people, consented):
    """A table of answers, or one text, is refused: whom it names is not certain."""
    with pytest.raises(ConfigError, match="consented"):
        Private(8.0, mode="taste", consented=consented).fit(people)


def test_arrays_of_ids(people, consenting):
    """An array names the same people as a list."""
    model = Private(8.0, mode="taste", consented=np.array(consenting)).fit(people)
    assert model.fitted_.n_consenting == len(consenting)
    assert "<40 people>" in repr(model)


def test_a_repr_holds_no_ids():
    """Neither in text nor in HTML: their number stands there."""
    model = Private(consented=["alice@example.org"])
    for shown in (repr(model), model._repr_html_(), repr(Private(previous=model))):
        assert "alice" not in shown
        assert "1 people" in shown
