"""Orderings, claims and summaries: what rows of runs say of the paper."""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import pytest

from tacit.designs.pdap.experiment.claims import check_claims
from tacit.designs.pdap.experiment.orderings import check_orderings, judge_ordering
from tacit.designs.pdap.experiment.paper_figures import accuracies_of_paper
from tacit.designs.pdap.experiment.run import Row
from tacit.designs.pdap.experiment.summary import regret_over_time, summarise_runs
from tacit.evaluation import Interval


def row(
    policy,
    accuracy,
    *,
    seed=0,
    arrivals=5000,
    epsilon=math.inf,
    protocol="cumulative",
    test=0,
    average_regret=0.1,
    first_forwarded=None,
):
    return Row(
        policy=policy,
        epsilon=epsilon,
        protocol=protocol,
        arrivals=arrivals,
        test=test,
        seed=seed,
        accuracy=accuracy,
        regret=average_regret * arrivals,
        average_regret=average_regret,
        explored=0.25,
        trained=0.25,
        exploited=0.5,
        forwarded=0.5,
        first_forwarded=first_forwarded,
        best=0.9,
        epsilon_spent_per_visit=math.inf,
    )


def test_orderings_are_paired_over_seeds():
    """Differences of 5, 6 and 7 points hold; one seed tells nothing; the reverse is said."""
    rows = [row("dap", 0.8, seed=s) for s in range(3)]
    rows += [row("cap", 0.75 - 0.01 * s, seed=s) for s in range(3)]
    rows += [row("dup", 0.9 - 0.01 * s, seed=s) for s in range(3)]
    found = {(one.above, one.below): one for one in check_orderings(rows)}
    assert found["dap", "cap"].verdict == "holds"
    assert found["dap", "cap"].difference.mean == pytest.approx(0.06)
    assert found["dap", "dup"].verdict == "the reverse"
    assert check_orderings(rows[:1] + rows[3:4])[0].verdict == "one seed only"
    assert judge_ordering(Interval(0.0, -0.1, 0.1)) == "not distinguished"


def test_each_protocol_has_orderings_of_its_own():
    """DAP above CAP in one test and below it in the other are two lines."""
    rows = []
    for seed in range(3):
        noise = 0.001 * seed
        rows += [row("dap", 0.5, seed=seed), row("cap", 0.4 + noise, seed=seed)]
        rows += [
            row("dap", 0.5, seed=seed, protocol="train-then-test", test=100),
            row("cap", 0.6 + noise, seed=seed, protocol="train-then-test", test=100),
        ]
    found = {(one.protocol, one.test): one.verdict for one in check_orderings(rows)}
    assert found == {("cumulative", 0): "holds", ("train-then-test", 100): "the reverse"}


def test_each_smaller_epsilon_is_held_against_the_largest():
    """Of three epsilons two are compared, paired over seeds, each at its own difference."""
    regrets = {0.01: 0.3, 0.1: 0.2, 1.0: 0.1}
    rows = [
        row("p-dap", 0.5, seed=seed, epsilon=epsilon, average_regret=regret + 0.01 * seed)
        for epsilon, regret in regrets.items()
        for seed in range(3)
    ]
    found = {
        claim.epsilon: claim.measured.mean
        for claim in check_claims(rows)
        if "above that at epsilon 1," in claim.claim
    }
    assert found == {0.01: pytest.approx(0.2), 0.1: pytest.approx(0.1)}


def test_summaries_have_a_row_for_each_protocol_and_size():
    """The end of the training, not its checkpoints, and each test; means and intervals."""
    rows = [row("dap", 0.1, arrivals=2500, seed=s) for s in range(2)]
    rows += [row("dap", 0.5 + 0.2 * s, seed=s, first_forwarded=30 + s) for s in range(2)]
    rows += [
        row("dap", 0.3, seed=s, protocol="train-then-test", test=n)
        for s in range(2)
        for n in (10, 20)
    ]
    found = summarise_runs(rows)
    assert [(one.protocol, one.test) for one in found] == [
        ("cumulative", 0),
        ("train-then-test", 10),
        ("train-then-test", 20),
    ]
    assert found[0].accuracy == pytest.approx(0.6)
    assert found[0].low < 0.6 < found[0].high
    assert (found[0].seeds, found[0].first_forwarded) == (2, 30)
    assert (found[1].low, found[1].high) == (pytest.approx(0.3), pytest.approx(0.3))


