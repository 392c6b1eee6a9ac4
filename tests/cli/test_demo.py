"""`tacit demo`: one screen a design, with the figures of real runs."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from tacit.cli.app import main
from tacit.data import generate
from tacit.design import design, names
from tacit.designs.private.experiment.tour import ITEMS, PEOPLE, RATINGS, SEED, membership_auc
from tests.support.seen import require_any

CHANCES = {"50%", "25%"}
"""How often a guess at random is right, of two and of four answers: printed, and no figure."""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """The demo leaves files in the folder where it runs."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def tours():
    """Each tour, made once."""
    return {name: design(name).part("tour")() for name in names()}


@pytest.mark.parametrize("name", names())
def test_every_number_of_a_sentence_is_a_figure(tours, name):
    """A share or an AUC that is printed stands in the figures, rounded as printed."""
    found = [value for value in _numbers(tours[name].figures) if isinstance(value, float)]
    printed = re.findall(
        r"\b0\.\d\d+\b|\b\d+%", tours[name].learned + tours[name].cost + tours[name].headline
    )
    rounded = {form.format(value) for value in found for form in ("{:.2f}", "{:.3f}", "{:.0%}")}
    assert set(printed) - CHANCES <= rounded


def test_attackers_learn_less(tours):
    """From the private release than without it, by a third of what there is to learn or more.

    One fit of 60 people has an AUC with a standard deviation of .06: five of them have a mean
    beyond the limit by chance less than once in ten million runs."""
    private, scheme = tours["private"].figures["auc"], tours["standard-scheme"].figures
    world = generate(users=PEOPLE, items=ITEMS, ratings=RATINGS, seed=SEED)
    read = np.mean([private["1"], *(membership_auc(world, 1.0) for _ in range(4))])
    assert read - 0.5 < (private["none"] - 0.5) / 1.5
    assert abs(scheme["auc_after"] - 0.5) < (scheme["auc_before"] - 0.5) / 2
    across, hunted = tours["xmap"].figures["auc"], tours["prec"].figures["votes_learned"]
    assert across["nx-map"] > 0.8 > across["x-map-sound"]
    assert hunted["p-rec-no-gate"] > 250 > hunted["p-rec"]


def test_a_screen_fits_80_columns_and_25_lines(capsys, monkeypatch):
    """Headings and lines of words; nothing is broken by the terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["demo", "prec"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 64
    assert "What an attacker learned" in lines


def test_json_has_every_sentence_and_the_time(capsys):
    """`--json` names the design, its sentences, its figures and the seconds."""
    assert main(["demo", "prec", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) == {"tours", "seconds"}
    fields = {"design", "title", "works_from", "asked", "left", "learned", "cost", "read_on"}
    fields |= {"headline", "bars", "trusted", "real_data", "seconds"}
    assert set(result["tours"][0]) == fields | {"figures"}


def test_private_lists_beat_popularity(tours):
    """The world of the private design lies above its threshold: NDCG@10 gains .05 or more."""
    ndcg = tours["private"].figures["ndcg"]
    assert ndcg["private"] >= ndcg["popularity"] + 0.05


@pytest.mark.parametrize("name", names())
def test_bars_are_two_numbers_that_the_headline_has(tours, name):
    """Each design ends with two bars between 0 and 1, who is trusted, and how real data went."""
    tour = tours[name]
    assert len(tour.bars) == 2
    assert all(0 <= bar.value <= 1 for bar in tour.bars)
    assert tour.trusted
    assert tour.real_data
    forms = [{f"{bar.value:{form}}" for form in (".2f", ".3f", ".0%")} for bar in tour.bars]
    words = set(re.findall(r"\d[\d.]*%?", tour.headline.replace(" %", "%")))
    words |= {word.rstrip(".") for word in words}
    assert all(form & words for form in forms)


def test_lines_to_paste_run_where_the_demo_ran(tmp_path, monkeypatch, capsys):
    """The demo leaves a shop, and the three lines it prints run in that folder as printed."""
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "prec", "--report", "tour.html"]) == 0
    printed = capsys.readouterr().out.splitlines()
    lines = [line for line in printed if line.startswith("tacit ")]
    assert len(lines) == 3
    for line in lines:
        assert main(line.split()[1:]) == 0
    assert "98" in (tmp_path / "tour.html").read_text()
    assert (tmp_path / "shop-lists.parquet").exists()


def test_a_shop_of_ones_own_is_left_as_it_is(tmp_path, monkeypatch, capsys):
    """A file of the same name with other content is not replaced."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.csv").write_text("customer,product\n1,2\n")
    assert main(["demo", "prec"]) == 0
    assert "shop.csv here already" in capsys.readouterr().out
    assert (tmp_path / "shop.csv").read_text() == "customer,product\n1,2\n"


def test_an_unknown_design_names_those_there_are(capsys):
    """`tacit demo NAME` is a registry."""
    assert main(["demo", "magic"]) == 2
    assert "There is: private, standard-scheme" in capsys.readouterr().err


def test_each_design_says_from_how_many_it_works():
    """One sentence, with a number of people, voters or visits."""
    for name in require_any(names()):
        assert re.match(r"Works from about [\da-z,]+ ", design(name).works_from)


def _numbers(value):
    if isinstance(value, dict):
        return [number for each in value.values() for number in _numbers(each)]
    return [value]
