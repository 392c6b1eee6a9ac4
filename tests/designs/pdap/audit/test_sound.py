"""The sound P-DAP on the bench: exact losses that meet the claim, replays, and planted bugs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.auditing import exact_losses
from tacit.auditing.audits import audit_claim
from tacit.auditing.empirical import best_known_event
from tacit.auditing.output_distributions import encode_outcomes
from tacit.auditing.sampler_spy import laplace_loss, measure_moves
from tacit.designs.pdap import theory
from tacit.designs.pdap.audit import devices, joint
from tacit.designs.pdap.audit import forwarded_messages as forwarded
from tacit.designs.pdap.audit.joint import (
    find_differences,
    release_by,
    replace_visit,
    unlearn_visit,
)
from tacit.designs.pdap.audit.plan import SAMPLES, SOUND
from tacit.designs.pdap.audit.planted_bugs import BUGS, StreamBug
from tacit.designs.pdap.forwarding import Agreement
from tacit.randomness import secure

SAMPLES_OF_A_TEST = 1_000


def what_is_run(bug):
    """Name the run that is audited without the bug: its tool and streams; else the bug itself."""
    if not isinstance(bug, StreamBug):
        return bug.name
    return bug.tool, id(bug.rows), bug.visit, id(bug.other), bug.run_stream


ONE_OF_EACH_TWIN = {what_is_run(bug): bug for bug in BUGS}.values()


@pytest.mark.parametrize("arms", [2, 10])
def test_draw_loses_what_the_closed_form_says(arms):
    """From the weights that the shipped device draws with, on the worst tables."""
    make = devices.maker_with_worst_table(arms)
    p, q = (devices.arm_distribution(make, side) for side in (devices.LEFT, devices.RIGHT))
    told, explore = make(secure()).setting, float(make(secure()).explore)
    assert sum(p.values()) == sum(q.values()) == Fraction(1)
    exponent = theory.exponent_for(told.draw_epsilon, arms, explore)
    found = math.log(p[0] / q[0])
    assert found == pytest.approx(theory.mixed_loss(exponent, arms, explore))
    assert found <= told.draw_epsilon * (1 + 1e-9)


def test_laws_of_a_visit_are_whole():
    """Arm and answer together: chances add up to 1, for all combinations."""
    found = devices.visit_distribution(devices.maker_with_worst_table(2), devices.LEFT, 1.0)
    assert sum(found.values()) == Fraction(1)
    assert len(found) == 2 * 4
    whole = devices.life_distribution(devices.maker_with_worst_table(2), devices.LEFT, 1.0)
    assert sum(whole.values()) == Fraction(1)
    assert len(whole) == (2 * 4) ** 2 * 2  # two visits that are reported, and one that is not


def test_a_life_leaves_the_device_as_its_law_says():
    """What the shipped device sends in three visits is an outcome of the law: two answers."""
    whole = devices.life_distribution(devices.maker_with_worst_table(2), devices.LEFT, 1.0)
    for _ in range(50):
        seen = devices.simulate_life(devices.maker_with_worst_table(2), devices.LEFT, 1.0)
        assert seen in whole
        assert [answer is None for _, answer in seen] == [False, False, True]


def test_the_metered_audit_is_sure_to_see_something():
    """Of a whole life's law an event is known that shows a quarter of the claim at the audit's
    samples."""
    p, q = (
        devices.life_distribution(devices.maker_with_worst_table(2), *side)
        for side in ((devices.LEFT, 1.0), (devices.RIGHT, 0.0))
    )
    code = {seen: place for place, seen in enumerate(dict.fromkeys([*p, *q]))}
    known = best_known_event(
        (encode_outcomes(p, code), encode_outcomes(q, code)), SAMPLES // 2, 1e-6
    )
    assert known.ideal > 0.25 * devices.PAID_VISITS * devices.EPSILON


@pytest.mark.parametrize("make", SOUND[:3], ids=lambda make: make.__name__)
def test_what_leaves_at_random_keeps_its_claim(make):
    """By exact chances the claim is met, to the rounding of chances; no more is seen in samples."""
    audit = audit_claim(make(), samples=SAMPLES_OF_A_TEST)
    assert 0.99 * audit.epsilon < audit.exact <= audit.epsilon * (1 + 1e-9)
    assert audit.lower_bound <= audit.epsilon
    assert audit.verdict != "violation"


def test_bytes_of_all_peers_together_cost_once():
    """R09: any number of neighbours that collude have the bytes of one randomisation."""
    law = forwarded.sent_distribution(joint_agreement(), devices.LEFT)
    assert all(len({data for _, data in got}) == 1 for got in law)
    assert all(len(got) == forwarded.PEERS for got in law)
    assert sum(law.values()) == Fraction(1)


def test_asking_only_who_was_chosen_tells_the_cell():
    """On one side nobody is asked and on the other one neighbour is: no epsilon covers that. Where
    all are asked, the loss is that of the bytes alone."""
    for asks_all, claimed in ((False, math.inf), (True, devices.EPSILON)):
        left, right = (
            forwarded.sent_distribution(joint_agreement(), side, asks_all=asks_all)
            for side in (devices.LEFT, devices.RIGHT)
        )
        loss = exact_losses.largest_loss({0: left, 1: right}.__getitem__, [(0, 1), (1, 0)])
        assert loss == pytest.approx(claimed, rel=1e-6)


def joint_agreement():
    return Agreement(1, 3, devices.EPSILON)


@pytest.mark.parametrize(("name", "rows", "visit"), joint.PAIRS, ids=[p[0] for p in joint.PAIRS])
def test_all_that_is_released_moves_by_the_claim_at_most(name, rows, visit):
    """Every released sum, noiseless and with one noise at a time: the L1 distance over the scales
    is at most epsilon, and no number moves without noise."""
    found = laplace_loss(
        measure_moves(
            release_by(joint.learner_maker(joint.make_setting())), rows, unlearn_visit(rows, visit)
        )
    )
    assert 0.9 * joint.EPSILON < found <= joint.EPSILON * (1 + 1e-9)


@pytest.mark.parametrize(("name", "rows", "visit"), joint.PAIRS, ids=[p[0] for p in joint.PAIRS])
def test_all_choices_follow_from_releases(name, rows, visit):
    """With the same releases everybody else is shown the same, and the same is believed, by the
    shipped learner."""
    other = unlearn_visit(rows, visit)
    assert find_differences(joint.learner_maker(joint.make_setting()), rows, other) == ()


def test_an_arm_that_joins_or_leaves_changes_no_price():
    """With an arm more from the middle of the stream on, and one less, the loss is the claim."""

    def changing(source):
        policy = joint.JointLearner(joint.make_setting(), randomness=source)
        shipped = policy.select

        def select(context, arms=None):
            if policy.arrivals == 1:
                policy.add_arm()
            if policy.arrivals == 4:
                policy.remove_arm(1)
            return shipped(context, arms)

        policy.select = select
        return policy

    rows = joint.stream((0.0, 0, 1.0), (0.0, 2, 1.0), (0.0, 0, 1.0), (1.0, 3, 0.0), (1.0, 3, 1.0))
    for visit in (0, 3):
        other = unlearn_visit(rows, visit)
        assert find_differences(changing, rows, other) == ()
        assert laplace_loss(measure_moves(release_by(changing), rows, other)) <= joint.EPSILON * (
            1 + 1e-9
        )


def test_a_visit_replaced_costs_twice():
    """Another visitor, elsewhere, with another reward: as the card says."""
    rows = joint.stream((0.0, 0, 1.0), (1.0, 1, 0.0))
    learner = joint.learner_maker(joint.make_setting())
    found = laplace_loss(measure_moves(release_by(learner), rows, replace_visit(rows, 0, 1.0, 0.0)))
    assert found == pytest.approx(2 * joint.EPSILON, rel=1e-5)
    assert found <= 2 * joint.EPSILON


def test_a_row_of_a_log_replaced_costs_twice_at_most():
    """Another arm, context and reward in its place: what is believed follows from releases."""
    learner = joint.learner_maker(joint.make_setting())
    other = joint.LOG.copy()
    other[1] = [0.0, 0, 1, 0.0]
    run = release_by(learner, joint.run_log)
    assert joint.EPSILON < laplace_loss(measure_moves(run, joint.LOG, other)) <= 2 * joint.EPSILON
    assert find_differences(learner, joint.LOG, other, joint.run_log) == ()


def test_lines_of_the_joint_learner_hold():
    """One line from end to end, on the bench: no violation, and a bound that says something. With
    these samples the audit is not weak; the bound is 2 of 8 nats, and 2.7 of 4,000 samples."""
    line = joint.replaced_visit_claim()
    audit = audit_claim(line, samples=2_500)
    assert audit.exact == pytest.approx(joint.LARGE_EPSILON, rel=1e-5)
    assert 0.1 * joint.LARGE_EPSILON < audit.lower_bound <= joint.LARGE_EPSILON
    assert audit.pairs[0].differences == ()
    assert audit.verdict == "no violation found"


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_planted_bugs_are_caught(bug):
    """Each bug is called broken, by its own tool and not by the rules alone."""
    caught, _ = bug.audit(planted=True)
    assert caught


@pytest.mark.parametrize("bug", ONE_OF_EACH_TWIN, ids=lambda bug: bug.name)
def test_shipped_twins_of_bugs_are_not_called_broken(bug):
    """Nor is the shipped learner, by the same tool on the same streams; once for bugs that have
    both in common."""
    alarm, _ = bug.audit(planted=False)
    assert not alarm


def test_bugs_are_put_back():
    """After an audit the shipped steps are the shipped ones."""
    noise = joint.make_setting().noise
    BUGS[0].audit(planted=True)
    drawn = noise.add_to(np.zeros((2_000, 2, 1), dtype=np.int64))
    assert np.count_nonzero(drawn[:, 0]) > 1_000
