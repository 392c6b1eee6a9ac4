"""Privacy loss distributions, through Google's dp-accounting (optional extra `accounting`).

Source     Koskela, Jälkö, Honkela (2020); Doroshenko, Ghazi, Kamath, Kumar, Manurangsi: Connect the
           dots (2022), as implemented in dp-accounting. Each distribution is replaced by one on
           multiples of 1e-4 that is no more private, so the result is never too low.
Guarantee  Holds for a list of events that is fixed in advance; so it cannot be used for a filter.
Limit      A discrete Gaussian has a distribution here if neighbours differ in one entry and sigma
           is at most 2^14 steps. Otherwise the whole list gets its price from the other
           accountants.

The distributions are composed here and not by the library's own accountant, because the accountant
of its release 0.6.0 charges a randomized response only once, however often it happened.
"""

from __future__ import annotations

import math
from typing import Any

from tacit.accounting import events
from tacit.accounting.base import (
    Accountant,
    check_delta,
    check_epsilon,
    explain_unknown_event,
    total_price,
)
from tacit.accounting.events import Event
from tacit.accounting.gdp import GDPAccountant
from tacit.accounting.pure import PRICES as PURE_PRICES
from tacit.accounting.pure import PureAccountant
from tacit.accounting.zcdp import PRICES, ZCDPAccountant
from tacit.errors import MissingExtra

_LARGEST_RHO = 50.0
"""Largest total rho for which a distribution is computed. Beyond it, the table of losses does not
fit into memory, and the releases protect hardly anyone."""

_LEAST_DELTA = 1e-10
"""Smallest delta that is read from a table of losses. Smaller ones are lost in rounding errors:
many small choices would seem to have a pure epsilon far below their sum, which is impossible."""

_DELTA_ERROR = 1e-4
"""Relative error of delta that the library's floats and transforms may cause. Results allow for
it."""

_LARGEST_SIGMA = 1 << 14
"""Largest sigma, in steps, of a discrete Gaussian for which a distribution is computed. A larger
one takes seconds or more, and its distribution hardly lowers the cost."""

_SIGMAS_IN_TABLE = 11.6
"""Number of sigmas after which the table of a discrete Gaussian ends. Noise beyond it has a
probability below 1e-29, and is given an infinite loss."""


