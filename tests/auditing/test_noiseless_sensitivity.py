"""What moves under the noise, read from running mechanisms."""

import math

import numpy as np
import pytest

from tacit.auditing.planted_bugs import tree_with_log_levels
from tacit.auditing.sampler_spy import BulkNoise, intercept_samplers, laplace_loss, measure_moves
from tacit.errors import ConfigError
from tacit.mechanisms import samplers
from tacit.mechanisms.counter import TreeCounter
from tacit.mechanisms.gaussian import GaussianRelease
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.laplace import LaplaceRelease


def impulse(horizon, step):
    one = np.zeros(horizon)
    one[step] = 1
    return one, np.zeros(horizon)


@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 7, 8, 13])
def test_tree_costs_its_claim_at_the_worst_step(horizon):
    """Over all steps, the nodes that really change cost the claim, and never more."""
    counter = TreeCounter(1.0, horizon=horizon)
    losses = [
        laplace_loss(measure_moves(counter, *impulse(horizon, step))) for step in range(horizon)
    ]
    assert max(losses) == pytest.approx(1.0, rel=1e-12)


def test_tree_nodes_of_one_step():
    """The first of eight steps lies in the nodes that end at 1, 2, 4 and 8; the last in one."""
    counter = TreeCounter(1.0, horizon=8)
    first, last = (measure_moves(counter, *impulse(8, step)).steps.tolist() for step in (0, 7))
    assert first == [1, 1, 0, 1, 0, 0, 0, 1]
    assert last == [0, 0, 0, 0, 0, 0, 0, 1]


def test_tree_as_a_stream_moves_alike():
    """Steps added one by one change the same nodes as all steps at once."""
    counter = TreeCounter(1.0, horizon=5, bound=3)

    def stream(values):
        run = counter.start()
        return [run.add(value) for value in values]

    a, b = np.array([0, 2, 9, 1, 0]), np.array([0, 2, 0, 1, 0])
    both = [measure_moves(run, a, b) for run in (counter, stream)]
    assert both[0].steps.tolist() == both[1].steps.tolist()
    assert laplace_loss(both[0]) == laplace_loss(both[1])


def test_tree_with_log2_levels_costs_twice_its_claim():
    """At T = 2 the exact tool shows 2 epsilon for log2 T levels, and epsilon for one more."""
    assert tree_with_log_levels(True).exact == pytest.approx(2.0)
    assert tree_with_log_levels(False).exact == pytest.approx(1.0)


def test_laplace_moves_are_grid_steps():
    """Clamped and rounded values, in steps, whatever the resolution."""
    release = LaplaceRelease(1.0, 2.0, -8, 8, resolution=0.25, changes=2)
    moved = measure_moves(release, np.array([100.0, 0.3]), np.array([7.5, 0.0]))
    assert moved.steps.tolist() == [2, 1]
    assert laplace_loss(moved) == pytest.approx(3 / release.scale)


def test_gram_moves_have_their_own_scales():
    """Two diagonal entries with sigma, one beside it with sigma / sqrt(2)."""
    release = GramRelease(1.0, 2, resolution=2.0**-3)
    moved = measure_moves(release, np.array([[1.0, 0.0]]), np.zeros((1, 2)))
    assert sorted(moved.steps.tolist()) == [0, 0, 64]
    assert sorted(moved.scales) == pytest.approx(
        [release.sigma / math.sqrt(2), release.sigma, release.sigma]
    )


def test_something_without_noise_is_infinite():
    """A release that shows the first value beside its noisy copy costs infinity."""
    release = LaplaceRelease(1.0, 1, -8, 8, resolution=1)
    leaking = lambda values: [*release(values), values[0]]  # noqa: E731
    assert laplace_loss(measure_moves(leaking, np.array([1.0]), np.array([0.0]))) == math.inf


def test_noise_that_depends_on_the_data_is_infinite():
    """Two inputs that ask for different noise have no common explanation."""
    release = lambda values: [  # noqa: E731
        LaplaceRelease(1.0 + float(values[0]), 1, -8, 8, 1)(values)[0]
    ]
    assert laplace_loss(measure_moves(release, np.array([1.0]), np.array([0.0]))) == math.inf


@pytest.mark.parametrize("where", [1.0, 0.0, None])
def test_noise_that_is_missing_is_infinite(where):
    """Left out for one of the inputs, or for both."""
    release = LaplaceRelease(1.0, 1, -8, 8, 1)

    def leaving_out(values):
        return values if where in (None, values[0]) else release(values)

    assert laplace_loss(measure_moves(leaving_out, np.array([1.0]), np.array([0.0]))) == math.inf


def test_answers_of_two_lengths_are_infinite():
    """How many numbers come out tells the inputs apart."""
    release = LaplaceRelease(1.0, 1, -8, 8, 1)
    longer = lambda values: [*release(values), *[0] * int(values[0])]  # noqa: E731
    assert laplace_loss(measure_moves(longer, np.array([1.0]), np.array([0.0]))) == math.inf


def test_two_kinds_of_noise_are_refused():
    """Their losses do not add up."""
    laplace, gaussian = LaplaceRelease(1.0, 1, -8, 8, 1), GaussianRelease(1.0, 1, -8, 8, 1)
    with pytest.raises(ConfigError, match="one kind of noise"):
        measure_moves(lambda v: [laplace(v), gaussian(v)], np.array([1.0]), np.array([0.0]))


def test_two_noises_on_one_number_are_not_explained():
    """Their moves cannot be told apart, so no figure is given for them."""
    release = LaplaceRelease(1.0, 1, -8, 8, 1)
    moved = measure_moves(lambda v: release(v) + release(v), np.array([1.0]), np.array([0.0]))
    assert laplace_loss(moved) == math.inf


def test_tap_gives_the_samplers_back():
    """After the block the shipped samplers draw again, also if the block failed."""
    before = samplers.discrete_laplace

    def fail():
        with intercept_samplers():
            assert samplers.discrete_laplace is not before
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert samplers.discrete_laplace is before


def test_noise_in_bulk_is_handed_out_once():
    """Noise of several calls is that of one call of the sampler: Laplace, and never repeated."""
    release = LaplaceRelease(0.01, 1, 0, 1, 1)
    with intercept_samplers(BulkNoise(5_000).answer):
        drawn = np.array([release(np.zeros(1))[0] for _ in range(5_000)])
    assert np.abs(drawn).mean() == pytest.approx(release.scale, rel=0.1)
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.1
    assert len(np.unique(drawn)) > 300
