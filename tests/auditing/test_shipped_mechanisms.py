"""The shipped mechanisms, audited through their own calls."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tacit.auditing import audits, exact_losses
from tacit.auditing.audits import audit_claim
from tacit.auditing.claims import PairResult, judge
from tacit.auditing.pairs import SAMPLES, check_pair
from tacit.auditing.rules import upper_bound
from tacit.auditing.sampler_spy import draw_as_shipped, intercept_samplers
from tacit.auditing.shipped_mechanisms import (
    EPSILONS,
    MECHANISMS,
    bit_release,
    gate_pair,
    kary_response,
    selection,
    threshold_gate,
    top_selection,
    tree_counter,
)
from tacit.auditing.shipped_noise import (
    gaussian_pair,
    gaussian_release,
    laplace_release,
)
from tacit.mechanisms import samplers
from tacit.mechanisms.gate import GateRun, ThresholdGate
from tacit.mechanisms.gaussian import GaussianRelease
from tacit.mechanisms.randomized_response import BitRelease
from tacit.mechanisms.selection import Selection
from tacit.randomness import secure
from tests.support.seen import require_any

EVERY = [
    pytest.param(make, id=f"{name}-{number}")
    for name, makes in MECHANISMS.items()
    for number, make in enumerate(makes)
]


@pytest.mark.parametrize("make", EVERY)
def test_there_are_five_pairs(make):
    """Each mechanism stands on the bench with at least five pairs of neighbours."""
    names = [pair.name for pair in make().pairs]
    assert len(set(names)) == len(names) >= 5


@pytest.mark.parametrize("make", EVERY)
def test_exact_loss_is_within_the_claim(make):
    """As read from the running code, the loss is above zero and at or below the claim."""
    subject = make()
    for pair in subject.pairs:
        assert 0 < pair.exact <= subject.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("make", EVERY)
def test_the_worst_pair_is_near_the_claim(make):
    """Some pair shows more than 0.7 of what is claimed."""
    subject = make()
    assert max(pair.exact for pair in subject.pairs) > 0.7 * subject.epsilon


@pytest.mark.parametrize("make", EVERY)
def test_rules_allow_what_is_lost_and_no_more_than_the_claim(make):
    """The bound of each pair's description lies between its exact loss and the claim."""
    subject = make()
    for pair in subject.pairs:
        bound = upper_bound(pair.rule)
        assert pair.exact * (1 - 1e-9) <= bound <= subject.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("make", EVERY)
def test_rules_use_up_the_claim(make):
    """The description of some pair needs more than 0.95 of what is claimed."""
    subject = make()
    most = max(upper_bound(pair.rule) for pair in subject.pairs)
    assert most > 0.95 * subject.epsilon


@pytest.mark.parametrize("make", EVERY)
def test_samples_are_within_the_claim(make):
    """A short audit of the running code finds no violation on any pair."""
    audit = audit_claim(make().claim, samples=20_000)
    assert audit.verdict != "violation"
    assert audit.lower_bound == max(pair.lower_bound for pair in audit.pairs)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("make", [bit_release, kary_response])
def test_responses_are_audited_well(make, epsilon):
    """With a million samples the bound is between 0.8 of the claim and the claim."""
    found = audit_claim(make(epsilon).claim, samples=SAMPLES)
    assert found.verdict == "no violation found"
    assert 0.8 <= found.lower_bound / found.epsilon <= 1


@pytest.mark.parametrize("make", [laplace_release, selection, top_selection])
def test_audit_is_not_weak(make):
    """With samples enough, the bound is no lower than an ideal auditor's."""
    assert audit_claim(make(1.0).claim, samples=400_000).verdict == "no violation found"


def test_few_samples_are_called_weak():
    """A pass on which nothing rests says so."""
    assert audit_claim(tree_counter(1.0).claim, samples=1_000).verdict == "weak audit"


