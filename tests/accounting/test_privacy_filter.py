"""A budget is never exceeded, and stops for good."""

from __future__ import annotations

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import (
    Event,
    Gaussian,
    Laplace,
    NonPrivate,
    PostProcessing,
    PrivacyFilter,
    PureAccountant,
    ZCDPAccountant,
    compose,
    repeat,
    smallest_noise,
)
from tacit.accounting.base import Accountant
from tacit.errors import ConfigError, PrivacyError


@given(st.lists(st.floats(0.01, 1.0), max_size=20))
def test_total_stays_within(epsilons):
    """Whatever is asked, what was granted adds up to the budget at most, and nothing follows a
    refusal."""
    budget = PrivacyFilter(PureAccountant, epsilon=1.0)
    granted = PureAccountant()
    for epsilon in epsilons:
        refused = budget.has_halted
        with suppress(PrivacyError):
            budget.spend(Laplace(1 / epsilon))
            assert not refused, "granted after a refusal"
            granted.add(Laplace(1 / epsilon))
    assert granted.epsilon() == budget.spent_epsilon <= 1.0


def test_budget_can_be_used_up():
    """Ten tenths fit into one, the eleventh does not."""
    budget = PrivacyFilter(PureAccountant, epsilon=1.0)
    for _ in range(10):
        budget.spend(Laplace(10.0))
    assert budget.spent_epsilon == 1.0
    with pytest.raises(PrivacyError, match="do not release"):
        budget.spend(Laplace(10.0))


def test_refusal_is_final_and_free():
    """After a refusal even a small spend is refused, and the total is what it was."""
    budget = PrivacyFilter(PureAccountant, epsilon=1.0)
    budget.spend(Laplace(2.0))
    for event in (Laplace(1.0), Laplace(100.0), PostProcessing()):
        with pytest.raises(PrivacyError):
            budget.spend(event)
    assert (budget.spent_epsilon, budget.has_halted) == (0.5, True)


def test_spending_is_all_or_nothing():
    """A composed event that does not fit as a whole is not charged in part."""
    budget = PrivacyFilter(PureAccountant, epsilon=1.0)
    with pytest.raises(PrivacyError):
        budget.spend(compose(Laplace(2.0), repeat(Laplace(1.0), 3)))
    assert budget.spent_epsilon == 0


def test_asking_changes_nothing():
    """`affords` neither spends nor halts."""
    budget = PrivacyFilter(PureAccountant, epsilon=1.0)
    assert budget.affords(Laplace(1.0))
    assert not budget.affords(NonPrivate())
    assert (budget.spent_epsilon, budget.has_halted) == (0, False)
    budget.spend(Laplace(1.0))


def test_nothing_is_affordable_after_a_refusal():
    """A halted filter affords nothing, not even what is free."""
    budget = PrivacyFilter(PureAccountant, epsilon=1.0)
    with suppress(PrivacyError):
        budget.spend(NonPrivate())
    assert not budget.affords(PostProcessing())


def test_unknown_event_does_not_halt():
    """A mistake in the program is refused without a trace."""
    budget = PrivacyFilter(PureAccountant, epsilon=1.0)
    with pytest.raises(PrivacyError, match="no pure epsilon"):
        budget.spend(Gaussian(5.0))
    assert (budget.spent_epsilon, budget.has_halted) == (0, False)


def test_zcdp_budget():
    """Noise calibrated for a hundred releases pays for a hundred of them, and for no more."""
    noise = smallest_noise(
        lambda noise: repeat(Gaussian(noise), 100),
        epsilon=1.0,
        delta=1e-6,
        accountant=ZCDPAccountant,
    )
    budget = PrivacyFilter(ZCDPAccountant, epsilon=1.0, delta=1e-6)
    for _ in range(100):
        budget.spend(Gaussian(noise))
    assert not budget.affords(Gaussian(noise))
    assert 0.999 < budget.spent_epsilon <= 1.0


def test_message_says_nothing_of_what_is_left():
    """The refusal reads the same, whatever was spent before."""
    messages = set()
    for first in (Laplace(2.0), Laplace(1.25)):
        budget = PrivacyFilter(PureAccountant, epsilon=1.0)
        budget.spend(first)
        with pytest.raises(PrivacyError) as refused:
            budget.spend(Laplace(1.0))
        messages.add(str(refused.value))
    assert len(messages) == 1


def test_threads_do_not_overspend():
    """Many threads that spend at once are granted what the budget covers, no more and no less."""
    budget = PrivacyFilter(PureAccountant, epsilon=1.0)

    def spend(_: int) -> int:
        try:
            budget.spend(Laplace(64.0))
        except PrivacyError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(100))) == 64


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_filters_are_not_copied(duplicate):
    """Two filters from one would spend the budget twice."""
    with pytest.raises(PrivacyError, match="twice"):
        duplicate(PrivacyFilter(PureAccountant, epsilon=1.0))


def test_a_forked_filter_is_refused(monkeypatch):
    """In another process neither spending nor asking is answered; where it was made, both are."""
    budget = PrivacyFilter(PureAccountant, epsilon=1.0)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(os, "getpid", lambda: -1)
        for ask in (budget.spend, budget.affords):
            with pytest.raises(PrivacyError, match="another process"):
                ask(Laplace(2.0))
    budget.spend(Laplace(2.0))
    assert (budget.spent_epsilon, budget.has_halted) == (0.5, False)


@pytest.mark.parametrize("field", ["epsilon", "delta", "has_halted", "spent_epsilon"])
def test_a_budget_is_not_raised(field):
    """No field of a filter can be assigned to."""
    with pytest.raises(AttributeError):
        setattr(PrivacyFilter(PureAccountant, epsilon=1.0), field, 100.0)


def test_accountant_has_to_hold_under_adaptive_choices():
    """An accountant whose total holds for fixed lists alone is no basis for a filter."""

    class Fixed(PureAccountant):
        adaptive = False

    with pytest.raises(ConfigError, match="fixed in advance"):
        PrivacyFilter(Fixed, epsilon=1.0)
    assert not Accountant.adaptive


@pytest.mark.parametrize("target", [{"epsilon": -1.0}, {"epsilon": 1.0, "delta": 2.0}])
def test_budget_in_range(target):
    """A negative epsilon and a delta above 1 are no budget."""
    with pytest.raises(ConfigError):
        PrivacyFilter(PureAccountant, **target)


def test_events_are_events():
    """Only an event can be spent."""
    with pytest.raises(ConfigError, match="adds events"):
        PrivacyFilter(PureAccountant, epsilon=1.0).spend(0.1)
    assert issubclass(Laplace, Event)
