"""Features: the numbers of the design, the bound, and that nothing passes it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.designs.pdap.features import (
    CONTEXT_STEPS,
    Features,
    from_steps,
    largest_degree,
    public_points,
    to_grains,
    to_steps,
)
from tacit.errors import ConfigError, DataError

PLENTY = {"horizon": 10**9, "epsilon": 1.0, "arms": 10}


def test_public_points_are_those_of_the_design():
    """The first points in one and in two dimensions; 512 of them, in the cube."""
    assert public_points(1)[:3, 0] == pytest.approx([0.118034, 0.736068, 0.354102], abs=1e-6)
    two = [[0.254878, 0.069840], [0.009755, 0.639681]]
    assert np.allclose(public_points(2)[:2], two, atol=1e-6)
    points = public_points(10)
    assert points.shape == (512, 10)
    assert points.min() >= 0
    assert points.max() < 1


@pytest.mark.parametrize(
    ("dimension", "degree", "terms", "limit", "bound_in_grains"),
    [
        (1, 3, 4, 1.209900, 2317249),
        (2, 3, 10, 3.054701, 4251662),
        (3, 2, 10, 3.404701, 4618664),
        (4, 1, 5, 2.0, 3145728),
        (10, 1, 11, 5.0, 6291456),
        (16, 1, 17, 8.0, 9437184),
    ],
)
def test_degree_and_bound_are_those_of_the_design(dimension, degree, terms, limit, bound_in_grains):
    """With budget enough: degree, terms, c and the bound in grains, by dimension."""
    assert largest_degree(dimension, **PLENTY) == degree
    features = Features(dimension, degree)
    assert features.terms == terms
    assert features.limit == pytest.approx(limit, abs=1e-6)
    assert features.bound_in_grains == bound_in_grains


@pytest.mark.parametrize(
    ("dimension", "epsilon", "degree"), [(10, 0.3, 0), (10, 1.0, 1), (2, 0.1, 1), (2, 1.0, 3)]
)
def test_a_small_budget_gets_fewer_features(dimension, epsilon, degree):
    """n epsilon is at least 20 K B M, or 40 K B M above degree 1; 30,000 visits, 10 arms."""
    found = largest_degree(dimension, horizon=30_000, epsilon=epsilon, arms=10)
    assert found == degree


def test_features_of_one_dimension():
    """Three contexts: not cut, cut, and as long as the bound."""
    features = Features(1, 3)
    inside, cut, corner = features.evaluate(np.array([[0.75], [0.1], [1.0]]))
    assert inside == pytest.approx([1, 0.5, -0.125, -0.4375], abs=1e-12)
    assert cut == pytest.approx([1, -0.722328, 0.415339, -0.072233], abs=1e-6)
    assert corner == pytest.approx([1, 0.4033, 0.4033, 0.4033], abs=1e-6)
    assert np.abs(corner).sum() == pytest.approx(features.bound)
    grains = to_grains(cut)
    assert grains.tolist() == [1048576, -757416, 435514, -75741]
    assert np.abs(grains).sum() == 2317247


def test_features_of_two_dimensions_in_their_order():
    """1, u, v, P2 u, u v, P2 v, P3 u, P2 u v, u P2 v, P3 v."""
    wanted = [1, 0.781253, -0.58594, 0.449221, -0.468752, 0.039063, 0.078125]
    wanted += [-0.269532, 0.03125, 0.351564]
    found = Features(2, 3).evaluate(np.array([[0.9, 0.2]]))[0]
    assert found == pytest.approx(wanted, abs=1e-6)


@settings(deadline=None, max_examples=200)
@given(
    shape=st.sampled_from([(1, 3), (2, 3), (3, 2), (4, 1), (10, 1), (2, 0)]),
    data=st.data(),
)
def test_no_context_is_longer_than_the_bound(shape, data):
    """In grains as in numbers, whatever the context, also outside the cube."""
    features = Features(*shape)
    numbers = st.floats(-1, 2, allow_nan=False)
    context = data.draw(st.lists(numbers, min_size=shape[0], max_size=shape[0]))
    phi = features.evaluate(np.array([context]))[0]
    assert np.abs(to_grains(phi)).sum() <= features.bound_in_grains
    assert np.abs(phi).sum() <= features.bound * (1 + 1e-12)


@pytest.mark.parametrize("shape", [(1, 3), (2, 3), (3, 2), (4, 3), (10, 1), (2, 0)])
@given(data=st.data())
def test_one_context_is_evaluated_as_many_are(shape, data):
    """The same numbers, to the bit, whether contexts come alone or in any company."""
    features = Features(*shape)
    number = data.draw(st.integers(1, 40))
    seed = data.draw(st.integers(0, 2**32))
    contexts = np.random.default_rng(seed).random((number, shape[0]))
    equal = data.draw(st.lists(st.floats(0, 1), max_size=number))
    contexts[: len(equal)] = np.array(equal)[:, None]
    alone = np.concatenate([features.evaluate(context[None]) for context in contexts])
    assert np.array_equal(alone, features.evaluate(contexts))


def test_a_stored_context_is_close_to_what_it_was():
    """In 16-bit steps: half a step away at most, and the ends stay ends."""
    context = np.array([0.0, 1.0, 0.3, 0.123456])
    back = from_steps(to_steps(context), 4)
    assert np.abs(back - context).max() <= 0.5 / CONTEXT_STEPS + 1e-12
    assert back[:2].tolist() == [0.0, 1.0]
    with pytest.raises(DataError):
        from_steps(to_steps(context), 3)


@pytest.mark.parametrize(("dimension", "degree"), [(0, 1), (2, 4), (2, -1)])
def test_features_that_make_no_sense_are_refused(dimension, degree):
    """In a sentence."""
    with pytest.raises(ConfigError, match="degree of 0 to 3"):
        Features(dimension, degree)


def test_the_limit_is_the_mean_length_over_the_cube():
    """c against the mean over 200,000 uniform contexts; false alarm below 1e-6 (6 errors)."""
    contexts = np.random.default_rng(0).random((200_000, 2))
    centred = 2 * contexts - 1
    second = (3 * centred**2 - 1) / 2
    third = (5 * centred**3 - 3 * centred) / 2
    u, v = centred.T
    terms = [u, v, second[:, 0], u * v, second[:, 1]]
    terms += [third[:, 0], second[:, 0] * v, u * second[:, 1], third[:, 1]]
    lengths = np.abs(np.array(terms)).sum(axis=0)
    error = lengths.std() / math.sqrt(len(lengths))
    assert abs(lengths.mean() - Features(2, 3).limit) < 6 * error
