"""A budget that stops.

Filter     Whatever is asked, and in whatever order, the total stays within the budget.
Source     Rogers, Roth, Ullman, Vadhan: Privacy odometers and filters (2016), for pure epsilons;
           Feldman, Zrnic: Individual privacy accounting (2021), for Renyi and zCDP.
Guarantee  (epsilon, delta) for everything released after a successful `spend`, even if each event
           is chosen with knowledge of all earlier releases.
"""

from __future__ import annotations

import os
import threading
from typing import NoReturn, SupportsIndex

from tacit.accounting.base import Accountant, check_delta, check_epsilon
from tacit.accounting.events import Event
from tacit.errors import ConfigError, PrivacyError


class PrivacyFilter:
    """Spend first, release afterwards. Nothing is ever refunded, and the first refusal is final.

    Ask `affords` to find out without the risk. One filter belongs to one unit of privacy in one
    process; a budget that outlives the process belongs in a ledger.
    """

    def __init__(self, accountant: type[Accountant], *, epsilon: float, delta: float = 0.0) -> None:
        if not accountant.adaptive:
            raise ConfigError(
                f"{accountant.__name__} is no basis for a filter: its total holds for events fixed "
                "in advance. Use PureAccountant or ZCDPAccountant."
            )
        check_epsilon(epsilon)
        check_delta(delta)
        self._epsilon = epsilon
        self._delta = delta
        self._spent = accountant()
        self._halted = False
        self._lock = threading.Lock()
        self._process = os.getpid()

    @property
    def epsilon(self) -> float:
        """The budget, nats; fixed for the filter's life."""
        return self._epsilon

    @property
    def delta(self) -> float:
        """The chance at which the budget holds; fixed for the filter's life."""
        return self._delta

    @property
    def halted(self) -> bool:
        """Whether a spend was refused; nothing can be spent any more."""
        return self._halted

    @property
    def spent(self) -> float:
        """What the granted events cost, as epsilon at the filter's delta."""
        return self._spent.epsilon(self.delta)

    def affords(self, event: Event) -> bool:
        """Whether `spend(event)` would be granted now. Changes nothing."""
        self._check_process()
        with self._lock:
            return self._after(event) is not None

    def spend(self, event: Event) -> None:
        """Grant all of `event`, or none of it: PrivacyError, and the filter has halted.

        An event the accountant does not know is refused without halting: it is a mistake in the
        program, the same for all data. In a forked process every call is a PrivacyError.
        """
        self._check_process()
        with self._lock:
            after = self._after(event)
            if after is None:
                self._halted = True
                raise PrivacyError(
                    f"The budget of epsilon {self.epsilon:g} at delta {self.delta:g} does not "
                    "cover this release, or was exhausted before. Nothing was spent, and nothing "
                    "more will be granted: do not release."
                )
            self._spent = after

    def _after(self, event: Event) -> Accountant | None:
        after = self._spent.copy().add(event)
        fits = not self._halted and after.epsilon(self.delta) <= self.epsilon
        return after if fits else None

    def _check_process(self) -> None:
        """Before the lock, which a fork may have copied while it was held."""
        if os.getpid() != self._process:
            raise PrivacyError(
                "This privacy filter belongs to another process, and here it would spend the same "
                "budget again. Spend where it was made; nothing was granted."
            )

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise PrivacyError("A privacy filter is not copied or pickled: two would spend twice.")
