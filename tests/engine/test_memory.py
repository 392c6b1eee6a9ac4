"""What the fast engine holds is bounded by its block, not by the ratings."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from tacit.engine import Engine, Table
from tacit.errors import ConfigError

PEOPLE, ITEMS, K = 4_000, 600, 5
ALL = np.arange(ITEMS, dtype=np.int32)


def table(ratings, *, values=5):
    """So many ratings, of so many different values to a person (0: all different)."""
    generator = np.random.default_rng(ratings)
    pairs = np.sort(generator.choice(PEOPLE * ITEMS, ratings, replace=False))
    people, items = np.divmod(pairs, ITEMS)
    stars = generator.integers(-2, 3, ratings) if values else generator.normal(size=ratings)
    matrix = sparse.csr_array((stars.astype(float), (people, items)), shape=(PEOPLE, ITEMS))
    return Table(matrix, generator.random(ratings) < 0.5)


def peak(engine, ratings, items=ALL, candidates=ALL, **rest):
    """Bytes at most, beyond the table and three times the answer: lists with room, and itself."""
    engine.neighbours(table(1_000, **rest), items=items, candidates=candidates, k=K)  # compiles
    made = table(ratings, **rest)
    tracemalloc.start()
    engine.neighbours(made, items=items, candidates=candidates, k=K)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return held - 3 * len(items) * K * 20


@pytest.mark.parametrize("values", [5, 0])
@pytest.mark.parametrize("sides", [(ALL, ALL), (ALL[:300], ALL[300:])])
def test_more_ratings_than_a_block_hold_no_more(sides, values):
    """Four and ten times the block need the same memory, to a twentieth."""
    engine = Engine(block=20_000)
    fewer, more = (peak(engine, ratings, *sides, values=values) for ratings in (80_000, 200_000))
    assert more < 1.05 * fewer


@pytest.mark.parametrize("values", [5, 0])
@pytest.mark.parametrize(
    ("block", "ratings"), [(20_000, 200_000), (100_000, 400_000), (2**25, 400_000)]
)
def test_peak_is_the_stated_one(block, ratings, values):
    """`working_memory` is an upper bound, whatever the block and the values."""
    engine = Engine(block=block)
    assert peak(engine, ratings, values=values) <= engine.working_memory(ratings, PEOPLE, ITEMS)


@pytest.mark.parametrize("block", [0, -1, 2**31])
def test_block_is_a_positive_32_bit_number(block):
    """No block, or one whose positions would not fit, is refused."""
    with pytest.raises(ConfigError, match="block"):
        Engine(block=block)
