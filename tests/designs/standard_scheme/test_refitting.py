"""A refit waits until enough people changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit import load_model
from tacit.data import generate, on_catalogue
from tacit.designs.standard_scheme import StandardScheme
from tacit.designs.standard_scheme.training.people import FEWEST_CHANGED
from tacit.errors import ConfigError

PEOPLE = generate(users=200, items=30, ratings=4000, seed=1)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """As it comes back from its file."""
    path = tmp_path_factory.mktemp("refit") / "m.tacit"
    fitted().save(path)
    return load_model(path)


def fitted(ratings=PEOPLE, previous=None):
    return StandardScheme(service_sees_items=False).fit(ratings, previous)


def without(count):
    """The same people but for the first ones."""
    return PEOPLE.where(PEOPLE.users >= count)


def test_the_same_people_may_be_fitted_again(model):
    """The same model tells nothing new."""
    assert (fitted(previous=model).fitted_.ease.weights != model.fitted_.ease.weights).nnz == 0


@pytest.mark.parametrize("previous", [StandardScheme(), "m.tacit"])
def test_only_a_fitted_model_can_be_replaced(previous):
    """An unfitted model, or the name of a file, is refused in a sentence."""
    with pytest.raises(ConfigError, match="previous must be the fitted StandardScheme"):
        fitted(previous=previous)


@pytest.mark.parametrize("count", [1, FEWEST_CHANGED - 1])
def test_few_changed_people_are_refused(model, count):
    """In a sentence that says how many they are."""
    with pytest.raises(ConfigError, match=f"Only {count} of the training people changed"):
        fitted(without(count), model)


def test_enough_changed_people(model):
    """Fifty of them may go, or come."""
    smaller = fitted(without(FEWEST_CHANGED), model)
    other = np.setdiff1d(smaller.fitted_.people.hashes, model.fitted_.people.hashes)
    assert len(other) == FEWEST_CHANGED
    fitted(previous=smaller)


def test_another_attribute_alone_is_not_noticed(model):
    """The hash of a person has their ratings only: a limit that `StandardScheme.fit` documents."""
    genders = PEOPLE.user_attributes["gender"].copy()
    genders[0] = next(gender for gender in genders if gender != genders[0])
    refitted = fitted(replace(PEOPLE, user_attributes={"gender": genders}), model)
    assert refitted.disclosure_.digest != model.disclosure_.digest


def test_a_person_with_one_other_star_has_changed(model):
    """Who stays with other ratings counts as one who changed."""
    values = PEOPLE.values.copy()
    values[0] = 6 - values[0] if values[0] != 3 else 4
    with pytest.raises(ConfigError, match="Only 1 of"):
        fitted(replace(PEOPLE, values=values), model)


def test_another_numbering_of_the_items_changes_nobody(model):
    """An item that nobody rated may enter the catalogue; nobody changed by that."""
    turned = on_catalogue(PEOPLE, dict.fromkeys([0, *PEOPLE.item_ids.tolist()], "films"))
    assert fitted(turned, model).fitted_.n_consenting == 200


def texts_of(ratings, name):
    """The same ratings, whose ids of people or items are texts."""
    ids = [str(key) for key in getattr(ratings, name)]
    return replace(ratings, **{name: np.array(ids, dtype=object)})


@pytest.mark.parametrize("name", ["user_ids", "item_ids"])
def test_ids_that_become_texts_change_nobody(model, name):
    """One id that is a text makes texts of all ids of a file; that must not hide who changed."""
    assert fitted(texts_of(PEOPLE, name), model).fitted_.n_consenting == 200
    with pytest.raises(ConfigError, match="Only 1 of"):
        fitted(texts_of(without(1), name), model)


def test_people_are_compared_with_all_replaced_models(model, tmp_path):
    """Sixty people leave and come back without one: that differs from the first model by one."""
    fitted(without(60), model).save(tmp_path / "smaller.tacit")
    smaller = load_model(tmp_path / "smaller.tacit")
    with pytest.raises(ConfigError, match="Only 1 of the training people changed since an earlier"):
        fitted(without(1), smaller)
    back = fitted(PEOPLE, smaller)
    back.save(tmp_path / "back.tacit")
    again = load_model(tmp_path / "back.tacit")
    first, second, third = again.fitted_.people.list_all()
    np.testing.assert_array_equal(first, third)
    np.testing.assert_array_equal(third, model.fitted_.people.hashes)
    np.testing.assert_array_equal(second, smaller.fitted_.people.hashes)
    with pytest.raises(ConfigError, match="Only 1 of the training people changed since an earlier"):
        fitted(without(59), again)
