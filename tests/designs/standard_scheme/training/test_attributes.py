"""Bins of numeric attributes, at public edges."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tacit import StandardScheme
from tacit.data import generate
from tacit.data.tables.cell_texts import text_of_cell
from tacit.designs.standard_scheme.bins import bin_ends, bin_of, listed_value, text_of_value
from tacit.designs.standard_scheme.design import describe_usefulness
from tacit.designs.standard_scheme.training import fitting
from tacit.designs.standard_scheme.training.attributes import (
    DEFAULT_EDGES,
    MANY_NUMBERS,
    bin_labels,
)
from tacit.designs.standard_scheme.training.people import find_consenting_people
from tacit.errors import ConfigError, DataError

RATINGS = generate(users=240, items=40, ratings=4800, seed=2)
SMALL = {"factors": 2, "service_sees_items": False}


def with_column(name, values):
    """The ratings whose people have these values, one after the other."""
    column = np.array(np.resize(np.array(values, dtype=object), RATINGS.n_users), dtype=object)
    return replace(RATINGS, user_attributes={name: column})


AGES = with_column("age", [str(age) for age in range(15, 75)])


def test_labels_say_where_bins_end():
    """Words that a person understands, from the lowest bin up."""
    assert bin_labels((25.0, 45.5)) == ("below 25", "25 to 45.5", "45.5 and above")


@pytest.mark.parametrize(
    "edges", [(1e6, 1e6 + 1, 1e6 + 2), (1234567.0,), (0.1 + 0.2, 1 / 3), (1e-300, 123456.5, 1e300)]
)
def test_labels_spell_edges_exactly(edges):
    """A device cuts at the ends that labels spell, which are those of training."""
    labels = bin_labels(edges)
    assert [bin_ends(label)[0] for label in labels] == [-math.inf, *edges]
    assert [bin_ends(label)[1] for label in labels] == [*edges, math.inf]


def test_six_digits_are_enough_for_edges_that_they_spell():
    """A number near an edge of seven digits is in the same bin on the device as in training."""
    assert bin_labels((1e6, 1234567.0)) == ("below 1e+06", "1e+06 to 1234567", "1234567 and above")
    assert bin_of("1234568", bin_labels((1234567.0,))) == "1234567 and above"


@pytest.mark.parametrize(
    ("number", "label"),
    [
        ("24.9", "below 25"),
        ("25", "25 to 45"),
        ("44", "25 to 45"),
        ("45", "45 and above"),
        ("-3", "below 25"),
        ("25 to 45", "25 to 45"),
        ("many", "many"),
    ],
)
def test_bin_of_a_number(number, label):
    """An edge belongs to the bin above it; what is no number stays as it is."""
    assert bin_of(number, bin_labels((25.0, 45.0))) == label


def test_age_is_binned_without_being_asked():
    """Sixty ages become three bins, in order, and everybody is in the bin of their age."""
    people, _ = find_consenting_people(AGES, ["age"])
    assert people.values == (bin_labels(DEFAULT_EDGES["age"]),)
    expected = np.searchsorted(DEFAULT_EDGES["age"], np.resize(range(15, 75), 240), side="right")
    np.testing.assert_array_equal(people.labels[:, 0], expected)


def test_named_edges_count_and_all_bins_are_values():
    """Bins at public edges are public: one that holds nobody stays a value."""
    people, _ = find_consenting_people(AGES, ["age"], public_edges={"age": (10.0, 40.0)})
    assert people.values == (("below 10", "10 to 40", "40 and above"),)
    assert np.bincount(people.labels[:, 0], minlength=3)[0] == 0


def test_few_numbers_are_values():
    """Up to eight different numbers are values as they are, such as MovieLens 1M's age groups."""
    people, _ = find_consenting_people(
        with_column("age", [str(n) for n in range(MANY_NUMBERS)]), ["age"]
    )
    assert len(people.values[0]) == MANY_NUMBERS


def test_listed_values_are_not_binned():
    """Who lists the values of a number has chosen them; people with another one are left out."""
    people, _ = find_consenting_people(AGES, ["age"], public_values={"age": ("20", "30")})
    assert people.values == (("20", "30"),)
    assert people.n_people == 8


def test_another_number_without_edges_is_refused():
    """No public edges are known for it: the sentence says how many numbers, and what to do."""
    with pytest.raises(ConfigError, match=r"'income' has 60 different numbers.*--edges income="):
        find_consenting_people(with_column("income", [str(n) for n in range(60)]), ["income"])


