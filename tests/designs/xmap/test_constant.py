"""The paper's mechanisms with the range as sensitivity: what is counted, and what it costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from tacit.accounting import PureAccountant, ZCDPAccountant
from tacit.accounting.events import NonPrivate
from tacit.designs.xmap.extender import baseline
from tacit.designs.xmap.generator import Profiles
from tacit.designs.xmap.private_neighbours import Plan, constant_neighbours
from tacit.errors import ConfigError
from tacit.randomness import replay, simulation


def profiles(seed=0, people=20, items=8):
    generator = np.random.default_rng(seed)
    stars = generator.integers(1, 6, (people, items)) * (generator.random((people, items)) < 0.6)
    matrix = sparse.csr_array(stars.astype(float))
    return Profiles(matrix, matrix.data - 3, None)


@pytest.mark.parametrize(("delta", "accountant"), [(0.0, PureAccountant), (1e-6, ZCDPAccountant)])
def test_total_is_kept(delta, accountant):
    """All draws together cost at most epsilon, and hardly less."""
    plan = Plan(images=30, tables=20, k=5, epsilon=1.0, delta=delta)
    spent = accountant().add(plan.event(plan.each)).epsilon(delta)
    assert 0.999 < spent <= 1.0


def test_pure_total_is_a_plain_sum():
    """At delta 0 every image and every table costs the same: epsilon over their number."""
    plan = Plan(images=30, tables=20, k=5, epsilon=1.0, delta=0.0)
    assert plan.each == pytest.approx(1 / 50)


def test_infinity_is_no_noise():
    """At epsilon = inf nothing is drawn and nothing is claimed."""
    plan = Plan(images=3, tables=2, k=1, epsilon=math.inf, delta=0.0)
    assert plan.each == math.inf
    assert plan.event(plan.each) == NonPrivate()


def test_shipped_mechanisms_cost_what_is_planned():
    """The running mechanisms' events are within the plan's for one table."""
    from tacit.designs.xmap.private_neighbours import mechanisms_for

    plan = Plan(images=0, tables=1, k=5, epsilon=1.0, delta=0.0)
    select, noise = mechanisms_for(40, 5, plan.each)
    spent = PureAccountant().add(select.event).add(noise.event).epsilon()
    assert spent == pytest.approx(plan.epsilon)
    assert spent <= plan.epsilon


def test_the_shipped_noise_covers_a_whole_table():
    """k similarities that may change by the whole range each: L1 2 k, at half the epsilon. The
    weights of a choice tell scores apart over the whole range."""
    from tacit.designs.xmap.private_neighbours import SPREAD, mechanisms_for

    select, noise = mechanisms_for(4, 3, 1.0)
    assert noise.sensitivity == SPREAD * 3
    assert noise.epsilon == 0.5
    select, _ = mechanisms_for(4, 2, 100.0)
    weights = select.one.weights(np.array([[0.9, 0.5, -0.5, -0.9]]))[0]
    for better, worse in ((0, 1), (2, 3)):
        nats = 100 / (2 * 2) / (2 * SPREAD) * 0.4
        assert weights[better] / weights[worse] == pytest.approx(math.exp(nats), rel=0.02)


def test_items_without_length_are_like_nothing():
    """An item that nobody rated apart from their own mean has similarity 0 with all; one whose
    stars are next to the means has that of the formula."""
    stars = np.array([[3, 4, 2, 3], [3, 5, 1, 3], [3, 2, 4, 3], [0, 4, 2, 3.006]])
    matrix = sparse.csr_array(stars)
    made = Profiles(matrix, np.zeros(matrix.nnz), None)
    with simulation():
        found = constant_neighbours(
            made, np.full(4, 3.0), k=3, significance=0, epsilon=1e8, source=replay(0)
        )
    dense = baseline(made.stars).table.values.toarray()
    lengths = np.linalg.norm(dense, axis=0)
    products = np.outer(lengths, lengths)
    exact = np.divide(dense.T @ dense, products, out=np.zeros((4, 4)), where=products > 0)
    for item in range(4):
        assert found.similarities[item] == pytest.approx(exact[item, found.items[item]], abs=1e-3)


def draw(epsilon, seed=0, k=3, **changes):
    with simulation():
        return constant_neighbours(
            profiles(**changes),
            np.full(8, 3.0),
            k=k,
            significance=0,
            epsilon=epsilon,
            source=replay(seed),
        )


@pytest.mark.parametrize("significance", [0, 50])
def test_few_common_raters_count_for_less(significance):
    """Similarities are multiplied by min(raters of both, significance) / significance. With hardly
    any noise, a table of all others but one holds the largest ones."""
    made = profiles()
    with simulation():
        found = constant_neighbours(
            made, np.full(8, 3.0), k=6, significance=significance, epsilon=1e7, source=replay(0)
        )
    dense, rated = baseline(made.stars).table.values.toarray(), made.stars.toarray() > 0
    lengths = np.linalg.norm(dense, axis=0)
    exact = dense.T @ dense / np.outer(lengths, lengths)
    both = rated.astype(int).T @ rated
    exact *= np.minimum(both, significance) / significance if significance else 1
    for item in range(8):
        assert found.similarities[item] == pytest.approx(exact[item, found.items[item]], abs=1e-3)


def test_neighbours_are_others():
    """k different items, never the item itself, out of the whole catalogue."""
    found = draw(0.1).items
    for item, row in enumerate(found.tolist()):
        assert len({*row, item}) == 4
        assert all(0 <= other < 8 for other in row)


def test_twin_takes_the_nearest():
    """At infinity: the k largest similarities without noise."""
    found = draw(math.inf)
    values = profiles().stars.toarray()
    centred = np.where(
        values > 0, values - values.sum(1, keepdims=True) / (values > 0).sum(1, keepdims=True), 0
    )
    lengths = np.linalg.norm(centred, axis=0)
    cosines = centred.T @ centred / np.outer(lengths, lengths)
    np.fill_diagonal(cosines, -2)
    expected = np.sort(cosines, axis=1)[:, ::-1][:, :3]
    np.testing.assert_allclose(found.similarities, expected)


def test_small_budgets_draw_uniformly():
    """At 0.01 nats for k = 3 every other item is about as likely: 1,200 draws over 7, each share
    within 5 standard deviations of 3/7."""
    drawn = [draw(0.01, seed).items[0] for seed in range(400)]
    counts = np.bincount(np.concatenate(drawn), minlength=8)[1:]
    assert counts.sum() == 1200
    assert np.abs(counts / 400 - 3 / 7).max() < 5 * math.sqrt(0.25 / 400)


def test_too_many_neighbours():
    """As many neighbours as items is refused in a sentence."""
    with pytest.raises(ConfigError, match="more than k target items"):
        draw(1.0, k=8)


@pytest.mark.parametrize("epsilon", [0.1, math.inf])
def test_similarities_stay_in_their_range(epsilon):
    """Whatever the noise, and where two items are the same or opposite up to rounding."""
    stars = sparse.csr_array(np.array([[5, 5, 1, 4], [4, 4, 2, 1], [5, 5, 1, 2], [3, 3, 3, 5.0]]))
    with simulation():
        found = constant_neighbours(
            Profiles(stars, stars.data - 3, None),
            np.full(4, 3.0),
            k=3,
            significance=0,
            epsilon=epsilon,
            source=replay(5),
        )
    assert np.abs(found.similarities).max() == 1.0
