"""Tables of public numbers made up at random, and disclosures of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.recommenders.standard_scheme.disclosure import Tables, to_message
from tacit.recommenders.standard_scheme.messages import MICRO, RELEASES

ITEMS = 6
TENTH = MICRO // 10


def random_tables(seed=0, *, values=("F", "M"), items=ITEMS, levels=5, strata=2):
    """Tables in bounds, in tenths; what they say about people is made up."""
    generator = np.random.default_rng(seed)
    shape = (len(values), items)
    coupling = np.sort(generator.integers(0, 10, (*shape, levels, levels)), axis=-1) * TENTH
    coupling[..., -1:] = MICRO
    return Tables(
        values=tuple(values),
        offsets=generator.integers(-10, 10, shape) * TENTH,
        bounds=np.sort(generator.integers(1, items, (len(values), strata - 1)), axis=-1),
        keep=generator.integers(5, 10, (len(values), strata, items)) * TENTH,
        means=generator.integers(0, 40, shape) * TENTH,
        coupling=coupling if levels else None,
        item_means=generator.integers(0, 40, items) * TENTH,
    )


def disclosure_of(tables, rule, *, minimum=1.0, step=1.0, levels=5):
    """A disclosure of these tables for items "item 0", "item 1", ..."""
    first = next(iter(tables.values()))
    items = tuple(f"item {number}" for number in range(len(first.item_means)))
    return to_message(tables, rule, minimum=minimum, step=step, levels=levels, items=items)


@pytest.fixture
def tables():
    """Make random tables."""
    return random_tables


@pytest.fixture
def disclose():
    """Make a disclosure: of one random attribute, or of the tables given."""

    def make(release="scheme+selection+rounding", tables=None, mix=MICRO, **scale):
        rule = replace(RELEASES[release], mix=mix)
        levels = scale.get("levels", 5)
        return disclosure_of(tables or {"gender": random_tables(levels=levels)}, rule, **scale)

    return make


@pytest.fixture(scope="session")
def make_tables():
    """`tables` for tests whose arguments are drawn."""
    return random_tables


@pytest.fixture(scope="session")
def make_disclosure():
    """A disclosure of given tables and rule, for tests whose arguments are drawn."""
    return disclosure_of
