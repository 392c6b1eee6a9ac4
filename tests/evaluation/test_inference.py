"""Intervals and paired tests over people and splits: equals tie, worse ones are found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tacit.evaluation.inference import PeopleBootstrap, correct_by_holm, name_outcome

PEOPLE = 120
RUNS_OF_A_CHOICE = 10
"""Runs with the same test people, whose resamples are drawn once for all of them."""


def choose_people(generator, *, splits=6, judged=80):
    """Choose the test people of each split: (judged,) rising numbers."""
    return [np.sort(generator.permutation(PEOPLE)[:judged]) for _ in range(splits)]


def draw_figures(generator, chosen, *, shift=0.0, noise=0.01):
    """Draw two recommenders: effects of people, splits and both together, and a shift.

    Effects of a split are those of its noise, such as a private fit's.
    """
    taste = generator.normal(0.3, 0.2, size=PEOPLE)
    own, reference = [], []
    for numbers in chosen:
        shown = []
        for _ in range(2):
            of_split = generator.normal(0, noise)
            of_both = generator.normal(0, 0.15, size=len(numbers))
            shown.append(taste[numbers] + of_split + of_both)
        own.append(shown[0] + shift)
        reference.append(shown[1])
    return own, reference


def draw_runs(seed, runs, *, splits=6, **effects):
    """Draw runs: of each the bootstrap over its test people, and figures of two recommenders."""
    for first in range(0, runs, RUNS_OF_A_CHOICE):
        generator = np.random.default_rng((seed, first))
        chosen = choose_people(generator, splits=splits)
        bootstrap = PeopleBootstrap(chosen)
        for _ in range(RUNS_OF_A_CHOICE):
            yield bootstrap, *draw_figures(generator, chosen, **effects)


def outcomes(shift, runs, **settings):
    found = []
    for bootstrap, own, reference in draw_runs(7, runs, shift=shift, **settings):
        paired = bootstrap.difference(own, reference)
        found.append(name_outcome(paired.interval.mean, paired.p_value))
    assert len(found) == runs
    return found


@pytest.mark.parametrize("splits", [2, 6])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_two_equal_recommenders_tie(splits, noise):
    """In 95 % of 200 runs; 181 ties or fewer of 200 have a chance of 0.5 % at exactly 95 %."""
    ties = outcomes(0.0, 200, splits=splits, noise=noise).count("tie")
    assert ties > stats.binom.ppf(0.005, 200, 0.95)


def test_a_worse_recommender_is_called_worse():
    """A shift of eight standard errors is found in every run, and never with the wrong sign."""
    assert set(outcomes(-0.1, 50)) == {"worse"}
    assert set(outcomes(0.1, 50)) == {"better"}


def test_the_interval_holds_the_truth():
    """In 95 % of 200 runs, over people, splits and noise; same false alarm as above."""
    inside = 0
    for bootstrap, own, _ in draw_runs(8, 200, noise=0.02):
        inside += bootstrap.interval(own, (-10, 10)).holds(0.3)
    assert inside > stats.binom.ppf(0.005, 200, 0.95)


def test_equal_figures_are_a_tie_without_a_width():
    """The same figures person by person."""
    generator = np.random.default_rng(1)
    chosen = choose_people(generator)
    own, _ = draw_figures(generator, chosen)
    paired = PeopleBootstrap(chosen).difference(own, own)
    assert tuple(paired.interval) == (0.0, 0.0, 0.0)
    assert name_outcome(0.0, paired.p_value) == "tie"


def test_people_without_a_figure_are_left_out():
    """The mean is that of the others."""
    chosen = [np.array([0, 1, 2])]
    values = [np.array([0.2, np.nan, 0.4])]
    assert PeopleBootstrap(chosen).interval(values, (0, 1)).mean == pytest.approx(0.3)


def test_holm_is_scipys():
    """Corrected values are those of an independent implementation of the rule."""
    p_values = [0.01, 0.04, 0.03, 0.005]
    assert correct_by_holm(p_values) == pytest.approx([0.03, 0.06, 0.06, 0.02])
