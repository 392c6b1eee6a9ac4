"""Sketches on the bench: the shipped device, all its reports on small catalogues, planted bugs."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest

from tacit.auditing.audits import audit_claim
from tacit.auditing.bugs import examine
from tacit.designs.sketches.audit import audits
from tacit.designs.sketches.audit.audits import MECHANISMS, audited_mechanism
from tacit.designs.sketches.audit.enumeration import (
    WORLDS,
    choose_secrets,
    largest_loss,
    neighbour_pairs,
    report_chances,
    small_campaign,
)
from tacit.designs.sketches.audit.planted_bugs import BUGS
from tacit.designs.sketches.messages import METHODS, UNITS

SAMPLES = 2_000


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("questions", [1, 2, 3, 4])
@pytest.mark.parametrize("rated", [1, 2, 4])
def test_the_claim_is_met_exactly(unit, questions, rated):
    """For every Q, w and unit, the enumerated loss is at most epsilon, and as the unit shares it:
    a person who rated w items moves at most min(Q, 2w) bits."""
    campaign = small_campaign(unit, questions, rated, 1.0)
    found = largest_loss(campaign, unit)
    assert found <= 1.0 + 1e-12
    # All bits that may change can change, so nothing is paid for in vain.
    assert found == pytest.approx(1.0, rel=1e-6)


def test_neighbours_are_what_units_say():
    """By hand on four items: all pairs, one more or less, one moved."""
    assert [len(list(neighbour_pairs(unit))) for unit in UNITS] == [120, 32, 24]


def test_distributions_are_whole():
    """Chances of all reports add up to 1, and two answers have four of them."""
    campaign = small_campaign("user", 2, 2, 1.0)
    shown = report_chances(campaign, choose_secrets(campaign)[0], WORLDS[5])
    assert sum(shown.values()) == Fraction(1)
    assert len(shown) == 4


@pytest.mark.parametrize(
    "make",
    [
        lambda: audited_mechanism(1, 1.0),
        lambda: audited_mechanism(3, 6.0),
        lambda: audited_mechanism(4, 1.0, "rating"),
        lambda: audited_mechanism(4, 1.0, "moved rating"),
        lambda: audited_mechanism(2, 1.0, method="pairwise-preference"),
        lambda: audited_mechanism(1, 1.0, "stars", "pairwise-rated"),
        lambda: audited_mechanism(2, 1.0, method="pairwise-identical"),
        lambda: audited_mechanism(1, 1.0, "stars", "pairwise-rated-identical"),
    ],
)
def test_no_violation_is_found(make):
    """Samples of the device stay below the claim, at no less than an ideal auditor's bound, and
    neither draws nor errors tell the neighbours apart."""
    found = audit_claim(make().claim, samples=SAMPLES)
    assert found.verdict != "violation"
    for pair in found.pairs:
        assert pair.ideal <= pair.lower_bound <= found.epsilon
        assert pair.differences == ()
        assert pair.failed == ""


def test_too_low_a_claim_is_refuted():
    """Six nats claimed to be two: by computation and by samples."""
    wrong = dataclasses.replace(audited_mechanism(3, 6.0), epsilon=2.0)
    found = audit_claim(wrong.claim, samples=SAMPLES)
    assert found.verdict == "violation"
    assert found.exact > 5.9
    assert found.lower_bound > 2.0


def test_every_unit_and_method_is_on_the_bench():
    """Nothing that a campaign can ask for is left out."""
    made = [make() for make in MECHANISMS]
    assert {mechanism.unit for mechanism in made} == {*UNITS, "stars"}
    names = {mechanism.mechanism.partition(",")[0] for mechanism in made}
    assert names == {"maxsense", *METHODS}
    assert all(pair.draws_its_own_noise for mechanism in made for pair in mechanism.pairs)
    assert audits.SAMPLES >= SAMPLES


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_planted_bugs_are_caught(bug):
    """Each bug is called broken, its clean twin is not."""
    caught, twin = examine(bug)
    assert caught.caught
    assert not twin.alarm
