"""The certificate for releases of few symbols: its bound, its coverage, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.auditing.attacks import auc
from tacit.auditing.auc_certificates import (
    AucCertificate,
    certify_auc,
    estimate_sigma_squared,
    invert_noncentral_chi_squared,
    largest_auc,
)
from tacit.errors import ConfigError

CALIBRATIONS = 1_000


def two_laws(symbols, gap, seed):
    """Two laws over the symbols, whose log ratio has this spread before they are normalised."""
    generator = np.random.default_rng(seed)
    first = generator.dirichlet(np.full(symbols, 3.0))
    second = first * np.exp(gap * generator.standard_normal(symbols))
    return first, second / second.sum()


def exact_sigma(first, second):
    return float(np.sqrt(((first - second) ** 2 / ((first + second) / 2)).sum()))


def best_auc(first, second):
    """AUC of the best attacker, who orders symbols by their likelihood ratio."""
    order = np.argsort(second / first)
    below = np.append(0.0, np.cumsum(first[order]))[:-1]
    return float((second[order] * (below + first[order] / 2)).sum())


@pytest.mark.parametrize("seed", range(20))
def test_no_score_exceeds_the_bound(seed):
    """The best attacker of two known laws stays below 1/2 + sigma / (2 sqrt 3)."""
    laws = two_laws(6, 0.1 * (1 + seed), seed)
    assert 0.5 <= best_auc(*laws) <= largest_auc(exact_sigma(*laws)) + 1e-12


def test_the_bound_is_tight_for_a_fine_linear_law():
    """With many symbols and a likelihood ratio that falls evenly, the best attacker reaches it."""
    middle = np.full(1_000, 1e-3)
    tilt = 1e-4 * np.linspace(-1, 1, 1_000)
    first, second = middle - tilt, middle + tilt
    bound = largest_auc(exact_sigma(first, second))
    assert best_auc(first, second) == pytest.approx(bound, abs=1e-5)


def test_the_best_attacker_is_the_likelihood_ratio():
    """The AUC that these tests compare with is that of scores given to people."""
    first, second = two_laws(5, 0.8, 3)
    generator = np.random.default_rng(0)
    symbols = [generator.choice(5, 40_000, p=law) for law in (first, second)]
    scores = (second / first)[np.concatenate(symbols)]
    labels = np.repeat([0, 1], 40_000)
    assert auc(labels, scores) == pytest.approx(best_auc(first, second), abs=0.01)


@pytest.mark.parametrize(
    ("symbols", "people", "gap"),
    [(4, (20, 52), 0.5), (4, (200, 520), 0.2), (10, (50, 130), 0.5), (10, (400, 400), 0.2)],
)
def test_coverage(symbols, people, gap):
    """The bound on sigma holds in about .95 of calibrations, from 5 C people of the rarer value on.

    A true coverage of .945 shows less than .922 in 1,000 calibrations with a chance of 1 in 1,000,
    and one of .99 more than .998 with a chance of 1 in 500; the seed is fixed.
    """
    laws = two_laws(symbols, gap, 7)
    generator = np.random.default_rng(11)
    counts = [
        generator.multinomial(number, law, CALIBRATIONS)
        for number, law in zip(people, laws, strict=True)
    ]
    truth = exact_sigma(*laws)
    held = [certify_auc(*pair).sigma >= truth for pair in zip(*counts, strict=True)]
    assert 0.922 <= np.mean(held) <= 0.998


def test_equal_laws_give_a_bound_that_falls():
    """Where a symbol tells nothing, more calibration people bring the bound nearer to 1/2."""
    law, generator = np.full(8, 1 / 8), np.random.default_rng(5)
    areas = []
    for people in (40, 400, 4_000, 40_000):
        counts = generator.multinomial(people, law, 2)
        areas.append(certify_auc(*counts).auc)
    assert areas == sorted(areas, reverse=True)
    assert areas[-1] < 0.52


def test_the_statistic_is_pearsons():
    """With as many people of either value it is the chi squared statistic of the table."""
    from scipy.stats import chi2_contingency

    counts = np.array([[30, 50, 20], [45, 35, 20]])
    pearson = chi2_contingency(counts, correction=False).statistic
    assert 100 * 100 / 200 * estimate_sigma_squared(counts) == pytest.approx(pearson)


@pytest.mark.parametrize("noncentrality", [0.5, 7.0, 300.0])
def test_the_inverse_is_one(noncentrality):
    """The law at the noncentrality that was found gives the chance that was asked for."""
    from scipy.stats import ncx2

    statistic = float(ncx2.ppf(0.05, 6, noncentrality))
    found = invert_noncentral_chi_squared(statistic, 6, 0.05)
    assert found == pytest.approx(noncentrality, rel=1e-6)


def test_a_small_statistic_bounds_at_nothing():
    """A statistic smaller than chance makes it gives a noncentrality of 0."""
    assert invert_noncentral_chi_squared(0.01, 5, 0.05) == 0


def test_too_few_people_are_refused():
    """Four people a symbol of the rarer value are too few, five are enough."""
    many = np.full(4, 100)
    with pytest.raises(ConfigError, match="4 symbols need 20 calibration people"):
        certify_auc(np.array([5, 5, 5, 4]), many)
    assert certify_auc(np.array([5, 5, 5, 5]), many).people == (20, 400)


@pytest.mark.parametrize(
    ("first", "second"),
    [([1.5, 30], [30, 30]), ([30], [30]), ([30, 30], [30, 30, 30]), ([-1, 60], [30, 30])],
)
def test_what_is_no_count_is_refused(first, second):
    """Counts are whole, 0 or more, of two symbols or more, and of the same ones."""
    with pytest.raises(ConfigError):
        certify_auc(first, second)


def test_the_sentence_says_whom_it_is_about():
    """It names the bound, the confidence, the people counted and who is not covered."""
    sentence = certify_auc([60, 40], [50, 50]).sentence
    for part in ("95%", "2 symbols", "100 and 100 calibration people", "not covered"):
        assert part in sentence


def test_the_sentence_promises_no_more_than_the_certificate():
    """The bound is rounded up, and a confidence of 99.9 % is not called 100 %."""
    sentence = AucCertificate(0.6121, 0.3, 0.999, 2, (100, 100)).sentence
    assert "above 0.613, with confidence 99.9%:" in sentence
