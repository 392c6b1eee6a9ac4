"""Nobody is ever certain: attackers who learn nothing and only rule values out decide nobody."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit import generate
from tacit.designs.standard_scheme.disclosure import CAP, RELEASES
from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.people import find_consenting_people
from tacit.designs.standard_scheme.training.population import simulate_epochs
from tacit.designs.standard_scheme.training.tables import estimate_all_tables
from tacit.randomness import replay, simulation

PEOPLE, EPOCHS, KNOWN = 2_000, 8, 10
RULE = RELEASES["scheme+selection+rounding"]


@pytest.fixture(scope="module")
def crowd():
    """2,000 people and four fits to others, each without a tenth of them."""
    data = generate(users=PEOPLE + 800, items=100, ratings=100_000, seed=5)
    people, _ = find_consenting_people(data, ["gender"])
    chance = np.random.default_rng(5)
    fits = []
    for _ in range(4):
        some = np.sort(chance.choice(np.arange(PEOPLE, PEOPLE + 800), 720, replace=False))
        of_some = replace(people, levels=people.levels[some], labels=people.labels[some])
        fits.append(estimate_all_tables(of_some)["gender"])
    return people.levels[:PEOPLE], people.labels[:PEOPLE], fits


@pytest.fixture(scope="module")
def epoch_of(crowd):
    """By name of a schedule: the epoch in which each rating is entered."""
    levels = crowd[0]
    chance = np.random.default_rng(6)
    rows = np.repeat(np.arange(PEOPLE), np.diff(levels.indptr))
    order = np.lexsort((chance.random(levels.nnz), rows))
    rank = np.empty(levels.nnz, dtype=np.int64)
    rank[order] = np.arange(levels.nnz) - levels.indptr[rows[order]]
    return {
        "at once": np.zeros(levels.nnz, dtype=np.int64),
        "one a step": np.minimum(rank, EPOCHS - 1),
        "by chance": chance.integers(0, EPOCHS, levels.nnz),
        "half late": np.where(chance.random(levels.nnz) < 0.5, 0, EPOCHS - 1),
    }


def lives(crowd, epochs, refits, rule=RULE, change=lambda table: table):
    """Released levels, labels, and the tables by epoch."""
    levels, labels, fits = crowd
    tables = {e: [change(fits[e * (refits + 1) // EPOCHS])] for e in range(EPOCHS)}
    with simulation():
        released, order = simulate_epochs(
            levels, labels, tables, epochs, rule, n_levels=5, source=replay("certain")
        )
    return released, order, {epoch: made[0] for epoch, made in tables.items()}


def known_and_not_shown(crowd, epochs, released, tables):
    """How many people a witness decides who knows ten of their items, and when each was rated.

    A value is ruled out when it would have shown such an item for certain.
    """
    levels = crowd[0]
    chance, decided = np.random.default_rng(7), 0
    for person in range(PEOPLE):
        mine = np.arange(levels.indptr[person], levels.indptr[person + 1])
        known = chance.choice(mine, min(KNOWN, len(mine)), replace=False)
        shown = released.indices[released.indptr[person] : released.indptr[person + 1]]
        absent = known[~np.isin(levels.indices[known], shown)]
        keep = np.array([tables[epochs[n]].keep[:, levels.indices[n]] for n in absent])
        possible = (keep.reshape(-1, 2) < MICRO).all(axis=0)
        decided += possible.sum() == 1
    return decided


def fractions(crowd, released, order, tables):
    """How many people the released numbers decide: each value's numbers have to be reachable."""
    stars = np.arange(5) * MICRO
    decided = 0
    for person in range(PEOPLE):
        cut = slice(released.indptr[person], released.indptr[person + 1])
        micro = np.round(released.data[cut] * MICRO).astype(np.int64)
        offsets = np.array(
            [
                tables[int(epoch)].offsets[:, item]
                for item, epoch in zip(released.indices[cut], order.data[cut], strict=True)
            ]
        ).reshape(-1, 2)
        sent = stars[None, :, None] - offsets[:, None, :]
        low = np.clip(sent // MICRO, 0, 4) * MICRO
        high = np.clip(sent // MICRO + (sent % MICRO > 0), 0, 4) * MICRO
        reachable = ((low == micro[:, None, None]) | (high == micro[:, None, None])).any(axis=1)
        unrounded = (sent == micro[:, None, None]).any(axis=1)
        possible = (reachable if (micro % MICRO == 0).all() else unrounded).all(axis=0)
        decided += possible.sum() == 1
    return decided


@pytest.mark.parametrize("name", ["at once", "one a step", "by chance", "half late"])
@pytest.mark.parametrize("refits", [0, 1, 3])
def test_nobody_is_decided(crowd, epoch_of, name, refits):
    """2,000 people, any schedule and refits, ten known items: 0 decided, by any of the attackers.

    That nothing vanishes or appears late is test_over_time's claim; here each item has one label,
    the first epoch from its own on that had a chance for it.
    """
    epochs = epoch_of[name]
    released, order, tables = lives(crowd, epochs, refits)
    assert released.nnz > PEOPLE
    assert known_and_not_shown(crowd, epochs, released, tables) == 0
    assert fractions(crowd, released, order, tables) == 0


def test_chances_of_one_are_certificates(crowd, epoch_of):
    """With the published min(1, ratio) the same witness decides most of the same people."""

    def published(table):
        return replace(table, keep=table.keep * MICRO // CAP)

    epochs = epoch_of["at once"]
    released, _, tables = lives(crowd, epochs, 1, change=published)
    assert known_and_not_shown(crowd, epochs, released, tables) > PEOPLE / 3


def test_unrounded_releases_are_certificates(crowd, epoch_of):
    """Without rounding the released fractions decide nearly everybody."""
    epochs = epoch_of["by chance"]
    released, order, tables = lives(crowd, epochs, 0, rule=RELEASES["scheme+selection"])
    assert fractions(crowd, released, order, tables) > 0.9 * PEOPLE
