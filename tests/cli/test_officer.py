"""`tacit guarantee MODEL --for-officer`: one page, a verdict by its rule, no word of statistics."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date

import pytest

from tacit.cli.app import main
from tacit.data.synthetic import generate
from tacit.designs.private import Private
from tacit.privacy import Adjacency, Basis, Guarantee, Measurement, Trust
from tacit.privacy.officer_card import CardFacts, FitCount, judge, judge_all, officer_page

FACTS = CardFacts("shop.tacit", date(2026, 3, 2), date(2026, 4, 1), FitCount(3, 49, 3.0))


def card(**changed):
    """A proved card of a person, at epsilon 0.4."""
    plain = Guarantee(
        name="lists",
        sentence="A sentence.",
        protects="a profile",
        adjacency=Adjacency("user", "add or remove"),
        against="everyone",
        trust=Trust.PLATFORM,
        basis=Basis.PROVED,
        epsilon=0.4,
        delta=1e-6,
        lifetime="of this fit",
        assumptions=("the catalogue is public", "mu is at most 0.3"),
        not_covered=("the platform itself",),
        sources=("a book",),
    )
    return replace(plain, **changed)


def measured(high):
    """A card on which an attacker reached an interval up to `high`."""
    attack = Measurement("all", "panel", "scheme", high - 0.02, high - 0.04, high, "people", 900)
    none = {"epsilon": None, "delta": None, "basis": Basis.MEASURED}
    return card(**none, measurements=(attack,))


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (card(), "strong"),
        (card(basis=Basis.CONDITIONAL), "moderate"),
        (card(adjacency=Adjacency("rating", "add or remove")), "moderate"),
        (card(epsilon=1.0), "moderate"),
        (card(epsilon=0.4, lifetime_epsilon=3.0, lifetime_delta=1e-6), "weak"),
        (card(epsilon=5.1), "none"),
        (measured(0.55), "moderate"),
        (measured(0.6), "weak"),
        (measured(0.7), "none"),
        (card(epsilon=None, delta=None, basis=Basis.NONE), "none"),
    ],
)
def test_the_verdict_follows_the_rule(found, verdict):
    """By everything that is ever released, the basis and the unit."""
    assert judge(found) == verdict


def test_the_worst_card_decides_and_no_card_is_none():
    """A model promises what its weakest card does."""
    assert judge_all((card(), card(epsilon=3.0))) == "weak"
    assert judge_all(()) == "none"


def test_the_promise_is_that_of_the_weakest_card():
    """Whatever the order: of epsilon 0.4 and 0.45 the page promises what 0.45 bounds, and so on."""
    for epsilons in ((0.4, 0.45), (0.45, 0.4)):
        page = officer_page([card(epsilon=epsilon) for epsilon in epsilons], FACTS)
        assert "62 in 100" in page
    page = officer_page((card(), card(epsilon=3.0)), FACTS)
    assert "96 in 100" in page


@pytest.mark.parametrize(
    ("delta", "chance"),
    [(1e-6, "1 in 1,000,000"), (1.4e-6, "1 in 714,285"), (1e-5, "1 in 100,000")],
)
def test_the_promise_says_with_which_chance_it_fails(delta, chance):
    """Delta is part of the sentence about beliefs, in words and rounded up."""
    page = officer_page((card(delta=delta),), FACTS)
    assert f"unless the protection fails, which has a chance of at most {chance}." in page


def test_the_chance_of_failing_is_that_of_all_releases():
    """The belief is bounded by the epsilon of a lifetime, and so is the chance by its delta."""
    of_lifetime = card(delta=1e-7, lifetime_epsilon=3.0, lifetime_delta=1e-6)
    assert "at most 1 in 1,000,000." in officer_page((of_lifetime,), FACTS)


def test_without_a_delta_the_promise_has_no_exception():
    """At delta 0 the limit of a belief always holds."""
    page = officer_page((card(delta=0.0),), FACTS)
    assert "whatever else they know.</p>" in page
    assert "epsilon 0.4 at delta 0." in page


def test_costs_are_rounded_up():
    """The full card never shows a smaller epsilon or delta than the card has."""
    found = card(epsilon=1.004, delta=1.41e-6, lifetime_epsilon=3.001, lifetime_delta=2e-6)
    page = officer_page((found,), FACTS)
    assert "One release: epsilon 1.01 at delta 1.5e-06." in page
    assert "All releases: epsilon 3.01 at delta 2e-06." in page


@pytest.mark.parametrize("epsilon", [0.4, 1.0, 3.0])
def test_beside_a_measured_card_nothing_is_promised(epsilon):
    """Whatever the proved card's verdict is: not all that is published was proved."""
    page = officer_page([measured(0.55), card(epsilon=epsilon)], FACTS)
    assert "nothing is proved" in page
    assert "in 100 sure" not in page


def test_no_word_of_statistics_stands_above_the_fold(tmp_path, capsys):
    """On the page of a fitted plan; the full card below has them."""
    model = Private(lifetime=3.0, fits=12)
    model.fit(generate(users=300, items=40, ratings=9000, labels=4, seed=1))
    model.save(tmp_path / "m.tacit")
    capsys.readouterr()
    assert main(["guarantee", str(tmp_path / "m.tacit"), "--for-officer", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["fits"]["left"]) == ("weak", 11)
    page = (tmp_path / "m.officer.html").read_text()
    above, below = page.split("<details>")
    text = re.sub(r"<style>.*?</style>", "", above, flags=re.DOTALL)
    for word in (r"\bmu\b", "sigma", "clipped", r"\bmode\b", "zCDP", r"\d{7}"):
        assert re.search(word, text, re.IGNORECASE) is None, word
    assert "differentially private" in below


def test_the_full_card_says_what_it_does_not_cover():
    """Conditions, limits and sources stand under their own titles: a limit is not read as one."""
    page = officer_page((card(),), FACTS)
    assert "<p>It holds if:</p><ul><li>the catalogue is public</li>" in page
    assert "<p>It does not cover:</p><ul><li>the platform itself</li></ul>" in page
    assert "<p>Sources:</p><ul><li>a book</li></ul>" in page
    assert "Measured:" not in page
    assert "<p>Measured:</p><ul><li>" in officer_page((measured(0.6),), FACTS)


def test_the_page_says_what_an_officer_asks():
    """Who is trusted, for which data, how many fits are left, what breaks it, erasure, evidence."""
    page = officer_page((card(),), FACTS)
    for part in (
        "Protection: <strong>strong</strong>",
        "The platform, which has everyone's data.".replace("'", "&#x27;"),
        "02 March 2026",
        "3 made, 49 left",
        "the catalogue is public",
        "Their rows are left out of the next fit.",
        "2026-04-01",
        "60 in 100",
    ):
        assert part in page


def test_what_stands_in_a_card_is_text(tmp_path):
    """Nothing of a name or a sentence is markup."""
    page = officer_page((card(sentence="<script>1</script>"),), replace(FACTS, about="<b>"))
    assert "<script>" not in page
    assert "<b>" not in page


def test_a_page_is_about_a_model_file(tmp_path, capsys):
    """A design before it is fitted has no page, and --out belongs to the page."""
    assert main(["guarantee", "private", "--for-officer"]) == 2
    assert main(["guarantee", "private", "--epsilon", "1", "--out", str(tmp_path / "x")]) == 2
    assert not (tmp_path / "x").exists()
