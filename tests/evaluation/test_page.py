"""The report page: right words, every number, nothing from outside, nothing unescaped."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tacit.designs.standard_scheme.disclosure import RELEASES
from tacit.designs.standard_scheme.experiment.at_device import DeviceListRow
from tacit.designs.standard_scheme.experiment.report import page_of
from tacit.designs.standard_scheme.experiment.setup import JUDGING_ORDER
from tacit.designs.standard_scheme.experiment.table import (
    AccuracyRow,
    AttackRow,
    HidingTable,
    KnownRow,
    MixPoint,
    WorstRow,
    verdict,
)
from tacit.errors import OutputError
from tests.support.cells import cell_of
from tests.support.pages import Page

MIXED = "scheme+selection+rounding"
ATTACKS = ("naive-bayes", "logistic-regression", "svm", "lda")
MANIFEST = {
    "seed": 7,
    "command": "tacit evaluate",
    "data": {"sha256": "ab12"},
    "date": "1999-01-02",
}


def attack_row(release, view, attack, trained_on, area):
    ends = (area - 0.041, area + 0.043)
    return AttackRow(release, view, attack, trained_on, area, *ends, area)


def worst_row(release, area, attack, judged, people=6000):
    return WorstRow(
        release=release,
        auc=0.5 + abs(area - 0.5),
        upper=0.5432 + abs(area - 0.5),
        lower=0.5,
        attack=attack,
        view="union",
        trained_on="released",
        attackers=4,
        control=0.5123 if release == judged else None,
        control_upper=0.5321 if release == judged else None,
        control_holds=True if release == judged else None,
        people=people,
        rarest=people // 3,
        too_few=people < 2000,
    )


def table_of(
    before=0.79,
    after=0.64,
    *,
    releases=tuple(RELEASES),
    attacks=ATTACKS,
    values=("F", "M"),
    attribute="gender",
    people=6000,
):
    """`before`, `after`: the strongest AUC on no obfuscation and on obfuscated releases."""
    judged = next((name for name in JUDGING_ORDER if name in releases), None)
    strongest = {release: before if release == "none" else after for release in releases}
    rows = [
        attack_row(
            release, view, attack, kind, 0.5 + (strongest[release] - 0.5) * (1 - 0.1 * place)
        )
        for release in releases
        for place, attack in enumerate(attacks)
        for view, kind in (("union", "raw"), ("union", "released"), ("epochs", "released"))
        if view == "union" or release == judged
    ]
    accuracy = [
        AccuracyRow(
            release,
            rmse=round(0.9254 + 0.00647 * number, 4),
            mae=0.7,
            ndcg=0.4511 - number / 100,
            shown=1 - number / 40,
            rmse_low=0.9,
            rmse_high=0.95,
            rmse_at_home=0.9111 + number / 1000,
            ndcg_low=0.44,
            ndcg_high=0.46,
            ndcg_stars=0.1511 + number / 100,
            recall_at_10=0.0644 + number / 100,
        )
        for number, release in enumerate(releases)
    ]
    points = [
        MixPoint(
            mix,
            dict.fromkeys(attacks, 0.8 - mix / 4),
            0.92 + mix / 100,
            dict.fromkeys(attacks, (0.7 - mix / 4, 0.9 - mix / 4)),
            (0.91 + mix / 100, 0.93 + mix / 100),
        )
        for mix in (0.0, 0.25, 1.0)
    ]
    return HidingTable(
        attribute=attribute,
        values=values,
        people=people,
        judged=judged,
        rows=tuple(rows),
        worst=tuple(
            worst_row(release, area, attacks[0], judged, people)
            for release, area in strongest.items()
        ),
        over_time=(
            attack_row(judged, "weekly epochs", attacks[0], "released", 0.6411),
            attack_row(judged, "weekly epochs", attacks[-1], "released", 0.5411),
        )
        if judged
        else (),
        known_items=(KnownRow(10, 0.9312, 0.91, 0.95, 0.0),) if judged else (),
        counts=(attack_row(judged, "count", "number of rated items known", "released", 0.9412),)
        if judged
        else (),
        control=tuple(
            AttackRow(judged or "none", "union", attack, "released", 0.4917, 0.4512, 0.5311, 0.4917)
            for attack in attacks
        ),
        accuracy=tuple(accuracy),
        at_device=(DeviceListRow("at-device-16", 16, 0.0, 0.4322, 0.42, 0.44, 0.06),),
        lists_compared=(),
        fractions={release: 0.5 + number / 1000 for number, release in enumerate(releases)},
        tradeoff=tuple(points) if judged else (),
    )


def words(table):
    return Page(page_of(table, MANIFEST).html()).text


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


def test_the_figure_comes_first(whole):
    """The strongest attacker with its bound, and the control, stand before every table."""
    text = Page(whole[1]).text
    opening = text[: text.index("The panel on")]
    for figure in ("AUC 0.640", "0.683", "0.512", "0.532"):
        assert figure in opening


def test_page_holds_every_number_of_the_panel(whole):
    """Each attacker's AUC on true stars and on the release judged, with both ends."""
    table, page = whole[0], Page(whole[1])
    places = [
        ("none", "raw", "union"),
        (MIXED, "raw", "union"),
        (MIXED, "released", "union"),
        (MIXED, "released", "epochs"),
    ]
    for attack in ATTACKS:
        cells = page.row(attack)
        for cell, (release, kind, view) in zip(cells, places, strict=False):
            row = cell_of(table, release, attack, kind, view)
            assert cell.startswith(f"{row.auc:.3f} {row.low:.2f}–{row.high:.2f} ")
        assert cells[-1].startswith("0.492 0.45–0.53 ")


