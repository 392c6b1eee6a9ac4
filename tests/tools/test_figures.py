"""The pictures of the documentation are those of its records."""

from __future__ import annotations

import re

import figures
import pytest
from figures import FOLDER, THEMES, Parties, Theme

NUMBER = re.compile(r"-?\d+\.\d+")


@pytest.fixture(scope="module")
def drawn():
    """Every figure in both themes."""
    return figures.draw_all()


def without_digits(svg):
    """Leave out the digits that another processor may compute otherwise: beyond the second."""
    return NUMBER.sub(lambda match: f"{float(match[0]):.2f}", svg)


def test_the_files_are_what_records_and_planners_give(drawn):
    """Each in both themes; `make figures` writes them."""
    assert len(drawn) >= 20
    assert {file.name for file in FOLDER.glob("*.svg")} == set(drawn)
    for name, text in drawn.items():
        assert without_digits((FOLDER / name).read_text(encoding="utf-8")) == without_digits(
            text
        ), name


def test_a_changed_record_changes_the_picture(monkeypatch, drawn):
    """A figure is drawn from the record, not from a copy of its numbers."""
    shipped = figures.read_record

    def better(name):
        record = shipped(name)
        for row in record["values"]["rows"]:
            row["ndcg"] = row["ndcg"] + 0.05
        return record

    before = drawn[f"private-ndcg-{THEMES[0].name}.svg"]
    monkeypatch.setattr(figures, "read_record", better)
    assert figures.draw_list_quality(THEMES[0]) != before


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_a_diagram_names_each_party_and_whom_to_trust(theme: Theme):
    """Words of the data are escaped."""
    parties = Parties((("a <b>", "x"), ("c", "y")), ("z",), (True, False))
    diagram = figures.draw_parties(parties, theme)
    assert "a &lt;b&gt;" in diagram
    assert (diagram.count(">trusted<"), diagram.count(">not trusted<")) == (1, 1)
