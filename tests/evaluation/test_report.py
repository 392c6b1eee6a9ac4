"""The report page: right words, every number, nothing from outside, nothing unescaped."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import OutputError
from tacit.evaluation.hiding import (
    AccuracyRow,
    AttackRow,
    HidingTable,
    MixPoint,
    SingleRow,
)
from tacit.evaluation.plots import tenths, tradeoff
from tacit.evaluation.report import render, write_report
from tacit.evaluation.verdict import RECOMMENDED, recommended, verdict
from tacit.recommenders.standard_scheme.messages import RELEASES

MIXED = "scheme+selection+rounding"
ATTACKS = ("naive-bayes", "logistic-regression", "svm", "lda")
MANIFEST = {
    "seed": 7,
    "command": "tacit evaluate",
    "data": {"sha256": "ab12"},
    "date": "1999-01-02",
}


def attack_row(release, attack, trained_on, area):
    return AttackRow(
        release, attack, trained_on, area, area - 0.041, area + 0.043, (area - 0.02, area + 0.02)
    )


def table_of(
    before=0.79,
    frozen=0.55,
    retrained=0.54,
    *,
    releases=tuple(RELEASES),
    attacks=ATTACKS,
    values=("F", "M"),
    attribute="gender",
):
    """`before` and so on: the strongest AUC on no obfuscation and, obfuscated, of each kind."""
    rows = []
    for number, release in enumerate(releases):
        for place, attack in enumerate(attacks):
            for kind, area in (("raw", frozen), ("released", retrained)):
                strongest = before if release == "none" and area is not None else area
                if strongest is not None:
                    # The others lie nearer to 0.5, on the same side.
                    share = 1 - 0.1 * place - 0.013 * number * (place > 0)
                    area = 0.5 + (strongest - 0.5) * share
                    rows.append(attack_row(release, attack, kind, area))
    accuracy = [
        AccuracyRow(
            release,
            rmse=round(0.9254 + 0.00647 * number, 4),
            mae=0.7,
            rmse_low=0.9,
            rmse_high=0.95,
            rmse_at_home=0.9111 + number / 1000,
            mae_at_home=0.7,
            shown=1 - number / 40,
            ranking={"ndcg_at_10": 0.1511 + number / 100, "recall_at_10": 0.0644 + number / 100},
        )
        for number, release in enumerate(releases)
    ]
    points = [
        MixPoint(mix, dict.fromkeys(attacks, 0.8 - mix / 4), 0.92 + mix / 100)
        for mix in (0.0, 0.25, 1.0)
    ]
    generator = np.random.default_rng(0)
    labels = generator.integers(0, len(values), 60)
    return HidingTable(
        attribute=attribute,
        values=values,
        people=60,
        rows=tuple(rows),
        fractions={release: 0.5 + number / 1000 for number, release in enumerate(releases)},
        accuracy=tuple(accuracy),
        as_she_rates=(),
        control=tuple(SingleRow(attack, 0.4917, 0.4512, 0.5311) for attack in attacks),
        tradeoff=tuple(points) if MIXED in releases else (),
        scores={
            (release, attack): (labels, generator.normal(size=60) + labels)
            for release in releases
            for attack in attacks
        }
        if frozen is not None
        else {},
    )


class Page(HTMLParser):
    """Body rows of the tables, the text outside styles and drawings, tags left open."""

    VOID = ("meta", "br")

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.words, self.rows, self.attributes = [], [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open and "svg" not in self.open:
            self.words.append(data)
        if self.open[-1:] != ["style"] and {"td", "th"} & set(self.open):
            self.rows[-1][-1] += f"{data.strip()} "

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def row(self, name):
        """Cells after the name, of the first row that is called so."""
        return next(
            cells[1:] for cells in self.rows if re.sub("[▸ ]", "", cells[0]).startswith(name)
        )


def words(table):
    return Page(render(table, MANIFEST)).text


@pytest.fixture(scope="module")
def whole():
    table = table_of()
    return table, render(table, MANIFEST)


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


def test_page_holds_every_number_of_the_attacks(whole):
    """Each AUC stands in its own row and column, with both ends of its interval."""
    table, page = whole[0], Page(whole[1])
    for row in table.rows:
        column = 2 * ATTACKS.index(row.attack) + (row.trained_on == "released")
        cells = next(
            cells[1:]
            for cells in page.rows
            if len(cells) == 16 and name_of(cells[0]) == row.release
        )
        assert cells[column].startswith(f"{row.auc:.3f} {row.low:.2f}–{row.high:.2f} ")


def name_of(cell):
    """The release that heads a row, without the words that explain it."""
    squeezed = cell.replace("▸", "").replace(" + ", "+").strip()
    return max((name for name in RELEASES if squeezed.startswith(name)), key=len)


def test_page_holds_every_number_of_the_errors(whole):
    """Fractions, errors, change against none, share shown and lists of every release."""
    table, page = whole[0], Page(whole[1])
    first = table.accuracy[0].rmse
    cells = {name_of(cells[0]): cells[9:] for cells in page.rows if len(cells) == 16 and cells[1]}
    cells = {name: [cell.strip() for cell in row] for name, row in cells.items()}
    for row in table.accuracy:
        change = "–" if row.release == "none" else f"{row.rmse / first - 1:+.1%}"
        assert cells[row.release] == [
            f"{table.fractions[row.release]:.3f} , guessing",
            f"{row.rmse:.4f} {row.rmse_low:.3f}–{row.rmse_high:.3f}",
            change,
            f"{row.rmse_at_home:.4f}",
            f"{100 * row.shown:.1f}%",
            f"{row.ranking['ndcg_at_10']:.3f}",
            f"{row.ranking['recall_at_10']:.3f}",
        ]


def test_page_holds_the_tradeoff_the_control_and_the_manifest(whole):
    """The smaller tables are whole too."""
    table, page = whole[0], Page(whole[1])
    for point in table.tradeoff:
        shown = [f"{point.rmse:.4f}", *(f"{area:.3f}" for area in point.aucs.values())]
        assert [c.split()[0].rstrip(",") for c in page.row(f"{point.mix:.0%}")] == shown
    assert page.text.count("0.492 0.451 to 0.531 yes") == len(table.control)
    for figure in ("seed 7", "command tacit evaluate", "data.sha256 ab12", "date 1999-01-02"):
        assert figure in page.text


def test_missed_control_is_said():
    """An interval of the control that leaves out 0.5 is counted in words."""
    table = table_of()
    missed = replace(table.control[0], auc=0.44, low=0.41, high=0.47)
    text = words(replace(table, control=(missed, *table.control[1:])))
    assert "1 of 4 intervals does not hold 0.5." in text
    assert "Every interval holds 0.5" not in text


def test_verdict_where_protected():
    """Near 0.5, every figure of the sentence comes from the table."""
    found = verdict(table_of(before=0.79, frozen=0.45, retrained=0.54))
    assert found.headline == "Well hidden from these attackers"
    assert found.sentence == (
        "Without obfuscation, the best attacker shown one person of gender F and one of gender M "
        "tells which is which 79% of the time, where 50% is guessing. After scheme + selection + "
        "rounding, the best attacker trained on true ratings is right 55% of the time and the "
        "best attacker who knows the method, trained on obfuscated ratings, is right 54% of the "
        "time. The error of predicted ratings (RMSE) rises by 3.5%, from 0.925 to 0.958 stars."
    )


@pytest.mark.parametrize(
    ("before", "frozen", "retrained", "headline"),
    [
        (0.79, 0.52, 0.75, "Not hidden"),
        (0.79, 0.25, 0.51, "Not hidden"),
        (0.79, 0.52, 0.60, "Harder to guess, but not hidden"),
        (0.70, 0.52, 0.85, "Easier to guess than before"),
        (0.55, 0.52, 0.53, "There was little to hide"),
        (0.55, 0.52, 0.20, "Easier to guess than before"),
    ],
)
def test_verdict_where_not_protected(before, frozen, retrained, headline):
    """The worst attacker decides, whichever side of 0.5 it is on, and its rate is in the words."""
    found = verdict(table_of(before, frozen, retrained))
    assert found.headline == headline
    worst = max(frozen, retrained, key=lambda area: abs(area - 0.5))
    assert f"{0.5 + abs(worst - 0.5):.0%}" in found.sentence


def test_verdict_on_frozen_attackers_alone():
    """Nothing is claimed about attackers who know the method where none was measured."""
    table = table_of(retrained=None)
    found = verdict(table)
    assert found.headline == "Well hidden from attackers who do not know the method"
    assert "Attackers who know the method were not measured." in found.sentence
    assert "retrained</th>" not in render(table, MANIFEST)


def test_fractions_count_as_an_attacker():
    """A release that arithmetic reads is not called hidden, whatever the attacks found."""
    table = table_of(frozen=0.5, retrained=0.5, releases=("none", "scheme"))
    assert verdict(table).headline == "Well hidden from these attackers"
    assert "fractions" not in verdict(table).sentence
    read = replace(table, fractions={"none": 0.5, "scheme": 1.0})
    assert verdict(read).headline == "Easier to guess than before"
    assert "released fractions, which needs no learning, is right 100%" in verdict(read).sentence
    assert "The released fractions of scheme tell gender" in words(read)


@pytest.mark.parametrize(
    ("rmse", "said"),
    [
        (0.9300, "rises by 0.5%, from 0.925 to 0.930"),
        (0.9200, "falls by 0.6%, from 0.925 to 0.920"),
        (0.9255, "stays the same, from 0.925 to 0.925"),
    ],
)
def test_cost_goes_both_ways(rmse, said):
    """Accuracy may be lost, won or kept, and the sentence says which."""
    table = table_of(releases=("none", MIXED))
    after = replace(table.accuracy[1], rmse=rmse)
    assert said in verdict(replace(table, accuracy=(table.accuracy[0], after))).sentence


HOSTILE = ('"><img src=x onerror=alert(1)>', "</style><script>alert('M')</script>")


def test_hostile_words_are_shown_and_not_obeyed():
    """Names of attribute, values and data are text, whatever they hold."""
    name = "<b onclick='x'>{{ 7 * 7 }}"
    table = table_of(values=HOSTILE, attribute=name, releases=("none", MIXED))
    page = Page(render(table, {"command": HOSTILE[0], HOSTILE[1]: "</table>"}))
    assert not {"script", "img"} & set(page.tags)
    assert not [each for each in page.attributes if each.startswith("on")]
    assert page.open == []
    assert all(word in page.text for word in (*HOSTILE, name))


@pytest.mark.parametrize(
    ("releases", "attacks", "judged"),
    [
        (("none",), ATTACKS, None),
        (("scheme",), ("lda",), "scheme"),
        (("none", "selection", "movie-average"), ("svm", "lda"), "selection"),
        ((MIXED, "coupling+selection"), ("naive-bayes",), MIXED),
    ],
)
def test_part_of_the_releases(releases, attacks, judged):
    """A run with fewer releases or attacks gives a whole page that judges one that is there."""
    table = table_of(releases=releases, attacks=attacks)
    page = Page(render(table, MANIFEST))
    assert page.open == []
    assert recommended(table) == judged
    assert {name_of(c[0]) for c in page.rows if len(c) == 8 + 2 * len(attacks)} >= set(releases)
    assert ("After " in page.text) == (judged is not None)
    assert ("was not among the releases" in page.text) == (MIXED not in releases)


@pytest.mark.parametrize("kinds", [("released",), ("raw",)])
def test_one_kind_of_attacker(kinds):
    """A page without frozen, or without retrained attackers, has no empty column for them."""
    table = table_of()
    rows = tuple(row for row in table.rows if row.trained_on in kinds)
    page = render(replace(table, rows=rows, scores={}), MANIFEST)
    assert ("retrained</th>" in page) == ("released" in kinds)
    assert ("frozen</th>" in page) == ("raw" in kinds)
    assert "where 50% is guessing" in Page(page).text


def test_several_values():
    """With more than two values the sentence speaks of them all and the mean is explained."""
    text = words(table_of(values=("young", "middle", "old"), attribute="age"))
    assert "a person of one age and a person of another" in text
    assert "an AUC is a mean over one attack per value" in text
    assert "all others" in text
    assert "believes those on the right to be young." in text  # attacks are one against the rest


def test_two_values_are_scored_by_the_second():
    """High scores speak for the second of two values."""
    assert "believes those on the right to be M." in words(table_of())


def test_every_release_can_be_judged():
    """The order in which one is chosen names each release once, and never the one without any."""
    assert sorted([*RECOMMENDED, "none"]) == sorted(RELEASES)


def test_file_is_the_page(tmp_path, whole):
    """The page is written whole over an older one, and nothing else is left in the folder."""
    target = tmp_path / "out.html"
    target.write_text("old")
    write_report(whole[0], MANIFEST, target)
    assert target.read_text(encoding="utf-8") == whole[1]
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("name", "said"),
    [("missing/out.html", "does not exist"), ("", "this is a folder")],
)
def test_bad_path_is_one_sentence(tmp_path, whole, name, said):
    """A folder that is not there, or in the file's place, is named, and told before any work."""
    with pytest.raises(OutputError, match=said) as refused:
        write_report(whole[0], MANIFEST, tmp_path / name)
    assert "\n" not in str(refused.value)
    assert str(tmp_path) in str(refused.value)


