"""What asking all neighbours costs is measured in worlds that are otherwise the same."""

from __future__ import annotations

import pytest

from benchmarks.studies.pdap_forwarding import runs, summary
from tacit.designs.pdap.experiment.world import World

SMALL = World(vendors=3, videos=2, dimensions=1, arrivals=60)


def test_each_way_has_a_row_and_its_price():
    """Words cost caution on top."""
    rows = list(runs(["chosen", "all"], SMALL, 1.0, [0, 1]))
    chosen, every = summary(rows)
    assert chosen["ratio"].mean == 1.0
    assert chosen["epsilon_spent_per_visit"] == pytest.approx(2.1)
    assert every["epsilon_spent_per_visit"] == pytest.approx(2.0)