class PLDAccountant(Accountant):
    """Accountant by privacy loss distributions.

    Its result is the lowest of several: the distribution's, and those of the pure, zCDP and GDP
    accountants that can price all events. Most noise and randomized response have distributions of
    their own, which give lower results than these accountants. A choice has the distribution of the
    worst mechanism of its pure epsilon, so for many choices zCDP gives the lower result.
    """

    def __init__(self) -> None:
        """Begin without events.

        Raises:
            MissingExtra: dp-accounting is not installed. Raised here, before any event is added.
        """
        super().__init__()
        _import_library()

    def epsilon(self, delta: float = 0.0) -> float:
        """Return the smallest epsilon that the distribution or another accountant gives."""
        check_delta(delta)
        epsilons = [accountant.epsilon(delta) for accountant in self._fitting_accountants()]
        loss = self._composed_loss() if delta >= _LEAST_DELTA else None
        if loss is not None:
            epsilons.append(float(loss.get_epsilon_for_delta(delta * (1 - _DELTA_ERROR))))
        return min(epsilons, default=math.inf)

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta that the distribution or another accountant gives."""
        check_epsilon(epsilon)
        if epsilon == math.inf:
            return 0.0
        deltas = [accountant.delta(epsilon) for accountant in self._fitting_accountants()]
        loss = self._composed_loss()
        if loss is not None:
            delta = float(loss.get_delta_for_epsilon(epsilon)) * (1 + _DELTA_ERROR)
            deltas.append(max(_LEAST_DELTA, delta))
        return min([1.0, *deltas])

    def _fitting_accountants(self) -> list[Accountant]:
        """Return the other accountants that can price all events, with these events added."""
        fitting = []
        candidates: tuple[Accountant, ...] = (PureAccountant(), ZCDPAccountant(), GDPAccountant())
        for accountant in candidates:
            if any(accountant.refusal(event) for event in self._counts):
                continue
            for event, times in self._counts.items():
                accountant.add(event, times)
            fitting.append(accountant)
        return fitting

    def _composed_loss(self) -> Any:
        """Return the distribution of the sum of all losses.

        Returns:
            The library's distribution; None if an event has none here, or if the total rho is too
            large for a table.
        """
        if not all(_has_distribution(event) for event in self._counts):
            return None
        total_rho = total_price(self._counts.items(), PRICES)
        if total_rho > _LARGEST_RHO:
            return None
        pld, _ = _import_library()
        composition = pld.identity()
        # Sorted, because the rounding depends on the order of events.
        for event, times in sorted(self._counts.items(), key=repr):
            if PRICES[type(event)](event) > 0:
                composition = composition.compose(_loss_distribution(event, times))
        return composition

    def refusal(self, event: Event) -> str | None:
        """Return the reason for refusing an event of an unknown class; None for the others."""
        return None if type(event) in PRICES else explain_unknown_event("PLD", event)


def _has_distribution(event: Event) -> bool:
    """Say whether this accountant can compute a loss distribution for the event.

    It can for all events of finite rho but discrete Gaussian noise; events of infinite rho are left
    to the caller. For discrete Gaussian noise it can only if neighbours differ in one entry, so
    that the largest difference is the worst case, and if sigma is at most `_LARGEST_SIGMA` steps.
    """
    if isinstance(event, events.DiscreteGaussianVector):
        return False
    if not isinstance(event, events.DiscreteGaussian):
        return True
    return event.steps is not None and event.noise_multiplier * event.steps <= _LARGEST_SIGMA


def _loss_distribution(event: Event, times: int) -> Any:
    """Return the loss distribution of `times` repetitions of an event that has one.

    Repeated Gaussian noise is priced as one Gaussian release, whose noise multiplier is divided by
    the root of `times`.
    """
    pld, _ = _import_library()
    if isinstance(event, events.Gaussian):
        return pld.from_gaussian_mechanism(event.noise_multiplier / math.sqrt(times))
    if isinstance(event, events.Tree) and event.gaussian:
        node_noise = event.noise_multiplier
        return pld.from_gaussian_mechanism(node_noise / math.sqrt(event.levels * times))
    if isinstance(event, events.Tree):
        node_loss = _pure_distribution(1 / event.noise_multiplier)
        return node_loss.self_compose(event.levels * times)
    return _single_distribution(event).self_compose(times)


def _single_distribution(event: Event) -> Any:
    """Return the loss distribution of one event that is neither continuous Gaussian nor a tree."""
    pld, _ = _import_library()
    if isinstance(event, events.DiscreteGaussian) and event.steps is not None:
        # The noise is log-concave, so neighbours at the largest distance are the worst.
        sigma = event.noise_multiplier * event.steps
        return pld.from_discrete_gaussian_mechanism(
            sigma,
            event.steps,
            truncation_bound=math.ceil(_SIGMAS_IN_TABLE * sigma) + event.steps,
            use_connect_dots=True,
        )
    if isinstance(event, events.Laplace):
        return pld.from_laplace_mechanism(event.noise_multiplier)
    if isinstance(event, events.RandomizedResponse) and event.truth > 1 / event.categories:
        # The library's parameter: the chance that the answer is replaced by a uniform one.
        replacement = (1 - event.truth) * event.categories / (event.categories - 1)
        return pld.from_randomized_response(replacement, event.categories)
    return _pure_distribution(float(PURE_PRICES[type(event)](event)))


def _pure_distribution(epsilon: float) -> Any:
    """Return the loss distribution of the worst mechanism with this pure epsilon."""
    pld, parameters = _import_library()
    return pld.from_privacy_parameters(parameters(epsilon, 0.0))


def _import_library() -> tuple[Any, Any]:
    """Import dp-accounting.

    Returns:
        Its module of loss distributions, and its class of (epsilon, delta).

    Raises:
        MissingExtra: dp-accounting is not installed.
    """
    try:
        from dp_accounting.pld import privacy_loss_distribution
        from dp_accounting.pld.common import DifferentialPrivacyParameters
    except ImportError:
        raise MissingExtra("dp-accounting", "accounting") from None
    return privacy_loss_distribution, DifferentialPrivacyParameters
