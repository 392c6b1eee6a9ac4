"""Calibration: find the smallest noise that meets a privacy budget."""

from __future__ import annotations

import math
from collections.abc import Callable

from tacit.accounting.base import Accountant, check_delta, check_epsilon
from tacit.accounting.events import Event
from tacit.errors import ConfigError

_LARGEST_MULTIPLIER = 2.0**60
"""Largest noise multiplier that is tried; the smallest is its inverse."""
_FINEST_PRECISION = 2.0**-50
"""Relative precision that the spacing of floats still allows."""
_NARROWINGS = 60
"""Largest number of steps of `narrow_bracket`."""


def smallest_noise(
    make_event: Callable[[float], Event],
    *,
    epsilon: float,
    delta: float = 0.0,
    accountant: Callable[[], Accountant],
    precision: float = 1e-9,
) -> float:
    """Find the smallest noise multiplier whose event costs at most (epsilon, delta).

    Args:
        make_event: Maps a noise multiplier to the event of all releases, for example
            `lambda noise: repeat(Gaussian(noise), 10)`. A larger multiplier must cost less. For
            events that take an epsilon: `lambda noise: Gate(1 / noise)`.
        epsilon: The budget, in nats.
        delta: The delta of the budget, from 0 to 1.
        accountant: Makes the accountant that prices the event.
        precision: Relative precision, from 2**-50 to below 1: the answer meets the budget, and
            (1 - precision) times the answer does not.

    Raises:
        ConfigError: An argument is out of range, or no multiplier from 2**-60 to 2**60 meets the
            budget, or all of them do.
    """
    check_epsilon(epsilon)
    check_delta(delta)
    if not _FINEST_PRECISION <= precision < 1:
        raise ConfigError(f"precision is a share, from 2**-50 to below 1; got {precision}.")

    def price(noise: float) -> float:
        """Return the epsilon of the event with this noise multiplier."""
        return accountant().add(make_event(noise)).epsilon(delta)

    test = _BudgetTest(price, epsilon)
    low, high = _find_bracket(test.meets, epsilon, delta)
    test.narrow_bracket(precision)
    while high - low > precision * high:
        middle = (low + high) / 2
        if test.meets(middle):
            high = middle
        else:
            low = middle
    # `test.meets` may have inferred that `high` meets the budget, from a smaller multiplier that
    # does. Rounding errors of prices could make that wrong, so the answer itself is priced.
    return high if price(high) <= epsilon else test.enough


class _BudgetTest:
    """Says whether noise multipliers meet a budget, with few calculations of a price.

    A larger multiplier costs less. So a multiplier below one that was found too small is too small,
    and one above a multiplier that met the budget meets it; neither is priced.

    Attributes:
        enough: The smallest multiplier that was priced and met the budget.
    """

    def __init__(self, price: Callable[[float], float], epsilon: float) -> None:
        """Begin without any price.

        Args:
            price: Returns the epsilon of the event with a given noise multiplier.
            epsilon: The budget, in nats.
        """
        self._price = price
        self._epsilon = epsilon
        self._too_small = 0.0  # the largest multiplier that was priced and exceeded the budget
        self._high_price = math.inf  # its price
        self.enough = math.inf
        self._low_price = 0.0  # the price of `enough`

    def meets(self, noise: float) -> bool:
        """Say whether a noise multiplier meets the budget."""
        if noise <= self._too_small:
            return False
        if noise >= self.enough:
            return True
        price = self._price(noise)
        if price <= self._epsilon:
            self.enough, self._low_price = noise, price
            return True
        self._too_small, self._high_price = noise, price
        return False

    def narrow_bracket(self, precision: float) -> None:
        """Test multipliers until the bracket around the budget is narrow.

        The ends of the bracket are `enough` and the largest multiplier found too small. It is
        narrow if the logarithms of its ends differ by at most a quarter of `precision`. After
        `_NARROWINGS` steps the search ends even if it is not.

        By the rule of false position, a straight line is drawn between the two ends, in logarithms
        of multiplier and price. The next multiplier lies where the line meets the budget. It is
        moved by an eighth of the precision towards the end that is farther away, so that both ends
        move in the course of the steps. If this does not halve the bracket, its middle is tested
        too.

        Args:
            precision: Relative precision of the answer that is sought.
        """
        for _ in range(_NARROWINGS):
            width = math.log(self.enough / self._too_small)
            if width <= precision / 4:
                return
            share = self._share_of_budget()
            step = precision / 8 if share < 0.5 else -precision / 8
            self.meets(self._too_small * math.exp(share * width + step))
            if math.log(self.enough / self._too_small) > width / 2:
                self.meets(math.sqrt(self._too_small * self.enough))

    def _share_of_budget(self) -> float:
        """Return where the budget lies between the two prices, on a logarithmic scale.

        0 is the higher price, that of the too small multiplier; 1 is the lower price. If one of the
        logarithms is infinite, 0.5 is returned.
        """
        if self._high_price == math.inf or self._low_price == 0:
            return 0.5
        whole = math.log(self._high_price / self._low_price)
        return math.log(self._high_price / self._epsilon) / whole


def _find_bracket(
    meets_budget: Callable[[float], bool], epsilon: float, delta: float
) -> tuple[float, float]:
    """Find a multiplier that is too small, and one twice as large that meets the budget.

    Args:
        meets_budget: Says whether a multiplier meets the budget.
        epsilon: The budget, for the error message.
        delta: The delta of the budget, for the error message.

    Returns:
        Both multipliers, the smaller first.

    Raises:
        ConfigError: There are none from 2**-60 to 2**60.
    """
    high = 1.0
    while not meets_budget(high):
        high *= 2
        if high > _LARGEST_MULTIPLIER:
            raise ConfigError(
                f"No noise multiplier up to 2**60 reaches epsilon {epsilon:g} at delta {delta:g}: "
                "with this accountant the target is out of reach, or part of the release has no "
                "noise."
            )
    low = high / 2
    while meets_budget(low):
        low, high = low / 2, low
        if low < 1 / _LARGEST_MULTIPLIER:
            raise ConfigError(
                "Even a noise multiplier of 2**-60 meets the target, so no smallest noise is found."
            )
    return low, high
