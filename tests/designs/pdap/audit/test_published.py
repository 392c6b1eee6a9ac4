"""P-DAP as published, refuted by running it: the exact numbers of the cards."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tacit.auditing.audits import audit_claim, is_as_expected
from tacit.auditing.output_distributions import distribution
from tacit.designs.pdap.audit import published_policies

SAMPLES = 1_000


def exact(audit):
    """Of each pair, by name."""
    return [pair.exact for pair in audit.pairs]


@pytest.mark.parametrize(("level", "nats"), [(3, 0.4), (5, 1.6), (7, 6.4)])
def test_one_draw_of_two_videos(level, nats):
    """epsilon' 0.1, means that swap between two cells of a level, by the whole shipped policy."""
    policy = published_policies.policy_with_swapped_means(level)
    found = [
        distribution(published_policies.arm_sampler(policy, side))
        for side in (published_policies.LEFT, published_policies.RIGHT)
    ]
    assert abs(math.log(found[0][0] / found[1][0])) == pytest.approx(nats, rel=1e-9)


def test_trees_by_what_is_sent():
    """At T = 2, 4, 8 noise for log2 T levels loses 2, 1.5 and 4/3 times the claim; noise for
    floor(log2 T) + 1 levels loses the claim. Moves are those of what the shipped vendor sends."""
    few = audit_claim(published_policies.tree_claim_with_too_few_levels(), samples=SAMPLES)
    assert exact(few) == pytest.approx([2.0, 1.5, 4 / 3])
    whole = audit_claim(published_policies.tree_claim_with_all_levels(), samples=SAMPLES)
    assert exact(whole) == pytest.approx([1.0, 1.0, 1.0])
    assert whole.verdict != "violation"


def test_gp_dap_by_what_is_sent():
    """epsilon_0 = 0.01 in the deepest cells of three horizons."""
    assert exact(
        audit_claim(published_policies.geometric_claim(), samples=SAMPLES)
    ) == pytest.approx([1.28, 5.12, 81.92])


@pytest.mark.parametrize(
    "make",
    [
        published_policies.choice_claim,
        published_policies.past_visit_claim,
        published_policies.forwarded_reward_claim,
    ],
    ids=lambda one: one.__name__,
)
def test_what_follows_from_data_is_infinite(make):
    """Exploration, the better neighbour, a split, a raw reward and a tie: by exact chances, and
    samples are above the claim."""
    audit = audit_claim(make(), samples=SAMPLES)
    for pair in audit.pairs:
        assert pair.exact == math.inf
        assert pair.lower_bound > audit.epsilon
    assert audit.lower_bound > audit.epsilon
    assert audit.verdict == "violation"


def test_a_claim_that_is_large_enough_is_not_refuted():
    """The audit can also fail to refute: then the published line is not as expected."""
    line = replace(
        published_policies.draw_claim(),
        epsilon=20.0,
        checks=published_policies.draw_claim().checks[:1],
    )
    audit = audit_claim(line, samples=SAMPLES)
    assert audit.verdict != "violation"
    assert not is_as_expected(line, audit, short=False)
