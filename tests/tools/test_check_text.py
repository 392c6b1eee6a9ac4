"""The text check refuses what ties the project to one machine."""

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
