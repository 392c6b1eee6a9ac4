"""The rule for many people at once is the device's, draw by draw."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tacit.designs.standard_scheme.device import Device
from tacit.designs.standard_scheme.disclosure import RELEASES
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.population import simulate_epochs, simulate_release
from tests.support.scripted_dice import script

OWN = {"gender": "F"}


class Words:
    """The same draws as arrays, in the order in which the simulation asks for them."""

    is_private = False

    def __init__(self, arrays):
        self.arrays = deque(arrays)

    def words(self, count):
        array = self.arrays.popleft()
        assert len(array) == count
        return array.astype(np.uint64)


@given(st.integers(0, 2**32), st.sampled_from(sorted(RELEASES)), st.booleans(), st.booleans())
def test_equals_the_simulation(make_tables, make_disclosure, seed, name, several, mixed):
    """Given the same draws, devices and the simulation release the same ratings.

    Draws and tables are in tenths, so that draws often meet a threshold exactly.
    """
    generator = np.random.default_rng(seed)
    tables = {"gender": make_tables(seed)}
    if several:
        tables["age"] = make_tables(seed + 1, values=("a", "b", "c"))
    rule = replace(RELEASES[name], mix=400_000 if mixed else MICRO)
    people, items = 4, 6
    dense = np.where(
        generator.random((people, items)) < 0.6, generator.integers(1, 6, (people, items)), 0
    )
    levels = sparse.csr_array(dense.astype(float))
    levels.data -= 1
    labels = np.stack(
        [generator.integers(0, len(table.values), people) for table in tables.values()], axis=1
    )

    def some(bound=MICRO):
        if bound < MICRO:
            return generator.integers(0, bound, levels.nnz)
        return generator.integers(0, 10, levels.nnz) * (MICRO // 10)

    drawn = {}
    if rule.selection:
        drawn |= {f"selection {attribute}": some() for attribute in tables}
    if rule.transform == "coupling":
        drawn |= {f"coupling {attribute}": some() for attribute in tables}
    if rule.transform == "attribute-average":
        drawn["average"] = some(2)
    if rule.rounding:
        drawn["rounding"] = some()
    if mixed:
        drawn["mix"] = some()
    simulated = simulate_release(
        levels,
        labels,
        list(tables.values()),
        rule,
        n_levels=5,
        source=Words(drawn.values()),
    )

    for person in range(people):
        entries = range(levels.indptr[person], levels.indptr[person + 1])
        order = [*(kind for kind in drawn if kind == "mix"), *(k for k in drawn if k != "mix")]
        queues = {
            f"item {levels.indices[n]}": deque(int(drawn[kind][n]) for kind in order)
            for n in entries
        }
        own = {
            attribute: table.values[labels[person, position]]
            for position, (attribute, table) in enumerate(tables.items())
        }
        device = Device(
            make_disclosure(tables, rule),
            own,
            State(created=0),
            lambda item, queues=queues: lambda bound: queues[item].popleft(),
            reproduce=True,
        )
        sent = device.release({f"item {levels.indices[n]}": levels.data[n] + 1 for n in entries}, 0)
        mine = slice(simulated.indptr[person], simulated.indptr[person + 1])
        assert list(sent.ratings) == [
            (f"item {item}", round(level * MICRO))
            for item, level in zip(simulated.indices[mine], simulated.data[mine], strict=True)
        ]


@pytest.mark.parametrize("name", ["scheme", "scheme+selection", "movie-average"])
def test_equals_the_simulation_on_a_continuous_scale(tables, disclose, name):
    """The same holds where stars are not whole."""
    table = tables(3, levels=0)
    stars = np.array([0.0, 1.25, 2.7182818, 4.0, 3.3, 0.1])
    drawn = np.random.default_rng(3).integers(0, MICRO, 6)
    words = Words([drawn] if RELEASES[name].selection else [])
    whole = sparse.csr_array((stars, np.arange(6), np.array([0, 6])), shape=(1, 6))
    expected = simulate_release(
        whole, np.zeros((1, 1), int), [table], RELEASES[name], n_levels=0, source=words
    )
    disclosure = disclose(name, {"gender": table}, minimum=0.0, levels=0)
    device = Device(disclosure, OWN, State(created=0), script(drawn.tolist()), reproduce=True)
    sent = device.release({f"item {number}": star for number, star in enumerate(stars)}, 0)
    assert [level for _, level in sent.ratings] == np.round(expected.data * MICRO).tolist()


@given(st.integers(0, 2**32))
def test_equals_the_simulation_over_epochs(make_tables, make_disclosure, seed):
    """Given the same draws, devices that speak in several epochs end with what the simulation says.

    Tables change with each epoch and hold items without a chance; some epochs are missed.
    """
    generator = np.random.default_rng(seed)
    rule = RELEASES["scheme+selection+rounding"]
    spoken = sorted(generator.choice(8, 3, replace=False).tolist())
    tables_of = {}
    for epoch in spoken:
        made = make_tables(int(generator.integers(2**32)))
        waits = generator.random(6) < 0.3
        tables_of[epoch] = [replace(made, keep=np.where(waits, 0, made.keep))]
    rated = generator.random((3, 6)) < 0.7
    levels = sparse.csr_array(np.where(rated, generator.integers(1, 6, (3, 6)), 0).astype(float))
    levels.data -= 1
    epochs = generator.integers(0, 8, levels.nnz)
    labels = generator.integers(0, 2, (3, 1))
    dice = generator.integers(0, 10, (2, levels.nnz)) * (MICRO // 10)

    class PerRating:
        """One die for selection and one for rounding of each rating, asked for by epoch."""

        is_private = False

        def __init__(self):
            self.asked = deque()

        def words(self, count):
            which = self.asked.popleft()
            assert len(which) == count
            return which.astype(np.uint64)

    source = PerRating()
    rows = np.repeat(np.arange(3), np.diff(levels.indptr))
    waiting = np.ones(levels.nnz, dtype=bool)
    for epoch in spoken:
        keep = tables_of[epoch][0].keep[labels[rows, 0], levels.indices]
        now = waiting & (epochs <= epoch) & (keep > 0)
        source.asked += [dice[0][now], dice[1][now]]
        waiting &= ~now
    released, labelled = simulate_epochs(
        levels, labels, tables_of, epochs, rule, n_levels=5, source=source
    )

    for person in range(3):
        state, sent = State(created=0), None
        mine = range(levels.indptr[person], levels.indptr[person + 1])
        queues = {f"item {levels.indices[n]}": deque(dice[:, n].tolist()) for n in mine}
        own = {"gender": ("F", "M")[labels[person, 0]]}
        for epoch in spoken:
            history = {
                f"item {levels.indices[n]}": levels.data[n] + 1 for n in mine if epochs[n] <= epoch
            }
            disclosure = make_disclosure({"gender": tables_of[epoch][0]}, rule)
            device = Device(
                disclosure, own, state, lambda item, q=queues: lambda bound: q[item].popleft()
            )
            sent = device.release(history, epoch)
        cut = slice(released.indptr[person], released.indptr[person + 1])
        assert list(sent.ratings) == [
            (f"item {item}", round(level * MICRO))
            for item, level in zip(released.indices[cut], released.data[cut], strict=True)
        ]
        assert [state.records[item].epoch for item, _ in sent.ratings] == labelled.data[
            cut
        ].tolist()
