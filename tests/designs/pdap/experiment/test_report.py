"""Tables of the report: what stands in which column."""

from __future__ import annotations

import math

from tacit.designs.pdap.experiment.claims import Claim
from tacit.designs.pdap.experiment.orderings import PaperOrdering
from tacit.designs.pdap.experiment.report import (
    claim_table,
    ordering_table,
    regret_table,
    title_of,
    verdict,
)
from tacit.designs.pdap.experiment.summary import Contender, RegretPoint
from tacit.evaluation import Interval

DAP = ("dap", math.inf)


def ordering(mean, low, high, said, *, protocol="train-then-test", above="dap", epsilon=math.inf):
    difference = Interval(mean, low, high)
    return PaperOrdering(above, "cap", epsilon, protocol, 5000, difference, said)


def test_regret_is_shown_in_the_order_of_visits():
    """Six columns at most, equally far apart, of which the last is the end of the training."""
    points = [RegretPoint(*DAP, 100 * n, 0.5 - 0.01 * n, 0.0, 1.0) for n in range(1, 14)]
    table = regret_table(points)
    assert table.columns == ["average regret", *(f"{n:,}" for n in (100, 400, 700, 1000, 1300))]
    assert table.rows == [["DAP", "0.4900", "0.4600", "0.4300", "0.4000", "0.3700"]]


def test_differences_are_shown_in_percentage_points():
    """With both ends of the interval; without an interval, of one seed, alone."""
    several = ordering(0.02, 0.005, 0.035, "holds")
    single = ordering(-0.02, -math.inf, math.inf, "one seed only", above="p-dap", epsilon=0.1)
    first, second = ordering_table([several, single]).rows
    assert first[:4] == ["DAP above CAP", None, "test of what was learned", "5,000"]
    assert (first[4].text, first[4].small) == ("+2.00", "+0.50 to +3.50")
    assert (first[5].text, first[5].tone) == ("holds", "better")
    assert second[:2] == ["P-DAP above CAP", "0.1"]
    assert (second[4].text, second[4].small) == ("−2.00", "")


def test_a_claim_says_where_the_paper_has_the_value():
    """At most or at least; and what was measured, with its interval."""
    measured = Interval(0.05, 0.04, 0.06)
    most = Claim("Figure 6", "regret", *DAP, -math.inf, 0.02, measured, "does not hold")
    least = Claim("Figure 8", "saving", "gp-dap", 0.01, 0.32, math.inf, measured, "holds")
    first, second = claim_table([most, least]).rows
    assert first[:4] == ["Figure 6", "DAP", "regret", "0.02 or less"]
    assert second[:4] == ["Figure 8", "GP-DAP, ε = 0.01", "saving", "0.32 or more"]
    assert (first[4].text, first[5].tone, second[5].tone) == ("0.0500", "worse", "better")


def test_the_papers_protocol_is_judged_where_it_was_run():
    """Of two orderings in its test one holds; what the training says is not counted then."""
    tested = [ordering(0.1, 0.05, 0.2, "holds"), ordering(0.0, -0.1, 0.1, "not distinguished")]
    training = ordering(-0.1, -0.2, -0.05, "the reverse", protocol="cumulative")
    found = verdict([*tested, training])
    assert found.headline.startswith("1 of 2")
    assert "1 cannot be separated" in found.sentence
    assert "other way round" not in found.sentence
    assert verdict([training]).headline.startswith("0 of 1")
    assert verdict(tested[:1]).state == "good"


def test_policies_are_titled_with_their_epsilon():
    """Only those that have one."""
    contenders = (Contender(*DAP), Contender("p-dap", 0.01), Contender("sound-joint", 1.0))
    assert [title_of(contender) for contender in contenders] == [
        "DAP",
        "P-DAP, ε = 0.01",
        "sound joint, ε = 1",
    ]
