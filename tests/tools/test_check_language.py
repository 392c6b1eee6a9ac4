"""The language check lists names and openings that say nothing, and lets the others pass."""

from __future__ import annotations

import check_language
import pytest


@pytest.mark.parametrize(
    "name",
    ["united", "asked", "_told", "within", "beside", "each_of", "standing", "Kept", "TooFew", "at"],
)
def test_a_name_without_verb_and_noun_is_suspicious(name):
    """Participles, prepositions and adjectives, alone or together, private or not."""
    assert check_language.is_suspicious(name)


@pytest.mark.parametrize(
    "name",
    ["merge_fits", "rmse", "read_table", "Rating", "seed", "is_private", "PersonRatings", "apply"],
)
def test_a_verb_or_a_noun_is_enough(name):
    """Verbs with objects, nouns of the field, and words that only end like a participle."""
    assert not check_language.is_suspicious(name)


def listed(text: str, folder) -> list[str]:
    file = folder / "table.py"
    file.write_text(text)
    return [finding.name for finding in check_language.findings(file)]


def test_each_kind_of_name_is_listed(tmp_path):
    """Classes, functions and methods; local names only when they are asked for."""
    text = "class Kept:\n    def within(self):\n        at = 1\nasync def told():\n    pass\n"
    assert listed(text, tmp_path) == ["Kept", "told", "within"]
    names = [each.name for each in check_language.findings(tmp_path / "table.py", variables=True)]
    assert "at" in names


def test_a_module_is_listed(tmp_path):
    """The file's own name counts."""
    file = tmp_path / "stored.py"
    file.write_text("")
    assert [each.name for each in check_language.findings(file)] == ["stored"]


@pytest.mark.parametrize("opening", ["Of a row: zeros.", "The same of items.", "What is kept."])
def test_a_docstring_that_continues_a_sentence_is_listed(opening, tmp_path):
    """The first words are enough to know."""
    assert len(listed(f'def read_row():\n    """{opening}"""\n', tmp_path)) == 1


def test_a_docstring_that_stands_alone_passes(tmp_path):
    """An imperative and a noun phrase."""
    text = '"""Rows of a table."""\ndef read_row():\n    """Read one row."""\n'
    assert listed(text, tmp_path) == []


def test_every_allowed_name_has_a_reason():
    """A reason is a phrase, not a mark."""
    assert check_language.ALLOWED
    assert all(len(reason.split()) >= 3 for reason in check_language.ALLOWED.values())
