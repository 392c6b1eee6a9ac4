"""The text check refuses what ties the project to one machine, and words that are not plain."""

from __future__ import annotations

import check_text
import pytest


@pytest.mark.parametrize(
    "text",
    [
        "--index-url https://py" + "pi.org/simple",
        "files.python" + "hosted.org",
        "registry.npm" + "js.org",
        "see /ro" + "ot/notes",
        "/ho" + "me/ann/ratings.csv",
        "/Us" + "ers/ann",
    ],
)
def test_refused(text):
    """Package index hosts and home folders are found."""
    assert check_text.REFUSED.search(text)


@pytest.mark.parametrize("text", ["https://example.org", "a/roots/b", "~/ratings.csv", "homes/ann"])
def test_allowed(text):
    """Other addresses and paths are left alone."""
    assert not check_text.REFUSED.search(text)


@pytest.mark.parametrize(
    "text",
    ["Whoever reads it", "a list at\nhome", "SHE rated it", "two yardsticks", "endless reports"],
)
def test_a_word_is_refused_with_another_one(text):
    """In any case, and over the end of a line; the line says what to write."""
    (line,) = check_text.plain("docs/a.md", text)
    assert line.startswith("docs/a.md:1:")
    assert "write " in line


@pytest.mark.parametrize("text", ["the shell", "there", "a chat homepage", "endlessly_named"])
def test_parts_of_words_are_allowed(text):
    """Only whole words are refused."""
    assert not list(check_text.plain("docs/a.md", text))


def test_released_changes_stay_as_they_are():
    """Of a changelog only the unreleased part is read."""
    text = "## [Unreleased]\n- plain\n\n## [0.1.0]\n- whoever\n"
    assert not list(check_text.plain("CHANGELOG.md", text))


def test_some_words_are_refused_in_documentation_alone():
    """Code still has names of these."""
    assert list(check_text.plain("docs/a.md", "it is told"))
    assert not list(check_text.plain("src/a.py", "told = 1"))
