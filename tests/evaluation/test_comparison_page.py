"""What a comparison shows: verdict, pictures, LaTeX, and views of a notebook, of planted rows."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

import pytest

from tacit.errors import ConfigError
from tacit.evaluation.accuracy_figures import (
    MeasuredEntry,
    accuracy_against_attack,
    assign_colours,
    make_lines,
)
from tacit.evaluation.comparison_page import make_verdict
from tacit.evaluation.comparison_result import COLUMNS, ComparisonResult
from tacit.evaluation.intervals import Interval
from tacit.evaluation.latex import format_comparison

WHOLE = ("a person's whole profile", "everybody")
NOBODY = ("nobody is protected", "–")
ENTRIES = [
    ("popularity", "baseline", None, NOBODY, 0.2, 0.52),
    ("ease", "baseline", None, NOBODY, 0.4, 0.9),
    ("private", "sound", 0.5, WHOLE, 0.25, 0.51),
    ("private", "sound", 1.0, WHOLE, 0.32, 0.52),
    ("private", "non-private", math.inf, WHOLE, 0.38, 0.7),
    ("counts_&_more", "sound", 1.0, WHOLE, 0.21, 0.5),
]


def rows():
    made = []
    for design, variant, epsilon, (unit, against), ndcg, auc in ENTRIES:
        claim = (design, variant, epsilon, unit, against)
        for metric, value in (("ndcg@10", ndcg), ("membership_auc", auc)):
            ends = (value - 0.01, value + 0.01)
            made.append(dict(zip(COLUMNS, (*claim, metric, value, *ends), strict=True)))
    return made


def difference(design, epsilon, reference, value, p_value=0.0001):
    variant = "baseline" if epsilon is None else "sound"
    outcome = "tie" if p_value > 0.05 else ("better" if value > 0 else "worse")
    return {
        "design": design, "variant": variant, "epsilon": epsilon, "reference": reference,
        "difference": value, "low": value - 0.02, "high": value + 0.02,
        "p_value": p_value, "corrected_p_value": p_value, "outcome": outcome,
    }  # fmt: skip


DIFFERENCES = [
    difference("ease", None, "popularity", 0.2),
    difference("private", 1.0, "popularity", 0.12),
    difference("private", 1.0, "ease", -0.08),
]


@pytest.fixture(scope="module")
def result():
    content = {"rows": rows(), "differences": DIFFERENCES, "left_out": {}}
    return ComparisonResult({**content, "protocol": "Held out."})


def test_the_verdict_says_what_is_kept():
    """Of the first design at the epsilon nearest to 1, with tested differences."""
    verdict = make_verdict(rows(), DIFFERENCES)
    assert verdict.headline == "private at epsilon 1 keeps 60% of EASE's gain over popularity."
    assert "popularity is +.120 [+.100, +.140]: better, p < .001." in verdict.sentence
    assert "EASE is \N{MINUS SIGN}.080" in verdict.sentence
    assert verdict.state == "good"


def test_below_popularity_nothing_is_kept():
    """A gain below 0 is no share that is kept."""
    lower = rows()
    for row in lower:
        if (row["design"], row["epsilon"], row["metric"]) == ("private", 1.0, "ndcg@10"):
            row["value"] = 0.15
    headline = make_verdict(lower, DIFFERENCES).headline
    assert headline.startswith("private at epsilon 1 is below popularity here")


def test_no_share_is_kept_of_a_gain_that_is_none():
    """Where EASE and popularity are a tie, a share of their difference says nothing."""
    tie = [difference("ease", None, "popularity", 0.2, p_value=0.4), *DIFFERENCES[1:]]
    assert "no gain to keep" in make_verdict(rows(), tie).headline


def test_an_own_model_is_judged_before_designs():
    """Its reader asks about it."""
    own = rows()[-2] | {"design": "Mine", "variant": "own model", "epsilon": None, "value": 0.3}
    verdict = make_verdict([*rows(), own], DIFFERENCES)
    assert verdict.headline.startswith("Mine reaches 50% of EASE's gain")


def test_the_page_has_the_verdict_pictures_and_tables_in_this_order(result):
    """Verdict, accuracy over epsilon, attacks, tables, differences, protocol in the lead."""
    page = result.page({"date": "today"}).html()
    order = [
        "keeps 60%", "Held out.", "Accuracy: a person", "Accuracy against attack success",
        "<h2>Everybody", "Which differences count",
    ]  # fmt: skip
    places = [page.index(text) for text in order]
    assert places == sorted(places)
    assert "://" not in page
    assert "counts_&amp;_more" in page


def test_the_page_has_no_digest_of_the_ratings(result):
    """With one, a guessed file could be checked; the page says that no epsilon covers the rest."""
    manifest = {"date": "today", "data": {"sha256": "ab12cd", "users": 4321}}
    page = result.page(manifest).html()
    assert "ab12cd" not in page
    assert "sha256" not in page
    assert "4321" in page
    assert "No epsilon covers this page" in page
    assert manifest["data"]["sha256"] == "ab12cd"  # the caller's own is not changed


def test_figures_stand_alone_as_svg_and_png(result, tmp_path):
    """Whole XML without a variable of the page; the picture has the key's names."""
    files = result.write_figures(tmp_path)
    assert {path.name for path in files} == {
        "accuracy.svg", "accuracy.png", "attacks.svg", "attacks.png",
    }  # fmt: skip
    text = (tmp_path / "accuracy.svg").read_text()
    assert ET.fromstring(text).tag.endswith("svg")
    assert "var(" not in text
    assert "counts_&amp;_more" in text
    assert (tmp_path / "attacks.png").read_bytes().startswith(b"\x89PNG")


