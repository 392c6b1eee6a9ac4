"""The compiled counting of votes equals the readable one, in every count and every bit."""

from __future__ import annotations

import copy
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.engine import votes_compiled as local
from tacit.engine.votes import enrol, make_empty_credits
from tacit.errors import DataError
from tests.support import votes_reference as reference

VOTERS = st.one_of(st.integers(0, 70), st.sampled_from([1023, 1024, 1025, 4096, 4100, 9001]))
OBJECTS = st.one_of(st.integers(1, 5), st.sampled_from([64, 255, 256, 2000]))
LIVING = st.sampled_from([0.0, 0.0005, 0.02, 0.5, 1.0])
"""Share of words that count for anybody, on both sides of where the kernels change their way."""
SEEDS = st.integers(0, 2**32)
shapes = given(
    voters=VOTERS, objects=OBJECTS, living=LIVING, clients=st.integers(0, 64), seed=SEEDS
)
some = settings(max_examples=25, deadline=None)


def chosen(generator, voters, objects):
    """Votes, half of the time nearly all for one object."""
    votes = generator.integers(0, objects, voters)
    if generator.random() < 0.5:
        votes[generator.random(voters) < 0.95] = objects - 1
    return votes.astype(np.uint16)


def words(generator, count, clients=64):
    """Random words of a block with so many clients."""
    drawn = generator.integers(0, 2**64, count, dtype=np.uint64)
    return drawn & np.uint64(2**clients - 1)


@some
@shapes
@example(voters=0, objects=3, living=1.0, clients=64, seed=0)
@example(voters=9001, objects=1, living=1.0, clients=64, seed=0)
@example(voters=4096, objects=2000, living=0.0, clients=64, seed=0)
def test_a_block_without_credits(voters, objects, living, clients, seed):
    """tally, and keep and tally in one pass: the counts, and who counts afterwards."""
    generator = np.random.default_rng(seed)
    last, now = (chosen(generator, voters, objects) for _ in range(2))
    alive = words(generator, voters, clients)
    alive[generator.random(voters) >= living] = 0
    kept = words(generator, objects)
    counts = local.tally(now, alive, objects)
    assert np.array_equal(counts, reference.tally(now, alive, objects))
    expected, fused = alive.copy(), alive.copy()
    wanted = reference.keep_and_tally(last, kept, now, expected, objects)
    assert np.array_equal(local.keep_and_tally(last, kept, now, fused, objects), wanted)
    assert np.array_equal(fused, expected)


@some
@shapes
@example(voters=0, objects=3, living=1.0, clients=1, seed=0)
@example(voters=16_387, objects=1, living=1.0, clients=1, seed=0)
def test_one_client_is_a_block_of_one(voters, objects, living, clients, seed):
    """With a byte for each voter: the counts of a block's first client, after a like and a dislike,
    and who counts afterwards."""
    generator = np.random.default_rng(seed)
    last, now = (chosen(generator, voters, objects) for _ in range(2))
    for liked in (False, True):
        states = (generator.random(voters) < living).astype(np.uint8)
        given = int(generator.integers(objects))
        alive = states.astype(np.uint64)
        kept = np.full(objects, int(not liked), np.uint64)
        kept[given] = int(liked)
        assert np.array_equal(
            local.tally_one(now, states, objects), reference.tally(now, alive, objects)[:1]
        )
        wanted = reference.keep_and_tally(last, kept, now, alive, objects)[:1]
        found = local.keep_and_tally_one(last, given, liked, now, states, objects)
        assert np.array_equal(found, wanted)
        assert np.array_equal(states, alive)


@some
@shapes
@example(voters=4100, objects=3, living=1.0, clients=64, seed=0)
def test_a_block_with_credits(voters, objects, living, clients, seed):
    """charge with the counting: counts, totals and every plane, over several rounds."""
    generator = np.random.default_rng(seed)
    diversity, radius = generator.integers(0, 5, 2).tolist()
    block = make_empty_credits(voters, diversity=diversity, radius=radius)
    for client in range(clients):
        enrol(block, client, generator.random(voters) < living)
    fused = copy.deepcopy(block)
    last = chosen(generator, voters, objects)
    for _ in range(3):
        now = chosen(generator, voters, objects)
        diverse = words(generator, objects)
        near = words(generator, objects) & ~diverse
        arguments = (last, diverse, near, now)
        wanted = reference.charge_and_tally(*arguments, block, objects)
        found = local.charge_and_tally(*arguments, fused, objects)
        for one, other in zip(found, wanted, strict=True):
            assert np.array_equal(one, other)
        assert np.array_equal(local.total_credit(fused), wanted[1])
        for name in ("alive", "both", "radius"):
            assert np.array_equal(getattr(fused, name), getattr(block, name))
        last = now


