"""`tacit guarantee pdap`, and what simulate pdap refuses."""

import json
from importlib import resources

import jsonschema
import pytest

from tacit.cli.app import main

SCHEMA = json.loads(resources.files("tacit.privacy").joinpath("guarantee.schema.json").read_text())


def cards(capsys, *options):
    assert main(["guarantee", "pdap", "--epsilon", "1", "--json", *options]) == 0
    found = json.loads(capsys.readouterr().out)["guarantees"]
    for card in found:
        jsonschema.validate(card, SCHEMA)
    return {card["name"]: card for card in found}


def test_sound_cards_state_an_epsilon(capsys):
    """Sums, forwarded contexts and local draws: each has its card with epsilon near 1;
    caution costs a tenth more."""
    found = cards(capsys)
    caution = found.pop("What is learned about neighbours")
    assert len(found) == 3
    assert caution["epsilon"] == pytest.approx(0.1)
    assert all(card["epsilon"] == pytest.approx(1.0, rel=1e-3) for card in found.values())
    assert "each visit sends the same" in found["Context that is forwarded"]["sentence"]


def test_published_cards_are_refuted(capsys):
    """No epsilon on any card of the published policies."""
    found = cards(capsys, "--variant", "published")
    assert len(found) == 4
    assert all(card["basis"] == "refuted" for card in found.values())


@pytest.mark.parametrize(
    "arguments",
    [
        ["guarantee", "pdap"],
        ["guarantee", "pdap", "--epsilon", "1", "--variant", "other"],
        ["simulate", "pdap", "--policies", "nobody"],
        ["simulate", "pdap", "--policies", ","],
        ["simulate", "pdap", "--gamma", "much"],
        ["simulate", "pdap", "--epsilon", "x"],
    ],
)
def test_a_wrong_option_is_a_sentence(arguments, capsys):
    """Exit code 2 and one sentence, no traceback."""
    assert main(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_manifest_says_what_was_not_asked_for(capsys):
    """Gamma as printed."""
    arguments = ["--policies", "p-dap", "--arrivals", "4", "--seeds", "1", "--json"]
    assert main(["simulate", "pdap", *arguments]) == 0
    settings = json.loads(capsys.readouterr().out)["manifest"]["settings"]
    assert settings["gamma"] == "printed"
