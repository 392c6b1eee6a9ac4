"""The shipped mechanisms, audited through their own calls."""

from functools import partial
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from tacit.auditing import exact
from tacit.auditing.shipped import (
    BENCH,
    EPSILONS,
    bit_release,
    kary_response,
    laplace_release,
    run,
    selection,
    top_selection,
    tree_counter,
)
from tacit.mechanisms.cosine import CosineRelease
from tacit.mechanisms.randomized_response import BitRelease
from tacit.mechanisms.selection import NoisyMax, Selection
from tacit.mechanisms.tree import TreeCounter
from tacit.randomness import secure

EVERY = [
    pytest.param(make, id=f"{name}-{number}")
    for name, makes in BENCH.items()
    for number, make in enumerate(makes)
]


@pytest.mark.parametrize("make", EVERY)
def test_exact_loss_is_within_the_claim(make):
    """From the parameters really used, the loss is above zero and at or below the claim."""
    subject = make()
    assert 0 < subject.exact <= subject.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("make", EVERY)
def test_samples_are_within_the_claim(make):
    """A short audit of the running code finds no violation."""
    assert run(make(), samples=20_000).verdict != "violation"


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("make", [bit_release, kary_response])
def test_responses_are_audited_well(make, epsilon):
    """With a million samples the bound is between 0.8 of the claim and the claim."""
    found = run(make(epsilon))
    assert found.verdict == "no violation found"
    assert 0.8 <= found.tightness <= 1


@pytest.mark.parametrize(
    "make", [partial(laplace_release, 1.0), partial(selection, 1.0), partial(top_selection, 1.0)]
)
def test_audit_is_not_weak(make):
    """With samples enough, the bound is no lower than an ideal auditor's."""
    assert run(make(), samples=200_000).verdict == "no violation found"


def test_few_samples_are_called_weak():
    """A pass on which nothing rests says so."""
    assert run(tree_counter(1.0), samples=1_000).verdict == "weak audit"


def test_bit_release_at_ln_3():
    """Bit release at ln 3 tells the truth three times out of four."""
    assert float(BitRelease(1.0986122886681098).truth) == pytest.approx(0.75, abs=1e-12)


def test_selection_on_all_neighbours():
    """The integer weights of the shipped selection lose at most epsilon on every pair of three."""
    choice = Selection(1.0, 3, sensitivity=1, lower=0, upper=2, resolution=1)

    def distribution(scores):
        return dict(enumerate(choice.weights(list(scores)).tolist()))

    worst = exact.worst_loss(distribution, exact.within(2, 3))
    assert worst == pytest.approx(exact.exponential_worst(1.0, 3, spread=2), abs=1e-9)


def test_selection_draws_from_its_weights():
    """One draw of each candidate is as likely as the weights say (six standard deviations)."""
    choice = Selection(1.0, 3, sensitivity=1, lower=0, upper=2, resolution=1)
    drawn = choice([[0, 1, 2]] * 100_000, secure())
    for one, chance in enumerate(choice.probabilities([0, 1, 2])):
        assert (drawn == one).mean() == pytest.approx(chance, abs=6 * 0.5 / 100_000**0.5)


def test_noisy_max_is_permute_and_flip():
    """OpenDP's noisy max draws from the exact distribution of permute-and-flip, not softmax."""
    choice = NoisyMax(4.0, 3, sensitivity=1, lower=0, upper=2, resolution=1)
    drawn = choice([[0, 1, 2]] * 5_000)
    chances = exact.permute_and_flip(float(choice.rate), (0, 1, 2))
    for one, chance in chances.items():
        assert (drawn == one).mean() == pytest.approx(chance, abs=6 * 0.5 / 5_000**0.5)


def test_tree_of_two_steps():
    """The shipped counter charges two levels at a horizon of two, and one level would cost 2."""
    counter = TreeCounter(1.0, horizon=2)
    assert exact.tree(counter.levels, 1, counter.scale) <= 1
    assert exact.tree(2, 1, counter.scale / 2) == pytest.approx(2)


def test_cosine_on_all_small_tables():
    """On every table of up to three people, one more person costs at most epsilon."""
    release = CosineRelease(1.0, bound=1, halves=4)
    kinds = [kind for kind in product((-1, 0, 1), repeat=2) if kind != (0, 0)]

    def distribution(people):
        pair = np.array(people, dtype=np.int64).reshape(-1, 2).T
        return dict(enumerate(release._selection.weights(-release.changes(pair)).tolist()))

    pairs = [
        (people, (*people, one))
        for size in range(4)
        for people in combinations_with_replacement(kinds, size)
        for one in kinds
    ]
    assert 0.5 < exact.worst_loss(distribution, pairs) <= 1
