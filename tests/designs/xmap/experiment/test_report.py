"""The page across domains: right words, every number, NX-Map beside all, nothing from outside."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from tacit.designs.xmap.experiment.contenders import (
    BASELINES,
    METHODS,
    NAMES,
    NX_MAP_METHODS,
    PAPERS_BUDGETS,
    VARIANTS,
    X_MAP_METHODS,
    Contender,
)
from tacit.designs.xmap.experiment.evaluation import CrossDomainTable, Point
from tacit.designs.xmap.experiment.grid import Setting
from tacit.designs.xmap.experiment.judgements import Comparison
from tacit.designs.xmap.experiment.report import STROKES, page_of, verdict
from tacit.evaluation import Interval
from tests.support.pages import Page

MANIFEST = {"seed": 7, "data": {"sha256": "ab12"}, "date": "1999-01-02"}
BASE = Setting(1.0, 0)
MOVED = (Setting(0.5, 0), Setting(1.0, 3))
SURFACE = (0.2, 0.8)


def contenders(methods, surface=()):
    for method in methods:
        if method in NX_MAP_METHODS:
            yield Contender(method, "published")
        elif method in BASELINES:
            yield Contender(method)
        else:
            if method == "x-map-ib":
                yield Contender(method, "sound", 1.0, None, 1e-6)
            pairs = [(a, b) for a in surface for b in surface]
            for first, second in [PAPERS_BUDGETS[method], *pairs]:
                yield Contender(method, "published", first, second)


def point(contender, k, setting, error):
    mae = (
        None if contender.method == "popularity" else Interval(error, error - 0.011, error + 0.012)
    )
    lists = Interval(error / 4, error / 4 - 0.01, error / 4 + 0.01)
    return Point(replace(contender, k=k), setting, mae, lists)


def comparison(contender, against, measure, gap, half=0.005):
    return Comparison(
        *contender.parameters,
        k=50,
        against=against,
        measure=measure,
        difference=gap,
        low=gap - half,
        high=gap + half,
        people=100,
    )


def table_of(methods=METHODS, *, gap=-0.03, private_gap=-0.01, ks=(10, 50), surface=SURFACE):
    """gap: NX-Map's error less that of item averages; private_gap: X-Map's, sound."""
    points, comparisons = [], []
    for number, contender in enumerate(contenders(methods, surface)):
        for k in ks if contender.has_k else (None,):
            error = 0.7 + number / 1000 + (0 if k is None else k / 50000)
            points += [point(contender, k, BASE, error)]
        points += [
            point(contender, 50 if contender.has_k else None, setting, error + 0.01)
            for setting in MOVED
            if contender.epsilon_prime not in SURFACE
        ]
        if contender.method not in BASELINES:
            size = gap if contender.method in NX_MAP_METHODS else private_gap
            for other in methods:
                if other in BASELINES:
                    comparisons += [comparison(contender, other, "ndcg_at_10", 0.02)]
                    if other != "popularity":
                        comparisons += [comparison(contender, other, "mae", size)]
    return CrossDomainTable(
        source="books",
        target="films",
        base=BASE,
        base_k=50,
        seeds=(0, 1, 2),
        people=(100, 100, 100),
        rows=(),
        points=tuple(points),
        comparisons=tuple(comparisons),
    )


@pytest.fixture(scope="module")
def whole():
    table = table_of()
    return table, page_of(table, MANIFEST).html()


def test_page_needs_nothing_from_outside(whole):
    """No address, script, event handler, link or resource: the page works from a file, offline."""
    page = Page(whole[1])
    assert not re.search(r"://|@import|url\(|javascript:", whole[1])
    assert not {"script", "link", "img", "iframe", "object", "embed", "base"} & set(page.tags)
    assert not [name for name in page.attributes if name in ("href", "src") or name[:2] == "on"]


def test_page_is_well_formed_and_small(whole):
    """Every element is closed in order, and the page stays below half a megabyte."""
    assert Page(whole[1]).open == []
    assert len(whole[1].encode()) < 500_000


def test_every_error_of_the_figures_stands_in_a_table(whole):
    """Each point that is drawn is also a figure that can be read, with its interval."""
    text = Page(whole[1]).text
    read = 0
    for each in whole[0].points:
        budgets = (each.contender.epsilon, each.contender.epsilon_prime)
        if each.mae is None or (None not in budgets and budgets != (1.0, None)):
            continue
        assert f"{each.mae.mean:.3f} {each.mae.low:.3f}–{each.mae.high:.3f}" in text
        read += 1
    assert read > 1


def test_intervals_of_two_splits_are_told_and_not_drawn(whole):
    """They would fill the plot. In the tables they stand as they do for three."""
    pages = (whole[1], page_of(replace(table_of(), seeds=(0, 1)), MANIFEST).html())
    upright = r'<line transform="[^"]*" x2="0" y2="-?[1-9]'
    three, two = (len(re.findall(upright, page)) for page in pages)
    assert three > two + 20
    tables = [re.findall("<table.*?</table>", page, re.DOTALL) for page in pages]
    assert len(tables[0]) > 3
    assert tables[0] == tables[1]


def test_nx_map_stands_in_every_table_of_errors(whole):
    """The private variants are never shown alone, nor are the paper's figures of them."""
    tables = re.findall(r"<table.*?</table>", whole[1], flags=re.DOTALL)
    with_errors = [table for table in tables if "X-Map" in table]
    assert len(with_errors) == 1 + 3 + 1  # all methods, what moves, the paper's figures
    assert all("NX-Map" in table for table in with_errors)


