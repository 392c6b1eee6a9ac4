"""Bounds from samples: above the truth at most as often as alpha says, and not far below it."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

from tacit.auditing.claims import PairResult, judge
from tacit.auditing.empirical import (
    audit,
    best_event,
    best_known_event,
    clopper_pearson,
    ideal_bound,
    loss_bound,
)
from tacit.auditing.gaussian import audit_gaussian, delta_of_mu, epsilon_of_mu, gaussian_masses
from tacit.errors import ConfigError
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.randomness import secure


def bits(epsilon, bit):
    release = BitRelease(epsilon)
    return lambda n: release(np.full(n, bit), secure())


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_bit_release_is_tight(epsilon):
    """The shipped bit release is bounded between 0.8 of its claim and the claim."""
    found = audit(bits(epsilon, 1), bits(epsilon, 0), samples=1_000_000)
    assert 0.8 * epsilon <= found.lower_bound <= epsilon


def test_same_input_says_nothing():
    """Two equal inputs give a bound of 0, however the event was chosen."""
    assert audit(bits(4.0, 1), bits(4.0, 1), samples=10_000).lower_bound == 0


def test_alarms_are_rare():
    """2,400 audits of the shipped bit release at alpha 1 % raise at most 40 alarms."""
    alarms = 0
    for number in range(2_400):
        epsilon = (0.1, 0.5, 1.0, 2.0)[number % 4]
        found = audit(bits(epsilon, 1), bits(epsilon, 0), samples=1_000, alpha=0.01)
        alarms += found.lower_bound > epsilon
    assert alarms <= 40


AUDITS = pytest.mark.parametrize(
    ("audits", "allowed"), [(600, 14), pytest.param(2_400, 40, marks=pytest.mark.long)]
)
"""Both limits are three standard deviations above what alpha 1 % allows on average."""


@AUDITS
def test_alarms_are_rare_with_several_features(audits, allowed):
    """Audits of three answers by three features, events sought in each."""
    features = {
        "first": lambda rows: rows[:, 0],
        "sum": lambda rows: rows.sum(axis=1),
        "as one number": lambda rows: rows @ np.array([25, 5, 1]),
    }

    def answers(epsilon, first):
        release = KaryResponse(epsilon, 5)
        return lambda n: release(np.tile([first, 2, 4], (n, 1)), secure())

    def alarm(epsilon):
        found = audit(
            answers(epsilon, 0), answers(epsilon, 1), samples=200, alpha=0.01, features=features
        )
        return found.lower_bound > epsilon

    assert sum(alarm((0.1, 0.5, 1.0, 2.0)[number % 4]) for number in range(audits)) <= allowed


@AUDITS
def test_alarms_are_rare_at_a_delta(audits, allowed):
    """Audits of a bit release that fails with the chance delta, and is charged for it."""

    def failing(bit):
        release = BitRelease(1.0)

        def drawn(n):
            fails = np.random.default_rng().random(n) < 0.05
            return np.where(fails, 2 + bit, release(np.full(n, bit), secure()))

        return drawn

    def alarm():
        found = audit(failing(1), failing(0), samples=400, alpha=0.01, delta=0.05)
        return found.lower_bound > 1.0

    assert sum(alarm() for _ in range(audits)) <= allowed


@AUDITS
@pytest.mark.parametrize("mu", [0.3, 2.0])
def test_gaussian_alarms_are_rare(mu, audits, allowed):
    """Gaussian audits of continuous noise."""
    generator = np.random.default_rng()

    def alarm():
        found = audit_gaussian(
            lambda n: generator.normal(0, 1, n),
            lambda n: generator.normal(mu, 1, n),
            samples=400,
            delta=1e-5,
            alpha=0.01,
        )
        return found.mu > mu

    assert sum(alarm() for _ in range(audits)) <= allowed


@AUDITS
def test_gaussian_alarms_are_rare_on_the_coarsest_grid(audits, allowed):
    """Gaussian audits of discrete noise with sigma 32, as coarse as is allowed."""
    integers, chances = gaussian_masses(32.0)
    generator = np.random.default_rng()

    def drawn(move):
        return lambda n: generator.choice(integers, n, p=chances) + move

    def alarm():
        found = audit_gaussian(
            drawn(0), drawn(32), samples=400, delta=1e-5, alpha=0.01, sigma_in_steps=32.0
        )
        return found.mu > 1

    assert sum(alarm() for _ in range(audits)) <= allowed


def test_a_set_of_values_is_not_chosen_by_chance():
    """Among a thousand values that say nothing, one that says something is the event."""
    generator = np.random.default_rng(0)
    a, b = (generator.integers(0, 1_000, 6_000) for _ in range(2))
    a[::3], b[::6] = 1_000, 1_000
    event = best_event("release", a, b)
    assert event.contains(a).mean() == pytest.approx(1 / 3, abs=0.02)
    assert event.contains(b).mean() == pytest.approx(1 / 6, abs=0.02)


@pytest.mark.parametrize("sigma", [1.0, 31.0, math.nan])
def test_gaussian_audit_refuses_a_coarse_grid(sigma):
    """Discrete noise over few steps is not Gaussian enough, and the words say what to do."""
    with pytest.raises(ConfigError, match=r"use audit\(\) with a delta"):
        audit_gaussian(normal(0, 1), normal(1, 1), samples=1_000, delta=1e-5, sigma_in_steps=sigma)


def test_limits_are_clopper_and_pearsons():
    """Both limits are those of SciPy's exact binomial test, one side each."""
    low, high = clopper_pearson(7, 50, 0.005)
    known = stats.binomtest(7, 50).proportion_ci(confidence_level=0.99, method="exact")
    assert (low, high) == pytest.approx((known.low, known.high))