def name_of(cell):
    """The release that heads a row, without the words that explain it."""
    return max((name for name in RELEASES if cell.replace("▸", "").strip() == name), key=len)


def test_page_holds_every_number_of_the_releases(whole):
    """Figure, bound, fractions, errors, share shown and lists of every release."""
    table, page = whole[0], Page(whole[1])
    first = table.accuracy[0].rmse
    rows = {
        name_of(row[0]): [cell.strip() for cell in row[1:]] for row in page.rows if is_cost(row)
    }
    for row, found in zip(table.accuracy, table.worst, strict=True):
        change = "–" if row.release == "none" else f"{row.rmse / first - 1:+.1%}"
        assert rows[row.release] == [
            f"{found.auc:.3f}",
            f"{found.upper:.3f}",
            f"{table.fractions[row.release]:.3f} , guessing",
            f"{row.rmse:.4f} {row.rmse_low:.3f}–{row.rmse_high:.3f}",
            change,
            f"{row.rmse_at_home:.4f}",
            f"{100 * row.shown:.1f}%",
            f"{row.ndcg:.3f}",
            f"{row.recall_at_10:.3f}",
            f"{row.ndcg_stars:.3f}",
        ]


def is_cost(row):
    return len(row) == 11 and any(each in row[0] for each in RELEASES)


def test_page_holds_the_rest(whole):
    """Over time, what breaks it and the manifest."""
    page = Page(whole[1])
    assert [cell.strip() for cell in page.row("weeklyepochs")][1].startswith("0.641 ")
    assert page.row("10rateditems")[0].startswith("0.931 ")
    assert page.row("numberofrateditemsknown")[0].startswith("0.941 ")
    for figure in ("seed 7", "command tacit evaluate", "data.sha256 ab12", "date 1999-01-02"):
        assert figure in page.text


def test_missed_control_is_said():
    """A control whose interval leaves out guessing is named beside the figure."""
    table = table_of(releases=("none", MIXED))
    missed = replace(table.worst[1], control_holds=False)
    text = words(replace(table, worst=(table.worst[0], missed)))
    assert "not within its bound: read with care" in text
    assert "not within its bound" not in words(table)


def test_verdict_has_the_figure_of_the_card():
    """Every figure of the sentence comes from the table, in the card's words."""
    table = table_of(releases=("none", MIXED))
    found = verdict(table)
    assert found.headline == "Guessed with AUC 0.64 by the strongest attacker"
    assert found.sentence.startswith(table.sentence(MIXED))
    assert "reached AUC 0.640 on 6,000 people" in found.sentence
    assert "On true stars the strongest reaches 0.79." in found.sentence
    assert "(RMSE) rises by 0.7%, from 0.925 to 0.932 stars, and lists keep 98%" in found.sentence


