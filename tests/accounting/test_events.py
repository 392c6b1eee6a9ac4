"""An event that means nothing cannot be made."""

from __future__ import annotations

import dataclasses
import math

import pytest

from tacit import accounting
from tacit.accounting import (
    ComposedEvent,
    DiscreteLaplace,
    Event,
    Exponential,
    Gate,
    Gaussian,
    Laplace,
    NonPrivate,
    PostProcessing,
    RandomizedResponse,
    TopK,
    Tree,
    compose,
    repeat,
)
from tacit.accounting.events import leaves
from tacit.errors import ConfigError

NUMBERS = {
    "laplace": Laplace,
    "discrete laplace": DiscreteLaplace,
    "gaussian": Gaussian,
    "exponential": Exponential,
    "top-k": lambda value: TopK(2, value),
    "tree": lambda value: Tree(2, value),
    "gate": Gate,
}


@pytest.mark.parametrize("make", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("value", [0, 0.0, -1.0, math.inf, math.nan, "1", None, True])
def test_noise_and_epsilon_are_finite_and_above_zero(make, value):
    """No noise, infinite noise and what is no number are refused."""
    with pytest.raises(ConfigError, match="NonPrivate"):
        make(value)


@pytest.mark.parametrize("make", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("value", [10**400, -(10**400), 10**5000], ids=["high", "low", "endless"])
def test_whole_numbers_beyond_all_floats_are_refused(make, value):
    """In a sentence, without writing out the digits."""
    with pytest.raises(ConfigError, match="a whole number beyond that"):
        make(value)


@pytest.mark.parametrize("truth", [-0.1, 1.1, math.nan, math.inf, "1", 10**400])
def test_truth_is_a_chance(truth):
    """A chance lies between 0 and 1."""
    with pytest.raises(ConfigError, match="truth"):
        RandomizedResponse(2, truth)


@pytest.mark.parametrize("make", [lambda n: RandomizedResponse(n, 0.9), lambda n: Tree(n, 1.0)])
@pytest.mark.parametrize("number", [0, -1, 2.0, True, "2"])
def test_whole_numbers(make, number):
    """Categories, levels and lengths are whole and large enough."""
    with pytest.raises(ConfigError, match="whole"):
        make(number)


def test_one_category_is_no_choice():
    """Randomized response needs two answers to choose from."""
    with pytest.raises(ConfigError, match="at least 2"):
        RandomizedResponse(1, 0.9)


def test_empty_list_is_no_release():
    """A list of no items is no event."""
    with pytest.raises(ConfigError, match="at least 1"):
        TopK(0, 1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Exponential(1.0, permute_and_flip=1),
        lambda: TopK(2, 1.0, permute_and_flip="no"),
        lambda: Tree(2, 1.0, gaussian=None),
    ],
)
def test_flags_are_flags(make):
    """A flag that decides a price is True or False and nothing that resembles it."""
    with pytest.raises(ConfigError, match="True or False"):
        make()


@pytest.mark.parametrize(
    "events",
    [[(Laplace(1), 1)], (Laplace(1),), ((Laplace(1), 0),), ((Laplace(1), 1.0),), ((1, 1),)],
)
def test_composed_takes_pairs(events):
    """A composed event holds events and how often, at least once."""
    with pytest.raises(ConfigError, match=r"Composed|times"):
        ComposedEvent(events)


def test_negative_repeats_are_refused():
    """Nothing happens less than never."""
    with pytest.raises(ConfigError, match="times"):
        repeat(Laplace(1.0), -1)


def test_leaves_flatten_everything():
    """Nested compositions multiply their counts and keep their order."""
    nested = compose(repeat(compose(Laplace(1.0), repeat(Gaussian(2.0), 3)), 2), PostProcessing())
    assert list(leaves(nested, 5)) == [
        (Laplace(1.0), 10),
        (Gaussian(2.0), 30),
        (PostProcessing(), 5),
    ]


def test_deep_nesting_is_no_recursion():
    """A composition nested a hundred thousand times is still flattened."""
    event: Event = Laplace(1.0)
    for _ in range(100_000):
        event = compose(event)
    assert list(leaves(event)) == [(Laplace(1.0), 1)]


def test_nothing_composed_is_nothing():
    """Never and nothing have no leaves."""
    assert list(leaves(repeat(Laplace(1.0), 0))) == list(leaves(compose())) == []


@pytest.mark.parametrize(
    "kind",
    [
        value
        for value in vars(accounting).values()
        if isinstance(value, type) and issubclass(value, Event)
    ],
)
def test_events_are_immutable(kind):
    """No event can be changed once it is made, nor can a field be added."""
    assert kind.__dataclass_params__.frozen
    assert not hasattr(kind(**_some(kind)), "__dict__")


def test_equal_events_are_one_key():
    """Equal events are equal keys, so that repeats can be counted."""
    assert len({Laplace(1), Laplace(1.0), Laplace(2.0), DiscreteLaplace(1.0), NonPrivate()}) == 4


def _some(kind):
    values = {"events": (), "truth": 0.75, "delta": 0.5}
    return {
        field.name: values.get(field.name, 2)
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING
    }


@pytest.mark.parametrize("steps", [0, -1, 1.5, True])
def test_steps_are_a_whole_number_or_not_known(steps):
    """The sensitivity in steps of the grid may be left out, but not be 0 or a fraction."""
    from tacit.accounting import DiscreteGaussian

    assert DiscreteGaussian(1.0, steps=None).steps is None
    with pytest.raises(ConfigError, match="steps is a whole number, at least 1"):
        DiscreteGaussian(1.0, steps=steps)


def test_what_is_no_sensitivity_may_not_be_left_out():
    """Only steps may be None."""
    from tacit.accounting import Tree

    with pytest.raises(ConfigError, match="levels is a whole number"):
        Tree(levels=None, noise_multiplier=1.0)