def test_limits_at_the_ends():
    """No success leaves 0 possible, no failure leaves 1 possible."""
    assert clopper_pearson(0, 10, 0.01)[0] == 0
    assert clopper_pearson(10, 10, 0.01)[1] == 1


def test_delta_is_taken_off():
    """An event as likely as delta says nothing."""
    assert loss_bound(1_000, 0, 100_000, 1e-6) > 4
    assert loss_bound(1_000, 0, 100_000, 1e-6, delta=0.01) == 0


def test_ideal_auditor_is_reached():
    """The bound is hardly ever below what an ideal auditor reaches, and that is below the claim."""
    p = float(BitRelease(1.0).truth)
    known = best_known_event(({0: 1 - p, 1: p}, {0: p, 1: 1 - p}), 100_000, 1e-6)
    found = audit(bits(1.0, 1), bits(1.0, 0), samples=100_000, known_event=known)
    assert 0.8 < known.ideal <= found.lower_bound <= 1.0


@pytest.mark.parametrize(("p", "q", "delta"), [(0.3, 0.2, 0.0), (0.02, 0.004, 1e-3)])
def test_correct_code_is_weak_as_rarely_as_stated(p, q, delta):
    """Of 4,000 audits of a known event 5 % fall below the ideal at alpha 5 %, within four standard
    deviations of 0.34 points: neither more, nor so few that the floor says little."""
    samples, alpha = 4_000, 0.05
    ideal = ideal_bound(p, q, samples=samples, alpha=alpha, delta=delta)
    draws = np.random.default_rng(3).binomial(samples, [[p, q]] * 4_000).tolist()
    below = [loss_bound(*times, samples, alpha / 2, delta) < ideal - 1e-9 for times in draws]
    assert ideal > 0
    assert np.mean(below) == pytest.approx(alpha, abs=4 * 0.0034)


@pytest.mark.parametrize("first", [True, False])
def test_the_best_known_event_is_a_set(first):
    """No value says as much as all values of one parity do; the event is asked of all samples."""
    likely, rare = ({value: (1 + (value % 2 == up)) / 30 for value in range(20)} for up in (1, 0))
    sides = (likely, rare) if first else (rare, likely)
    known = best_known_event(sides, 2_000, 1e-6)
    assert (known.is_likelier_in_a, sorted(known.event.values)) == (
        True,
        list(range(int(first), 20, 2)),
    )
    generator = np.random.default_rng(0)
    a, b = (partial(generator.choice, 20, p=[side[value] for value in range(20)]) for side in sides)
    assert known.ideal <= audit(a, b, samples=2_000, known_event=known).lower_bound <= math.log(2)


def test_a_known_threshold_of_cumulative_chances():
    """Chances of each value or a larger one name a threshold, not a set."""
    chances = ({0: 1.0, 1: 0.6, 2: 0.02}, {0: 1.0, 1: 0.2, 2: 0.01})
    event = best_known_event(chances, 5_000, 1e-6, at_least=True).event
    assert event.contains(np.array([0, 1, 2, 3])).tolist() == [False, True, True, True]