def test_more_than_sixteen_bits_of_voters_on_one_object():
    """The bytes of a block do not overflow into a neighbour."""
    voters = 70_001
    votes = np.full(voters, 1, np.uint16)
    counts = local.tally(votes, np.full(voters, 2**64 - 1, np.uint64), 3)
    assert np.array_equal(counts, np.tile([0, voters, 0], (64, 1)))


def test_the_largest_credit_is_summed():
    """Totals beyond 32 bits: every voter alive with every client, at a large D and R."""
    voters = 3000
    block = make_empty_credits(voters, diversity=2**40, radius=2**40)
    for client in range(64):
        enrol(block, client, np.ones(voters, bool))
    expected = voters * (2**42 + 1)
    assert local.total_credit(block).tolist() == [expected] * 64


@pytest.mark.parametrize("number", [3, 2**16 - 1])
def test_votes_for_no_object_are_refused(number):
    """Where the kernel would write beyond its counters."""
    votes = np.zeros(5000, np.uint16)
    bad = votes.copy()
    bad[4900] = number
    alive, everybody = np.ones(5000, np.uint64), np.full(3, 2**64 - 1, np.uint64)
    states = np.ones(5000, np.uint8)
    block = make_empty_credits(5000, diversity=1, radius=1)
    nobody = np.zeros(3, np.uint64)
    for call in (
        lambda: local.tally(bad, alive, 3),
        lambda: local.keep_and_tally(bad, everybody, votes, alive, 3),
        lambda: local.keep_and_tally(votes, everybody, bad, alive, 3),
        lambda: local.tally_one(bad, states, 3),
        lambda: local.keep_and_tally_one(votes, 0, False, bad, states, 3),
        lambda: local.charge_and_tally(bad, nobody, nobody, votes, block, 3),
        lambda: local.charge_and_tally(votes, nobody, nobody, bad, block, 3),
    ):
        with pytest.raises(DataError, match="no object of its round; expected 0 to 2"):
            call()


def test_a_bad_new_vote_does_not_lose_the_last_answer():
    """Where the new votes are refused, the last ones have been taken in for everybody."""
    last, now = np.arange(5000, dtype=np.uint16) % 3, np.zeros(5000, np.uint16)
    now[10] = 7
    alive = np.ones(5000, np.uint64)
    with pytest.raises(DataError):
        local.keep_and_tally(last, np.array([0, 1, 1], np.uint64), now, alive, 3)
    assert np.array_equal(alive, (last != 0).astype(np.uint64))


def test_wrong_shapes_and_types_are_refused():
    """Votes of another type, and states of other voters."""
    alive = np.zeros(4, np.uint64)
    with pytest.raises(DataError, match="a row of uint16"):
        local.tally(np.zeros(4, np.int32), alive, 3)
    with pytest.raises(DataError, match="does not fit their votes"):
        local.tally(np.zeros(5, np.uint16), alive, 3)
    with pytest.raises(DataError, match="does not fit their votes"):
        local.tally(np.zeros(4, np.uint16), alive.astype(np.uint8), 3)


def test_no_object_costs_both_credits():
    """A client either liked or disliked what she was shown."""
    block, both = make_empty_credits(4, diversity=1, radius=1), np.ones(2, np.uint64)
    votes = np.zeros(4, np.uint16)
    with pytest.raises(DataError, match=r"both credits.*no object in both arrays"):
        local.charge_and_tally(votes, both, both, votes, block, 2)


def test_charges_are_for_the_same_objects():
    """Charges of another length are refused as that, and not as both charges of one object."""
    block, votes = make_empty_credits(4, diversity=1, radius=1), np.zeros(4, np.uint16)
    with pytest.raises(DataError, match="different numbers of objects") as refused:
        local.charge_and_tally(
            votes, np.zeros(2, np.uint64), np.zeros(3, np.uint64), votes, block, 2
        )
    assert "(2,), (3,)" in str(refused.value)


def test_nothing_of_the_size_of_the_voters_is_allocated():
    """A million voters need what a hundred thousand do, beyond their votes and states."""
    peaks = []
    for voters in (100_000, 1_000_000):
        last, now = np.zeros(voters, np.uint16), np.ones(voters, np.uint16)
        block = make_empty_credits(voters, diversity=1, radius=1)
        enrol(block, 3, np.ones(voters, bool))
        nobody = np.zeros(3, np.uint64)
        tracemalloc.start()
        local.keep_and_tally(last, ~nobody, now, block.alive, 3)
        local.charge_and_tally(last, nobody, nobody, now, block, 3)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] + 4096
