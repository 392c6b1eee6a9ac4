"""Every mechanism passes the shared suite, and the suite catches faults."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from tacit.accounting.events import DiscreteLaplace, Event, NonPrivate
from tacit.errors import DataError
from tacit.mechanisms.counter import TreeCounter
from tacit.mechanisms.gate import ThresholdGate
from tacit.mechanisms.gaussian import GaussianRelease
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.topk import TopSelection
from tests.support.mechanism_conformance import MechanismConformance

SCORES = (np.tile([0, 3, 1, 2], (60, 1)), np.tile([4, 3, 1, 0], (60, 1)))


class TestBitRelease(MechanismConformance):
    datasets = ([0, 1] * 50, [1, 1] * 50)

    def make(self, epsilon=1.0):
        return BitRelease(epsilon)


class TestKaryResponse(MechanismConformance):
    datasets = ([0, 1, 2, 3, 4] * 20, [4, 4, 2, 2, 0] * 20)

    def make(self, epsilon=1.0):
        return KaryResponse(epsilon, 5)


class TestLaplace(MechanismConformance):
    datasets = ([0.5, 1.0, 7.0], [1.0, 2.0, 3.0])

    def make(self, epsilon=1.0):
        return LaplaceRelease(epsilon, 1.0, 0.0, 8.0, 2.0**-20)


class TestGaussian(MechanismConformance):
    datasets = ([0.5, 1.0, 7.0], [1.0, 2.0, 3.0])

    def make(self, epsilon=1.0):
        return GaussianRelease(1 / epsilon, 1.0, 0.0, 8.0, 2.0**-20)


class TestGram(MechanismConformance):
    datasets = ([[1.0, 0.5, 0.0], [2.0, 0.0, 1.0]], [[0.0, 0.5, 0.0], [2.0, 3.0, 1.0]])

    def make(self, epsilon=1.0):
        return GramRelease(1 / epsilon, 3)

    def exact(self, argument):
        return argument.T @ argument


class TestSelection(MechanismConformance):
    datasets = SCORES

    def make(self, epsilon=1.0):
        return Selection(epsilon, 4, 1.0, 0.0, 8.0, 0.25)

    def exact(self, argument):
        return argument.argmax(axis=1)


class TestTopSelection(MechanismConformance):
    datasets = SCORES

    def make(self, epsilon=1.0):
        return TopSelection(3, Selection(epsilon, 4, 1.0, 0.0, 8.0, 0.25))

    def exact(self, argument):
        return np.argsort(-argument, axis=1)[:, :3]


class TestTreeCounter(MechanismConformance):
    datasets = ([1, 0, 1, 1] * 8, [0, 0, 1, 0] * 8)

    def make(self, epsilon=1.0):
        return TreeCounter(epsilon, 40)

    def exact(self, argument):
        return argument.cumsum()


class TestThresholdGate(MechanismConformance):
    """One stopping time varies over some ten counts, so a release here is twelve of them."""

    datasets = (range(-200, 200), range(-100, 300))

    def make(self, epsilon=1.0):
        return ThresholdGate(epsilon, 0)

    def exact(self, argument):
        return int(-argument[0])

    def release(self, mechanism, argument, source=None):
        if math.isinf(mechanism.epsilon) or not np.isfinite(argument).all():
            return mechanism(argument)
        return [mechanism(argument) for _ in range(12)]


@dataclass(frozen=True)
class Faulty:
    """Breaks a rule in every way that the suite looks for."""

    epsilon: float

    @property
    def event(self) -> Event:
        return DiscreteLaplace(1.0)

    def __call__(self, values):
        values = np.asarray(values)
        if np.isnan(values).any():
            raise DataError("not a number", found=values[:-1].tolist())
        object.__setattr__(self, "epsilon", float(np.clip(values, -9, 9).max()))
        values[0] += 1
        return np.clip(values, -9, 9) * 0


class Once(Faulty):
    """Takes a source and draws from elsewhere."""

    def __call__(self, values, source):
        return np.asarray(values) + np.random.default_rng().normal(size=np.shape(values))


class Shared(Faulty):
    """A generator of NumPy, which a fork copies."""

    generator = np.random.default_rng(1)

    def __call__(self, values):
        return np.asarray(values) + self.generator.normal(size=np.shape(values))


@dataclass
class Loose:
    epsilon: float


@dataclass(frozen=True)
class Free:
    """Charges nothing that an accountant could price."""

    epsilon: float

    @property
    def event(self) -> Event:
        return NonPrivate()


@pytest.mark.parametrize(
    ("faulty", "test"),
    [
        (Loose, "test_parameters_are_frozen"),
        (Faulty, "test_nan_and_infinity_are_refused"),
        (Faulty, "test_refusal_says_nothing_about_the_data"),
        (Faulty, "test_nothing_is_taken_from_the_data"),
        (Faulty, "test_argument_is_left_alone"),
        (Free, "test_event_can_be_charged"),
        (Faulty, "test_non_private_variant_costs_infinity"),
        (Faulty, "test_non_private_variant_is_exact"),
        (Faulty, "test_calls_differ"),
        (Once, "test_replay_repeats"),
        (Shared, "test_child_process_draws_afresh"),
    ],
)
def test_suite_catches_a_fault(faulty, test):
    """A mechanism that breaks a rule fails that rule's test."""

    class Suite(MechanismConformance):
        datasets = ([1.0, 2.0, 3.0], [20.0, 5.0, 1.0])

        def make(self, epsilon=1.0):
            return faulty(epsilon)

    with pytest.raises(AssertionError):
        getattr(Suite(), test)()
