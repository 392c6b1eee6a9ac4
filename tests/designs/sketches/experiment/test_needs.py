"""The lines of the planner's plot are its own numbers, and no bound is drawn that does not hold."""

from __future__ import annotations

import pytest

from tacit.designs.sketches.commands import FIXED_QUESTIONS, NOBODY_BELOW, needs
from tacit.designs.sketches.planner import plan


def panel(varied, **wanted):
    planned = plan(**({"items": 200, "rated": 20, "epsilon": 1.0} | wanted))
    return next(found for found in needs(planned) if found.varied == varied), planned


def at(line, value):
    return next(people for x, people in line if x == pytest.approx(value))


def test_nobody_below_is_for_any_learner():
    """What holds for learners that do not adapt has a line of its own."""
    found, planned = panel("epsilon")
    bounds = planned.lower_bounds
    anybody = max(bounds["ldp"], bounds["adaptive"])
    assert at(found.lines[NOBODY_BELOW], 1.0) == pytest.approx(anybody)
    assert at(found.lines[FIXED_QUESTIONS], 1.0) == pytest.approx(bounds["scarce"])
    assert bounds["scarce"] > anybody


def test_fixed_questions_do_not_help():
    """A learner that may not adapt needs no fewer people than any learner."""
    for varied in ("epsilon", "rated", "items"):
        lines = panel(varied, rated=150)[0].lines
        pairs = zip(lines[NOBODY_BELOW], lines[FIXED_QUESTIONS], strict=True)
        assert all(fixed[1] >= anybody[1] for anybody, fixed in pairs)


@pytest.mark.parametrize("unit", ["rating", "moved rating"])
def test_other_units_have_no_bound(unit):
    """The bounds are for a person's whole report: for one rating none is drawn."""
    lines = panel("rated", unit=unit)[0].lines
    assert "maxsense" in lines
    assert NOBODY_BELOW not in lines
    assert FIXED_QUESTIONS not in lines


@pytest.mark.parametrize("epsilon", [1e-6, 2147.0])
def test_the_plot_stays_where_plans_are(epsilon):
    """At either end of what a campaign can state, the plot ends there too."""
    found = panel("epsilon", epsilon=epsilon)[0]
    assert all(1e-6 <= x < 2147.5 for x, _ in found.lines["maxsense"])