def test_only_one_setting_draws_nothing():
    """A figure needs two points; without them the page has its table and no empty plot."""
    table = table_of(ks=(50,), surface=())
    still = replace(table, points=tuple(p for p in table.points if p.setting == BASE))
    page = page_of(still, MANIFEST).html()
    assert "<figure" not in page
    assert "Everybody, side by side" in page


def test_verdict_where_it_helps():
    """Every figure of the sentence comes from the table."""
    found = verdict(table_of())
    assert found.headline == "What people rated in books tells what they like in films"
    assert found.state == "good"
    assert found.sentence == (
        "For people who have rated nothing in films, NX-Map (item-based) (no privacy) has a mean "
        "error of 0.701 stars, 0.030 below that of item averages. For people who have rated "
        "nothing in films, X-Map (item-based), sound (ε = 1, δ = 1e-06) has a mean error of 0.702 "
        "stars, 0.010 below that of item averages."
    )


@pytest.mark.parametrize(
    ("gap", "state", "said"),
    [
        (0.03, "poor", "0.030 above that of item averages"),
        (0.002, "none", "not distinguished from item averages"),
    ],
)
def test_verdict_where_it_does_not(gap, state, said):
    """Worse, or no difference that the interval excludes, is said as plainly as better."""
    found = verdict(table_of(gap=gap))
    assert found.state == state
    assert said in found.sentence


@pytest.mark.parametrize(
    ("variant", "said"),
    [
        ("sound", "X-Map (item-based), sound (ε = 1, δ = 1e-06) has"),
        ("published", "X-Map (item-based), published (ε = 0.3, ε′ = 0.8, as claimed) has"),
    ],
)
def test_verdict_without_nx_map(variant, said):
    """X-Map alone is judged by itself, under its variant and budget, and once only."""
    table = table_of(("x-map-ib", *BASELINES), surface=())
    kept = [p for p in table.points if p.contender.variant in (variant, "baseline")]
    found = verdict(replace(table, points=tuple(kept)))
    assert said in found.sentence
    assert "0.010 below that of item averages" in found.sentence
    assert found.sentence.count("mean error") == 1