def test_odd_file_name_of_the_command_is_no_obstacle(tmp_path, whole):
    """A command line that is not Unicode is written with escapes."""
    write_report(whole[0], {"command": "tacit evaluate \udcff"}, tmp_path / "out.html")
    assert r"tacit evaluate \udcff" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_failed_write_keeps_the_old_page(tmp_path, whole, monkeypatch):
    """A disk that fails at the last step leaves the old page and no fragments."""
    target = tmp_path / "out.html"
    target.write_text("old")

    def fail(self, other):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OutputError, match="No space left on device"):
        write_report(whole[0], MANIFEST, target)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(-9, 9)), min_size=1, max_size=80),
    st.integers(0, 2),
)
def test_tenths_keep_people_and_ignore_units(people, target):
    """Shares of a group add up to 1, or 0 where it is empty, and depend on the order alone."""
    labels, scores = (np.array(column) for column in zip(*people, strict=True))
    shares = tenths(labels, scores, target)
    np.testing.assert_allclose(shares[1].sum(), float(target in labels))
    np.testing.assert_allclose(shares[0].sum(), float((labels != target).any()))
    np.testing.assert_array_equal(tenths(labels, np.exp(scores / 3), target), shares)


def test_tenths_show_a_perfect_attacker():
    """Whoever scores highest is on the right, target or not."""
    labels = np.repeat([0, 1], 50)
    shares = tenths(labels, np.arange(100), 1)
    np.testing.assert_allclose(shares[0], [0.2] * 5 + [0] * 5)
    np.testing.assert_allclose(shares[1], [0] * 5 + [0.2] * 5)


def test_tradeoff_labels_every_mix(whole):
    """The plot names each share of obfuscated ratings once."""
    drawn = tradeoff(whole[0].tradeoff, {attack: attack for attack in ATTACKS})
    assert re.findall(r">(\d+%)<", drawn) == ["0%", "25%", "100%"]
