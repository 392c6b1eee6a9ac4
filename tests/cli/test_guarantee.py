"""`tacit guarantee` of a mechanism: the card, the JSON and the refusals."""

import json
from importlib import resources

import jsonschema
import pytest

from tacit.cli.app import main

SCHEMA = json.loads(resources.files("tacit.privacy").joinpath("guarantee.schema.json").read_text())


def test_json_of_a_mechanism_fits_the_schema(capsys):
    """One card, as the schema says, with the epsilon of one call."""
    assert main(["guarantee", "laplace", "--epsilon", "0.5", "--json"]) == 0
    (card,) = json.loads(capsys.readouterr().out)["guarantees"]
    jsonschema.validate(card, SCHEMA)
    assert (card["basis"], card["epsilon"], card["delta"]) == ("proved", 0.5, 0.0)


def test_card_for_a_person(capsys):
    """The panel has the epsilon, its unit and what is not covered, and names the audit."""
    assert main(["guarantee", "bit-release", "--epsilon", "2"]) == 0
    shown = capsys.readouterr().out
    assert "epsilon 2, delta 0, replace one attribute value" in shown
    assert "It does not cover" in shown
    assert "tacit audit bit-release" in shown


def test_gaussian_noise_takes_a_delta(capsys):
    """With --delta the card states both."""
    arguments = ["guarantee", "gram", "--epsilon", "1", "--delta", "1e-6", "--json"]
    assert main(arguments) == 0
    (card,) = json.loads(capsys.readouterr().out)["guarantees"]
    assert card["delta"] == 1e-6
    assert card["epsilon"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["laplace"], "add --epsilon"),
        (["gaussian", "--epsilon", "1"], "give it a delta"),
        (["laplace", "--epsilon", "inf"], "finite"),
        (["laplace", "--epsilon", "-1"], "epsilon is a number of at least"),
        (["nothing"], "Designs: standard-scheme, xmap. Mechanisms: bit-release"),
        (["standard-scheme", "--epsilon", "1"], "--epsilon and --delta are for xmap and for mechanisms"),
    ],
)
def test_refusals(capsys, arguments, said):
    """A usage error (exit 2), in one sentence or two, without a traceback."""
    assert main(["guarantee", *arguments]) == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert "Traceback" not in complaint