def test_more_noise_than_claimed_is_weak():
    """A mechanism that claims 1 and spends 0.5 passes, and the pass is called weak."""
    p = float(BitRelease(1.0).truth)
    known = best_known_event(({0: 1 - p, 1: p}, {0: p, 1: 1 - p}), 100_000, 1e-6)
    evidence = audit(bits(0.5, 1), bits(0.5, 0), samples=100_000, known_event=known)
    one = PairResult("pair", 1.0, None, evidence.lower_bound, known.ideal, 100_000)
    assert judge(1.0, [one]) == "weak audit"


def found(exact=1.0, lower_bound=0.97, ideal=0.96, differences=()):
    return PairResult("pair", exact, None, lower_bound, ideal, 1_000, differences)


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        ([found()], "no violation found"),
        ([found(exact=1.0 + 1e-12)], "no violation found"),
        ([found(exact=math.inf)], "violation"),
        ([found(lower_bound=1.001)], "violation"),
        ([found(), found(exact=1.1)], "violation"),
        ([found(differences=("the draws",))], "violation"),
        ([found(lower_bound=0.5, ideal=0.9)], "weak audit"),
        ([found(), found(lower_bound=0.5, ideal=0.9)], "weak audit"),
        ([found(lower_bound=0.0, ideal=0.0)], "weak audit"),
        ([found(lower_bound=0.9, ideal=0.05)], "weak audit"),
        ([found(), found(lower_bound=0.0, ideal=0.0)], "no violation found"),
    ],
)
def test_verdicts(pairs, verdict):
    """Above the claim on any pair is a violation; below the ideal on any is weak, and so is a low
    ideal on all, whatever luck adds to it."""
    assert judge(1.0, pairs) == verdict


def test_events_find_nan():
    """A NaN that only one neighbour gives is an event of its own."""
    a, b = np.array([1.0, math.nan] * 500), np.array([1.0, 2.0] * 500)
    assert best_event("release", a, b).kind == "NaN"


def test_events_find_a_tail():
    """Among continuous numbers the event is a threshold."""
    a = np.linspace(0, 1, 30_000)
    assert best_event("release", a + 0.5, a).kind == "at least"


def test_rows_need_a_feature():
    """Releases of several numbers are refused without a feature that makes one of them."""
    with pytest.raises(ConfigError, match="name a feature"):
        audit(lambda n: np.zeros((n, 2)), lambda n: np.zeros((n, 2)), samples=10)


@pytest.mark.parametrize("settings", [{"samples": 3}, {"samples": 10, "alpha": 0}])
def test_settings_are_checked(settings):
    """Too few samples and an impossible alpha are refused in one sentence."""
    with pytest.raises(ConfigError):
        audit(bits(1.0, 1), bits(1.0, 0), **settings)


def normal(mean, sigma):
    generator = np.random.default_rng()
    return lambda n: generator.normal(mean, sigma, n)


def test_gaussian_audit_is_tight():
    """Noise with sigma 1 on a sensitivity of 1 is bounded between 0.8 of its claim and it."""
    found = audit_gaussian(normal(0, 1), normal(1, 1), samples=200_000, delta=1e-5)
    assert 0.8 * epsilon_of_mu(1.0, 1e-5) <= found.lower_bound <= epsilon_of_mu(1.0, 1e-5)
    assert found.mu <= 1


def test_gaussian_audit_sees_ten_percent():
    """Noise 10 % too small is a violation, whichever neighbour is the larger."""
    for means in ((0, 1), (1, 0)):
        found = audit_gaussian(
            normal(means[0], 0.9), normal(means[1], 0.9), samples=200_000, delta=1e-5
        )
        assert found.mu > 1


def test_epsilon_and_delta_are_inverse():
    """delta_of undoes epsilon_of, and agrees with a known pair (mu 1, epsilon 1: 0.1269)."""
    assert delta_of_mu(1.0, 1.0) == pytest.approx(0.12693674, abs=1e-6)
    assert delta_of_mu(0.7, epsilon_of_mu(0.7, 1e-6)) == pytest.approx(1e-6, rel=1e-6)


def test_gaussian_settings_are_checked():
    """A Gaussian mechanism has no epsilon at delta 0."""
    with pytest.raises(ConfigError, match="delta"):
        epsilon_of_mu(1.0, 0.0)
