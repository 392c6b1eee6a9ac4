"""The study of quick attackers compares them with the thorough ones of the same names."""

from __future__ import annotations

import pytest

from benchmarks.studies import quick_attackers
from benchmarks.studies.quick_attackers import STRONGEST, measure
from tacit.auditing.attacks import QUICK


def test_a_difference_is_quick_less_thorough(monkeypatch):
    """In mean over the seeds, with both kinds of attackers on the same world and seed."""
    distances = {(0, True): 0.10, (0, False): 0.12, (1, True): 0.15, (1, False): 0.21}

    def attack(ratings, seed, *, quick):
        assert ratings.n_users == 50
        return {("retrained", STRONGEST): distances[seed, quick]}, 3.0 if quick else 5.0

    monkeypatch.setattr(quick_attackers, "attack", attack)
    found = measure(None, users=50, seeds=2)
    (row,) = found["rows"]
    assert (row["quick"], row["thorough"]) == (pytest.approx(0.125), pytest.approx(0.165))
    mean, low, high = row["difference"]
    assert mean == pytest.approx(-0.04)
    assert low < mean < high
    assert (found["quick_seconds"], found["thorough_seconds"]) == (3.0, 5.0)


@pytest.mark.long
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