@pytest.mark.parametrize(
    ("before", "after", "people", "state", "headline"),
    [
        (0.79, 0.60, 6000, "weakened", "Guessed with AUC 0.60"),
        (0.79, 0.30, 6000, "open", "Guessed with AUC 0.70"),
        (0.70, 0.85, 6000, "worse", "Easier to guess than before"),
        (0.79, 0.60, 943, "none", "Too few people to say"),
        (0.79, 0.70, 943, "open", "Guessed with AUC 0.70"),
    ],
)
def test_verdicts(before, after, people, state, headline):
    """The strongest attacker decides; few people are no evidence of hiding. None says hidden."""
    found = verdict(table_of(before, after, people=people))
    assert found.state == state
    assert found.headline.startswith(headline)
    assert "hidden" not in (found.headline + found.sentence).lower()


def test_fractions_count_as_an_attacker():
    """A release that arithmetic reads is called guessed, whatever the attacks found."""
    table = table_of(after=0.52, releases=("none", "scheme"))
    assert "fractions" not in verdict(table).sentence
    read = replace(table, fractions={"none": 0.5, "scheme": 1.0})
    assert verdict(read).headline == "Easier to guess than before"
    assert "needs no learning, reaches AUC 1.00" in verdict(read).sentence
    assert "The released fractions of scheme tell gender" in words(read)


def test_arithmetic_below_an_attacker_is_not_said():
    """It is named only where it is ahead of the strongest attacker, not near guessing, too."""
    table = table_of(after=0.75, releases=("none", "scheme"))
    behind = replace(table, fractions={"none": 0.5, "scheme": 0.65})
    assert "Arithmetic" not in verdict(behind).sentence
    weak = table_of(after=0.52, releases=("none", "scheme"))
    near = replace(weak, fractions={"none": 0.5, "scheme": 0.55})
    assert "Arithmetic" not in verdict(near).sentence


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
    page = Page(page_of(table, {"command": HOSTILE[0], HOSTILE[1]: "</table>"}).html())
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
    page = Page(page_of(table, MANIFEST).html())
    assert page.open == []
    assert table.judged == judged
    assert {name_of(row[0]) for row in page.rows if is_cost(row)} == set(releases)
    assert ("Nothing was obfuscated" in page.text) == (judged is None)
    assert ("Nothing was measured over time" in page.text) == (judged is None)


def test_several_values():
    """With more than two values the mean over values is explained."""
    text = words(table_of(values=("young", "middle", "old"), attribute="age"))
    assert "an AUC is a mean over one attack per value" in text


def test_file_is_the_page(tmp_path, whole):
    """The page is written whole over an older one, and nothing else is left in the folder."""
    target = tmp_path / "out.html"
    target.write_text("old")
    page_of(whole[0], MANIFEST).write(target)
    assert target.read_text(encoding="utf-8") == whole[1]
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("name", "said"),
    [("missing/out.html", "does not exist"), ("", "this is a folder")],
)
def test_bad_path_is_one_sentence(tmp_path, whole, name, said):
    """A folder that is not there, or in the file's place, is named, and told before any work."""
    with pytest.raises(OutputError, match=said) as refused:
        page_of(whole[0], MANIFEST).write(tmp_path / name)
    assert "\n" not in str(refused.value)
    assert str(tmp_path) in str(refused.value)


def test_odd_file_name_of_the_command_is_no_obstacle(tmp_path, whole):
    """A command line that is not Unicode is written with escapes."""
    page_of(whole[0], {"command": "tacit evaluate \udcff"}).write(tmp_path / "out.html")
    assert r"tacit evaluate \udcff" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_failed_write_keeps_the_old_page(tmp_path, whole, monkeypatch):
    """A disk that fails at the last step leaves the old page and no fragments."""
    target = tmp_path / "out.html"
    target.write_text("old")

    def fail(self, other):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OutputError, match="No space left on device"):
        page_of(whole[0], MANIFEST).write(target)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]
