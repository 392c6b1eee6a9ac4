"""The readable counting of votes does what the paper's two algorithms say, voter by voter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.engine.votes import Credits, enrol, make_empty_credits
from tacit.errors import ConfigError, DataError
from tests.support import votes_reference as reference

ONE = np.uint64(1)


def bit(client):
    return ONE << np.uint64(client)


@settings(max_examples=25, deadline=None)
@given(
    voters=st.integers(0, 30),
    objects=st.integers(1, 4),
    diversity=st.integers(0, 4),
    radius=st.integers(0, 4),
    clients=st.integers(0, 64),
    seed=st.integers(0, 2**32),
)
def test_credits_are_the_papers(voters, objects, diversity, radius, clients, seed):
    """Counts, totals of credit and who counts are those of integer credits kept one by one."""
    generator = np.random.default_rng(seed)
    block = make_empty_credits(voters, diversity=diversity, radius=radius)
    electorates = np.zeros((64, voters), bool)
    for client in range(clients):
        electorates[client] = generator.random(voters) < 0.8
        enrol(block, client, electorates[client])
    credit_d = np.full((64, voters), 2 * diversity)
    credit_r = np.full((64, voters), 2 * radius + 1)
    for _ in range(2 * (diversity + radius) + 3):
        chosen = generator.integers(0, objects, voters).astype(np.uint16)
        weights = electorates & (credit_r > 0) & (credit_d + credit_r > 0)
        counts = np.array([np.bincount(chosen[row], minlength=objects) for row in weights])
        assert np.array_equal(reference.tally(chosen, block.alive, objects), counts)
        totals = ((credit_d + credit_r) * weights).sum(axis=1)
        assert np.array_equal(reference.total_credit(block), totals)
        diverse, near = np.zeros(objects, np.uint64), np.zeros(objects, np.uint64)
        for client in range(64):
            shown, others = generator.integers(objects), np.arange(objects)
            if generator.random() < 0.5:
                near[shown] |= bit(client)
                credit_r[client, chosen == shown] -= 1
            else:
                diverse[others != shown] |= bit(client)
                credit_d[client, chosen != shown] -= 1
        reference.charge(chosen, block, diverse, near)


def test_without_credits_charging_is_the_kick_out_rule():
    """At D = R = 0 whoever is charged is out, as by `keep`."""
    generator = np.random.default_rng(1)
    chosen = generator.integers(0, 5, 40).astype(np.uint16)
    block = make_empty_credits(40, diversity=0, radius=0)
    for client in range(64):
        enrol(block, client, generator.random(40) < 0.7)
    diverse = generator.integers(0, 2**64, 5, dtype=np.uint64)
    near = generator.integers(0, 2**64, 5, dtype=np.uint64) & ~diverse
    alive = block.alive.copy()
    reference.keep(chosen, alive, ~(diverse | near))
    reference.charge(chosen, block, diverse, near)
    assert np.array_equal(block.alive, alive)


def test_a_place_can_be_given_to_another_client():
    """Who is enrolled at a used place starts with full credits, and the neighbours keep theirs."""
    block = make_empty_credits(3, diversity=1, radius=1)
    everybody = np.ones(3, bool)
    for client in (0, 1):
        enrol(block, client, everybody)
    near = np.full(1, 3, np.uint64)
    reference.charge(np.zeros(3, np.uint16), block, np.zeros(1, np.uint64), near)
    enrol(block, 0, np.array([True, False, True]))
    assert reference.total_credit(block)[:2].tolist() == [10, 12]


def test_block_has_64_places():
    """A 65th client is refused in a sentence."""
    with pytest.raises(ConfigError, match="0 to 63; got 64"):
        enrol(make_empty_credits(2, diversity=0, radius=0), 64, np.ones(2, bool))


def test_credits_of_another_setting_are_refused():
    """Arrays that were made for other D and R do not become credits."""
    block = make_empty_credits(2, diversity=0, radius=3)
    with pytest.raises(DataError, match="'radius' does not fit"):
        Credits(2, 1, block.alive, block.both, block.radius)


def test_credits_below_zero_are_refused():
    """D and R are numbers of rounds."""
    with pytest.raises(ConfigError, match="at least 0; got D = -1"):
        make_empty_credits(2, diversity=-1, radius=3)
