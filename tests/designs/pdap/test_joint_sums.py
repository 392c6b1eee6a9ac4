"""Noisy sums: the law of the trees, what one visit can change, and what it is charged."""

from __future__ import annotations

import copy
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import PureAccountant, ZCDPAccountant
from tacit.designs.pdap.policies.joint.settings import JointSetting
from tacit.designs.pdap.policies.joint.sums import GRAIN, EpochSums, NodeNoise, TreeSums
from tacit.errors import PrivacyError
from tacit.mechanisms import samplers
from tacit.mechanisms.tree import TreeCounter

PAIRS = ["likes and dislikes", "visits and likes"]
NOTHING = NodeNoise(math.inf, 0.0, 1, "likes and dislikes")


class Named(TreeSums):
    """Its block that ends after arrival t has the noise 4^t in both sums of every cell and arm."""

    def _block(self, level, number):
        return np.full_like(self._exact, 4 ** (number << level))


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.booleans()), max_size=25),
    st.sets(st.integers(1, 25)),
)
def test_trees_on_public_time_follow_the_tree_counter(stream, read):
    """Whatever is read, and when: each cell's and arm's total is that of a TreeCounter that steps
    at every arrival, with the same noise in the same node."""
    sums = Named(2, 2, NOTHING, horizon=25)
    noise = np.array([4**t for t in range(1, 26)])
    totals = {}
    for cell in range(2):
        for arm in range(2):
            likes = [GRAIN * (liked and (c, a) == (cell, arm)) for c, a, liked in stream]
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(samplers, "discrete_laplace", lambda v, _: noise[: len(v)])
                totals[cell, arm] = TreeCounter(1.0, 25, GRAIN)(likes)
    for t, (cell, arm, liked) in enumerate(stream, 1):
        sums.add(cell, arm, float(liked))
        if t in read:
            seen = sums.release(t)
            for (c, a), total in totals.items():
                assert seen.likes[c, a] == total[t - 1] / GRAIN


class Counted(NodeNoise):
    """Noise that is never the same: the n-th array drawn is full of n."""

    drawn = 0

    def draw(self, shape):
        type(self).drawn += 1
        return np.full(shape, GRAIN * type(self).drawn)


def test_block_is_drawn_once_and_kept_while_it_can_be_read():
    """Totals after 4, 5, 6 share the block of the first four; after 8 it is another one."""
    Counted.drawn = 0
    sums = TreeSums(1, 1, Counted(1.0, 0.0, 4, "likes and dislikes"), horizon=8)
    likes = [float(sums.release(t).likes[0, 0]) for t in (4, 5, 6, 6, 8)]
    # First four: 1. Fifth: 2. Fifth and sixth: 3. All eight: 4.
    assert likes == [1, 1 + 2, 1 + 3, 1 + 3, 4]
    assert Counted.drawn == 4


def test_blocks_that_are_never_read_are_never_drawn():
    """Read once, after 16 arrivals, a tree of 31 blocks draws one."""
    Counted.drawn = 0
    sums = TreeSums(3, 2, Counted(1.0, 0.0, 5, "likes and dislikes"), horizon=16)
    sums.release(16)
    assert Counted.drawn == 1


@pytest.mark.parametrize("horizon", [12, 14])
def test_a_tree_may_step_with_several_arrivals(horizon):
    """Steps of 4 arrivals: totals are exact, three steps or four need fewer levels than arrivals,
    and a total within a step, which no block covers, is refused."""
    Counted.drawn = 0
    sums = TreeSums(1, 1, Counted(1.0, 0.0, 3, "likes and dislikes"), horizon, step=4)
    sums.add(0, 0, 1.0)
    ends = [4, 8, 12, *([14] if horizon == 14 else [])]
    likes = [float(sums.release(end).likes[0, 0]) - 1 for end in ends]
    # First step: 1. Both: 2. Third: 3, beside both. All four: 4.
    assert likes == [1, 2, 2 + 3, 4][: len(ends)]
    with pytest.raises(PrivacyError, match="after every 4"):
        TreeSums(1, 1, NOTHING, horizon, step=4).release(6)


