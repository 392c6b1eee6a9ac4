"""How many people each design needs: one data file, and every place that says so agrees with it."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import people_needed as tool
import pytest

from tacit.cli.app import main
from tacit.design import design, names
from tacit.design.people_needed import people_needed
from tacit.designs.private.plan import plan_releases
from tacit.designs.standard_scheme.design import LEAST_PEOPLE

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "docs" / "results" / "records"


def test_pages_have_the_numbers_of_the_file():
    """README.md and how-to-choose.md are as the tool writes them."""
    assert {page.name for page in tool.PAGES} == {"README.md", "how-to-choose.md"}
    for page, columns in tool.PAGES.items():
        text = page.read_text(encoding="utf-8")
        assert tool.fill_columns(text, columns) == text, page.name


@pytest.mark.parametrize("name", names())
def test_a_changed_number_is_written_into_its_cell(name):
    """A page that says another number differs from what the tool writes."""
    page = ROOT / "README.md"
    text = page.read_text(encoding="utf-8")
    changed = text.replace(people_needed(name).overview, "7 people")
    assert changed != text
    assert tool.fill_columns(changed, tool.PAGES[page]) == text


def test_a_page_without_a_row_is_refused():
    """A design that a page leaves out is named."""
    table = "| design | people needed |\n|---|---|\n\n"
    with pytest.raises(ValueError, match="pdap"):
        tool.fill_columns(table, {"people needed": "overview"})


@pytest.mark.parametrize("name", names())
def test_cards_say_the_number(name):
    """The sentence below a card is the file's."""
    assert design(name).works_from == people_needed(name).works_from


def test_the_demo_says_the_numbers(capsys, tmp_path, monkeypatch):
    """Last column and sentence of a tour are the file's."""
    monkeypatch.chdir(tmp_path)  # the demo leaves a shop
    assert main(["demo", "prec", "--json"]) == 0
    (tour,) = json.loads(capsys.readouterr().out)["tours"]
    assert tour["real_data"] == people_needed("prec").real_data
    assert tour["works_from"] == people_needed("prec").works_from


def test_private_and_xmap_are_what_plan_prints():
    """The rule's number for 1,700 items at epsilon 1, rounded to 50 and to 100."""
    alone = plan_releases(943, 1700, 1.0).needed
    across = plan_releases(943, 1700, 1.0, cross_domain=True).needed
    assert people_needed("private").people == 50 * math.ceil(alone / 50)
    assert people_needed("xmap").people == 100 * round(across / 100)


def test_sketches_are_what_the_planner_and_the_record_say(capsys):
    """The proved bound is printed by plan; a million people come within 5 % of infinitely many."""
    words = "plan sketches --items 1682 --rated 50 --epsilon 1 --json"
    assert main(words.split()) == 0
    bounds = json.loads(capsys.readouterr().out)["lower_bounds"]
    needed = people_needed("sketches")
    assert needed.fewest == math.ceil(bounds["scarce"])
    quality = {}
    for point in json.loads((RECORDS / "sketches-lists.json").read_text())["values"]["points"]:
        if point["method"] == "multi-maxsense" and point["epsilon"] == 1:
            quality[point["users"]] = point["ndcg_at_10"][0]
    assert quality[needed.people] > 0.95 * quality[None]
    assert quality[needed.people // 10] < 0.95 * quality[None]


def test_prec_is_what_the_record_says():
    """With so many peers less than one recommendation of 1,000 is disliked at epsilon 1."""
    points = json.loads((RECORDS / "prec-gated.json").read_text())["values"]["points"]
    losses = {}
    for point in points:
        if point["method"] == "p-rec" and (point["rounds"], point["epsilon"]) == (1000, 1):
            losses[point["peers"]] = point["loss"][0]
    assert losses[people_needed("prec").people] < 1
    assert losses[200] > 1


def test_the_scheme_speaks_of_usefulness_by_its_number():
    """The fitted model's sentence and the file have one number."""
    assert people_needed("standard-scheme").people == LEAST_PEOPLE


def test_no_page_names_another_number():
    """A proved or planned number in a page's text is the file's, or the exact one."""
    exact = f"{plan_releases(943, 1700, 1.0).needed:,}"
    allowed = {
        exact,
        f"{people_needed('private').people:,}",
        f"{people_needed('sketches').fewest:,}",
    }
    found = set()
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))):
        text = page.read_text(encoding="utf-8")
        found |= set(re.findall(r"\b(?:129,\d{3}|1,1\d\d)(?= people|\.)", text))
    assert found == allowed