@pytest.mark.parametrize(
    ("gap", "state", "said"),
    [
        (0.05, "good", ", 0.050 above that of the most rated items"),
        (-0.05, "poor", ", 0.050 below that of the most rated items"),
        (0.001, "none", ", not distinguished from the most rated items"),
    ],
)
def test_verdict_of_lists_alone(gap, state, said):
    """The sound variant without stars is judged by its lists, and the page is whole."""
    sound = Contender("x-map-ib", "sound", 1.0, None, 1e-6)
    lists = replace(point(sound, None, BASE, 0.8), mae=None)
    table = replace(
        table_of(BASELINES),
        points=(*table_of(BASELINES).points, lists),
        comparisons=(comparison(sound, "popularity", "ndcg_at_10", gap),),
    )
    found = verdict(table)
    assert found.state == state
    assert "X-Map (item-based), sound (ε = 1, δ = 1e-06) has an NDCG at 10 of 0.200" in (
        found.sentence
    )
    assert said in found.sentence
    assert Page(page_of(table, MANIFEST).html()).open == []


def test_verdict_of_lists_beside_nx_map():
    """Beside NX-Map, lists that were paid for are stated by their NDCG."""
    table = table_of()
    points = [replace(p, mae=None) if p.contender.variant == "sound" else p for p in table.points]
    found = verdict(replace(table, points=tuple(points)))
    assert "sound (ε = 1, δ = 1e-06) has an NDCG at 10 of 0.175, 0.020 above" in found.sentence


def test_verdict_without_x_map():
    """Yardsticks alone make a page that says so."""
    table = table_of(BASELINES)
    assert verdict(table).headline == "Baselines only"
    assert Page(page_of(table, MANIFEST).html()).open == []


def test_infinite_epsilon_is_not_called_private():
    """The sound pipeline's own twin is drawn, under its epsilon."""
    table = table_of()
    twins = [
        replace(p, contender=replace(p.contender, epsilon=math.inf))
        if p.contender.variant == "sound"
        else p
        for p in table.points
    ]
    table = replace(table, points=tuple(twins))
    assert "sound (ε = ∞) has" in verdict(table).sentence
    assert "ε = ∞" in page_of(table, MANIFEST).html()


def test_hostile_words_are_shown_and_not_obeyed():
    """Names of domains and data are text, whatever they hold."""
    hostile = '"><img src=x onerror=alert(1)>'
    table = replace(table_of(), source=hostile, target="</style><b>")
    page = Page(page_of(table, {"c": hostile}).html())
    assert "img" not in page.tags
    assert page.open == []
    assert hostile in page.text


def test_every_method_has_a_name_and_a_line():
    """Nothing in the machine output is nameless on the page; popularity alone has no error."""
    assert set(NAMES) == set(METHODS)
    drawn = {method for method, _ in STROKES}
    assert drawn == set(METHODS) - {"popularity"}
    assert {each for each in STROKES if each[0] in X_MAP_METHODS} == {
        *(("x-map-ib", variant) for variant in VARIANTS),
        ("x-map-ub", "published"),
    }
    assert len(set(STROKES.values())) == len(STROKES)


def test_file_is_the_page(tmp_path, whole):
    """The page is written whole over an older one."""
    (tmp_path / "out.html").write_text("old")
    page_of(whole[0], MANIFEST).write(tmp_path / "out.html")
    assert (tmp_path / "out.html").read_text(encoding="utf-8") == whole[1]


def test_captions_name_the_values_that_are_kept(whole):
    """A figure's caption has the base value of all that its axis does not show, alpha among it."""
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", whole[1], flags=re.DOTALL)
    assert len(captions) > 3
    by_k, by_overlap, by_profile_size, *surfaces = captions
    assert by_k.endswith("At overlap 1, cold start, alpha 0.")
    assert by_overlap.endswith("At k = 50, cold start, alpha 0.")
    assert by_profile_size.endswith("At k = 50, overlap 1, alpha 0.")
    for caption in surfaces:
        assert caption == "The published variant. At k = 50, overlap 1, cold start, alpha 0."
