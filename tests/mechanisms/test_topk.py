"""Peeling draws each place from what is left, and the list costs the sum of its places."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chisquare

from tacit.accounting.pure import PureAccountant
from tacit.errors import ConfigError
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.topk import TopSelection
from tacit.randomness import secure

FALSE_ALARM = 1e-6
SCORES = np.array([0.0, 1.0, 1.0, 3.0])


def top(k=2, epsilon=1.0):
    return TopSelection(k, Selection(epsilon, 4, 1.0, 0.0, 4.0, 1.0))


def list_chances(weights, k):
    """The chance of every ordered list of k, by enumeration."""
    chances = {}
    for chosen in itertools.permutations(range(len(weights)), k):
        left, chance = list(weights), 1.0
        for candidate in chosen:
            chance *= left[candidate] / sum(left)
            left[candidate] = 0
        chances[chosen] = chance
    return chances


def draws(mechanism, count):
    lists = mechanism(np.tile(SCORES, (count, 1)), secure())
    codes = np.array([4 * first + second for first, second in lists.tolist()])
    return np.array([np.sum(codes == 4 * a + b) for a, b in itertools.permutations(range(4), 2)])


def test_lists_have_their_chances():
    """40,000 lists fit the enumerated chances (chi-square, false alarm 1e-6); lists with the whole
    epsilon of the list in each place are caught by the same test."""
    expected = 40_000 * np.array(list(list_chances(np.exp(SCORES / 2), 2).values()))
    assert chisquare(draws(top(), 40_000), expected).pvalue > FALSE_ALARM
    assert chisquare(draws(top(epsilon=2.0), 40_000), expected).pvalue < FALSE_ALARM


@pytest.mark.parametrize("k", [1, 2, 3])
def test_loss_is_within_the_claim(k):
    """On every neighbour of the scores, no list is e^(k epsilon) times likelier; enumerated."""
    mechanism = top(k)
    weights = mechanism.choice.weights(SCORES).tolist()
    losses = []
    for move in itertools.product((-1, 0, 1), repeat=4):
        moved = mechanism.choice.weights(np.clip(SCORES + move, 0, 4)).tolist()
        one, other = list_chances(weights, k), list_chances(moved, k)
        losses += [abs(math.log(one[chosen] / other[chosen])) for chosen in one]
    assert k / 2 < max(losses) <= k + 1e-9
    assert PureAccountant().add(mechanism.event).epsilon() == pytest.approx(k)
    assert mechanism.epsilon == k


def test_no_candidate_comes_twice():
    """A list of all candidates is a permutation of them; shapes follow the input."""
    lists = top(4)(np.zeros((200, 4)), secure())
    assert lists.shape == (200, 4)
    assert (np.sort(lists, axis=1) == np.arange(4)).all()
    assert top(3)(SCORES, secure()).shape == (3,)


def test_what_was_drawn_has_no_weight_left():
    """At an epsilon at which the other candidate has the least weight there is, 1, it comes second
    in every one of 200 lists."""
    mechanism = TopSelection(2, Selection(200.0, 2, 1.0, 0.0, 4.0, 1.0))
    assert mechanism.choice.weights([4.0, 0.0])[1] == 1
    assert mechanism(np.tile([4.0, 0.0], (200, 1)), secure()).tolist() == [[0, 1]] * 200


@pytest.mark.parametrize("k", [0, 5, 1.0])
def test_length_in_range(k):
    """A list has from 1 to all candidates."""
    with pytest.raises(ConfigError, match="k is"):
        top(k)