def test_edges_for_words_are_refused():
    """An attribute that is no number cannot be cut."""
    with pytest.raises(DataError, match="not a number"):
        find_consenting_people(RATINGS, ["gender"], public_edges={"gender": (1.0,)})


def test_blanks_around_a_value_make_no_other_value():
    """Who types "F " has the value F, also if the values are listed and on the device."""
    ratings = with_column("gender", ["F", "M", " F", "M "])
    people, _ = find_consenting_people(ratings, ["gender"])
    assert people.values == (("F", "M"),)
    model = StandardScheme(values={"gender": ("M ", "F")}, **SMALL).fit(ratings)
    assert model.fitted_.n_consenting == 240
    assert model.exchange(RATINGS.history(1), {"gender": " M"}, n=3).recommendations


@pytest.mark.parametrize("odd", [None, math.nan, 1.5])
def test_one_odd_cell_renames_no_values(odd):
    """A missing or decimal cell makes floats of a column of whole numbers: 1.0 is still "1"."""
    column = np.resize(np.array([1.0, 2.0], dtype=object), 240)
    column[0] = odd
    ratings = replace(RATINGS, user_attributes={"group": column})
    people, _ = find_consenting_people(ratings, ["group"], public_values={"group": ("1", "2")})
    assert people.n_people == 239


@pytest.mark.parametrize("cell", ["abc", "nan", "0x10"])
def test_a_private_fit_leaves_out_who_has_no_number(cell):
    """An error would let one person decide whether all others are read."""
    ages = [str(20 + number % 10) for number in range(239)]
    ratings = with_column("age", [cell, *ages])
    scheme = {"attributes": ["age"], "edges": {"age": (25,)}, **SMALL}
    model = StandardScheme(disclosure_epsilon=200, **scheme).fit(ratings)
    assert model.fitted_.n_consenting == 239
    with pytest.raises(DataError, match="not a number"):
        StandardScheme(**scheme).fit(ratings)


@pytest.mark.parametrize("edges", [(), (45, 25), (25, 25), (float("inf"),)])
def test_edges_are_ascending_numbers(edges):
    """Edges that cut nothing are refused when the model is made."""
    with pytest.raises(ConfigError, match="ascending"):
        StandardScheme(attributes=["age"], edges={"age": edges})


@pytest.mark.parametrize("edges", ["25", "25,45", ("young", "old"), (25, None), (10**400,), 25])
def test_edges_that_are_no_list_of_numbers_are_refused(edges):
    """The sentence shows how edges are given, and what was given."""
    with pytest.raises(ConfigError, match=r"edges=\{'age': \(25, 45\)\}; got"):
        StandardScheme(attributes=["age"], edges={"age": edges})


@pytest.mark.parametrize("values", [["F", "F", "M"], ["F", "F"], ["F"], []])
def test_values_are_two_or_more_and_each_is_named_once(values):
    """A disclosure with one value twice could not be made, so the model is refused when made."""
    with pytest.raises(ConfigError, match=r"two or more different values .* each once"):
        StandardScheme(values={"gender": values})


@pytest.mark.parametrize("values", ["FM", [1, 2], ["F", 1], [None, "F"], None, 5])
def test_values_that_are_no_list_of_texts_are_refused(values):
    """Values of people are texts; one text is no list of its letters."""
    with pytest.raises(ConfigError, match=r"as texts, such as values=\{'gender': \('F', 'M'\)\}"):
        StandardScheme(values={"gender": values})


def test_edges_of_an_attribute_that_is_not_hidden():
    """A misspelt name is refused when the model is made."""
    with pytest.raises(ConfigError, match="'aeg'"):
        StandardScheme(attributes=["age"], edges={"aeg": (25,)})


def test_an_owner_may_say_a_number():
    """The device of a model of bins takes its owner's age, and sends no word of it."""
    model = StandardScheme(attributes=["age"], **SMALL).fit(AGES)
    history = dict(list(RATINGS.history(1).items())[:12])
    for own in ({"age": "31"}, {"age": "25 to 45"}):
        assert model.exchange(history, own, n=3).recommendations
    with pytest.raises(DataError, match="one of: below 25"):
        model.exchange(history, {"age": "old"}, n=3)


def test_a_model_that_can_show_too_few_items_is_refused(monkeypatch):
    """With many small groups few items are rated in each: the sentence has the number."""
    monkeypatch.setattr(fitting, "LEAST_SHOWABLE_SHARE", 0.9)
    groups = np.resize(np.repeat(np.arange(50), np.resize(range(1, 11), 50)), 240)
    many = with_column("group", [f"group {number}" for number in groups])
    with pytest.raises(ConfigError, match=r"could show 24 of the 39 items.*group has 46 values"):
        StandardScheme(attributes=["group"], **SMALL).fit(many)


