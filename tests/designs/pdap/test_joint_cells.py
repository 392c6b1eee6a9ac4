"""Cells that split by released sums: they tile the cube, lose nothing, and tell nothing more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import PureAccountant
from tacit.designs.pdap import guarantees as cards
from tacit.designs.pdap.policies.base import Host
from tacit.designs.pdap.policies.joint.estimates import Choices
from tacit.designs.pdap.policies.joint.learner import Joint
from tacit.designs.pdap.policies.joint.settings import JointSetting
from tacit.designs.pdap.policies.joint.sums import GRAIN, Observation
from tacit.designs.pdap.policies.partition import FIRST, MOST_CELLS, NoisyCells
from tacit.designs.pdap.serve.state import saved
from tacit.designs.pdap.vendor import Vendor
from tacit.errors import ConfigError
from tacit.randomness import replay, simulation

MANY = 10.0**6


@pytest.fixture(autouse=True)
def _simulated():
    """Seeds are allowed: these are experiments."""
    with simulation():
        yield


def joint(seed=0, **changes) -> Joint:
    plain = {
        "videos": 3,
        "neighbours": 1,
        "dimension": 2,
        "horizon": 60,
        "epsilon": math.inf,
        "first": 10,
        "growth": 1.0,
        "partition": "noisy",
    }
    return Joint(JointSetting(**{**plain, **changes}), randomness=replay(seed))


def stream(visits, seed=0):
    """Contexts (visits, 2) and rewards (visits,)."""
    generator = np.random.default_rng(seed)
    return generator.random((visits, 2)), generator.integers(0, 2, visits).astype(float)


def served(policy, contexts, rewards):
    for context, reward in zip(contexts, rewards, strict=True):
        policy.update(policy.select(context), reward)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 4), st.lists(st.integers(0, 10**6), max_size=8), st.integers(0, 99))
def test_every_context_is_in_the_cell_that_holds_it(dimension, split, seed):
    """Whichever cells were split, a context's cell has its centre within half a side, in each
    feature; its number is that of its name; and there are no more cells than there may be."""
    cells = NoisyCells(dimension, arms=1)
    for pick in split:
        cells.split(np.where(np.arange(len(cells)) == pick % len(cells), 10.0**9, 0.0))
    assert len(cells) <= MOST_CELLS
    contexts = np.random.default_rng(seed).random((20, dimension))
    for context, number in zip(contexts, cells.numbers(contexts), strict=True):
        cell = cells.cell(context)
        assert cells.number(cell) == number
        assert (np.abs(context - cells.centres[number]) <= 0.5 ** (cell.level + 1)).all()


def test_a_cell_splits_when_enough_have_come():
    """FIRST per arm in the whole cube, four times as many a level deeper; parents are told."""
    cells = NoisyCells(1, arms=5)
    assert cells.split(np.array([5 * FIRST - 0.1])) is None
    assert cells.split(np.array([5 * FIRST])).tolist() == [0, 0]
    assert cells.split(np.array([20 * FIRST - 0.1, 20 * FIRST])).tolist() == [0, 1, 1]
    assert cells.split(np.array([79.0, 79.0, 0.0]) * FIRST).tolist() == [0, 0, 1, 2]


def test_nothing_is_lost_when_cells_split():
    """Without noise, all visits and likes that were released are still there after every split."""
    policy = joint(horizon=400, first=20)
    contexts, rewards = stream(400)
    served(policy, contexts, rewards)
    policy.until_release()
    assert len(policy.grid) >= 16
    assert sum(one.visits.sum() for one, _ in policy._seen) == pytest.approx(400)
    assert sum(one.likes.sum() for one, _ in policy._seen) == pytest.approx(rewards.sum())


def test_children_share_the_noise_of_their_parent():
    """Of four children each has a quarter of the sums, and of the noise's variance; a cell that was
    not split keeps what it had."""
    seen = Observation(np.array([[8.0], [3.0]]), np.array([[16.0], [5.0]]), 4.0, 8.0, 4.0)
    cut = seen.recut(np.array([0, 0, 0, 0, 1]))
    assert cut.likes[:, 0].tolist() == [2.0] * 4 + [3.0]
    assert cut.visits_noise[:, 0].tolist() == [2.0] * 4 + [8.0]
    again = cut.recut(np.array([0, 1, 2, 3, 4, 4]))
    assert again.likes_noise[:, 0].tolist() == [1.0] * 4 + [2.0, 2.0]


class Fixed:
    """Releases the same whatever was learned, and keeps what was."""

    cumulative = False

    def __init__(self, cells):
        self.cells, self.learned = cells, []

    def add(self, cells, arms, shares):
        self.learned.append((int(cells), int(arms), float(shares)))

    def release(self, arrivals):
        generator = np.random.default_rng(arrivals)
        shape = (self.cells, 4)
        likes = generator.random(shape)
        return Observation(likes, likes + 10 * generator.random(shape), 1.0, 2.0, 1.0)

    def recut(self, cells):
        self.cells = cells


@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=40, max_size=40))
def test_cells_are_post_processing(private):
    """With the same releases, what others did and felt changes neither cells nor choices; and each
    visit is learned once, in one cell, so that a visit is in one release."""
    contexts, rewards = stream(40)
    kept = []
    for others, felt in ((contexts, rewards), (np.array(private), [r for r, _ in private])):
        with simulation():
            policy = joint(epsilon=1.0)
        sums = policy._sums = Fixed(1)
        shown = []
        for n in range(40):
            mine = n % 3 == 2  # every third visitor is the same in both worlds
            choice = policy.select(contexts[n] if mine else others[n])
            if mine:
                shown.append((choice, list(policy.grid._cells)))
            policy.update(choice, float(felt[n]))
        assert len(sums.learned) == 40
        kept.append(shown)
    assert kept[0] == kept[1]
    assert len(kept[0][-1][1]) > 1


def test_an_answer_to_a_cell_that_was_split_is_not_learned():
    """One at a time and many at once: its cell is gone, and it goes into no other one."""
    policy = joint(horizon=200, first=50)
    contexts, rewards = stream(50)
    late = policy.select(contexts[0])
    many = policy.select_many(contexts[1:5])
    served(policy, contexts[5:], rewards[5:])
    policy.until_release()
    assert len(policy.grid) > 1
    policy.update(late, 1.0)
    policy.update_many(many, np.ones(4))
    assert not policy._sums._exact.any()
    here = policy.select_many(contexts[:3])
    policy.update_many(Choices(here.cells, here.arms, here.chances, here.visits), np.ones(3))
    assert policy._sums._exact.sum() == 3 * GRAIN


def test_arms_and_periods_come_and_go():
    """An arm that joins after splits, and a second period: choices go on, and all is learned."""
    policy = joint(horizon=60, at_horizon="renew")
    contexts, rewards = stream(150)
    served(policy, contexts[:45], rewards[:45])
    policy.add_arm()
    served(policy, contexts[45:], rewards[45:])
    policy.until_release()
    assert sum(one.visits.sum() for one, _ in policy._seen) >= 120
    assert policy.select(contexts[0]).arm in range(5)


def test_the_price_is_that_of_a_grid():
    """Epsilon of the card and of the event, with what cells follow from among its assumptions."""
    told = joint(epsilon=1.0).setting
    card = cards.joint(told)
    assert card.epsilon == PureAccountant().add(told.noise.event).epsilon() <= 1.0
    assert "sums that were released" in " ".join(card.assumptions)


@pytest.mark.parametrize("changed", [{"release": "tree"}, {"slices": 2}, {"partition": "exact"}])
def test_what_belongs_to_a_grid_is_refused(changed):
    """In one sentence."""
    with pytest.raises(ConfigError):
        joint(**changed)


def test_it_is_not_stored():
    """A vendor's state is that of a grid."""
    policy = joint(neighbours=0)
    guests = Host(policy, epsilon=1.0, randomness=replay(1))
    with pytest.raises(ConfigError, match="fixed grid"):
        saved(Vendor(policy, ["a", "b", "c"], guests=guests))
