"""Tables of public numbers made up at random, and disclosures of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.designs.standard_scheme.disclosure import CAP, RELEASES
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.tables import Tables
from tacit.designs.standard_scheme.training.tables import make_disclosure as disclosure_from

ITEMS = 6
TENTH = MICRO // 10


def random_tables(seed=0, *, values=("F", "M"), items=ITEMS, levels=5):
    """Tables that a device follows, in tenths; what they say about people is made up."""
    generator = np.random.default_rng(seed)
    shape = (len(values), items)
    keep = generator.integers(2, 10, shape) * TENTH
    keep[generator.integers(len(values), size=items), np.arange(items)] = CAP
    parts = np.broadcast_to(np.arange(1, 10), (*shape, levels, 9))
    cuts = np.sort(generator.permuted(parts, axis=-1)[..., : max(levels - 1, 0)], axis=-1)
    ends = np.full((*shape, levels, 1), 10)
    return Tables(
        values=tuple(values),
        offsets=generator.integers(-2, 3, shape) * TENTH,
        keep=keep,
        means=generator.integers(0, 40, shape) * TENTH,
        coupling=np.concatenate([cuts, ends], axis=-1) * TENTH if levels else None,
        item_means=generator.integers(0, 40, items) * TENTH,
    )


def disclosure_of(tables, rule, *, minimum=1.0, step=1.0, levels=5, **others):
    """A disclosure of these tables for items "item 0", "item 1", ..."""
    first = next(iter(tables.values()))
    items = tuple(f"item {number}" for number in range(len(first.item_means)))
    return disclosure_from(
        tables, rule, minimum=minimum, step=step, levels=levels, items=items, **others
    )


@pytest.fixture
def tables():
    """Make random tables."""
    return random_tables


@pytest.fixture
def disclose():
    """Make a disclosure: of one random attribute, or of the tables given."""

    def make(release="scheme+selection+rounding", tables=None, mix=MICRO, **others):
        rule = replace(RELEASES[release], mix=mix)
        levels = others.get("levels", 5)
        return disclosure_of(tables or {"gender": random_tables(levels=levels)}, rule, **others)

    return make


@pytest.fixture
def state():
    """The memory of a new account."""
    return State(created=0)


@pytest.fixture(scope="session")
def make_tables():
    """`tables` for tests whose arguments are drawn."""
    return random_tables


@pytest.fixture(scope="session")
def make_disclosure():
    """A disclosure of given tables and rule, for tests whose arguments are drawn."""
    return disclosure_of
