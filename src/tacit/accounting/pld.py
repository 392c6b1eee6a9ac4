"""Privacy loss distributions, through Google's dp-accounting (optional extra `accounting`).

Source     Koskela, Jälkö, Honkela (2020); Doroshenko, Ghazi, Kamath, Kumar, Manurangsi: Connect the
           dots (2022), as implemented in dp-accounting. Losses are rounded up to multiples of 1e-4,
           so what is reported is not below the truth, only above by that much.
Guarantee  Holds for a list of events fixed in advance; not a basis for a filter.
Limit      A discrete Gaussian has a distribution here if neighbours differ in one entry and sigma
           is at most 2^14 steps. Otherwise the whole list falls back on GDP or zCDP.

The distributions are composed here and not by the library's own accountant: release 0.6.0 of that
one charges a randomized response once, however often it is said to have happened.
"""

from __future__ import annotations

import math
from typing import Any

from tacit.accounting import events
from tacit.accounting.base import (
    Accountant,
    check_delta,
    check_epsilon,
    refuse_unknown_event,
    total_price,
)
from tacit.accounting.events import Event
from tacit.accounting.gdp import GDPAccountant
from tacit.accounting.pure import PRICES as PURE_PRICES
from tacit.accounting.pure import PureAccountant
from tacit.accounting.zcdp import PRICES, ZCDPAccountant
from tacit.errors import MissingExtra

_MOST_RHO = 50.0
"""Beyond it, the table of losses outgrows memory, and nothing is protected any more."""

_LEAST_DELTA = 1e-10
"""Below it, a table holds rounding errors: many small choices then seem to have a pure epsilon
far below their sum, which no mechanism can promise."""

_ROUNDING = 1e-4
"""Share of delta set aside for what the library's floats and its transforms may be off by."""

_FINEST_SIGMA = 1 << 14
"""In steps: a discrete Gaussian that is finer takes seconds and more, to no avail."""

_TAILS = 11.6
"""Sigmas: beyond, a discrete Gaussian has a chance below 1e-29, and is given an infinite loss."""


class PLDAccountant(Accountant):
    """Privacy loss distributions, never above the pure, zCDP and GDP accountants.

    The distribution counts where it is lower: for noise and for answers. A choice is charged as the
    worst mechanism of its pure epsilon, so for many choices the zCDP price decides.
    """

    def __init__(self) -> None:
        """Prepare an empty account.

        Raises:
            MissingExtra: dp-accounting is not installed: now rather than after a day of adding.
        """
        super().__init__()
        _library()

    def epsilon(self, delta: float = 0.0) -> float:
        """Return the least epsilon of the distribution and of all accountants that fit."""
        check_delta(delta)
        epsilons = [other.epsilon(delta) for other in self._fitting_accountants()]
        loss = self._loss() if delta >= _LEAST_DELTA else None
        if loss is not None:
            epsilons.append(float(loss.get_epsilon_for_delta(delta * (1 - _ROUNDING))))
        return min(epsilons, default=math.inf)

    def delta(self, epsilon: float) -> float:
        """Return the least delta of the distribution and of all accountants that fit."""
        check_epsilon(epsilon)
        if epsilon == math.inf:
            return 0.0
        deltas = [other.delta(epsilon) for other in self._fitting_accountants()]
        loss = self._loss()
        if loss is not None:
            delta = float(loss.get_delta_for_epsilon(epsilon)) * (1 + _ROUNDING)
            deltas.append(max(_LEAST_DELTA, delta))
        return min([1.0, *deltas])

    def _fitting_accountants(self) -> list[Accountant]:
        """Return the accountants that know all these events, with the events added."""
        fitting = []
        every: tuple[Accountant, ...] = (PureAccountant(), ZCDPAccountant(), GDPAccountant())
        for other in every:
            if any(other.refusal(event) for event in self._counts):
                continue
            for event, times in self._counts.items():
                other.add(event, times)
            fitting.append(other)
        return fitting

    def _loss(self) -> Any:
        """Return the distribution of the sum of all losses; None if it is out of bounds."""
        if not all(_has_distribution(event) for event in self._counts):
            return None
        if not total_price(self._counts.items(), PRICES) <= _MOST_RHO:
            return None
        pld, _ = _library()
        composed = pld.identity()
        # Rounding depends on the order, so events are put into one.
        for event, times in sorted(self._counts.items(), key=repr):
            if PRICES[type(event)](event) > 0:
                composed = composed.compose(_distribution(event, times))
        return composed

    def refusal(self, event: Event) -> str | None:
        """Refuse events of unknown classes."""
        return None if type(event) in PRICES else refuse_unknown_event("PLD", event)


def _has_distribution(event: Event) -> bool:
    """Say whether one pair of neighbours is the worst, and its losses fit into a table."""
    if isinstance(event, events.DiscreteGaussianVector):
        return False
    if not isinstance(event, events.DiscreteGaussian):
        return True
    return event.steps is not None and event.noise_multiplier * event.steps <= _FINEST_SIGMA


def _distribution(event: Event, times: int) -> Any:
    """Return the loss distribution of `times` times an event that has one."""
    pld, _ = _library()
    if isinstance(event, events.Gaussian):
        return pld.from_gaussian_mechanism(event.noise_multiplier / math.sqrt(times))
    if isinstance(event, events.Tree) and event.gaussian:
        node = event.noise_multiplier
        return pld.from_gaussian_mechanism(node / math.sqrt(event.levels * times))
    if isinstance(event, events.Tree):
        node_loss = _pure_distribution(1 / event.noise_multiplier)
        return node_loss.self_compose(event.levels * times)
    return _single_distribution(event).self_compose(times)


def _single_distribution(event: Event) -> Any:
    """Return the loss distribution of one event that is neither continuous Gaussian nor a tree."""
    pld, _ = _library()
    if isinstance(event, events.DiscreteGaussian) and event.steps is not None:
        # Log-concave noise: the largest shift is the worst, in every order of releases.
        sigma = event.noise_multiplier * event.steps
        return pld.from_discrete_gaussian_mechanism(
            sigma,
            event.steps,
            truncation_bound=math.ceil(_TAILS * sigma) + event.steps,
            use_connect_dots=True,
        )
    if isinstance(event, events.Laplace):
        return pld.from_laplace_mechanism(event.noise_multiplier)
    if isinstance(event, events.RandomizedResponse) and event.truth > 1 / event.categories:
        noise = (1 - event.truth) * event.categories / (event.categories - 1)
        return pld.from_randomized_response(noise, event.categories)
    return _pure_distribution(float(PURE_PRICES[type(event)](event)))


def _pure_distribution(epsilon: float) -> Any:
    """Return the loss distribution of the worst mechanism with this pure epsilon."""
    pld, parameters = _library()
    return pld.from_privacy_parameters(parameters(epsilon, 0.0))


def _library() -> tuple[Any, Any]:
    """Load the distributions of dp-accounting and its class of parameters."""
    try:
        from dp_accounting.pld import privacy_loss_distribution
        from dp_accounting.pld.common import DifferentialPrivacyParameters
    except ImportError:
        raise MissingExtra("dp-accounting", "accounting") from None
    return privacy_loss_distribution, DifferentialPrivacyParameters
