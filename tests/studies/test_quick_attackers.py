"""The study of quick attackers compares them with the thorough ones of the same names."""

from __future__ import annotations

import pytest

from benchmarks.studies.quick_attackers import STRONGEST, measure
from tacit.auditing.attacks import QUICK


def test_both_ways_attack_the_same_world():
    """A row for each attacker in each view; what has no shorter way has no difference."""
    found = measure(None, users=100, seeds=1)
    rows = {(row["view"], row["attacker"]): row for row in found["rows"]}
    for view in ("true stars", "retrained"):
        assert {attacker for name, attacker in rows if name == view} == {*QUICK, STRONGEST}
        for attacker in ("naive-bayes", "logistic-svd", "nearest-neighbours"):
            assert rows[view, attacker]["difference"][0] == 0
        assert rows[view, "boosting-meta"]["difference"][0] != 0
        of_attackers = [rows[view, attacker]["quick"] for attacker in QUICK]
        assert rows[view, STRONGEST]["quick"] >= max(of_attackers) - 1e-12
    differences = [row["difference"][0] for row in found["rows"]]
    assert found["mean_difference"] == pytest.approx(sum(differences) / len(differences))