def test_latex_has_designs_in_rows_and_epsilons_in_columns(result):
    """Best bold within a unit and a column, intervals small, signs escaped, booktabs' rules."""
    lines = result.to_latex().splitlines()
    assert lines[1] == r"\toprule"
    assert r"$\varepsilon$ & 0.5 & 1 & $\infty$ & none \\" in lines
    (private,) = [line for line in lines if line.startswith("private &")]
    best = r"\textbf{.320} {\scriptsize [.310, .330]}"
    first, last = r".250 {\scriptsize [.240, .260]}", r".380 {\scriptsize [.370, .390]}"
    assert private == rf"private & {first} & {best} & {last} &  \\"
    assert any(line.startswith(r"counts\_\&\_more &  & .210") for line in lines)
    assert any(line.startswith(r"ease &  &  &  & \textbf{.400}") for line in lines)


def test_latex_of_an_attack_has_the_smallest_bold(result):
    """A small AUC is the better one; a metric that is none is refused."""
    table = result.to_latex(["membership_auc"])
    assert r"popularity &  &  &  & \textbf{.520}" in table
    rows = [
        {**row, "metric": "gender_auc"} for row in result.rows if row["metric"] == "membership_auc"
    ]
    assert r"popularity &  &  &  & \textbf{.520}" in format_comparison(rows, ["gender_auc"])
    with pytest.raises(ConfigError, match="No metric 'ndgc@10'"):
        result.to_latex(["ndgc@10"])


def test_the_view_of_a_notebook_has_the_verdict_and_no_colour(result):
    """Text cells on the left; a dark notebook keeps its own colours."""
    view = result._repr_html_()
    assert "keeps 60%" in view
    assert "text-align:left" in view
    assert "color:#" not in view
    assert "counts_&amp;_more" in view


def test_no_two_recommenders_look_alike():
    """Of eighteen, no two have both a colour and a shape in common, nor a colour and a dash."""
    names = [f"model {number}" for number in range(18)]
    measured = []
    for place, name in enumerate(names):
        ndcg = Interval(place / 20, place / 20, place / 20)
        measured.append(MeasuredEntry(name, None, ndcg, Interval(0.5, 0.5, 0.5)))
    colours = assign_colours(names)
    figure = accuracy_against_attack(measured, colours)
    assert len({(mark.colour, mark.sign) for mark in figure.key}) == 18
    lines = make_lines(measured, colours)
    assert len({(line.colour, line.dash) for line in lines}) == 18