@pytest.mark.parametrize(
    ("kinds", "advice"),
    [
        (("cat", "dog", "cat", "dog", "eel"), "--values pet=cat,dog"),
        (("cat", "cat", "eel"), "Fit with more people who have it"),
    ],
)
def test_the_rarest_value_is_named_with_what_to_do(kinds, advice, monkeypatch):
    """The value of the fewest people is in the sentence, also if it is not the first one."""
    monkeypatch.setattr(fitting, "LEAST_SHOWABLE_SHARE", 1.1)
    pets = np.resize(kinds, 240)
    message = rf"rarest value is 'eel' of pet, with {np.sum(pets == 'eel')} people\..* {advice}"
    with pytest.raises(ConfigError, match=message):
        StandardScheme(attributes=["pet"], **SMALL).fit(with_column("pet", pets))


@pytest.mark.parametrize(("eels", "counted"), [(1, "1 person"), (2, "2 people")])
def test_one_person_is_not_called_people(eels, counted):
    """The number of people with the rarest value is followed by the noun that fits it."""
    pets = np.where(np.arange(240) < eels, "eel", "cat")
    people, _ = find_consenting_people(with_column("pet", pets), ["pet"])
    assert f"is 'eel' of pet, with {counted}. " in fitting.describe_rarest_value(people)


def test_a_rare_bin_is_not_called_a_value_to_leave_out(monkeypatch):
    """Values cannot be named for a number, so the advice is of edges."""
    monkeypatch.setattr(fitting, "LEAST_SHOWABLE_SHARE", 1.1)
    with pytest.raises(ConfigError, match=r"' of age, with .* Leave out an edge") as raised:
        StandardScheme(attributes=["age"], **SMALL).fit(AGES)
    assert "--values" not in str(raised.value)


@pytest.mark.parametrize(("showable", "refused"), [(3, True), (4, False)])
def test_a_tenth_of_the_items_has_to_be_showable(showable, refused):
    """Below a tenth of the items with enough raters, devices could show too little to rank by."""
    fitted = StandardScheme(**SMALL).fit(RATINGS).fitted_
    people, _ = find_consenting_people(RATINGS, ["gender"])
    items = np.flatnonzero(fitted.tables["gender"].keep.min(axis=0) > 0)
    fitted.tables["gender"].keep[:, items[showable:]] = 0
    assert (fitted.n_rated_enough, fitted.n_showable) == (39, showable)
    if refused:
        with pytest.raises(ConfigError, match="could show 3 of the 39"):
            fitting.refuse_few_showable(fitted, people)
    else:
        fitting.refuse_few_showable(fitted, people)


def test_a_model_that_can_show_few_items_says_so():
    """In place of the sentence on lists stands the number of items that devices can show."""
    model = StandardScheme(**SMALL).fit(RATINGS)
    assert "Devices can show" not in describe_usefulness(model)
    model.fitted_.tables["gender"].keep[:, :30] = 0
    assert "Devices can show 9 of 39 items with 10 raters or more" in describe_usefulness(model)
    assert "beat popular" not in describe_usefulness(model)


def test_without_selection_devices_can_show_all_items():
    """The chances of selection, which the tables still hold, say nothing about this release."""
    model = StandardScheme(**SMALL, release="scheme+rounding").fit(RATINGS)
    model.fitted_.tables["gender"].keep[:, :30] = 0
    assert "Devices can show" not in describe_usefulness(model)


WRITTEN = ["F", " F ", "", "  ", None, math.nan, 1, 1.0, -0.0, 2.5, 1e300, 2.0**53, math.inf, True]
WRITTEN += [np.float32(3), np.float64("nan"), np.int8(4), Fraction(4, 2), Decimal("1.0")]


@pytest.mark.parametrize("value", WRITTEN, ids=repr)
def test_a_device_writes_a_value_as_training_does(value):
    """Otherwise a person whose value training found would be told that it is not listed."""
    assert text_of_value(value) == (text_of_cell(value) or "")


@pytest.mark.parametrize(
    ("value", "listed"),
    [(1.0, "1"), (np.float32(1), "1"), (" x ", "x"), (" y", " y"), ("z ", "z")],
    ids=repr,
)
def test_a_value_is_written_as_it_is_listed(value, listed):
    """Blanks and the type of a number do not matter, except where the list has them."""
    assert listed_value(value, ("1", "x", " y")) == listed
