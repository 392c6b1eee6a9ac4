"""Noise drawn ahead is the sampler's noise: each number once, to its owner, in blocks that grow."""

from __future__ import annotations

import copy
import os
import pickle

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from tacit.auditing.sampler_spy import intercept_samplers
from tacit.errors import PrivacyError
from tacit.mechanisms import samplers
from tacit.mechanisms.counter import TreeCounter
from tacit.mechanisms.gate import ThresholdGate
from tacit.mechanisms.runs import LARGEST_BLOCK, LaplaceBlocks

FALSE_ALARM = 1e-6


@pytest.fixture
def numbered(monkeypatch):
    """Noise 0, 1, 2, ... in the order in which it is drawn; keeps the size of each block."""
    blocks = []

    def draw(values, scale):
        start = sum(blocks)
        blocks.append(len(values))
        return np.arange(start, start + len(values), dtype=np.int64)

    monkeypatch.setattr(samplers, "discrete_laplace", draw)
    return blocks


def test_every_number_is_handed_out_once(numbered):
    """A thousand numbers come in the order in which they were drawn, none twice, none left out."""
    ahead = LaplaceBlocks(2.0)
    assert [ahead.next_noise() for _ in range(1000)] == list(range(1000))


def test_blocks_grow(numbered):
    """Nothing is drawn before it is needed, and one number costs one draw; later blocks are four
    times as large, up to the largest."""
    ahead = LaplaceBlocks(2.0)
    assert numbered == []
    for _ in range(1000):
        ahead.next_noise()
    assert numbered == [1, 4, 16, 64, LARGEST_BLOCK, LARGEST_BLOCK, LARGEST_BLOCK, LARGEST_BLOCK]


def test_no_more_is_drawn_than_can_be_needed(numbered):
    """A counter's life draws as many numbers as it has steps."""
    run = TreeCounter(1.0, 30).start()
    for _ in range(30):
        run.add(1)
    assert numbered == [1, 4, 16, 9]


def test_runs_do_not_share_noise(numbered):
    """Of two runs of one gate each draws its own block, though their scale is the same."""
    gate = ThresholdGate(1.0, 10**6, monotonic=True)
    for run in (gate.start(), gate.start()):
        run.stops_at(0)
        run.stops_at(0)
    assert numbered == [1, 1, 1, 4, 1, 4]  # both thresholds, then two blocks for each


@pytest.mark.parametrize("told", [2.0, 1.6])
def test_follows_the_law_of_the_sampler(told):
    """5,000 numbers through several blocks fit OpenDP's of that scale (chi-square, false alarm
    1e-6), and do not if the scale is 20 per cent less."""
    ahead = LaplaceBlocks(told)
    mine = np.array([ahead.next_noise() for _ in range(5_000)])
    theirs = samplers.discrete_laplace(np.zeros(20_000, dtype=np.int64), 2.0)
    table = [np.bincount(np.clip(part, -8, 8) + 8, minlength=17) for part in (mine, theirs)]
    assert (chi2_contingency(table).pvalue > FALSE_ALARM) == (told == 2.0)


def test_tap_hears_each_number_when_it_is_taken(numbered):
    """The auditor hears one draw per step, in number and scale, and its answers are used; what
    was drawn ahead before stays where it is."""
    run = TreeCounter(1.0, 20).start()
    run.add(0)
    run.add(0)
    with intercept_samplers(lambda asked: asked.values + 1000) as calls:
        assert run.add(0) == 1001  # the node of two steps has noise 1
    assert [(asked.scale, asked.values.tolist()) for asked in calls] == [(run.counter.scale, [0])]
    assert numbered == [1, 4]
    assert run.add(0) == 2  # the next number


@pytest.mark.parametrize("twice", [copy.copy, copy.deepcopy, pickle.dumps])
def test_exists_once(twice):
    """It can be neither copied nor saved."""
    with pytest.raises(PrivacyError, match="copied"):
        twice(LaplaceBlocks(1.0))


def test_a_forked_child_gets_none():
    """In a real child process nothing that was drawn before is handed out."""
    ahead = LaplaceBlocks(1.0)
    ahead.next_noise()
    ahead.next_noise()
    child = os.fork()
    if child == 0:
        try:
            ahead.next_noise()
        except PrivacyError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert isinstance(ahead.next_noise(), int)
