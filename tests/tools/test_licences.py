"""docs/licences.md names the licence of every dependency in requirements.lock."""

from __future__ import annotations

import licences
import pytest


def test_the_page_is_that_of_the_lock_and_the_packages():
    """Regenerated, it is the same; `python tools/licences.py` writes it."""
    assert licences.PAGE.read_text("utf-8") == licences.page()


def test_all_dependencies_are_on_it():
    """Those that always come with tacit are marked; OpenDP, which an extra brings, is not."""
    marked = {package.name for package in licences.packages() if package.is_direct}
    assert marked == licences.direct_dependencies()
    assert "numpy" in marked
    assert "opendp" not in marked


def test_a_package_without_a_licence_stops_it(monkeypatch):
    """Nobody guesses."""
    monkeypatch.setattr(licences, "read_licence", lambda facts: "")
    with pytest.raises(SystemExit, match="states no licence"):
        licences.page()
