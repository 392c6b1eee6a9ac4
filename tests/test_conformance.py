"""Every design passes the suite that designs of other packages are given, and has a docs page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.design import design, names
from tacit.testing import DesignConformance

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("name", names())
class TestDesigns(DesignConformance):
    @pytest.fixture(autouse=True)
    def _named(self, name):
        self.name = name

    def make(self):
        return design(self.name)

    def test_it_has_a_page_of_the_documentation(self):
        """Named as the design is."""
        assert (DOCS / f"{self.name}.md").exists()