def test_each_share_is_the_mean_of_its_own():
    """No two shares of a run are equal, so none of them can stand for another."""
    shares = {"explored": 0.1, "trained": 0.2, "exploited": 0.7, "forwarded": 0.4, "best": 0.8}
    rows = [
        replace(row("dap", 0.5, seed=seed, average_regret=0.3 + 0.02 * seed), **moved)
        for seed in range(2)
        for moved in [{name: share + 0.05 * seed for name, share in shares.items()}]
    ]
    (found,) = summarise_runs(rows)
    means = asdict(found)
    for name, share in shares.items():
        assert means[name] == pytest.approx(share + 0.025)
    assert found.average_regret.mean == pytest.approx(0.31)
    assert found.average_regret.low < 0.3 < found.average_regret.high


def test_a_policy_that_repeats_at_one_seed_alone_is_not_compared():
    """Orderings are paired: without the same seeds there is no pair."""
    rows = [row("dap", 0.8, seed=s) for s in (0, 1)] + [row("cap", 0.7, seed=s) for s in (0, 2)]
    assert check_orderings(rows) == []


def test_private_policies_are_ordered_at_each_epsilon():
    """DAP above GP-DAP is said once for each epsilon, against the same runs of DAP."""
    rows = [row("dap", 0.8, seed=s) for s in range(2)]
    for epsilon, accuracy in ((0.1, 0.6), (1.0, 0.7)):
        rows += [row("gp-dap", accuracy, seed=s, epsilon=epsilon) for s in range(2)]
    found = {
        (one.above, one.below, one.epsilon): one.difference.mean for one in check_orderings(rows)
    }
    assert found == {
        ("dap", "gp-dap", 0.1): pytest.approx(0.2),
        ("dap", "gp-dap", 1.0): pytest.approx(0.1),
    }


def test_regret_over_time_has_the_training_alone():
    """One point for each checkpoint, with the mean over seeds."""
    rows = [
        row("dap", 0.5, arrivals=n, seed=s, average_regret=0.2 - 0.00001 * n + 0.01 * s)
        for n in (1000, 5000)
        for s in range(3)
    ]
    rows.append(row("dap", 0.5, protocol="train-then-test", test=10))
    found = regret_over_time(rows)
    assert [point.arrivals for point in found] == [1000, 5000]
    assert found[0].average_regret == pytest.approx(0.2)
    assert found[1].average_regret == pytest.approx(0.16)
    assert found[1].low < 0.16 < found[1].high


def claims_of(**regrets):
    """Claims where each policy has this average regret, plus a little for each of three seeds."""
    names = {"p_dap": ("p-dap", 0.01), "p_dap_1": ("p-dap", 1.0), "gp_dap": ("gp-dap", 0.01)}
    rows = []
    for name, regret in regrets.items():
        policy, epsilon = names.get(name, (name, math.inf))
        for seed in range(3):
            level = regret + 0.0001 * seed
            rows.append(row(policy, 0.5, seed=seed, epsilon=epsilon, average_regret=level))
    return {(one.item, one.policy, one.claim[:20]): one for one in check_claims(rows)}


def test_claims_about_levels_of_regret():
    """DAP at .019 keeps the paper's .02 and at .03 does not; P-DAP's limit at .01 is .03."""
    held = claims_of(dap=0.019, p_dap=0.029)
    assert held["Figure 6", "dap", "average regret at th"].verdict == "holds"
    assert held["Figure 7", "p-dap", "average regret at th"].verdict == "holds"
    broken = claims_of(dap=0.03, p_dap=0.136)
    assert broken["Figure 6", "dap", "average regret at th"].verdict == "does not hold"
    assert broken["Figure 7", "p-dap", "average regret at th"].verdict == "does not hold"
    assert broken["Figure 7", "p-dap", "average regret at th"].most == 0.03


def test_claims_about_who_has_the_lowest_regret():
    """DAP below CAP holds; below DUP, which has less, does not; epsilon 1 is below .01."""
    found = claims_of(dap=0.1, cap=0.2, dup=0.05, p_dap=0.3, p_dap_1=0.2)
    above = "average regret above"
    assert found["Figure 6", "cap", above].verdict == "holds"
    assert found["Figure 6", "cap", above].measured.mean == pytest.approx(0.1)
    assert found["Figure 6", "dup", above].verdict == "does not hold"
    costs = found["Figure 7", "p-dap", above]
    assert costs.verdict == "holds"
    assert costs.measured.mean == pytest.approx(0.1)


def test_what_geometric_noise_saves_is_a_share():
    """A regret of .08 beside .1 saves 20 %, not the paper's 32 %; .06 saves 40 %."""
    less = claims_of(p_dap=0.1, gp_dap=0.08)["Figure 8", "gp-dap", "share by which regre"]
    assert less.verdict == "does not hold"
    assert less.measured.mean == pytest.approx(0.2, abs=1e-3)
    more = claims_of(p_dap=0.1, gp_dap=0.06)["Figure 8", "gp-dap", "share by which regre"]
    assert more.verdict == "holds"


