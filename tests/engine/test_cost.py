"""Estimates of what a fit needs, as they are shown."""

from __future__ import annotations

import pytest

from tacit.engine.cost import Cost


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (3_210_000, "3.21 MB"),
        (999_499, "999 kB"),
        (999_700, "1 MB"),
        (999_999_999_999, "1 TB"),
        (2_345_600_000_000_000, "2,346 TB"),
    ],
)
def test_bytes_have_three_digits_and_no_exponent(number, shown):
    """A number that rounds to 1000 has the next unit; the largest unit has more digits."""
    cost = Cost(1, 1, 1, number, 0, 0, one_machine_core_hours=0.0, cluster_core_hours=0.0)
    on_a_cluster, _ = cost.sentences
    assert f"; {shown} shuffled" in on_a_cluster
