"""If ratings follow the model, releases do not depend on the attribute; faults are caught."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare

from tacit.designs.standard_scheme import device as device_module
from tacit.designs.standard_scheme.device import Device
from tacit.designs.standard_scheme.disclosure import CAP
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.theory import keep_probability, quantile_coupling
from tacit.designs.standard_scheme.training.tables import Tables
from tests.support.rounded_stars import log_ratio, rating_distribution, rounding_distribution

FALSE_ALARM = 1e-6
PEOPLE = 20_000
FEW = 2_000
"""People of each value where a planted fault is to be seen: each is missed with a chance below
1e-9, by the noncentral chi-square distribution."""
VALUES = ("F", "M")
STARS = np.arange(1.0, 6.0)
MEAN, HALF_GAP = 4.2, np.array([0.3, -0.3])
RATED = np.array([0.5, 0.2])


def own_stars():
    """(values, levels) how each group rates the one item."""
    return np.stack([rating_distribution(MEAN + gap, 1.0, STARS) for gap in HALF_GAP])


def tables(**changes):
    """The true tables of one item in a population that is known exactly."""
    own = own_stars()
    chances = quantile_coupling(own, np.broadcast_to(own.mean(axis=0), own.shape))
    chances = 1e-4 + (1 - 5e-4) * chances
    cumulative = np.minimum(np.round(np.cumsum(chances, axis=-1) * MICRO), MICRO).astype(int)
    cumulative[..., -1] = MICRO
    ratios = np.array([keep_probability(RATED[[v]], RATED[:, None]) for v in range(2)])
    exact = Tables(
        values=VALUES,
        offsets=np.round(HALF_GAP[:, None] * MICRO).astype(int),
        keep=np.round(ratios * CAP).astype(int),
        means=np.zeros((2, 1), dtype=int),
        coupling=cumulative[:, None],
        item_means=np.zeros(1, dtype=int),
    )
    return replace(exact, **changes)


def released(device, star, draws):
    """Released level of the one item, None if held back, under scripted draws."""
    waiting = list(draws)
    dice = lambda item: lambda bound: waiting.pop(0)  # noqa: E731
    sent = device(State(created=0), dice).release({"item 0": star}, 0).ratings
    return sent[0][1] // MICRO if sent else None


def test_coupling_releases_the_same_stars_for_both(disclose):
    """Exact: all stars of both groups and all draws, through the device itself, weighed.

    The two distributions agree up to the millionths in which couplings are written.
    """
    made = tables()
    disclosure = disclose("coupling", {"gender": made})
    totals = np.zeros((2, 5))
    for number, value in enumerate(VALUES):

        def device(state, dice, value=value):
            return Device(disclosure, {"gender": value}, state, dice)

        for level, chance in enumerate(own_stars()[number]):
            edges = sorted({0, MICRO, *made.coupling[number, 0, level].tolist()})
            for low, high in pairwise(edges):
                ends = {released(device, STARS[level], [draw]) for draw in (low, high - 1)}
                assert len(ends) == 1  # between two thresholds nothing changes
                totals[number, ends.pop()] += chance * (high - low) / MICRO
    assert log_ratio(*own_stars()) > 0.3
    assert log_ratio(*totals) < 1e-4
    np.testing.assert_allclose(totals[0], own_stars().mean(axis=0), atol=4e-4)


def test_selection_shows_equally_often(disclose):
    """Exact: a rated item is shown with the smaller chance, whoever rated it; min is meant.

    The chance to keep is where the device starts to hold back, in millionths.
    """
    made = tables()
    disclosure = disclose("coupling+selection", {"gender": made})
    for number, value in enumerate(VALUES):

        def device(state, dice, value=value):
            return Device(disclosure, {"gender": value}, state, dice)

        keep = int(made.keep[number, 0])
        assert released(device, 3.0, [keep - 1, 0]) is not None
        assert released(device, 3.0, [keep, 0]) is None
        assert RATED[number] * keep / CAP == pytest.approx(RATED.min(), abs=1e-6)


def sample(disclosure, value, seed, *, people=PEOPLE, continuous=False, kind=Device):
    """Counts of what `people` devices of one value release (None: nothing) for the one item."""
    generator = np.random.default_rng([seed, VALUES.index(value)])
    number = VALUES.index(value)
    stars = generator.choice(STARS, people, p=own_stars()[number])
    if continuous:
        stars = generator.normal(HALF_GAP[number], 1.0, people)
    rated = generator.random(people) < RATED[number]
    draws = iter(generator.integers(0, MICRO, 4 * people).tolist())
    counts = Counter()
    for star, there in zip(stars.tolist(), rated.tolist(), strict=True):
        device = kind(
            disclosure,
            {"gender": value},
            State(created=0),
            lambda item: lambda bound: next(draws),
            reproduce=True,
        )
        history = {"item 0": star} if there or not disclosure.rule.selection else {}
        sent = device.release(history, 0).ratings
        level = sent[0][1] if sent else None
        counts[level // (MICRO // 4) if continuous and sent else level] += 1
    return counts


def p_value(disclosure, seed=1, **how):
    """Chi-square test that both values release alike; cells of fewer than 25 are put together."""
    counts = [sample(disclosure, value, seed, **how) for value in VALUES]
    cells = {level for count in counts for level in count}
    table = np.array([[count[level] for level in cells] for count in counts])
    few = table.sum(axis=0) < 25
    table = np.concatenate([table[:, ~few], table[:, few].sum(axis=1, keepdims=True)], axis=1)
    return chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue


def test_coupling_and_selection_in_a_sample(disclose):
    """20,000 people of each value release alike, what and whether (chi-square, fixed seed)."""
    assert p_value(disclose("coupling+selection", {"gender": tables()})) > FALSE_ALARM


@pytest.mark.parametrize(("sign", "hidden"), [(1, True), (-1, False)])
def test_scheme_in_a_sample(disclose, sign, hidden):
    """In the continuous linear model the scheme hides; with the gap's sign turned it does not."""
    offsets = np.round(sign * HALF_GAP[:, None] / 5 * MICRO).astype(int)
    disclosure = disclose(
        "scheme",
        {"gender": tables(coupling=None, offsets=offsets)},
        minimum=-10.0,
        step=5.0,
        levels=0,
    )
    people = PEOPLE if hidden else FEW
    assert (p_value(disclosure, people=people, continuous=True) > FALSE_ALARM) == hidden


