"""A privacy filter: whatever is asked, and in whatever order, the total stays within the budget.

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
    """A budget that is spent first and released from afterwards.

    Nothing is ever refunded, and the first refusal is final. Ask `affords` to find out without the
    risk. One filter belongs to one unit of privacy in one process; a budget that outlives the
    process belongs in a ledger.
    """

    def __init__(self, accountant: type[Accountant], *, epsilon: float, delta: float = 0.0) -> None:
        """Open a budget of `epsilon` nats at `delta`, counted by an adaptive accountant.

        Raises:
            ConfigError: The accountant's total does not hold for events chosen one by one.
        """
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
        self._has_halted = False
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
    def has_halted(self) -> bool:
        """Whether a spend was refused; nothing can be spent any more."""
        return self._has_halted

    @property
    def spent_epsilon(self) -> float:
        """Cost of the granted events, as epsilon at the filter's delta."""
        return self._spent.epsilon(self.delta)

    def affords(self, event: Event) -> bool:
        """Say whether `spend(event)` would be granted now; nothing changes."""
        self._check_process()
        with self._lock:
            return self._total_with(event) is not None

    def spend(self, event: Event) -> None:
        """Grant all of `event`, or none of it.

        Raises:
            PrivacyError: The budget does not cover the event, and the filter has halted. Or the
                accountant does not know the event, which halts nothing: it is a mistake in the
                program, equal for all data. In a forked process, always.
        """
        self._check_process()
        with self._lock:
            after = self._total_with(event)
            if after is None:
                self._has_halted = True
                raise PrivacyError(
                    f"The budget of epsilon {self.epsilon:g} at delta {self.delta:g} does not "
                    "cover this release, or was exhausted before. Nothing was spent, and nothing "
                    "more will be granted: do not release."
                )
            self._spent = after

    def _total_with(self, event: Event) -> Accountant | None:
        """Return an accountant that has the event too; None where it is over the budget."""
        after = self._spent.copy().add(event)
        fits = not self._has_halted and after.epsilon(self.delta) <= self.epsilon
        return after if fits else None

    def _check_process(self) -> None:
        """Refuse another process, before the lock: a fork may have copied it while it was held."""
        if os.getpid() != self._process:
            raise PrivacyError(
                "This privacy filter belongs to another process, and here it would spend the same "
                "budget again. Spend where it was made; nothing was granted."
            )

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise PrivacyError("A privacy filter is not copied or pickled: two would spend twice.")