def test_a_violation_on_any_pair_counts():
    """A subject with one bad pair among good ones is a violation, and the pair is named."""
    good = bit_release(1.0)
    bad = replace(bit_release(2.0).pairs[0], name="bad")
    audit = audit_claim(replace(good, pairs=(*good.pairs, bad)).claim, samples=20_000)
    assert (audit.verdict, audit.pair, audit.exact) == ("violation", "bad", pytest.approx(2.0))


def drawn_alone(scale):
    """One noise, by the sampler that the shipped gate calls."""
    return int(samplers.discrete_laplace(np.zeros(1, dtype=np.int64), scale)[0])


def test_a_stream_has_its_own_exact_figure():
    """Less noise on counts that come one by one shows in the stream's loss, not in the call's."""

    class HalfRun(GateRun):
        def stops_at(self, count):
            noise = drawn_alone(self.gate.count_scale / 2)
            return self.has_stopped or self.compare(int(count), noise)

    class HalfStream(ThresholdGate):
        def start(self):
            return HalfRun(self)

    def shown(gate, stream):
        return gate_pair("gate", gate, [1] * 10 + [0], [0] * 10 + [1], stream=stream).exact

    shipped, broken = ThresholdGate(1.0, 1), HalfStream(1.0, 1)
    assert shown(broken, False) == shown(shipped, False) == shown(shipped, True) < 1
    assert shown(broken, True) > 1.4


@pytest.mark.parametrize("missing", ["threshold", "count", "used elsewhere"])
def test_a_gate_without_one_of_its_noises_is_infinite(missing):
    """Each comparison needs its own noise, and the threshold its own."""

    class Run(GateRun):
        def stops_at(self, count):
            if missing == "threshold":
                self._threshold = self.gate.threshold
            noise = 0 if missing == "count" else drawn_alone(self.gate.count_scale)
            return self.has_stopped or self.compare(
                int(count), noise if missing == "threshold" else 0
            )

    class Gate(ThresholdGate):
        def start(self):
            return Run(self)

    pair = gate_pair("gate", Gate(1.0, 1), [1, 0], [0, 1], stream=True)
    assert pair.exact == upper_bound(pair.rule) == math.inf


def test_samples_above_the_exact_loss_are_a_violation():
    """A bound within the claim refutes the exact figure, and the reason is given."""
    subject = bit_release(4.0)
    pair = replace(subject.pairs[0], exact=3.0, rule=None)
    audit = audit_claim(replace(subject, pairs=(pair,)).claim, samples=100_000)
    assert audit.verdict == "violation"
    (why,) = audit.pairs[0].faults(4.0)
    assert "not those asked for" in why


def test_a_gaussian_sampler_with_less_noise_is_a_violation():
    """Half of the sensitivity is used up, so only what was asked for is contradicted."""
    release = GaussianRelease(1.0, 2.0, -8, 8, 2.0**-8)
    pair = gaussian_pair("half", release, [1.0], [0.0], sample_divisor=1, at_once=True)

    def drawn(call):
        return draw_as_shipped(replace(call, scale=call.scale / 2))

    def weaker(data, source):
        with intercept_samplers(drawn):
            return pair.call(data, source)

    shipped, broken = (
        check_pair(one, 1e-5, samples=10_000).faults(gaussian_release().epsilon)
        for one in (pair, replace(pair, call=weaker))
    )
    assert shipped == []
    assert "not those asked for" in broken[0]


def test_rules_above_the_claim_are_a_violation():
    """A description that allows more than is claimed is no proof of the claim."""
    checked = PairResult("pair", 0.5, 1.2, 0.4, 0.3, 1_000)
    assert judge(1.0, [checked]) == "violation"
    assert judge(1.2, [checked]) == "no violation found"


def test_a_loss_above_what_the_rules_allow_is_a_violation():
    """Then the description is of something else."""
    assert judge(2.0, [PairResult("pair", 1.5, 1.2, 1.0, 0.3, 1_000)]) == "violation"


def broken_in_the_call():
    def fail(data, source):
        raise IndexError(f"of {data.tolist()}")

    subject = bit_release(1.0)
    return replace(subject, pairs=(replace(subject.pairs[0], call=fail), *subject.pairs[1:]))