def node_values(stream, pair, horizon, step=1):
    """Every dyadic block's exact sums, of every cell and arm, from the totals without noise."""
    sums = TreeSums(2, 2, NodeNoise(math.inf, 0.0, 1, pair), horizon, step=step)
    totals = [np.zeros((2, 2, 2))]
    for t, visit in enumerate(stream, 1):
        if visit is not None:
            sums.add(*visit)
        if t % step and t != horizon:
            continue
        seen = sums.release(t)
        second = seen.visits if pair == "visits and likes" else seen.visits - seen.likes
        totals.append(np.stack([seen.likes, second], axis=-1))
    return [
        totals[end] - totals[end - (1 << level)]
        for level in range((-(-horizon // step)).bit_length())
        for end in range(1 << level, len(totals), 1 << level)
    ]


visits = st.tuples(st.integers(0, 1), st.integers(0, 1), st.floats(0, 1))


@settings(deadline=None)
@pytest.mark.parametrize("pair", PAIRS)
@given(
    stream=st.lists(visits, min_size=2, max_size=20),
    steps=st.integers(1, 20) | st.none(),
    data=st.data(),
)
def test_one_visit_changes_no_more_than_declared_in_a_tree(pair, stream, steps, data):
    """Choices replayed, one visit not learned: over all blocks, L1 changes by at most as many times
    what one block may as the setting declares; that is 1 for likes and dislikes, 2 else."""
    setting = JointSetting(
        videos=2,
        neighbours=0,
        dimension=1,
        horizon=len(stream),
        epsilon=1.0,
        release="tree",
        tree_steps=steps,
    )
    gone = data.draw(st.integers(0, len(stream) - 1))
    other = [None if t == gone else visit for t, visit in enumerate(stream)]
    ours, theirs = (
        node_values(one, pair, len(stream), setting.tree_step) for one in (stream, other)
    )
    change = sum(np.abs(a - b).sum() for a, b in zip(ours, theirs, strict=True))
    assert change <= setting.nodes * (1 if pair == "likes and dislikes" else 2)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_declared_change_is_reached(pair):
    """The first of 16 visits, with reward 1, is in all five blocks: the bound is no larger than
    it has to be, and a level less would be too small."""
    stream = [(0, 0, 1.0)] * 16
    ours, theirs = (node_values(one, pair, 16) for one in (stream, [None, *stream[1:]]))
    change = sum(np.abs(a - b).sum() for a, b in zip(ours, theirs, strict=True))
    assert change == 5 * (1 if pair == "likes and dislikes" else 2)


@settings(deadline=None)
@given(
    stream=st.lists(visits, min_size=1, max_size=20),
    ends=st.sets(st.integers(1, 20)),
    data=st.data(),
)
def test_one_visit_is_in_one_epoch(stream, ends, data):
    """One visit not learned changes all releases together by L1 1 at most, however many."""
    gone = data.draw(st.integers(0, len(stream) - 1))
    released = []
    for left_out in (None, gone):
        sums, out = EpochSums(2, 2, NOTHING), []
        for t, visit in enumerate(stream):
            if t != left_out:
                sums.add(*visit)
            if t + 1 in ends:
                seen = sums.release(t + 1)
                out.append(np.stack([seen.likes, seen.visits - seen.likes]))
        released.append(out)
    change = sum(np.abs(a - b).sum() for a, b in zip(*released, strict=True))
    assert change <= 1


def test_replaced_visit_counts_twice():
    """Another context and another reward: L1 2 in one release, as the card says."""
    seen = []
    for cell, reward in ((0, 1.0), (1, 0.0)):
        sums = EpochSums(2, 1, NOTHING)
        sums.add(cell, 0, reward)
        one = sums.release(1)
        seen.append(np.stack([one.likes, one.visits - one.likes]))
    assert np.abs(seen[0] - seen[1]).sum() == 2


@settings(deadline=None)
@pytest.mark.parametrize("pair", PAIRS)
@given(share=st.floats(-3, 3))
def test_a_visit_has_one_size(pair, share):
    """Whatever the reward, also beyond its range: L1 and L2 of what it adds are within what the
    noise is scaled for, in whole grains."""
    added = NodeNoise(1.0, 0.0, 1, pair).pairs(np.array(share))
    largest = 1 if pair == "likes and dislikes" else 2
    assert np.abs(added).sum() <= largest * GRAIN
    assert (added**2).sum() <= largest * GRAIN**2
    assert added.min() >= 0


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("nodes", [1, 2, 18])
def test_a_visit_is_charged_what_it_loses(pair, nodes):
    """nodes * L1 distance / scale, in fractions, is at most the event's price, and that epsilon."""
    noise = NodeNoise(0.7, 0.0, nodes, pair)
    distance = nodes * GRAIN * (1 if pair == "likes and dislikes" else 2)
    loss = Fraction(distance) / Fraction(noise._laplace.scale)
    assert loss <= Fraction(PureAccountant().add(noise.event).epsilon()) <= Fraction(0.7)


def test_figures_of_200000_visits():
    """18 levels: scale 36 for visits and likes, 18 for likes and dislikes, Gaussian 27.2."""
    levels = (200_000).bit_length()
    sd = {
        (pair, delta): math.sqrt(NodeNoise(1.0, delta, levels, pair).variance)
        for pair in PAIRS
        for delta in (0.0, 1e-6)
    }
    assert levels == 18
    assert sd["visits and likes", 0.0] / math.sqrt(2) == pytest.approx(36)
    assert sd["likes and dislikes", 0.0] / math.sqrt(2) == pytest.approx(18)
    assert sd["visits and likes", 1e-6] == pytest.approx(27.2, abs=0.6)
    gaussian = NodeNoise(1.0, 1e-6, levels, "visits and likes")
    assert ZCDPAccountant().add(gaussian.event).epsilon(1e-6) <= 1.0


def test_noise_has_the_stated_variance():
    """Of 10,000 draws of the real sampler, within five standard errors; both kinds."""
    for delta in (0.0, 1e-6):
        noise = NodeNoise(1.0, delta, 2, "likes and dislikes")
        drawn = noise.draw((10_000,)) / GRAIN
        error = math.sqrt(5 * noise.variance**2 / drawn.size)  # the Laplace kurtosis is 6
        assert abs(drawn.var() - noise.variance) < 5 * error


def test_time_does_not_go_back():
    """A total or an epoch that was released is not released again with fresh noise."""
    tree, epochs = TreeSums(1, 1, NOTHING, horizon=4), EpochSums(1, 1, NOTHING)
    for sums in (tree, epochs):
        sums.release(3)
        with pytest.raises(PrivacyError, match="already"):
            sums.release(2)
    with pytest.raises(PrivacyError, match="at most 4"):
        tree.release(5)


def test_sums_exist_once():
    """A copy would release the same visits with other noise."""
    with pytest.raises(PrivacyError, match="copied"):
        copy.deepcopy(EpochSums(1, 1, NOTHING))
