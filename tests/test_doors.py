"""One door to each design: a name of `tacit`, with a card, and a repr without people."""

from __future__ import annotations

import numpy as np
import pytest

import tacit

DOORS = {
    "private": "Private",
    "standard-scheme": "StandardScheme",
    "xmap": "XMap",
    "sketches": "Sketches",
    "prec": "PRec",
    "pdap": "PDap",
}


def test_every_design_has_a_door():
    """Those of the registry, and no others."""
    from tacit.design import BUILT_IN

    assert set(DOORS) == set(BUILT_IN)
    assert all(name in tacit.__all__ for name in DOORS.values())


def test_sketches_are_learned_in_one_process():
    """A device's report is counted once, and the card is of the report."""
    sketches = tacit.Sketches(range(20), rated=5, epsilon=1.0)
    device = sketches.device()
    report = device.report(sketches.campaign, sketches.items, {3: 5.0, 4: 1.0})
    assert sketches.receive(report, report) == 1
    assert repr(sketches) == "Sketches(20 items, 1 reports)"
    assert sketches.guarantees()[0].epsilon == pytest.approx(1.0, rel=1e-3)


def test_pdap_is_fitted_like_a_bandit():
    """It learns from a log, and its card is for one visit."""
    contexts = np.random.default_rng(0).random((50, 2))
    model = tacit.PDap(["a", "b"], epsilon=1.0, horizon=1_000)
    model.fit(["a", "b"] * 25, [1.0, 0.0] * 25, contexts)
    assert set(model.predict(contexts[:5])) <= {"a", "b"}
    assert model.guarantees()[0].epsilon == pytest.approx(1.0)
    assert repr(model) == "PDap(2 arms, epsilon=1, dimension=2)"


def test_prec_says_how_large_it_is():
    """No voter, no vote."""
    model = tacit.PRec(tacit.PRecSettings(10, 2, 100, epsilon=1.0), randomness=tacit.secure())
    model.open_round(["x", "y"], (["c4n4ry"], ["x"]))
    assert "c4n4ry" not in repr(model)
