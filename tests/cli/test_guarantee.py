"""`tacit guarantee` of a mechanism: the card, the JSON and the refusals."""

import dataclasses
import json
from dataclasses import MISSING
from importlib import resources

import jsonschema
import pytest

from tacit import terminal
from tacit.auditing import shipped_mechanisms
from tacit.cli.app import main
from tacit.design import design, names, options_of
from tacit.mechanisms import guarantees
from tests.support.seen import require_any

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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["laplace", "--epsilon", "1"], "Proved"),
        (["standard-scheme"], "Not proved, nor measured on this model"),
        (["standard-scheme", "--variant", "published"], "Refuted"),
        (["pdap", "--variant", "published", "--epsilon", "1"], "Refuted"),
    ],
)
def test_the_first_line_of_a_card_is_its_basis(capsys, arguments, said):
    """Whatever a card says, it says first what that rests on."""
    assert main(["guarantee", *arguments]) == 0
    first = capsys.readouterr().out.splitlines()[1].strip("│ ")
    assert first.startswith(said)


def test_a_refuted_card_does_not_say_when_it_holds(capsys):
    """Assumptions of a refuted claim are named as such."""
    for variant, refuted in (("published", True), ("sound", False)):
        assert main(["guarantee", "standard-scheme", "--variant", variant]) == 0
        first_card = capsys.readouterr().out.split("╰")[0]
        assert ("The refuted claim assumed" in first_card) == refuted
        assert ("It holds if" in first_card) != refuted


def test_refuted_alone_is_red(monkeypatch):
    """A refuted card has a colour that no other basis has, in its first line and its frame."""
    shown = []
    monkeypatch.setattr(terminal.console(), "print", lambda panel: shown.append(panel))
    monkeypatch.setattr(terminal, "say_quietly", lambda text: None)
    for variant in ("published", "sound"):
        assert main(["guarantee", "standard-scheme", "--variant", variant]) == 0
    red = ["red" in str(panel.renderable.spans[0].style) for panel in shown]
    assert red == ["red" in panel.border_style for panel in shown] == [True, False, False, False]


def test_gaussian_noise_takes_a_delta(capsys):
    """With --delta the card states both."""
    arguments = ["guarantee", "gram", "--epsilon", "1", "--delta", "1e-6", "--json"]
    assert main(arguments) == 0
    (card,) = json.loads(capsys.readouterr().out)["guarantees"]
    assert card["delta"] == 1e-6
    assert card["epsilon"] == pytest.approx(1)


def test_sums_have_a_card(capsys):
    """With the epsilon asked for."""
    assert main(["guarantee", "sums", "--epsilon", "1", "--delta", "1e-6"]) == 0
    shown = capsys.readouterr().out
    assert "epsilon 1, delta 1e-06, add or remove one user" in shown


def test_an_audit_is_named_where_there_is_one(capsys, monkeypatch):
    """A mechanism that is not on the bench is not said to be."""
    arguments = ["guarantee", "laplace", "--epsilon", "1"]
    assert main(arguments) == 0
    assert "tacit audit laplace" in capsys.readouterr().out
    monkeypatch.setattr(shipped_mechanisms, "MECHANISMS", {})
    assert main(arguments) == 0
    assert "tacit audit" not in capsys.readouterr().out


def test_a_lifetime_is_shown_where_it_is_bounded(capsys, monkeypatch):
    """Epsilon and delta of everything ever released stand beside those of one release."""
    bounded = dataclasses.replace(
        guarantees.guarantee_of("laplace", epsilon=0.5),
        lifetime_epsilon=2.5,
        lifetime_delta=1e-7,
        lifetime="of five releases, after which it stops",
    )
    monkeypatch.setattr(guarantees, "guarantee_of", lambda *_, **__: bounded)
    assert main(["guarantee", "laplace", "--epsilon", "0.5"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Over a lifetime: epsilon 2.5, delta 1e-07: of five releases" in shown
    assert "Epsilon: epsilon 0.5, delta 0" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["laplace"], "add --epsilon"),
        (["gaussian", "--epsilon", "1"], "give it a delta"),
        (["laplace", "--epsilon", "inf"], "finite"),
        (["laplace", "--epsilon", "-1"], "epsilon is a number of at least"),
        (["nothing"], "Designs: private, standard-scheme, xmap, sketches, prec, pdap. Mechanisms:"),
        (["standard-scheme", "--epsilon", "1"], "Its options: --variant, --release."),
        (["laplace", "--epsilon", "1", "--peers", "3"], "--peers is no option of laplace."),
        (["prec", "--epsilon", "1", "--voters", "0"], "--voters of prec is at least 1; got 0."),
    ],
)
def test_refusals(capsys, arguments, said):
    """A usage error (exit 2), in one sentence or two, without a traceback."""
    assert main(["guarantee", *arguments]) == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert "Traceback" not in complaint


def test_every_design_has_cards_and_a_next_step(capsys):
    """Each design of the registry, with a number for what has no default."""
    for name in require_any(names()):
        needed = [
            word
            for key, field in options_of(design(name).card_settings).items()
            if field.default in (MISSING, None)
            for word in (f"--{key}", "60" if key == "peers" else "1")
        ]
        assert main(["guarantee", name, *needed]) == 0
        shown = capsys.readouterr()
        assert "It holds if" in shown.out
        assert design(name).after_cards.split("  ")[0] in " ".join(shown.out.split())


def test_a_card_before_any_fit_takes_no_text_of_people_for_public(capsys):
    """Titles beside the ratings are published on request alone, so no such card names them."""
    assert main(["guarantee", "standard-scheme", "--json"]) == 0
    shown = capsys.readouterr().out
    assert '"assumptions"' in shown
    assert "text that stood beside" not in shown
