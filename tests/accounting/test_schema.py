"""The published schema says what a guarantee looks like to a machine."""

from __future__ import annotations

import json
from importlib import resources
from typing import get_args

import jsonschema
import pytest

from tacit.designs.standard_scheme import StandardScheme, guarantees
from tacit.privacy import Basis, Change, Guarantee, Trust, Unit

SCHEMA = json.loads(resources.files("tacit.privacy").joinpath("guarantee.schema.json").read_text())


def cards():
    for variant in ("sound", "published"):
        for release in ("scheme", "coupling+selection"):
            model = StandardScheme(variant=variant, release=release)
            yield guarantees.cards(model.settings, (), ())[0]
    yield consenting(16.0)
    yield consenting(float("inf"))


def consenting(epsilon):
    model = StandardScheme(disclosure_epsilon=epsilon, contributions=50)
    return guarantees.cards(model.settings, (), ())[1]


def refused(**changes):
    card = consenting(16.0).to_dict() | changes
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(card, SCHEMA)


def test_schema_is_one():
    """The schema itself is valid."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("card", [*cards()], ids=lambda card: card.name)
def test_cards_of_the_standard_scheme_validate(card):
    """Every card of the standard scheme fits the schema, after a round through JSON."""
    jsonschema.validate(json.loads(json.dumps(card.to_dict())), SCHEMA)


def test_fields_are_those_of_the_class():
    """The schema names each field of a guarantee, requires it, and allows no other."""
    assert set(SCHEMA["properties"]) == {*Guarantee.__dataclass_fields__, "first_line"}
    assert set(SCHEMA["required"]) == set(SCHEMA["properties"])
    refused(surprise=1)


def test_words_are_those_of_the_classes():
    """Units, changes, trust and basis are the words the package uses, in full."""
    named = SCHEMA["properties"]
    adjacency = named["adjacency"]["properties"]
    assert set(adjacency["unit"]["enum"]) == set(get_args(Unit))
    assert set(adjacency["change"]["enum"]) == set(get_args(Change))
    assert set(named["trust"]["enum"]) == {trust.value for trust in Trust}
    assert set(named["basis"]["enum"]) == {basis.value for basis in Basis}


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": -1},
        {"epsilon": "1"},
        {"delta": 2},
        {"epsilon": None},
        {"delta": None},
        {"epsilon": None, "delta": None, "basis": "proved"},
        {"lifetime_epsilon": 1.0},
        {"lifetime_delta": 0.0},
        {"lifetime_epsilon": -1.0, "lifetime_delta": 0.0},
        {"basis": "hoped"},
        {"adjacency": {"unit": "user"}},
        {"not_covered": []},
        {"sources": []},
        {"sentence": ""},
    ],
)
def test_what_no_guarantee_says_is_refused(changes):
    """Numbers out of range, half a pair, unknown words and gaps do not validate."""
    refused(**changes)