def test_catches_the_printed_maximum(disclose):
    """With max(1, .) in place of min every rated item is shown, and the test sees it."""
    everything = tables(keep=np.full((2, 1), MICRO))
    disclosure = disclose("coupling+selection", {"gender": everything})
    assert p_value(disclosure, people=FEW) < FALSE_ALARM


def test_catches_tables_turned_round(disclose):
    """With the couplings of the two values exchanged the test sees it."""
    turned = tables(coupling=tables().coupling[::-1])
    assert p_value(disclose("coupling", {"gender": turned}), people=FEW) < FALSE_ALARM


def test_catches_unrounded_whole_stars(disclose):
    """Without rounding on whole stars the two values share no released number at all."""
    disclosure = disclose("scheme", {"gender": tables()})
    counts = [sample(disclosure, value, 1, people=FEW) for value in VALUES]
    assert not set(counts[0]) & set(counts[1])
    assert p_value(disclosure, people=FEW) < FALSE_ALARM


def test_known_leak_of_rounded_whole_stars(disclose):
    """On whole stars the scheme with rounding is not independent, and the test says so."""
    assert p_value(disclose("scheme+rounding", {"gender": tables()})) < FALSE_ALARM


def swapped_round(level, n_levels, draw):
    """Round with the two chances exchanged, as printed."""
    whole, rest = divmod(level, MICRO)
    whole += draw(MICRO) < MICRO - rest
    return min(max(whole, 0), n_levels - 1) * MICRO


@pytest.mark.parametrize("is_right", [True, False])
def test_rounding_in_a_sample(disclose, monkeypatch, is_right):
    """20,000 roundings of 4 - 0.3 fit the exact chances, and 2,000 of those as printed do not."""
    people = PEOPLE if is_right else FEW
    if not is_right:
        monkeypatch.setattr(device_module, "round_level", swapped_round)
    disclosure = disclose("scheme+rounding", {"gender": tables()})
    draws = iter(np.random.default_rng(2).integers(0, MICRO, people).tolist())
    counts = Counter()
    for _ in range(people):
        state = State(created=0)
        device = Device(disclosure, {"gender": "F"}, state, lambda item: lambda bound: next(draws))
        counts[device.release({"item 0": 4.0}, 0).ratings[0][1]] += 1
    expected = rounding_distribution(3.7, 1, 5)
    observed = [counts[round((star - 1) * MICRO)] for star in expected]
    assert sum(observed) == people
    fits = chisquare(observed, [chance * people for chance in expected.values()]).pvalue
    assert (fits > FALSE_ALARM) == is_right
