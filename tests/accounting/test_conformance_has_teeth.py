"""The suite for accountants fails where an accountant is wrong."""

from __future__ import annotations

import math

import hypothesis
import pytest

from tacit.accounting import Event, Laplace, NonPrivate, PostProcessing, PureAccountant
from tacit.accounting.events import leaves
from tacit.errors import PrivacyError
from tests.support.accountant_conformance import AccountantConformance


class AddsFloats(PureAccountant):
    """Adds price after price, so that a sum depends on its order and grouping."""

    total = 0.0

    def add(self, event, count=1):
        super().add(event, count)
        for leaf, times in leaves(event, count):
            for _ in range(times):
                self.total += PureAccountant().add(leaf).epsilon()
        return self

    def epsilon(self, delta=0.0):
        super().epsilon(delta)
        return self.total


class ForgetsCounts(PureAccountant):
    """Charges one for many."""

    def add(self, event, count=1):
        super().add(event, count)
        self._counts = dict.fromkeys(self._counts, 1)
        return self


class ChargesInPart(PureAccountant):
    """Charges what it knows before it refuses."""

    def add(self, event, count=1):
        if isinstance(event, Event):
            for leaf, times in leaves(event, count):
                super().add(leaf, times)
            return self
        return super().add(event, count)


class TakesSubclasses(PureAccountant):
    """Prices a subclass like its parent."""

    def refusal(self, event):
        return None if isinstance(event, Laplace) else super().refusal(event)


class TakesAnything(PureAccountant):
    """What it does not know is free."""

    def add(self, event, count=1):
        try:
            return super().add(event, count)
        except PrivacyError:
            return self


class Refunds(PureAccountant):
    """Post-processing makes it cheaper."""

    def epsilon(self, delta=0.0):
        return super().epsilon(delta) / (1 + self._counts.get(PostProcessing(), 0))


class RisesWithDelta(PureAccountant):
    """More delta costs more epsilon."""

    def epsilon(self, delta=0.0):
        return super().epsilon() * (1 + delta)


class CapsInfinity(PureAccountant):
    """Says a large number where there is none."""

    def epsilon(self, delta=0.0):
        return min(super().epsilon(delta), 1e9)


class PromisesTooLittleDelta(PureAccountant):
    """Its delta does not belong to its epsilon."""

    def epsilon(self, delta=0.0):
        return super().epsilon(delta) / 2


class SharesItsState(PureAccountant):
    """A copy that is not one."""

    def copy(self):
        return self


FAULTS = {
    AddsFloats: "test_order_is_irrelevant",
    ForgetsCounts: "test_twice_costs_more_than_once",
    ChargesInPart: "test_unknown_events_leave_no_trace",
    TakesSubclasses: "test_subclass_of_a_known_event_is_unknown",
    TakesAnything: "test_unknown_events_leave_no_trace",
    Refunds: "test_post_processing_is_free",
    RisesWithDelta: "test_epsilon_never_rises_with_delta",
    CapsInfinity: "test_non_private_is_infinite",
    PromisesTooLittleDelta: "test_epsilon_and_delta_agree",
    SharesItsState: "test_copies_go_their_own_way",
}


@pytest.fixture
def find_only():
    """The same cases every time, and no smaller example once a fault is found."""
    hypothesis.settings.register_profile(
        "find only", derandomize=True, database=None, phases=[hypothesis.Phase.generate]
    )
    hypothesis.settings.load_profile("find only")
    yield
    hypothesis.settings.load_profile("tacit")


@pytest.mark.usefixtures("find_only")
@pytest.mark.parametrize(
    ("fault", "law"), FAULTS.items(), ids=lambda value: getattr(value, "__name__", value)
)
def test_each_fault_breaks_its_law(fault, law):
    """A planted fault is found by the test that names its law."""

    class Suite(AccountantConformance):
        examples = 200

        def make(self):
            return fault()

    with pytest.raises((AssertionError, BaseExceptionGroup)):
        getattr(Suite(), law)()


def test_clean_twin_passes():
    """The same laws hold for the accountant that the faults were planted in."""

    class Suite(AccountantConformance):
        def make(self):
            return PureAccountant()

    for law in set(FAULTS.values()):
        getattr(Suite(), law)()
    assert PureAccountant().add(NonPrivate()).epsilon() == math.inf