def broken_before_any_call():
    raise IndexError("of [1, 0]")


@pytest.mark.parametrize("make", [broken_in_the_call, broken_before_any_call])
def test_an_exception_is_a_violation_with_its_place(make):
    """A mechanism that fails does not end the audit; what its error says is not repeated."""
    line = audits.build_claim("bit-release", lambda: make().claim)
    audit = audits.audit_claim(line, samples=1_000)
    assert audit.verdict == "violation"
    assert audit.mechanism == "bit-release"
    (why,) = audit.pairs[0].faults(audit.epsilon)
    assert "IndexError in test_shipped_mechanisms.py, line" in why
    assert "[1" not in why


def test_half_the_threshold_noise_fails_on_the_bench():
    """A gate that halves its threshold noise is a violation on the pair of the bench."""

    class Half(ThresholdGate):
        @property
        def threshold_scale(self):
            return super().threshold_scale / 2

    subject = threshold_gate(1.0)
    pair = gate_pair("half", Half(1.0, 1), [1] * 10 + [0], [0] * 10 + [1])
    assert audit_claim(replace(subject, pairs=(pair,)).claim, samples=1_000).verdict == "violation"


@pytest.mark.parametrize(
    "settings",
    [
        {"stops": "above"},
        {"stops": "below"},
        {"monotonic": True},
        {"sensitivity": 2},
    ],
)
def test_gate_samples_follow_the_exact_distribution(settings):
    """The chances of each stopping time are those of the sum over the threshold's noise."""
    gate = ThresholdGate(2.0, 0, **settings)
    pair = gate_pair("gate", gate, [1, -1, 1], [0, 0, 0])
    stops = np.array([gate(pair.a) for _ in range(2_000)])
    for time, chance in require_any(pair.chances[0].items()):
        assert (stops == time).mean() == pytest.approx(chance, abs=6 * 0.5 / 2_000**0.5)


def test_a_coarse_gaussian_is_audited_by_events():
    """On a grid of one step no Gaussian is assumed, and the exact loss is the discrete one."""
    coarse = {pair.name: pair for pair in gaussian_release().pairs}["grid of one step"]
    fine = gaussian_release().pairs[0]
    assert coarse.mu is None
    assert coarse.chances[0]
    assert fine.mu == pytest.approx(1, abs=1e-6)
    assert coarse.exact > 1.01 * fine.exact


def test_a_gaussian_with_too_little_noise_is_above_its_claim():
    """The sigma that the code asks for counts, not the one it states."""

    class Half(GaussianRelease):
        @property
        def sigma(self):
            return super().sigma / 2

    release = Half(1.0, 1, -8, 8, 2.0**-8)
    pair = gaussian_pair("half", release, [1.0], [0.0], sample_divisor=1, at_once=True)
    assert pair.exact > 2 * gaussian_release().epsilon


def test_bit_release_at_ln_3():
    """Bit release at ln 3 tells the truth three times out of four."""
    assert float(BitRelease(1.0986122886681098).truth) == pytest.approx(0.75, abs=1e-12)


def test_selection_on_all_neighbours():
    """The integer weights of the shipped selection lose at most epsilon on every pair of three."""
    choice = Selection(1.0, 3, sensitivity=1, lower=0, upper=2, resolution=1)

    def distribution(scores):
        return dict(enumerate(choice.weights(list(scores)).tolist()))

    worst = exact_losses.largest_loss(distribution, exact_losses.neighbouring_scores(2, 3))
    assert worst == pytest.approx(exact_losses.exponential_loss(1.0, 3, spread=2), abs=1e-9)


def test_selection_draws_from_its_weights():
    """One draw of each candidate is as likely as the weights say (six standard deviations)."""
    choice = Selection(1.0, 3, sensitivity=1, lower=0, upper=2, resolution=1)
    drawn = choice([[0, 1, 2]] * 100_000, secure())
    for one, chance in enumerate(choice.probabilities([0, 1, 2])):
        assert (drawn == one).mean() == pytest.approx(chance, abs=6 * 0.5 / 100_000**0.5)