def test_nothing_is_saved_where_nothing_is_lost():
    """A seed without regret of P-DAP is left out; without any regret there is no claim."""
    rows = []
    for seed in range(3):
        lost = 0.0 if seed == 0 else 0.1
        rows.append(row("p-dap", 0.5, seed=seed, epsilon=0.01, average_regret=lost))
        rows.append(row("gp-dap", 0.5, seed=seed, epsilon=0.01, average_regret=0.05))
    (claim,) = [one for one in check_claims(rows) if one.item == "Figure 8"]
    assert claim.measured.mean == pytest.approx(0.5)
    assert [one for one in check_claims(rows[:2]) if one.item == "Figure 8"] == []


def test_growth_of_regret_is_measured_in_the_second_half():
    """Regret that doubles with the visits grows as a power of 1; as their root, .5."""
    rows = []
    for seed in range(3):
        for arrivals in (1000, 2000):
            linear = 0.1
            root = 0.1 / math.sqrt(arrivals / 1000) + 0.001 * seed
            rows.append(row("dup", 0.5, seed=seed, arrivals=arrivals, average_regret=linear))
            rows.append(row("dap", 0.5, seed=seed, arrivals=arrivals, average_regret=root))
    found = {one.policy: one for one in check_claims(rows) if one.most == 1.0}
    assert found["dup"].measured.mean == pytest.approx(1.0)
    assert found["dap"].measured.mean == pytest.approx(0.5, abs=0.02)
    assert found["dap"].verdict == "holds"


def test_a_regret_of_zero_has_no_growth():
    """Of three seeds one has lost nothing: the claim is made of the two others, without a word of
    it where all three have lost nothing."""
    rows = []
    for seed in range(3):
        for arrivals in (1000, 2000):
            some = 0.0 if seed == 0 else 0.1
            rows.append(row("dap", 0.5, seed=seed, arrivals=arrivals, average_regret=some))
            rows.append(row("cap", 0.5, seed=seed, arrivals=arrivals, average_regret=0.0))
    growth = [one for one in check_claims(rows) if one.most == 1.0]
    assert [one.policy for one in growth] == ["dap"]
    assert growth[0].measured.mean == pytest.approx(1.0)


PRINTED_ACCURACIES = """
Table II  cap    inf   70.32 75.36 76.88 77.34
Table II  dup    inf   73.32 74.52 74.78 75.08
Table II  dap    inf   87.34 90.21 91.02 92.17
Table III p-dap  0.01  77.54 78.75 79.92 80.12
Table III p-dap  0.1   77.78 79.35 80.34 81.16
Table III p-dap  1     78.96 79.24 81.06 82.12
Table III dap    inf   86.84 89.28 90.23 91.56
Table IV  gp-dap 0.01  82.44 84.36 85.23 86.74 87.33 88.17
Table IV  p-dap  0.01  77.31 77.87 78.42 79.14 80.06 81.64
"""
"""The paper's Tables II to IV, row by row, in percent."""
TEST_SIZES = {4: (5000, 10_000, 20_000, 50_000), 6: range(5000, 30_001, 5000)}
"""Visits of the tests, by how many figures a row has."""


@pytest.mark.parametrize("line", PRINTED_ACCURACIES.strip().splitlines())
def test_every_accuracy_is_the_papers(line):
    """Each figure stands beside our own policy at the same epsilon and size of the test."""
    table, policy, epsilon, *figures = line.removeprefix("Table ").split()
    for size, figure in zip(TEST_SIZES[len(figures)], figures, strict=True):
        beside = accuracies_of_paper(policy, float(epsilon), size)
        assert beside[f"Table {table}"] == pytest.approx(float(figure) / 100)


def test_the_papers_accuracies_stand_by_table():
    """DAP has one figure in Table II and another in Table III; other sizes have none."""
    assert accuracies_of_paper("dap", math.inf, 5000) == {"Table II": 0.8734, "Table III": 0.8684}
    assert accuracies_of_paper("p-dap", 0.01, 30_000) == {"Table IV": 0.8164}
    assert accuracies_of_paper("p-dap", 0.01, 5000) == {"Table III": 0.7754, "Table IV": 0.7731}
    assert accuracies_of_paper("dap", math.inf, 1234) == {}


def test_no_accuracy_is_above_one():
    """The interval of .8 and 1 is wide, and ends where a share does."""
    (found,) = summarise_runs([row("dap", 0.8 + 0.2 * seed, seed=seed) for seed in range(2)])
    assert (found.accuracy, found.high) == (pytest.approx(0.9), 1.0)
    assert found.low < 0.8
