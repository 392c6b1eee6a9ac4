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


@pytest.fixture(scope="module")
def tours():
    """Each tour, made once."""
    return {name: design(name).part("tour")() for name in names()}


@pytest.mark.parametrize("name", names())
def test_every_number_of_a_sentence_is_a_figure(tours, name):
    """A share or an AUC that is printed stands in the figures, rounded as printed."""
    found = [value for value in _numbers(tours[name].figures) if isinstance(value, float)]
    printed = re.findall(r"\b0\.\d\d+\b|\b\d+%", tours[name].learned + tours[name].cost)
    rounded = {form.format(value) for value in found for form in ("{:.2f}", "{:.3f}", "{:.0%}")}
    assert set(printed) - {"0.5"} <= rounded


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
    assert len(lines) <= 32
    assert "What an attacker learned" in lines


def test_json_has_every_sentence_and_the_time(capsys):
    """`--json` names the design, its sentences, its figures and the seconds."""
    assert main(["demo", "prec", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) == {"tours", "seconds"}
    fields = {"design", "title", "works_from", "asked", "left", "learned", "cost", "read_on"}
    assert set(result["tours"][0]) == fields | {"figures"}


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
