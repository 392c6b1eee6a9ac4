"""The study of verdicts counts runs, and has intervals of shares that are exact."""

from __future__ import annotations

import pytest
from scipy import stats

from benchmarks.studies.comparison_verdicts import measure, share_of_runs


def test_a_worse_model_is_found_in_each_of_a_few_runs():
    """Six times the noise; of the full study it is found in 200 of 200."""
    (row,) = measure(["worse"], runs=3, seed=5)
    assert row["runs"] == 3
    assert row["worse"][0] == 1.0
    assert row["tie"][0] == row["better"][0] == 0.0
    assert row["difference"] < 0


@pytest.mark.parametrize("count", [0, 3, 190, 200])
def test_the_interval_of_a_share_is_scipys(count):
    """Clopper and Pearson, also where no run or every run is counted."""
    exact = stats.binomtest(count, 200).proportion_ci(0.95, method="exact")
    assert share_of_runs(count, 200) == pytest.approx([count / 200, exact.low, exact.high])
